"""Tools in this process, for tests of many episodes: three that look up the stock of a shop, and one that changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.routes import answer, posted
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import JsonObject, Scenario, ToolCall, ToolEvent, ToolSpec, Turn

TOOLS = ("stock", "price", "supplier")
ORDER = "order"
_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "size": {"type": "integer", "default": 1}},
    "required": ["item"],
    "additionalProperties": False,
}


class Stock:
    """The source."""

    name = "shop"
    reading = TOOLS
    not_taken: Sequence[NotTaken] = ()
    responses: Mapping[str, JsonObject] = {}

    def __init__(self) -> None:
        self.specs = {
            name: ToolSpec(name=name, category="shop", description=f"Look at {name}.", parameters=_PARAMETERS) for name in (*TOOLS, ORDER)
        }
        self.routes = posted(self.name, self.specs)
        self.ordered = 0

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Look it up."""
        self.ordered += tool == ORDER
        return answer({"item": arguments["item"], tool: {"pieces": len(str(arguments["item"])) * 7, "open": True}, "notes": ["new", "blue"]})

    async def aclose(self) -> None:
        """Hold nothing."""


def scenario(id: str = "s", tools: Sequence[str] = (*TOOLS, ORDER)) -> Scenario:
    """Return a scenario that offers the tools."""
    return Scenario(id=id, group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=tuple(tools))


async def play(
    perturb: Sequence[str],
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    id: str = "s",
    seed: int = 0,
    epoch: int = 1,
    writing: bool = False,
) -> list[ToolEvent]:
    """Make calls one after the other in an episode, and return what came of them."""
    environment = Environment(Tools([Stock()]), perturb=tuple(perturb), seed=seed, clock=VirtualClock, writing=writing)
    opened = environment.open(scenario(id), epoch=epoch)
    return [
        await opened.call(ToolCall(id=str(turn), name=name, arguments=dict(arguments)), turn) for turn, (name, arguments) in enumerate(calls)
    ]
