"""Every shipped recording replays to the episodes, verdicts and items that it gave when it was taken into the campaign."""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, talm

__all__ = ["PARTS"]

RUNS: Final = {
    "perfect": "c46d2403efa03152",
    "underspecified": "056664c4cfda56e4",
    "replaceable": "34dcffbc185aa50f",
    "non-replaceable": "daa82a204ced9ff6",
    "no-tools": "11843b1f9c705b8c",
}
"""Groups to the digest of what their replay gives: all that each episode and verdict says but times."""
GENERATED: Final = "d2b4b233e0c3fcda"
"""Digest of the items that the recorded writer gives, and of the texts that were rejected."""


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Replay each group, and the generation of items; which are left out of a short form is chance."""
    names = [*RUNS, "generate"]
    failures: list[str] = []
    chosen = rng.sample(names, min(count, len(names)))
    for name in chosen:
        failures += _generate(scratch) if name == "generate" else _replay(name, scratch)
    return Outcome(len(chosen), failures, {"replayed": ", ".join(chosen)})


def _replay(split: str, scratch: Path) -> Iterator[str]:
    ran = talm("run", "--split", split, "--run-id", split, "--display", "none", scratch=scratch, seconds=300)
    if ran.wrong or ran.code != 0:
        yield f"{split}: {ran.wrong or ran.err[-200:]}"
        return
    found = _digest(_rows(scratch / "runs" / split / "run.db"))
    if found != RUNS[split]:
        yield f"{split}: replays to {found}, not to {RUNS[split]}"


def _generate(scratch: Path) -> Iterator[str]:
    model = ("--model", "openai-api/vllm/smollm2-135m", "--tool-use", "call", "--max-new-tokens", "96", "--limit", "30", "--variants", "one")
    ran = talm("scenarios", "generate", "--out", "made", *model, "--replay", scratch=scratch, seconds=300)
    if ran.wrong or ran.code != 0:
        yield f"generate: {ran.wrong or ran.err[-200:]}"
        return
    digest = sha256()
    for name in ("items.jsonl", "rejected.jsonl"):
        digest.update(name.encode() + (scratch / "made" / name).read_bytes())
    found = digest.hexdigest()[:16]
    if found != GENERATED:
        yield f"generate: gives {found}, not {GENERATED}"


def _rows(path: Path) -> Iterator[Any]:
    with closing(sqlite3.connect(path)) as conn:
        for query in ("SELECT id, termination, body FROM episodes ORDER BY id", "SELECT episode_id, judge, body FROM verdicts ORDER BY 1, 2"):
            for one, kind, body in conn.execute(query):
                yield one, kind, _timeless(json.loads(zlib.decompress(body)))


def _timeless(value: Any) -> Any:
    """A document without its times, and without what is empty: records gain fields."""
    if isinstance(value, dict):
        said = ((key, _timeless(item)) for key, item in sorted(value.items()) if not key.endswith(("_at", "_s", "_ms")))
        return {key: item for key, item in said if item not in (None, "", [], {})}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _digest(rows: Iterator[Any]) -> str:
    digest = sha256()
    for row in rows:
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()[:16]


PARTS = (Part("replays", "shipped recordings replay to the same bytes", "recordings", 6, 2, play),)
