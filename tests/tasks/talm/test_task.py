"""What task `talm` says of itself: its judges, its pairs, its automatic values, what it reads, what a table says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.judges.registry import in_order
from talm_sim.tasks import Recorded, find_task
from talm_sim.tasks.keys import recording_key
from talm_sim.types import Episode, Scenario, Source, Termination, ToolSpec, Turn
from tests.tables import labelled
from tests.tasks.views import View, job

MODEL = "openai/gpt-4o"
TASK = find_task("talm")
SCENARIO = Scenario(id="s-1.no-tools", group="no-tools", turns=(Turn(messages=({"role": "user", "content": "?"},)),), source=Source(base="s-1"))


def episode(answer: str, group: str = "perfect", epoch: int = 1, end: Termination = Termination.ANSWERED) -> Episode:
    scenario = "s-1" if group == "perfect" else "s-1.no-tools"
    return Episode(id=f"{scenario}@{epoch}", scenario_id=scenario, group=group, epoch=epoch, model="m/m", answer=answer, termination=end)


@labelled
def test_the_default_judges_are_those_the_table_needs(options: dict[str, Any], judges: tuple[str, ...]) -> None:
    made = job("talm", **options)
    assert made.task.judges(made) == in_order(judges) == tuple(judges)


def test_the_pair_is_finished_of_the_same_epoch_and_of_the_run_that_is_named() -> None:
    pair = TASK.pair(View(job("talm"), [episode("second", epoch=2), episode("first"), episode("no", "no-tools")]))
    found = [pair(episode("?", "no-tools", epoch), SCENARIO) for epoch in (1, 2, 3)]
    assert [one.answer for one in found if one] == ["first", "second", "first"]
    broken = [episode("lost", end=Termination.REPLAY_MISS), episode("found", epoch=2)]
    here = View(job("talm"), broken)
    assert [one and one.answer for one in (here.job.task.pair(here)(episode("?", "no-tools"), SCENARIO),)] == ["found"]
    there = View(job("talm"), [episode("here")], paired=View(job("talm"), [episode("there")]))
    paired = TASK.pair(there)(episode("?", "no-tools"), SCENARIO)
    assert paired is not None and paired.answer == "there"
    assert TASK.pair(View(job("talm")))(episode("?", "no-tools"), SCENARIO) is None


class Library:
    def has_tools(self, groups: Iterable[str]) -> bool:
        return set(groups) <= {"perfect"}

    def has_model(self, model: str, groups: Iterable[str]) -> bool:
        return False

    def has_conversation(self, *which: object) -> bool:
        return False

    def settings(self, model: str) -> dict[str, Any]:
        return {}

    def tool_specs(self) -> dict[str, ToolSpec]:
        return {}


@labelled
def test_automatic_values(options: dict[str, Any], groups: tuple[str, ...], tools: Traffic, human: str) -> None:
    made = TASK.settle(job("talm", **options), Recorded(Library(), dict.fromkeys(groups, "one"), True, frozenset({"no-tools"})))  # type: ignore[arg-type]
    assert (made.config.tools, made.options.human) == (tools, human)
    assert made.config.options == made.options.model_dump(mode="json"), "what is stored says every option's value"


@labelled
def test_the_name_of_a_recording_stays(options: dict[str, Any], key: str) -> None:
    """Shipped recordings, and those of users, are found by it."""
    assert recording_key(job("talm", **{"model": MODEL, "temperature": 0.0, "seed": 1, "human": "none", "finish": "text", **options})) == key


def _file(directory: Path, *scenarios: Scenario | dict[str, Any]) -> Path:
    file = directory / "mine.jsonl"
    file.write_text("\n".join(one.model_dump_json() if isinstance(one, Scenario) else json.dumps(one) for one in scenarios))
    return file


def test_a_target_of_a_kind_it_cannot_judge_is_refused_with_its_line(tmp_path: Path) -> None:
    line = SCENARIO.model_dump(mode="json")
    for kind, message in (("fact", "'fact'"), ("yes-no", "'yes-no'")):
        with pytest.raises(PrerequisiteError, match=rf"mine\.jsonl:2: target: is of type {message}; task talm reads facts"):
            TASK.read(["no-tools"], _file(tmp_path, SCENARIO, {**line, "id": "b", "target": {"type": kind}}))
    with pytest.raises(PrerequisiteError, match=r"mine\.jsonl:1: target\.facts\.required: is missing"):
        TASK.read(["no-tools"], _file(tmp_path, {**line, "target": {"type": "facts"}}))


def test_a_control_asks_the_simulated_person_where_there_is_somebody_to_ask() -> None:
    assert [TASK.for_control(job("talm", human=human)).options.human for human in ("none", "terminal")] == ["none", "simulated"]
