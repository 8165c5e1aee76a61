"""The options of task `refusal`; the texts that show tools in a system message, and their replacement by the user's."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.config import GEN, SCO, Names, option
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.options import PersonOptions
from talm_sim.tasks.reasoning import WORDED, ReasoningOptions

_TASK = "refusal"
TOLD = ("injected", "pythonic")
"""Templates that show the tools in a system message: as Qwen's and Hermes' chat templates write it, and as BFCL's prompt mode does."""
_PLACE = "{tools}"


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


def load_wording(file: Path | None = None) -> dict[str, str]:
    """Return the built-in texts by template, with those of the user's `file` in their place."""
    own = {} if file is None else texts_of(read_toml(file, "prompts"), _TASK, (*TOLD, *WORDED), str(file), filled=False)
    for key, text in own.items():
        if key in TOLD and _PLACE not in text:
            raise PrerequisiteError(f"{file}: '{_TASK}.{key}' has no place for the tools: write {_PLACE} where they belong.")
    return {**_packaged_wording(), **{key: text for key, text in own.items() if key in TOLD}}


def insert_tools(text: str, tools: str) -> str:
    """Return the text with the tools in place; braces in them have no meaning."""
    return text.replace(_PLACE, tools)


@cache
def _packaged_wording() -> dict[str, str]:
    return {name: text.strip() for name, text in packaged_toml("talm_sim.tasks.refusal")[_TASK].items()}
