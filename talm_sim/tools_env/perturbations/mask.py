"""The perturbation that hides a tool."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from talm_sim.tools_env.perturbations.base import Perturbation
from talm_sim.tools_env.perturbations.options import ToolListOptions
from talm_sim.types import ToolSpec


class Mask(Perturbation):
    """Hide a tool, or every tool. Fires once for each tool it hides."""

    name = "mask"
    summary = "hide a tool from the agent (tool=NAME), or all of them"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """What is hidden."""

        tool: str = Field("", description="The tool to hide; without it, all tools.")

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Return the tools that stay in sight."""
        return [tool for tool in tools if not self.applies(tool.name)]
