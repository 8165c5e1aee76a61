"""Show what the agent sees of a fault, by an example: two small tools, one call, with the fault and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.routes import answer, failure, posted
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import JsonObject, Scenario, ToolCall, ToolEvent, ToolSpec, Turn

_HEIGHTS = {"Elbrus": ("Russia", 5642), "Kazbek": ("Georgia", 5047), "Mont Aiguille": ("France", 2087), "Mont Blanc": ("France", 4806)}
_ASKED = {"name": "Mont Blanc", "unit": "ft", "year": 2023}
_HIGHER_BEFORE = {"Mont Blanc": 2}
"""Metres that a mountain was higher before 2023."""
_NAME: JsonObject = {"type": "string", "description": "Name of the mountain."}
_UNIT: JsonObject = {"type": "string", "enum": ["m", "ft"], "default": "m", "description": "Unit of the elevation."}
_YEAR: JsonObject = {"type": "integer", "minimum": 1900, "description": "Year of the survey."}
_ANSWER: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "country": {"type": "string"},
        "elevation": {"type": "integer", "description": "Elevation, in the unit."},
        "unit": {"type": "string"},
    },
}


@dataclass(frozen=True, slots=True)
class Sight:
    """The view that an agent has of an episode's tools.

    Attributes:
        seconds: How long it waits for the answer.
        fired: Hits of the perturbation, on the tools and on the call.
        applies: Whether the tools have what the perturbation damages.
    """

    tools: Sequence[ToolSpec]
    call: str
    result: str
    seconds: float
    fired: int
    applies: bool


@dataclass
class _Mountains:
    """A source of tools that know a few mountains; the last one is not offered."""

    name: str = "sample"
    reading: tuple[str, ...] = ("get_mountain", "list_mountains")
    responses: Mapping[str, JsonObject] = field(default_factory=lambda: {"get_mountain": _ANSWER})
    not_taken: Sequence[NotTaken] = ()

    def __post_init__(self) -> None:
        asked = {"name": _NAME, "unit": _UNIT, "year": _YEAR}
        parameters = {"type": "object", "properties": asked, "required": ["name"], "additionalProperties": False}
        get = ToolSpec(name="get_mountain", category="sample", description="Get the elevation of a mountain.", parameters=parameters)
        list_ = ToolSpec(name="list_mountains", category="sample", description="List the mountains with their elevations in metres.")
        lake = ToolSpec(name="get_lake", category="sample", description="Get the depth of a lake.")
        self.specs = {one.name: one for one in (get, list_, lake)}
        self.routes = posted(self.name, self.specs)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Look it up."""
        if tool == "list_mountains":
            return answer({"mountains": [{"name": name, "elevation": metres} for name, (_, metres) in _HEIGHTS.items()]})
        if tool == "get_lake":
            return answer({"depth": 309})
        asked, unit, year = str(arguments["name"]), arguments.get("unit", "m"), arguments.get("year", 2023)
        name = next((one for one in _HEIGHTS if one.startswith(asked)), None)
        if name is None or not isinstance(year, int):
            return failure(404, f"no mountain '{asked}'")
        country, metres = _HEIGHTS[name]
        metres += _HIGHER_BEFORE.get(name, 0) if year < 2023 else 0
        return answer({"name": name, "country": country, "elevation": metres if unit == "m" else round(metres / 0.3048), "unit": unit})

    async def aclose(self) -> None:
        """Hold nothing."""


async def show_effect(*perturb: str) -> Sight:
    """Play the example with some perturbations, or with none, through the code that plays an episode.

    The tools are listed first, so that a fault which needs an earlier answer has one. Nothing is waited for.
    """
    source = _Mountains()
    others = {"get_mountain": [{**_ASKED, "name": name} for name in ("Elbrus", "Kazbek")]}
    environment = Environment(Tools([source]), perturb=perturb, clock=VirtualClock, others=others)
    user: dict[str, Any] = {"role": "user", "content": "How high is Mont Blanc?"}
    opened = environment.open(Scenario(id="sample", group="sample", turns=(Turn(messages=(user,)),), tools=("get_mountain", "list_mountains")))
    await _call(opened, "list_mountains", {}, 0)
    called, arguments = _as_seen(opened)
    event = await _call(opened, called, arguments, 1)
    counts = [*opened.logs(), *event.perturbations]
    written = f"{called}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    applies = not perturb or any(log.armed for log in counts)
    return Sight(opened.tools, written, event.result, event.elapsed_ms // 1e3, sum(log.fired for log in counts), applies)


def _as_seen(opened: EpisodeTools) -> tuple[str, dict[str, Any]]:
    """Return what the agent calls: the tool, or what it sees in its place."""
    names = [tool.name for tool in opened.tools if tool.name != "list_mountains"]
    return "get_mountain" if "get_mountain" in names or not names else names[0], dict(_ASKED)


async def _call(opened: EpisodeTools, name: str, arguments: Mapping[str, Any], turn: int) -> ToolEvent:
    return await opened.call(ToolCall(id=str(turn), name=name, arguments=dict(arguments)), turn)
