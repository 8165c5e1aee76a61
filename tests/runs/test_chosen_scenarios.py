"""Which scenarios a run holds: several splits, named ids, categories of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.plan import plan
from talm_sim.runs.resolve import configure
from talm_sim.tasks import job_of
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types import Scenario


def chosen(**options: Any) -> list[Scenario]:
    return plan(configure(None, {"model": "sim/oracle", **options}), Shared())[1]


@pytest.mark.parametrize(
    "split",
    [
        "underspecified,perfect",
        " perfect , underspecified,perfect",
        "perfect underspecified",
        ["perfect", "underspecified"],
        ("underspecified", "perfect"),
    ],
)
def test_several_splits_are_one_text_and_their_groups_stand_in_the_order_of_all(split: Any) -> None:
    config = RunConfig(split=split)
    assert set(config.split.split(",")) == {"perfect", "underspecified"}
    assert job_of(config).groups == ("perfect", "underspecified")


def test_scenarios_are_named_by_their_whole_id() -> None:
    named = chosen(scenario=("calendar-01.underspecified", "calendar-02"))
    assert [scenario.id for scenario in named] == ["calendar-02", "calendar-01.underspecified"]
    with pytest.raises(PrerequisiteError, match=r"^--scenario: no scenario 'calendar-01' in split no-tools .*\. Did you mean '"):
        chosen(scenario=("calendar-01",), split="no-tools")


def test_a_category_is_that_of_the_tools_used_and_of_the_paired_query_without_tools() -> None:
    every = chosen()
    calendar = chosen(category=("calendar",))
    assert {scenario.group for scenario in calendar} == {scenario.group for scenario in every}
    assert {scenario.id.partition("-")[0] for scenario in calendar} == {"calendar"}
    two = chosen(category=("calendar", "weather"), split="no-tools,perfect", limit="3")
    assert [(scenario.group, scenario.id.partition("-")[0]) for scenario in two] == [("perfect", "calendar")] * 3 + [
        ("no-tools", "calendar")
    ] * 3
    with pytest.raises(PrerequisiteError, match=r"^category: no scenario of category 'wether' in split all .*\. Did you mean 'weather'\?$"):
        chosen(category=("wether",))
    with pytest.raises(PrerequisiteError, match=r"^category: no scenario of category 'weather' in split all .*\. Known: calendar\.$"):
        chosen(category=("weather",), scenario=("calendar-02",))


def test_any_task_chooses_by_id_and_says_that_it_has_no_categories(tmp_path: Path) -> None:
    one = chosen(task="when2call", split="direct,cannot_answer")[0]
    assert chosen(task="when2call", scenario=(one.id,)) == [one]
    with pytest.raises(PrerequisiteError, match="Task when2call has no tool categories"):
        chosen(task="when2call", category=("calendar",))


def test_what_is_chosen_does_not_name_a_recording() -> None:
    keys = {recording_key(job_of(RunConfig(**more))) for more in ({}, {"split": "perfect"}, {"scenario": ("a",)}, {"category": ("b",)})}
    assert len(keys) == 1
