"""What a manipulation is asked for beside what every making is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from talm_sim.config import GEN, OPE, Names, option
from talm_sim.errors import did_you_mean
from talm_sim.retrieval import DEFAULT_EMBEDDER
from talm_sim.scenarios.making.options import MakingOptions

__all__ = ["GROUPS", "ManipulateOptions"]

GROUPS = ("replaced", "removed")
"""The manipulations (section 3.2), named as the groups of what they make."""
_FROM = "api-bank:FOLDER, toolbench:FOLDER, study:PLACE, or scenarios (JSONL). Default: packaged."


def _check_groups(value: str) -> str:
    names = value.split(",")
    for name in names:
        if name not in GROUPS:
            raise ValueError(f"there is no manipulation '{name}'.{did_you_mean(name, GROUPS)}")
    return ",".join(group for group in GROUPS if group in names)


Manipulations = Annotated[Names, AfterValidator(_check_groups)]


class ManipulateOptions(MakingOptions):
    """Everything that decides how complete scenarios of task `awareness` are made such that cannot be served."""

    file: Path | None = option(None, OPE, _FROM, flag="--from", metavar="SOURCE")
    manipulation: Manipulations = option(
        ",".join(GROUPS), GEN, "replaced: other tools; removed: some of the user's words.", metavar="NAME[,NAME]"
    )
    embedder: str = option(
        DEFAULT_EMBEDDER, GEN, "Embedder that finds similar tools: wordllama, or a sentence-transformers model.", metavar="NAME"
    )
    max_new_tokens: int = option(
        1024, GEN, "Maximum tokens per answer, which contains the conversation; doubled once if cut off.", metavar="N", ge=1
    )
    attempts: int = option(3, GEN, "Attempts per scenario.", metavar="N", ge=1, le=10)

    @property
    def groups(self) -> tuple[str, ...]:
        """The manipulations asked for."""
        return tuple(self.manipulation.split(","))
