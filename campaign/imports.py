"""`import` is killed at random moments and called again: what comes out is what an unbroken import gives, and nothing else is left."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, start, talm
from talm_sim.runs.listing import list_runs
from talm_sim.runs.stored_run import StoredRun

__all__ = ["PARTS"]

_COMMAND: Final = ("import", "fail-talms", "release")
_MODELS: Final = ("one_auto_eval", "one_human_eval", "one_auto_eval_qaq", "two_auto_eval", "three_auto_eval")
_SETTINGS: Final = ("Original", "Underspecified", "Replaceable", "Non-replaceable", "No-tools")


def _release(scratch: Path) -> None:
    """Write outputs of the size that was published: about a hundred answers a file."""
    for model in _MODELS:
        for setting in _SETTINGS:
            file = scratch / "release" / "outputs" / setting / model / "answers.json"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps([_answer(number) for number in range(100)]), encoding="utf-8")


def _answer(number: int) -> dict[str, Any]:
    said = {"query_id": number, "query": f"Query {number}?", "model_answer": "word " * 200, "pass_rate": number % 2, "win_rate": number % 3}
    return {**said, "skipped": False, "info_annotation": "idk", "info_awareness": "I do not know.", "interaction_scores": []}


def _contents(runs: Path) -> dict[str, Any]:
    found = (StoredRun(path) for path in sorted(runs.iterdir()))
    return {run.id: (run.manifest.notes, list(run.scenarios()), list(run.episodes()), list(run.verdicts()), run.first_measure) for run in found}


def _killed(scratch: Path, after: float) -> None:
    child = start(_COMMAND, scratch)
    time.sleep(after)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    _release(scratch)
    runs = scratch / "runs"
    whole = talm(*_COMMAND, scratch=scratch)
    wanted = _contents(runs)
    outcome = Outcome(count)
    within = hidden = 0
    for number in range(count):
        shutil.rmtree(runs, ignore_errors=True)
        # The first third is the start of Python; a kill there finds nothing written.
        after = whole.seconds * rng.uniform(0.3, 1.0)
        _killed(scratch, after)
        left = [path.name for path in runs.iterdir()] if runs.is_dir() else []
        hidden += any(name.startswith(".") for name in left)
        within += 0 < len(left) < len(wanted)
        ran = talm(*_COMMAND, scratch=scratch)
        stray = sorted(path.name for path in runs.iterdir() if path.name not in wanted)
        if ran.code or ran.wrong or stray or _contents(runs) != wanted or any(info.problem for info in list_runs(runs)):
            outcome.failures.append(f"kill {number} after {after:.2f} s: code {ran.code}, left {left}, then {stray}: {ran.err[-200:]!r}")
    outcome.figures = {"with some runs and not all": str(within), "with a hidden folder": str(hidden)}
    return outcome


PARTS: tuple[Part, ...] = (Part("imports", "imports killed at random moments, then repeated", "kills", full=20, short=3, play=_play),)
