"""What a making of thoughts is asked for beside what every making is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from talm_sim.config import GEN, OPE, option
from talm_sim.scenarios.making.options import MakingOptions

__all__ = ["ThoughtOptions"]


class ThoughtOptions(MakingOptions):
    """Everything that decides a making of thoughts for task `refusal`."""

    file: Path | None = option(None, OPE, "Scenarios of task refusal, or BFCL's rows. Default: packaged.", flag="--from", metavar="FILE")
    reasoning: Literal["form", "free", "random"] = option("form", GEN, "Thought to write: a form, free, or a form drawn by seed.")
