"""Select the packaged items of task when2call from generated rows: as many of every class, and one row of every class from each source.

    scripts/select_when2call.py ITEMS OUT [--at-least 300] [--most 600]

A source counts where all three of its items were made, so that question and options differ between classes in nothing but what makes the
class; categories take turns. Which tools a row shows is drawn from its source's id. Nothing is written where the selection is too small, a row
fails a check of `scenarios check`, or the form of a text tells the right answer (`form_check.py`).
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.scenarios.tool_texts import spec_of
from talm_sim.tasks.when2call.making.items import is_kin
from talm_sim.tasks.when2call.making.review import faults_of_row, item_of
from talm_sim.tasks.when2call.making.sources import tool_spec
from talm_sim.tasks.when2call.published import scenario_of

_FORM = runpy.run_path(str(Path(__file__).with_name("form_check.py")))
CLASSES = ("tool_call", "request_for_info", "cannot_answer")
_Row = dict[str, Any]


def select(rows: Sequence[_Row], most: int) -> list[_Row]:
    """Return at most `most` rows, a multiple of three: sources in the turn of their categories, each with a row of every class."""
    variants: dict[str, dict[str, list[_Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        variants[row["source_id"]][row["correct_answer"]].append(row)
    whole = {source: classes for source, classes in variants.items() if len(classes) == len(CLASSES)}
    turns: dict[str, list[str]] = defaultdict(list)
    for source in sorted(whole, key=lambda one: derive_seed(0, one)):
        turns[source.rsplit("-", 1)[0]].append(source)
    in_turn = [(place, category, source) for category, sources in turns.items() for place, source in enumerate(sources)]
    chosen = sorted(source for _, _, source in sorted(in_turn)[: most // len(CLASSES)])
    return [_draw_variant(whole[source][name], source) for name in CLASSES for source in chosen]


def _draw_variant(rows: Sequence[_Row], source: str) -> _Row:
    rows = [row for row in rows if not _find_kin(row)]
    return rows[derive_seed(0, source, rows[0]["correct_answer"], "tools shown") % len(rows)]


def _find_kin(row: _Row) -> str:
    """Return the name of a shown tool that may serve a request whose tool is removed; empty where there is none."""
    if row["correct_answer"] != "cannot_answer":
        return ""
    item = item_of(row)
    shown = (tool_spec(spec_of(text)) for text in row["tools"])
    return next((spec.name for spec in shown if item is None or is_kin(spec, item.source)), "")


def find_faults(rows: Sequence[_Row], at_least: int) -> list[str]:
    """Say what is wrong with a selection; empty where it can be packaged."""
    found = []
    if len(rows) < at_least:
        found.append(f"{len(rows)} items, fewer than {at_least}: give more scenarios, or --at-least")
    if not rows:
        return found
    found += [f"{row['source_id']}, {row['correct_answer']}: {fault}" for row in rows for fault in faults_of_row(row)]
    found += [f"{row['source_id']}: '{name}' may serve it, and it is said that nothing can" for row in rows if (name := _find_kin(row))]
    for what, accuracy, chance in _FORM["measures"]([scenario_of(row) for row in rows]):
        if accuracy > chance + _FORM["MOST"]:
            found.append(f"the form of {what} tells the class: balanced accuracy {accuracy:.2f}, chance {chance:.2f}")
    return found


def _write(rows: Sequence[_Row], out: Path) -> Iterator[str]:
    """Write the files; yield each one's line of the data card."""
    out.mkdir(parents=True, exist_ok=True)
    for name in CLASSES:
        own = [row for row in rows if row["correct_answer"] == name]
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own), encoding="utf-8")
        shown = [sum(min(2, len(row["tools"])) == number for row in own) for number in (0, 1, 2)]
        yield f"| {name}.jsonl | {len(own)} | {' / '.join(map(str, shown))} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Select, look, and write; return 1 where nothing was written."""
    parser = argparse.ArgumentParser(description="Select the packaged items of task when2call.")
    parser.add_argument("items", type=Path, help="items.jsonl of a generation with --variants all")
    parser.add_argument("out", type=Path, help="folder of the three files")
    parser.add_argument("--at-least", type=int, default=300, help="fewest items (default: %(default)s)")
    parser.add_argument("--most", type=int, default=600, help="most items (default: %(default)s)")
    options = parser.parse_args(argv)
    rows = select([json.loads(line) for line in options.items.read_text(encoding="utf-8").splitlines()], options.most)
    faults = find_faults(rows, options.at_least)
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    if faults:
        print(f"{len(faults)} faults; nothing was written", file=sys.stderr)
        return 1
    for line in _write(rows, options.out):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
