"""Agents of other frameworks, as examples/agents has them: each plays whole episodes against a model server that keeps its connections.

Those of frameworks that are in no default environment are tested in the one that scripts/extras.sh makes.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from talm_sim.foreign.loop import foreign_loop
from talm_sim.testing.lab import Lab
from talm_sim.testing.played_agent import Played
from tests.models.loopback import Answer, Loopback, chat_answer, loopback

EXAMPLES = Path(__file__).parent.parent / "examples" / "agents"
RECIPES = {"openai_loop": "openai", "openai_agents": "agents", "pydantic_agent": "pydantic_ai", "langchain_agent": "langchain_openai"}
"""Name of each file, to the module that it needs."""
SCENARIO = "calendar-01.underspecified"
HOLIDAY: dict[str, Any] = {"country_code": "VN", "year": 2025, "name": "Hung Kings' Commemoration Day"}
ANSWER = "The holiday is on 2025-04-07; she was born on 29 Ramadan 1414."


def calling(*calls: tuple[str, dict[str, Any]]) -> Answer:
    made = [
        {"id": f"call_{place}_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return chat_answer(None, finish="tool_calls", tool_calls=made)


KEPT: list[ModuleType] = []
"""Recipes: their clients keep connections on the loop of agents, which outlive a test, and must not be found unclosed by another."""
ASKS = calling(("ask_human", {"question": "What is the date of birth?"}))
CONVERTS = calling(("convert_to_hijri", {"date": "1994-03-11"}))
ACTS = calling(("convert_to_hijri", {"date": "1994-03-11"}), ("find_holiday", HOLIDAY))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with loopback(chat_answer("unasked")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none-needed")
        yield running


@pytest.fixture(params=RECIPES)
def recipe(request: pytest.FixtureRequest, server: Loopback) -> ModuleType:
    """A recipe as its file has it, whose clients are made for the server."""
    name = request.param
    if importlib.util.find_spec(RECIPES[name]) is None:
        pytest.skip(f"{RECIPES[name]} is not installed; scripts/extras.sh installs it")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    KEPT.append(found)
    return found


def played(recipe: ModuleType, lab: Lab, server: Loopback, *answers: Answer, **options: Any) -> Played:
    server.script[:] = answers
    agent = recipe.build if hasattr(recipe, "build") else recipe.act
    return lab.run(agent, scenario=SCENARIO, **options)


def test_it_plays_every_run_of_a_process(recipe: ModuleType, server: Loopback, tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    good = played(recipe, lab, server, ASKS, ACTS, chat_answer(ANSWER))
    good.asked_before_acting()
    good.called("find_holiday", "exact", **HOLIDAY)
    good.passed()
    first = server.seen[0]
    assert first.headers["authorization"] == "Bearer sk-none-needed" and len(server.seen) == 3
    offered = {one["function"]["name"]: one["function"]["parameters"] for one in first.body["tools"]}
    specs = good.stored.tools()
    assert offered.keys() == {"find_holiday", "convert_to_hijri", "ask_human"}
    for name, spec in specs.items():
        assert offered[name]["properties"].keys() == spec.parameters["properties"].keys()
        assert set(offered[name]["required"]) == set(spec.parameters["required"])  # and what is optional stays so
    said, *results = [one["content"] for one in server.seen[2].body["messages"] if one["role"] == "tool"]
    assert said == "She was born on 1994-03-11." and [json.loads(one)["year"] for one in results] == [1414, 2025]
    told = played(recipe, lab, server, ASKS, CONVERTS, chat_answer("I could not look it up."), perturb="http-500")
    if recipe.__name__ == "langchain_agent":  # without a middleware for errors, its graph raises what a tool raises
        assert told.episodes[0].termination == "agent_error" and told.episodes[0].error.startswith("injected fault http-500: ToolStatusError: ")
        return
    told.told_the_user_it_failed()
    read = server.seen[-1].body["messages"][-1]["content"]
    # The OpenAI Agents SDK has words of its own for what a tool raises, with the error in some versions alone.
    assert "HTTP 500: Internal Server Error." in read or (recipe.__name__ == "openai_agents" and "An error occurred" in read)


def test_what_a_model_makes_up_is_told_to_it(recipe: ModuleType, server: Loopback, tmp_path: Path) -> None:
    made_up = calling(("to_hijri", {"date": "1994-03-11"}))
    done = played(recipe, Lab(tmp_path), server, made_up, ASKS, ACTS, chat_answer(ANSWER))
    if recipe.__name__ == "openai_agents":  # its library raises
        assert done.episodes[0].termination == "agent_error" and "to_hijri" in done.episodes[0].error
        return
    done.passed()


TALK: list[AnyMessage] = [
    SystemMessage("Be short."),
    HumanMessage("When is it?"),
    AIMessage("", tool_calls=[{"name": "look_up", "args": {"day": "feast"}, "id": "t1", "type": "tool_call"}]),
    ToolMessage("7 April", tool_call_id="t1", name="look_up"),
    AIMessage("In which year?"),
    HumanMessage("In 2025."),
]


def test_it_goes_on_with_the_conversation_it_is_handed(recipe: ModuleType, server: Loopback) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
    tools: list[BaseTool] = [StructuredTool.from_function(str, name="look_up", description="Look a day up.", args_schema=schema)]

    async def answer() -> Any:
        if hasattr(recipe, "build"):
            return await recipe.build(tools).ainvoke({"messages": TALK})
        return await recipe.act(messages=TALK, tools=tools)

    server.script[:] = [chat_answer("Monday.")]
    said = asyncio.run_coroutine_threadsafe(answer(), foreign_loop()).result(60)
    assert "Monday." in str(said)
    sent = server.seen[0].body["messages"]
    own = int(recipe.__name__ == "langchain_agent")  # it has a system prompt
    assert [one["role"] for one in sent[own:]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    texts = [one.get("content") or "" for one in sent[own:]]
    assert [text for text in texts if text] == ["Be short.", "When is it?", "7 April", "In which year?", "In 2025."]
    (call,) = sent[own + 2]["tool_calls"]
    assert call["function"]["name"] == "look_up" and json.loads(call["function"]["arguments"]) == {"day": "feast"}
    assert call["id"] == sent[own + 3]["tool_call_id"]


def test_each_recipe_is_listed_where_agents_are_described() -> None:
    page = (Path(__file__).parent.parent / "docs" / "agents.md").read_text(encoding="utf-8")
    assert all(f"../examples/agents/{name}.py" in page for name in RECIPES)
