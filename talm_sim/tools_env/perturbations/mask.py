"""A tool that is not there."""

from __future__ import annotations

from talm_sim.tools_env.perturbations.base import Perturbation, register
from talm_sim.types import ToolSpec

__all__ = ["Mask"]


@register
class Mask(Perturbation):
    """Hide a tool (option `tool`), or every tool. Fires once for each tool it hides."""

    name = "mask"
    summary = "hide a tool from the agent (tool=NAME; without it, all tools)"

    def narrow(self, tools: list[ToolSpec]) -> list[ToolSpec]:
        """Return the tools that stay in sight."""
        return [tool for tool in tools if not self.applies(tool.name)]
