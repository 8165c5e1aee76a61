"""Keep the tools that a person can replace, for whoever answers a run's questions, and count how often somebody stood in for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from talm_sim.scenarios.stand_ins import ReplaceableTool, find_stand_in, is_structured
from talm_sim.tools_env.sources.tool_schemas import write_out
from talm_sim.types import Episode, Scenario, ToolEvent, ToolSpec

if TYPE_CHECKING:
    from talm_sim.tools_env.environment import Environment


def kept_of_replaceable(environment: Environment, perturb: Sequence[str]) -> dict[str, ReplaceableTool]:
    """Return what is kept of the tools that a person can replace, by name."""
    tools = [*environment.specs.values()]
    hidden = hidden_tools(tools, perturb)
    return {
        tool.name: ReplaceableTool(response=write_out(environment.tools.response_schema(tool.name)), masked=tool.name in hidden)
        for tool in tools
        if tool.human_replaceable
    }


def count_stand_ins(episode: Episode, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> tuple[int, int]:
    """Return how often a person stood in for a tool in an episode, and how often of these in JSON, as the tool itself answers."""
    hidden = hidden_tools(list(specs.values()), [log.name for log in episode.perturbations])
    known = {name: ReplaceableTool(response={}, masked=True) for name in hidden}
    counted: list[bool] = []
    broken: dict[str, None] = {}
    for event in episode.events:
        if isinstance(event, ToolEvent):
            broken |= {event.name: None} if event.broken else {}
        elif event.kind == "question" and not event.declined and find_stand_in(event.question, scenario, specs, known, broken) is not None:
            counted.append(is_structured(event.answer))
    return len(counted), sum(counted)


def hidden_tools(tools: Sequence[ToolSpec], perturb: Sequence[str]) -> list[str]:
    """Return the tools that perturbations, as written, hide from the agent."""
    masks = [text.partition(":")[2] for text in perturb if text.partition(":")[0] == "mask"]
    named = {option.removeprefix("tool=") for text in masks for option in text.split(",") if option.startswith("tool=")}
    return [tool.name for tool in tools if tool.name in named or (masks and not named)]
