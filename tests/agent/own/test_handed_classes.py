"""A handed tool of a class of its own shows the arguments that it shows alone, and keeps those that not the model gives."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, InjectedToolArg, tool
from langchain_core.utils.function_calling import convert_to_openai_tool

import talm_sim
from talm_sim.agent.own.talk import NotAnAgentError, _read_context
from talm_sim.types import Scenario, Turn


class Price(BaseTool):
    """Without `args_schema`."""

    name: str = "price"
    description: str = "Price of an item."

    def _run(self, item: str, pieces: int = 1) -> str:
        return f"{item} {pieces}"


@tool("price")
def limited(item: str, most: Annotated[int, InjectedToolArg] = 5) -> str:
    """Price of an item."""
    return f"{item} {most}"


@pytest.mark.parametrize("own", [Price(), limited])
def test_it_shows_and_returns_what_it_does_alone(tmp_path: Path, own: BaseTool) -> None:
    call = {"name": "price", "args": {"item": "tea"}, "id": "c", "type": "tool_call"}
    found: list[Any] = []

    async def agent(messages: list[Any], tools: list[Any]) -> Any:
        found.extend([convert_to_openai_tool(tools[0]), await tools[0].ainvoke(call), await tools[0].ainvoke({"item": "tea"})])
        return AIMessage("done")

    file = tmp_path / "scenarios.jsonl"
    turn = Turn(messages=({"role": "user", "content": "Go."},))
    file.write_text(Scenario(id="s", group="perfect", turns=(turn,), tools=("price",)).model_dump_json() + "\n", encoding="utf-8")
    talm_sim.run(agent=agent, tools_from=[own], scenarios=file, run_dir=tmp_path / "runs", progress=False)
    assert found == [convert_to_openai_tool(own), own.invoke(call), own.invoke({"item": "tea"})]


class _Context(TypedDict, total=False):
    tags: list[str]
    most: int


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"tags": '["p","q"]', "most": "3"}, {"tags": ["p", "q"], "most": 3}),
        ({"nope": "1"}, "--agent-context nope: the context_schema of g has tags, most."),
        ({"tags": "p"}, "--agent-context: tags: Input should be a valid list (the context_schema of g); write K=V."),
    ],
)
def test_a_context_is_typed_and_an_unknown_name_is_refused(given: dict[str, str], found: Any) -> None:
    graph = SimpleNamespace(context_schema=_Context)
    if isinstance(found, dict):
        assert _read_context("g", graph, given) == found
    else:
        with pytest.raises(NotAnAgentError, match=f"^{re.escape(found)}$"):
            _read_context("g", graph, given)
