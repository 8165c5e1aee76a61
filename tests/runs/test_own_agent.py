"""A run with an agent of the user's own: recorded and replayed where it takes our model, gone on with after a pause, judged again."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.events import RunStarted
from tests.recordings.model_server import ModelServer, model_server
from tests.runs.recorded_world import make_world

MODEL = "openai-api/stand/small"


def build(tools: Sequence[BaseTool], model: Any) -> Any:
    bound = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


def answer(server: ModelServer, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Call the tool for Rome, then say what it said."""
    server.asked.append(path)
    last = body["messages"][-1]
    message: dict[str, Any] = {"role": "assistant", "content": f"It says {last['content']}"}
    if last["role"] == "user":
        call = {"id": "c1", "type": "function", "function": {"name": "town_latitude", "arguments": '{"town": "rome"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice], "usage": usage}
    return 200, {"content-type": "application/json"}, json.dumps(reply).encode()


def test_what_an_agent_asks_of_our_model_is_recorded_and_replayed_with_the_server_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = {**make_world(tmp_path), "model": MODEL, "scenario": "towns-rome", "agent": build, "tools": "replay"}
    monkeypatch.setenv("STAND_API_KEY", "sk-stand-0123456789abcdef")
    with model_server() as server:
        monkeypatch.setattr(ModelServer, "reply", answer)
        monkeypatch.setenv("STAND_BASE_URL", f"{server.url}/v1")
        (recorded,) = talm_sim.run(**world, models="record").episodes()
    (replayed,) = talm_sim.run(**world, models="replay").episodes()
    assert recorded.answer == 'It says {"latitude":41}' and recorded.usage.input_tokens == 14
    timeless = {"started_at", "elapsed_s", "events"}
    assert replayed.model_dump(exclude=timeless) == recorded.model_dump(exclude=timeless)
    assert [event.model_dump(exclude={"elapsed_ms"}) for event in replayed.events] == [
        event.model_dump(exclude={"elapsed_ms"}) for event in recorded.events
    ]
    with pytest.raises(PrerequisiteError, match="was not recorded"):
        talm_sim.run(**{**world, "agent": None}, models="replay")


def test_a_person_is_waited_for_and_an_agent_starts_again_in_another_process(tmp_path: Path) -> None:
    begun = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        begun.append(1)
        by_name = {tool.name: tool for tool in tools}
        town = await by_name["ask_human"].ainvoke({"question": "Which town?"})
        return f"{town}: {await by_name['town_latitude'].ainvoke({'town': town})}"

    told: list[str] = []

    def hear(event: Any) -> None:
        if isinstance(event, RunStarted):
            told.extend(event.notices)

    world = {**make_world(tmp_path), "scenario": "towns-rome", "agent": act, "tools": "replay", "human": "terminal"}
    del world["model"]
    stored = talm_sim.run(**world, on_event=hear)
    assert stored.waiting == 1 and begun == [1]
    assert any("starts again on resume" in line for line in told) and any("only its tools are replayed" in line for line in told)
    from talm_sim.runs.desk import answer as say

    (first,) = stored.pending()
    (question,) = talm_sim.resume(stored, agent=act).pending()
    assert (question.attempt, question.asked_at) == (2, first.asked_at)  # the person has waited since then
    say(stored.path, question.key, "rome")
    answered = time.time()
    time.sleep(0.05)
    done = talm_sim.resume(stored, agent=act)
    (episode,) = done.episodes()
    assert episode.answer == 'rome: {"latitude":41}' and episode.attempt == 3 and begun == [1, 1, 1]
    (event,) = episode.human_events
    assert event.answer == "rome" and event.asked_at == first.asked_at < event.answered_at <= answered


@pytest.mark.parametrize(("agent", "said"), [(5, "^agent: python:int: is of type int"), ("my_agents", "^agent: my_agents: write MODULE")])
def test_what_is_no_agent_is_named_as_it_was_given(tmp_path: Path, agent: Any, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        talm_sim.run(agent=agent, run_dir=tmp_path)


def test_two_epochs_two_agents_of_one_name_and_a_judge_again(tmp_path: Path) -> None:
    def agent(said: str) -> Any:
        def act(messages: Any, tools: Any) -> str:
            return said

        return act

    world = {**make_world(tmp_path), "scenario": "towns-rome", "tools": "replay", "epochs": 2}
    del world["model"]
    first = talm_sim.run(**world, agent=agent("41"))
    second = talm_sim.run(**world, agent=agent("12"))
    assert [{episode.answer for episode in stored.episodes()} for stored in (first, second)] == [{"41"}, {"12"}]
    assert [row.values["pass_rate"] for row in talm_sim.judge(first).rows()] == [False, False]  # the gold call is missing
