"""A run with an agent of the user's own: recorded and replayed where it takes our model, gone on with after a pause, judged again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import talm_sim
from talm_sim.errors import PrerequisiteError
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
    assert recorded.answer == 'It says {"latitude": 41}' and recorded.usage.input_tokens == 14
    timeless = {"started_at", "elapsed_s", "events"}
    assert replayed.model_dump(exclude=timeless) == recorded.model_dump(exclude=timeless)
    assert [event.model_dump(exclude={"elapsed_ms"}) for event in replayed.events] == [
        event.model_dump(exclude={"elapsed_ms"}) for event in recorded.events
    ]
    with pytest.raises(PrerequisiteError, match="was not recorded"):
        talm_sim.run(**{**world, "agent": None}, models="replay")


@pytest.mark.parametrize(("agent", "said"), [(5, "^agent: python:int: is of type int"), ("my_agents", "^agent: my_agents: write MODULE")])
def test_what_is_no_agent_is_named_as_it_was_given(tmp_path: Path, agent: Any, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        talm_sim.run(agent=agent, run_dir=tmp_path)
