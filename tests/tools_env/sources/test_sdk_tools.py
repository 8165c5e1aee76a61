"""Tools and agents of other SDKs: the tools are called, the agents get a line that says how to wrap them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from talm_sim import tool_factory
from talm_sim.agent.own.agents import hand_over
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources.python import PythonSource

agents: Any = pytest.importorskip("agents", reason="openai-agents is not installed; scripts/extras.sh installs it")


def _find(name: str) -> dict[str, str]:
    """Find a customer.

    Args:
        name: Full name.
    """
    if name != "Ann":
        raise LookupError(f"no customer {name}")
    return {"phone": "555"}


async def _price(ctx: Any, code: str, count: int) -> str:
    return f"{len(code) * count} for {ctx.context.upper()}"


_price.__annotations__["ctx"] = agents.RunContextWrapper


def made() -> list[Any]:
    worded = agents.function_tool(_find, name_override="find_or_say", failure_error_function=lambda ctx, err: f"Sorry: {err}")
    find = agents.function_tool(_find, name_override="find")
    find.read_only = True
    price, priced = (agents.function_tool(_price, name_override=name, description_override="Price of a part.") for name in ("price", "priced"))
    priced.context = "Ann"
    return [find, worded, price, priced]


@pytest.mark.parametrize("per_episode", [False, True])
async def test_they_are_called_as_other_python_tools(per_episode: bool) -> None:
    source = await PythonSource("x", [tool_factory(made)] if per_episode else made()).look()
    spec = source.specs["find"]
    assert (spec.description, spec.parameters["properties"]["name"]["description"]) == ("Find a customer.", "Full name.")
    assert source.routes["find"].state != source.routes["price"].state if per_episode else source.reading == {"find"}
    caller = source.begin({}) if per_episode else None

    async def call(tool: str, **arguments: Any) -> tuple[int, Any]:
        response = await (caller.call(tool, arguments) if caller else source.call(tool, arguments, ""))
        return response.status, json.loads(response.body)

    assert await call("find", name="Ann") == (200, {"phone": "555"})
    assert await call("find", name="Bob") == (500, {"detail": "LookupError: no customer Bob"})
    assert await call("find_or_say", name="Bob") == (200, "Sorry: no customer Bob")
    status, told = await call("price", code="BR-22", count=2)
    assert status == 500 and told["detail"].endswith("attribute 'upper' (its context is None: give it one, as in tool.context = Desk())")
    assert await call("priced", code="BR-22", count=2) == (200, "10 for ANN")


@pytest.mark.parametrize(("module", "recipe"), [("agents", "openai_agents.py"), ("pydantic_ai", "pydantic_agent.py")])
def test_an_agent_object_gets_the_recipe(module: str, recipe: str) -> None:
    package: Any = pytest.importorskip(module, reason=f"{module} is not installed; scripts/extras.sh installs it")
    agent = package.Agent(name="desk") if module == "agents" else package.Agent("test")
    with pytest.raises(PrerequisiteError, match=rf"is of type Agent, .* wrap it as examples/agents/{recipe} does \(docs/agents\.md"):
        hand_over(agent)
