"""What a making of multiple-choice items is asked for beside what every making is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from talm_sim.config import GEN, OPE, is_constrained, option
from talm_sim.models.registry import in_process
from talm_sim.scenarios.making.options import MakingOptions

__all__ = ["GenerateOptions"]

_FROM = "Scenarios with gold calls, or rows of When2Call, BFCL or xLAM-60k. Default: packaged."
_TOOL_USE = "Who decides whether a request needs a tool: the model, or the gold call (which every request has)."
_ORDER = ("model", "model_options", "tool_use", "labels", "prompts", "seed", "temperature", "top_p", "max_new_tokens", "attempts", "judge")
"""Of the settings, as the reports have them."""


class GenerateOptions(MakingOptions):
    """Everything that decides a making of items for task `when2call`."""

    not_asked: ClassVar = frozenset({"variants"})

    file: Path | None = option(
        None, OPE, "Scenarios with gold calls, or rows of When2Call, BFCL or xLAM-60k. Default: packaged.", flag="--from", metavar="FILE"
    )
    tool_use: Literal["model", "call"] = option("model", GEN, _TOOL_USE)
    tool_format: Literal["auto", "native", "constrained"] = option("auto", GEN, "How labels are read from answers.")
    unable: Literal["removed", "written", "both"] = option(
        "removed", GEN, "Requests that cannot be served: the tool is removed, another request is written, or both."
    )
    judge: Literal["none", "model"] = option("none", GEN, "Who looks for faults that rules cannot see: nobody, or the model.")
    variants: Literal["all", "one"] = option("all", GEN, "Rows per item: one for every set of tools, or one.")

    @property
    def constrained(self) -> bool:
        """Whether labels are decoded under a grammar; a model in this process writes them by itself, as it would have to be loaded twice."""
        return is_constrained(self.model, self.tool_format) and not in_process(self.model)

    def settings(self, wording: str = "") -> dict[str, Any]:
        """See `MakingOptions.settings`; `tool_use` is `call` where no model can say it, and `labels` stands for the tool format."""
        found = super().settings(wording)
        found |= {"tool_use": "call" if self.by_rules else self.tool_use, "labels": "constrained" if self.constrained else "plain"}
        found["judge"] = "none" if self.by_rules else self.judge
        return {name: found[name] for name in (*_ORDER, "unable", "variants")}
