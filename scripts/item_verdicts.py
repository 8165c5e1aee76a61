"""Draw packaged items to be read by somebody who did not write them, and count their verdicts.

    scripts/item_verdicts.py draw TASK        the 150 items drawn by seed, one JSON line each, without those that have a verdict
    scripts/item_verdicts.py count            how many are sound, by task and draw

A verdict is a line of `seeds/verdicts/TASK.jsonl`: the item's id and digest, the number of the draw, whether it is sound by docs/making.md, and
if not which criteria it fails and what was done. The digest is of the item as it was read, so that a changed item is drawn again. After many
corrections another draw, by another seed, shows whether the items that nobody has read are as good.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.tasks import find_task
from talm_sim.types import Scenario
from talm_sim.types.base import canonical_form

VERDICTS = Path(__file__).resolve().parent.parent / "seeds" / "verdicts"
DRAWN = 150
DRAWS = {"talm": 5, "when2call": 5, "awareness": 3, "refusal": 3}
"""The number of each task's last draw, which is its seed."""


def draw(task: str) -> list[Scenario]:
    """Return the items drawn: a larger or changed package keeps most of them."""
    found = find_task(task)
    return sorted(found.read(found.splits["all"]), key=lambda one: digest([DRAWS[task], one.id]))[:DRAWN]


def digest_of(item: Scenario) -> str:
    """Equal items have equal digests."""
    return digest(canonical_form(item))


def verdicts(task: str) -> list[dict[str, Any]]:
    """Return the verdicts on a task's items."""
    file = VERDICTS / f"{task}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def without_verdict(task: str) -> Iterator[Scenario]:
    """Yield the items of the last draw that nobody has read as they are now."""
    read = {(one["id"], one["digest"]) for one in verdicts(task) if one["draw"] == DRAWS[task]}
    yield from (item for item in draw(task) if (item.id, digest_of(item)) not in read)


def main(words: list[str]) -> int:
    """Draw or count."""
    if len(words) == 2 and words[0] == "draw" and words[1] in DRAWS:
        for item in without_verdict(words[1]):
            print(json.dumps({"digest": digest_of(item), **item.model_dump(mode="json", exclude_defaults=True)}, ensure_ascii=False))
        return 0
    if words == ["count"]:
        for task, last in DRAWS.items():
            for number in sorted({one["draw"] for one in verdicts(task)}):
                counts = Counter(one["sound"] for one in verdicts(task) if one["draw"] == number)
                print(f"{task}, draw {number}: {counts[True]} of {counts.total()} sound ({counts[True] / counts.total():.3f})")
            print(f"{task}: {len([*without_verdict(task)])} of the {DRAWN} items of draw {last} not read as they are now")
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
