"""The options that every making has. The command's options derive from these fields, and from those a maker adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from talm_sim.common.digests import digest
from talm_sim.common.typed_options import OptionsModel
from talm_sim.config import GEN, OPE, Limit, ModelName, ProviderOptions, Scope, Traffic, option, scope_of

RULES = "sim/writer"
"""The writer that is not a model."""
_TRAFFIC = {
    Traffic.LIVE.value: "Ask the model.",
    Traffic.REPLAY.value: "Use recorded answers; the network is never used.",
    Traffic.RECORD.value: "Ask the model, and record under --cassettes.",
}


class MakingOptions(OptionsModel):
    """Options of a making.

    The fields of scope `generation` decide what is made: a folder that was started continues only with the same ones. The others may change.
    """

    not_asked: ClassVar[frozenset[str]] = frozenset()
    """Settings that decide what is written down, and not what a model is asked."""

    out: Path = option(..., OPE, "Folder for items, rejected texts, state and report.", metavar="FOLDER")
    file: Path | None = option(None, OPE, "What to make them from. Default: the bundled scenarios.", flag="--from", metavar="FILE")
    limit: Limit | None = option(None, OPE, "Sources to use: the first N, or A to B (counted from 1).", metavar="N|A-B")
    model: ModelName = option(RULES, GEN, "Model that writes. sim/writer uses rules and no model.", metavar="P/N")
    model_options: ProviderOptions = option({}, GEN, "Option passed to the model provider; repeatable.", flag="-M", metavar="K=V")
    prompts: Path | None = option(None, GEN, "TOML file with prompt texts to use instead.", metavar="FILE")
    seed: int = option(0, GEN, "Random seed.", metavar="N")
    temperature: float = option(0.6, GEN, "Sampling temperature.", metavar="X", ge=0, le=2)
    top_p: float = option(0.95, GEN, "Nucleus sampling (top-p).", metavar="X", gt=0, le=1)
    max_new_tokens: int = option(256, GEN, "Maximum tokens per text; doubled once if cut off.", metavar="N", ge=1)
    attempts: int = option(1, GEN, "Attempts per text.", metavar="N", ge=1, le=10)
    max_connections: int = option(16, OPE, "Sources processed at the same time.", metavar="N", ge=1)
    traffic: Traffic | None = option(None, OPE, "Where the model's answers come from.", flags=_TRAFFIC)
    cassettes: Path | None = option(None, OPE, "Directory of recordings. Default: the bundled ones.", metavar="DIR")

    @property
    def by_rules(self) -> bool:
        """Whether no model writes."""
        return self.model == RULES

    def settings(self, wording: str = "") -> dict[str, Any]:
        """Return what decides the result, as JSON values: the options of scope `generation` with their final values.

        Args:
            wording: Digest of the model's texts, in place of `prompts`; empty if no model writes.
        """
        names = {name for name in type(self).model_fields if scope_of(type(self), name) is Scope.GENERATION}
        return self.model_dump(mode="json", include=names) | {"prompts": wording}

    def conversations(self, wording: str = "") -> str:
        """Return a part of a recording's name: other settings are other conversations."""
        return digest({name: value for name, value in self.settings(wording).items() if name not in self.not_asked})
