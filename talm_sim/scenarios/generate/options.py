"""What a generation is asked for, and what of that decides the texts. The command's options derive from these fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from talm_sim.config import GEN, OPE, Limit, ModelName, OptionsModel, ProviderOptions, Scope, Traffic, is_constrained, option, scope_of
from talm_sim.digests import digest
from talm_sim.models.registry import in_process

__all__ = ["RULES", "GenerateOptions", "Settings"]

RULES = "sim/writer"
"""The writer that is no model."""
_ROWS_ONLY = "variants"
"""The setting that decides which rows an item gets, and nothing that is asked of a model."""
_TRAFFIC = {
    Traffic.LIVE.value: "Ask the model.",
    Traffic.REPLAY.value: "Answers from a recording; the network is never touched.",
    Traffic.RECORD.value: "Ask the model, and record under --cassettes.",
}
_TOOL_USE = "Who says why a request needs a tool, and drops those that need none: the model, or the gold call (which all have)."


class GenerateOptions(OptionsModel):
    """Everything that decides a generation.

    The fields of scope `generation` decide the texts: a folder that was begun goes on only with the same ones. The others may change.
    """

    out: Path = option(..., OPE, "Where items, rejected texts, state and report go.", metavar="FOLDER")
    file: Path | None = option(None, OPE, "Scenarios with gold calls, or When2Call rows. Default: packaged.", flag="--from", metavar="FILE")
    limit: Limit | None = option(None, OPE, "Source questions to take: the first N, or those from A to B (counted from 1).", metavar="N|A-B")
    model: ModelName = option(RULES, GEN, "Who writes. sim/writer: fixed phrasings, a control.", metavar="P/N")
    model_options: ProviderOptions = option({}, GEN, "Option passed to the model provider; repeatable.", flag="-M", metavar="K=V")
    tool_use: Literal["model", "call"] = option("model", GEN, _TOOL_USE)
    tool_format: Literal["auto", "native", "constrained"] = option("auto", GEN, "How labels are decoded.")
    prompts: Path | None = option(None, GEN, "TOML file with wordings in place of the built-in ones.", metavar="FILE")
    seed: int = option(0, GEN, "Seed of sampling, of the parameter left out, of the tools shown.", metavar="N")
    temperature: float = option(0.6, GEN, "Sampling temperature.", metavar="X", ge=0, le=2)
    top_p: float = option(0.95, GEN, "Nucleus of sampling.", metavar="X", gt=0, le=1)
    max_new_tokens: int = option(256, GEN, "Tokens of a text; doubled once if cut off.", metavar="N", ge=1)
    attempts: int = option(1, GEN, "Times a text is written before its item is given up.", metavar="N", ge=1, le=10)
    variants: Literal["all", "one"] = option("all", GEN, "Rows of an item: every set of tools, or one.")
    max_connections: int = option(16, OPE, "Source questions in work at once.", metavar="N", ge=1)
    traffic: Traffic | None = option(None, OPE, "Where the model's answers come from.", flags=_TRAFFIC)
    cassettes: Path | None = option(None, OPE, "Directory of recordings. Default: the shipped ones.", metavar="DIR")

    @property
    def by_rules(self) -> bool:
        """Whether no model writes."""
        return self.model == RULES

    @property
    def constrained(self) -> bool:
        """Whether labels are decoded under a grammar; a model in this process writes them by itself, as it would have to be loaded twice."""
        return is_constrained(self.model, self.tool_format) and not in_process(self.model)


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the texts, once the wording is read.

    Attributes:
        options: What was asked for.
        wording: Digest of the texts the model is given; empty where no model writes.
    """

    options: GenerateOptions
    wording: str = ""

    def as_json(self) -> dict[str, Any]:
        """JSON values: the options of scope `generation`, by what they come to.

        `tool_use` is `call` where no model can say it, `labels` stands for the tool format, and `prompts` is the wording's digest.
        """
        names = {name for name in GenerateOptions.model_fields if scope_of(GenerateOptions, name) is Scope.GENERATION}
        values = self.options.model_dump(mode="json", include=names)
        values |= {"tool_use": "call" if self.options.by_rules else self.options.tool_use, "prompts": self.wording}
        labels = "constrained" if self.options.constrained else "plain"
        return dict(("labels", labels) if name == "tool_format" else (name, value) for name, value in values.items())

    @property
    def digest(self) -> str:
        """Part of a recording's name: other settings are other conversations."""
        return digest({name: value for name, value in self.as_json().items() if name != _ROWS_ONLY})
