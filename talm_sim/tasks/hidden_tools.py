"""Which tools a scenario takes away that are built into the user's own agent, so that its model sees them all the same."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from talm_sim.types import MissingKind, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.own.agents import OwnAgent

__all__ = ["BUILDS", "can_hide_missing", "visible_hidden_tools"]

BUILDS = "hand over a function (tools) -> graph that builds it"
"""How an agent comes to see what is offered, and nothing else."""


def visible_hidden_tools(scenario: Scenario, own: OwnAgent, offered: Collection[str]) -> list[str]:
    """The tools that a scenario takes away and that the agent's model sees all the same, as they are built into it.

    Args:
        scenario: Without tools, it takes all away.
        own: The agent.
        offered: Names of the tools that are left.
    """
    gone = {one.name for one in scenario.missing if one.kind is MissingKind.TOOL}
    return sorted(({*scenario.tools} | gone if scenario.tools else own.built_in) & own.built_in - {*offered})


def can_hide_missing(scenario: Scenario, own: OwnAgent) -> bool:
    """Whether the agent misses all that the scenario itself takes away."""
    from talm_sim.tools_env.perturbations import narrow_tools, open_perturbations  # not at the top: a table needs no environment

    perturbations = open_perturbations(scenario.perturbations, seed=0, episode=scenario.id)
    left = narrow_tools(perturbations, [ToolSpec(name=name) for name in scenario.tools], {})
    return not visible_hidden_tools(scenario, own, [tool.name for tool in left])  # under a new name it would be another tool
