"""The packaged scenarios as they were when people labelled answers to them: a label is about a text, and the package's own change."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from talm_sim.types import Scenario


@cache
def labelled_scenarios() -> dict[str, Scenario]:
    """The scenarios that labels name, by id."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return {one.id: one for one in map(Scenario.model_validate_json, lines)}
