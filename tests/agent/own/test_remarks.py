"""What a reader should know of an own agent is counted in its episodes, said below the table, and fails gates where no fault could reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

import talm_sim
from talm_sim.cli.report.blocks import block_of
from talm_sim.comparison.gate_set import check_gates
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import GoldCall, Scenario, Turn


@tool
def price(item: str) -> str:
    """Price of an item."""
    return "x" * 30


@tool("stock-of")
def stock(item: str) -> str:
    """Stock of an item."""
    return "12"


def _graph() -> Any:
    def act(state: MessagesState) -> dict[str, Any]:
        if isinstance(state["messages"][-1], AIMessage) or len(state["messages"]) > 1:
            return {"messages": [AIMessage("done")]}
        calls = [{"name": name, "args": {"item": "tea"}, "id": name, "type": "tool_call"} for name in ("price", "stock-of")]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    graph = StateGraph(MessagesState)
    graph.add_node("act", act)
    graph.add_node("tools", ToolNode([price, stock]))
    graph.add_edge(START, "act")
    graph.add_conditional_edges("act", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "act")
    return graph.compile()


def _play(directory: Path, agent: Any, *tools: Any, names: tuple[str, ...], **options: Any) -> StoredRun:
    turn = Turn(
        messages=({"role": "user", "content": "Go."},), gold_calls=tuple(GoldCall(name=name, arguments={"item": "tea"}) for name in names)
    )
    file = directory / "scenarios.jsonl"
    file.write_text(Scenario(id="s", group="perfect", turns=(turn,), tools=names).model_dump_json() + "\n", encoding="utf-8")
    return talm_sim.run(agent=agent, tools_from=[*tools], scenarios=file, run_dir=directory / "runs", progress=False, **options)


def test_a_tool_that_runs_past_the_environment_is_named_and_fails_gates(tmp_path: Path) -> None:
    run = _play(tmp_path, _graph(), price, names=("price",))
    (episode,) = run.episodes()
    assert episode.remarks == {"past stock-of": 1} and [event.name for event in episode.tool_events] == ["price"]
    assert any("stock-of" in note and "live, unrecorded, without faults" in note for note in block_of(run).notes)
    failed = [gate.name for gate in check_gates(run, ["ran_out<=1"]) if not gate.passed]
    assert failed == ["tools_past<=0"]


def test_a_tool_that_a_node_calls_itself_is_named_and_one_around_the_handed_one_is_not(tmp_path: Path) -> None:
    async def past(tools: list[Any]) -> Any:
        return _acting(price)

    async def around(tools: list[Any]) -> Any:
        @tool("price")
        async def own(item: str) -> str:
            """Price, with our sign."""
            return f"{await tools[0].ainvoke({'item': item})} EUR"

        return _acting(own)

    remarks = [next(iter(_play(tmp_path, one, price, names=("price",)).episodes())).remarks for one in (past, around)]
    assert remarks == [{"past price": 1}, {}]


def _acting(one: Any) -> Any:
    async def act(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(await one.ainvoke({"item": "tea"}))]}

    return StateGraph(MessagesState).add_node("act", act).add_edge(START, "act").compile()


def late(item: str) -> str:
    """Raise an error of its own."""
    raise TimeoutError("slow")


def lacking(item: str) -> str:
    """Raise an error with its key."""
    raise KeyError("k")


def several(item: str) -> str:
    """Raise a group."""
    raise ExceptionGroup("all", [ValueError("a")])


def test_a_tools_own_error_is_itself_and_comes_again_from_a_recording(tmp_path: Path) -> None:
    said: list[list[str]] = []

    def agent(messages: list[Any], tools: list[Any]) -> str:
        said.append([])
        for one in tools:
            with pytest.raises((TimeoutError, KeyError, ExceptionGroup, RuntimeError)) as err:
                one.invoke({"item": "tea"})
            said[-1].append(f"{type(err.value).__name__} {err.value}")
        return "done"

    for way in ("record", "replay"):
        _play(tmp_path, agent, late, lacking, several, names=("late", "lacking", "several"), tools=way, cassettes=tmp_path / "recorded")
    live, again = said
    assert live == ["TimeoutError slow", "KeyError 'k'", "ExceptionGroup all (1 sub-exception)"]
    assert again == [*live[:2], "RuntimeError ExceptionGroup: all (1 sub-exception)"]


def test_names_match_whatever_their_punctuation_and_cuts_are_counted(tmp_path: Path) -> None:
    run = _play(tmp_path, _graph(), price, stock, names=("price", "stock_of"), result_limit=10)
    (episode,) = run.episodes()
    assert [event.name for event in episode.tool_events] == ["price", "stock-of"] and episode.remarks == {"cut": 1}
    assert [call.name for call in next(iter(run.scenarios())).gold_calls] == ["price", "stock-of"]
    assert "1 result of tools cut to 10 characters; --result-limit N reads more" in block_of(run).notes


@pytest.mark.parametrize(
    ("last", "answer", "remarks"),
    [
        (AIMessage(""), "", {"empty: its last message is empty": 1}),
        (AIMessage([{"type": "thinking", "thinking": "So.", "signature": "s"}]), "", {"empty: its last message has no text": 1}),
        (AIMessage("", tool_calls=[{"name": "price", "args": {}, "id": "c"}]), "", {"empty: its last message only calls a tool": 1}),
        ({"messages": [AIMessage("")], "structured_response": {"price": 12}}, '{"price":12}', {}),
        (AIMessage("12"), "12", {}),
    ],
)
def test_an_empty_answer_is_counted_with_its_reason(tmp_path: Path, last: Any, answer: str, remarks: dict[str, int]) -> None:
    def agent(messages: list[Any], tools: list[Any]) -> Any:
        return last

    run = _play(tmp_path, agent, price, names=("price",))
    (episode,) = run.episodes()
    assert (episode.answer, episode.remarks) == (answer, remarks)
    said = [note for note in block_of(run).notes if "empty answer" in note]
    assert said == [f"1 empty answer of the agent: {what.removeprefix('empty: ')}" for what in remarks]
