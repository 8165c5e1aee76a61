"""A compiled graph brings its own tools: what it cannot be offered, and what cannot be taken from it, is said, left out or refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from rich.console import Console

from talm_sim import run
from talm_sim.cli.report.blocks import block_of
from talm_sim.cli.report.transcript import stored_transcript
from talm_sim.errors import PrerequisiteError
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.groups import QUICK, SPLITS


@tool
def find_holiday(country_code: str, year: int, name: str) -> str:
    """Find."""
    return ""


async def think(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Which one?" if len(state["messages"]) == 1 else "Thanks.")]}


def build(tools: Any = None) -> Any:
    graph = StateGraph(MessagesState).add_node("think", think).add_node("tools", ToolNode([find_holiday]))
    return graph.add_edge(START, "think").compile()


graph = build()


def play(agent: Any, place: Path, **options: Any) -> StoredRun:
    return run(agent=agent, run_dir=place, progress=False, **options)


def test_of_all_what_it_would_not_miss_is_left_out_counted_and_said(tmp_path: Path) -> None:
    stored = play(graph, tmp_path, category="calendar")
    ids = {scenario.id for scenario in stored.scenarios()}
    everything = {scenario.id: scenario for scenario in play(build, tmp_path, category="calendar").scenarios()}
    gone = {name: one for name, one in everything.items() if name not in ids}
    assert gone and all(not one.tools or [gone.name for gone in one.missing] == ["find_holiday"] for one in gone.values())
    assert any(not one.tools for one in gone.values()) and any(one.missing for one in gone.values())
    assert any(one.missing and one.missing[0].kind == "tool" for name, one in everything.items() if name in ids)
    assert "that take away a tool" in stored.manifest.notes["left out"]
    assert "ask_human not offered" not in stored.manifest.notes  # nobody is asked


def test_the_number_left_out_is_of_the_run(tmp_path: Path) -> None:
    every = [one for one in find_task("talm").read(SPLITS["all"]) if one.base in QUICK]
    groups = {one.group for one in every}
    gone = sum(not one.tools or [gone.name for gone in one.missing] == ["find_holiday"] for one in every)
    stored = play(graph, tmp_path, limit="2")
    assert stored.manifest.notes["left out"].startswith(f"{gone} scenarios that take away a tool which")
    assert stored.total == 2 * len(groups) - 2  # no-tools has none left
    assert "left out" not in play(graph, tmp_path, split="perfect", limit="1").manifest.notes


@pytest.mark.parametrize(
    "options",
    [
        {"split": "replaceable"},
        {"split": "no-tools"},
        {"scenario": "calendar-01.replaceable"},
        {"split": "perfect", "perturb": "mask"},
        {"split": "perfect", "perturb": "mask:tool=find_holiday"},
    ],
    ids=str,
)
def test_what_is_asked_for_is_refused_with_the_way_out(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match=r"takes find_holiday away.*still sees it; hand over a function \(tools\) -> graph"):
        play(graph, tmp_path, **options)


def test_table_and_transcript_say_that_it_was_not_offered_ask_human(tmp_path: Path) -> None:
    stored = play(graph, tmp_path, scenario="calendar-01.underspecified", human="simulated")
    (episode,) = stored.episodes()
    assert episode.human_events[0].by == "words"
    assert "ask_human not offered: compiled graph" in block_of(stored).notes
    page = io.StringIO()
    Console(file=page, width=100).print(stored_transcript(stored, episode))
    assert "\nask_human not offered: compiled graph\n" in page.getvalue()
