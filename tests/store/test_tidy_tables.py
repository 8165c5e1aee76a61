"""The columns of an episode's flat row: what happened, and of tasks' own ones those of its task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.store.tidy_tables import episode_records
from talm_sim.tasks.registry import TASKS
from talm_sim.types import AwarenessAnswer, AwarenessKind, AwarenessValue, Behaviour, Episode, Termination
from tests.cli.choice_runs import choice_episode, choice_scenario
from tests.offered import bring_along
from tests.tasks.views import View, job

SHOPS = """
from talm_sim import AgentTask, AgentTaskOptions, register_task
from talm_sim.types import AwarenessKind


@register_task
class Shops(AgentTask[AgentTaskOptions]):
    name, splits, rows, summarize = "shops", {"all": ("open", "closed")}, None, None

    def questions(self, group):
        return (AwarenessKind.TOOL,) if group == "closed" else ()
"""
OF_A_TASK = {"awareness_information", "awareness_tool", "chosen", "chosen_per_byte"}


def own_columns(view: View, *, counted: bool = False) -> dict[str, Any]:
    """Columns of the one episode that only some tasks have."""
    (record,) = episode_records("r", view, view.rows() if counted else ())
    assert list(record)[:4] == ["run", "episode", "scenario", "group"]
    return {name: value for name, value in record.items() if name in OF_A_TASK}


def played(*said: AwarenessKind) -> Episode:
    answers = tuple(AwarenessAnswer(kind=kind, value=AwarenessValue.IDK) for kind in said)
    return Episode(id="a", scenario_id="a", group="g", model="m/m", awareness=answers, termination=Termination.ANSWERED)


def test_the_answers_to_awareness_questions_are_columns_where_the_task_asks_them() -> None:
    assert own_columns(View(job("talm"), [played(AwarenessKind.TOOL)])) == {"awareness_information": None, "awareness_tool": "idk"}
    assert own_columns(View(job("talm"), [played()])) == {"awareness_information": None, "awareness_tool": None}
    for task in ("when2call", "awareness", "refusal"):
        assert own_columns(View(job(task), [played()])) == {}


def test_the_option_that_is_chosen_is_a_column_of_its_task() -> None:
    items = [choice_scenario("a", Behaviour.DIRECT)]
    scored = View(job("when2call"), [choice_episode("a", Behaviour.TOOL_CALL)], items)
    assert own_columns(scored, counted=True) == {"chosen": "tool_call", "chosen_per_byte": "tool_call"}
    assert own_columns(View(job("when2call", mode="judge"), [choice_episode("a", None)], items), counted=True) == {}, "nothing was judged"


def test_a_strangers_task_has_columns_for_the_questions_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, SHOPS) as load:
        load()
        assert own_columns(View(job("shops"), [played(AwarenessKind.TOOL)])) == {"awareness_tool": "idk"}
