"""What an episode's perturbations leave of the list of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from talm_sim.tools_env.perturbations.base import Perturbation
from talm_sim.types import ToolSpec

__all__ = ["has_names_only", "narrow_tools", "real_name"]


def narrow_tools(perturbations: Sequence[Perturbation], tools: Sequence[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Return the tools in sight, under the names that the model sees; call it once for an episode's perturbations.

    Args:
        perturbations: All of the episode, in order.
        tools: Those that the scenario offers.
        pool: Every tool of the environment, by name. Where only names are known, it has specifications without anything else, or is empty.
    """
    left, known = list(tools), dict(pool)
    # Names are changed last, so that other perturbations find each tool under its own, and no new name is that of a hidden tool.
    renaming = [one for one in perturbations if type(one).translate is not Perturbation.translate]
    for perturbation in (one for one in perturbations if one not in renaming):
        before = {tool.name for tool in left}
        left = perturbation.narrow(left, known)
        for gone in before - {tool.name for tool in left}:
            known.pop(gone, None)  # what one takes away, no other brings back
    for perturbation in renaming:
        left = perturbation.narrow(left, pool)
    return left


def real_name(perturbations: Sequence[Perturbation], shown: str) -> str:
    """Return the name of the tool that the model sees as `shown`, after `narrow_tools`."""
    for perturbation in reversed(perturbations):
        shown, _ = perturbation.translate(shown, {})
    return shown


def has_names_only(pool: Mapping[str, ToolSpec]) -> bool:
    """Return whether nothing but the names of tools is known, as where a stored run is read."""
    return all(spec == ToolSpec(name=spec.name) for spec in pool.values())
