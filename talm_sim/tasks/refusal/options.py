"""The options of task `refusal`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from talm_sim.config import GEN, SCO, Names, option
from talm_sim.tasks.options import PersonOptions
from talm_sim.tasks.reasoning import ReasoningOptions
from talm_sim.tasks.refusal.wording import TOLD

__all__ = ["RefusalOptions"]


class RefusalOptions(ReasoningOptions, PersonOptions):
    """Options of task `refusal`."""

    own_templates: ClassVar = TOLD
    human: str = option("none", GEN, "Who answers in multi_turn_miss_param.", metavar="WHO")
    """`recorded` says the row's next message; with a replayed model, what was recorded with it."""
    subset: Names = option(
        "", GEN, "BFCL's rows of these categories instead of our own.", metavar="S[,S]", complete="talm_sim.tasks.refusal.bfcl:SUBSETS"
    )
    language: Names = option("", GEN, "Only rows in these languages.", metavar="L[,L]")
    bfcl: Path | None = option(None, GEN, "BFCL's files.  [default: those of bfcl-eval]", metavar="DIR")
    propensity: bool = option(False, GEN, "Also score the beginning of a call against refusals.")
    """Where no tool fits; see `talm_sim.tasks.refusal.propensity`."""
    bfcl_version: Literal["v2", "v3", "v4"] = option("v4", SCO, "Overall score: v2, v3 or v4.", metavar="V")
