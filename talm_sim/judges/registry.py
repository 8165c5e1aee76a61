"""The judges by name: the built-in ones, those registered in Python, and those of installed packages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar, get_args

from talm_sim.common.toml_files import read_toml, texts_of
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.plugins import Registry
from talm_sim.judges.base import Judge, Need, prompt_key
from talm_sim.types import Measured

_J = TypeVar("_J", bound=Judge)

JUDGES: Registry[type[Judge]] = Registry(
    "judge",
    {
        "reference": "talm_sim.judges.reference:ReferenceJudge",
        "fault": "talm_sim.judges.fault_verdicts:FaultJudge",
        "respect": "talm_sim.judges.refused:RespectJudge",
        "llm": "talm_sim.judges.llm:LlmJudge",
        "person": "talm_sim.judges.person:PersonJudge",
        "preference": "talm_sim.judges.preference:PreferenceJudge",
    },
)


def register_judge(judge: type[_J]) -> type[_J]:
    """Make a judge known under its `name`; a decorator of its class.

    Raises:
        TypeError: The class is not a judge, or a declaration is missing or wrong.
    """
    if wrong := _fault(judge):
        raise TypeError(f"{getattr(judge, '__qualname__', judge)} {wrong}")
    JUDGES.register(judge.name, judge)
    return judge


def judge_class(name: str) -> type[Judge]:
    """Return the judge called `name`.

    Raises:
        PrerequisiteError: No judge has this name, or an installed package offers something else under it.
    """
    found = JUDGES.get(name)
    wrong = _fault(found) or ("" if found.name == name else f"calls itself '{found.name}'")
    if wrong:
        raise PrerequisiteError(f"judge '{name}' ({JUDGES.origin(name) or 'registered in Python'}) {wrong}.")
    return found


def _fault(judge: type[Judge]) -> str:
    """Say what is wrong with a class that is offered as a judge; empty if nothing is."""
    if not (isinstance(judge, type) and issubclass(judge, Judge)):
        return "is not a subclass of talm_sim.Judge"
    if not isinstance(getattr(judge, "name", None), str):
        return "declares no `name`"
    if not isinstance(getattr(judge, "measure", None), Measured):
        return "declares no `measure`: Measured(name=..., head=..., about=...)"
    unknown = sorted(set(judge.needs) - set(get_args(Need)))
    return f"needs '{unknown[0]}', which is not one of {', '.join(get_args(Need))}" if unknown else ""


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return judges in the order in which they work, each once: those that depend on others' verdicts come last.

    Raises:
        PrerequisiteError: A judge is unknown.
    """
    return tuple(sorted(dict.fromkeys(names), key=lambda name: "earlier" in judge_class(name).needs))


def load_instructions(file: Path | None) -> dict[str, str]:
    """Return the texts of the `[judge]` table of the user's prompt file, by `prompt_key`; they replace the judges' own.

    Raises:
        PrerequisiteError: The file cannot be read, is not TOML, or its `[judge]` table has a value that is not a text, or a key of no
            judge with a model.
    """
    document = {} if file is None else read_toml(file, "prompts")
    return texts_of(document, "judge", _keys() if "judge" in document else (), str(file))


def _keys() -> list[str]:
    """Return the keys of the judges that ask a model; a judge from a broken package has none."""
    found = []
    for name in JUDGES.names():
        with contextlib.suppress(PrerequisiteError):
            if "model" in judge_class(name).needs:
                found.append(prompt_key(name))
    return found
