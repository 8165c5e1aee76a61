"""The packaged counts of the controls are those of played runs, and stand beside runs that they are a scale for, and no others."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.tasks.control_outcomes import controls_of
from tests.tasks.views import job

PACKAGED = json.loads((files("talm_sim.tasks") / "control_outcomes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("task", "model", "split", "more"),
    [
        ("talm", "sim/eager", "underspecified", {}),
        ("talm", "sim/asker", "unavailable", {"human": "simulated"}),
        ("when2call", "sim/eager", "all", {}),
        ("awareness", "sim/cautious", "all", {}),
        ("refusal", "sim/eager", "all", {}),
    ],
)
def test_it_is_what_the_control_comes_to(task: str, model: str, split: str, more: dict[str, Any], tmp_path: Path) -> None:
    stored = talm_sim.run(task=task, model=model, split=split, run_dir=tmp_path, progress=False, **more)
    name = f"{model} with a person" if more else model
    played = {one.group: {each.name: each.k for each in one.measures_in("outcome") if each.k} for one in stored.summary() if not one.derived}
    assert played == {group: PACKAGED[task][group][name] for group in played}


def test_two_controls_are_named_for_a_run_of_the_packaged_scenarios() -> None:
    def named(task: str = "talm", group: str = "underspecified", **options: Any) -> list[tuple[str, str]]:
        return [(kind, name) for kind, name, _ in controls_of(job(task, **options), group)]

    eager = ("careless", "sim/eager")
    assert named() == named(human="simulated") == [("careful", "sim/asker"), eager], "the recording has a person"
    assert named(human="none") == [("careful", "sim/cautious"), eager]
    assert named(group="perfect") == [("careful", "sim/oracle")], "where nothing is missing, careless is no worse"
    assert named("awareness", "all") == [("careful", "sim/oracle"), eager]
    for own in ({"model": "sim/oracle"}, {"perturb": ("http-500",)}, {"stop_after": "awareness"}, {"scenarios": Path("own.jsonl")}):
        assert named(**own) == [], own
    assert named(group="own") == []
