"""A source's schema holds up no episode: its checks are over soon, and what they cannot say is nobody's mistake."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import pytest

from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.health import health_of
from talm_sim.tools_env.routes import answer, posted
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.toolbox import Tools
from talm_sim.tools_env.trial_arguments import example_arguments
from talm_sim.tools_env.trials import try_tools
from talm_sim.types import Scenario, ToolCall, ToolSpec, Turn
from tests.schemas.hostile import HOSTILE, nested

SOME = ("pattern that goes back", "uniqueItems of objects", "doublings of anyOf", "contains", "anchors in a large schema")


class Source:
    """One tool, which gives back a value."""

    name = "s"
    reading = frozenset({"t"})
    not_taken: tuple[NotTaken, ...] = ()

    def __init__(self, parameters: Mapping[str, Any], gives: Any = 1, response: Any = None) -> None:
        self.specs = {"t": ToolSpec(name="t", parameters={"type": "object", **parameters})}
        self.routes = posted("s", self.specs)
        self.responses = {"t": response or {}}
        self.gives = gives

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        return answer(self.gives)

    async def aclose(self) -> None:
        """Hold nothing."""


def of_argument(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's parameters, of which one argument has the schema."""
    return {"properties": {"v": {key: value for key, value in schema.items() if key != "$defs"}}, "$defs": schema.get("$defs", {})}


async def longest_wait(work: asyncio.Future[Any]) -> float:
    """How long the loop did not turn while something was done."""
    longest, last = 0.0, time.thread_time()
    while not work.done():
        await asyncio.sleep(0)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    return longest


@pytest.mark.parametrize("name", SOME)
async def test_other_episodes_go_on(name: str) -> None:
    schema, value = HOSTILE[name]
    environment = Environment(Tools([Source(of_argument(schema))]))
    scenario = Scenario(id="a", group="perfect", turns=(Turn(messages=({"role": "user", "content": "Go."},)),), tools=("t",))
    call = asyncio.ensure_future(environment.open(scenario).call(ToolCall(id="1", name="t", arguments={"v": value}), 0))
    assert await longest_wait(call) < 3
    assert call.result().error in {"", "invalid_arguments"}


@pytest.mark.parametrize("name", SOME)
async def test_answers_are_compared_in_time(name: str) -> None:
    schema, value = HOSTILE[name]
    tools = Tools([Source({}, value, schema)])
    trials = await try_tools(tools, times=5)
    began = time.thread_time()
    assert health_of(trials[0], tools.response_schema("t")).matches in {True, False, None}
    assert time.thread_time() - began < 3


async def test_what_cannot_be_checked_is_called_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    tools = Tools([Source({"properties": {"v": {"type": "string", "pattern": "^(?=said once)a"}}})])
    scenario = Scenario(id="a", group="perfect", turns=(Turn(messages=({"role": "user", "content": "Go."},)),), tools=("t",))
    opened = Environment(tools).open(scenario)
    events = [await opened.call(ToolCall(id="1", name="t", arguments={"v": value}), 0) for value in ("x", "y", 5)]
    assert [event.error for event in events] == ["", "", "invalid_arguments"]
    said = "an engine that takes linear time does not know it"
    assert [one.message for one in caplog.records] == [f"tool t: arguments were only partly checked against its schema: {said}"]


def test_a_message_has_an_end() -> None:
    source = Source({"properties": {"v": {"enum": [str(n) for n in range(20_000)]}}})
    scenario = Scenario(id="a", group="perfect", turns=(Turn(messages=({"role": "user", "content": "Go."},)),), tools=("t",))
    event = asyncio.run(Environment(Tools([source])).open(scenario).call(ToolCall(id="1", name="t", arguments={"v": "x"}), 0))
    assert event.error == "invalid_arguments" and len(event.result) < 9_000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 10**12},
        {"type": "array", "minItems": 10**12},
        {"type": "array", "minItems": 500, "items": {"type": "array", "minItems": 500, "items": {"type": "array", "minItems": 500}}},
        {"type": "string", "pattern": "^(a+)+$", "not": {"enum": ["A", "a"]}, "minLength": 30},
        {"anyOf": [{"anyOf": [{"anyOf": [{"type": "string", "pattern": "^(x+)+y$"}] * 20}] * 20}] * 20},
        {"type": "number", "minimum": 10**400, "multipleOf": 0.1},
        {"type": "integer", "minimum": 5.0, "maximum": 1e308, "multipleOf": 1e-300},
        {"type": "string", "minLength": 3.0, "maxLength": 4.0},
        {"type": "array", "items": True, "minItems": 2.0},
        {"anyOf": [True, False]},
        nested(60, {"type": "object"}) | {"type": "object", "required": ["x"], "properties": {"x": True}},
    ],
)
def test_example_arguments_are_made_in_time(schema: dict[str, Any]) -> None:
    began = time.thread_time()
    example_arguments(ToolSpec(name="t", parameters={"type": "object", "properties": {"v": schema}, "required": ["v"]}))
    assert time.thread_time() - began < 3


def test_example_arguments_that_would_take_too_long_are_missing() -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": "array", "minItems": 10**12}}
    made = example_arguments(ToolSpec(name="t", parameters={"type": "object", "properties": properties, "required": ["a", "b"]}))
    assert "b" not in made.arguments
    json.dumps(made.arguments)
