"""The judges by name: the built-in ones, those registered in Python, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from talm_sim.config import RunConfig
from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.judges.base import Judge, JudgeContext
from talm_sim.judges.prompts import load_judge_prompts

__all__ = ["ENTRY_POINTS", "JudgeFactory", "default_judges", "judge_config_digest", "list_judges", "open_judge", "register_judge"]

ENTRY_POINTS = "talm_sim.judges"
"""Entry-point group of judges in other packages; each names a `JudgeFactory`."""

JudgeFactory = Callable[[JudgeContext], Judge]


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    where: str
    needs_model: bool = False


# Named, not imported: the model-based judges pull in the message types.
_BUILT_IN = {
    "reference": _BuiltIn("talm_sim.judges.reference"),
    "llm": _BuiltIn("talm_sim.judges.llm", needs_model=True),
    "preference": _BuiltIn("talm_sim.judges.preference", needs_model=True),
    "behaviour": _BuiltIn("talm_sim.judges.behaviour"),
    "behaviour-llm": _BuiltIn("talm_sim.judges.behaviour_llm", needs_model=True),
}
_REGISTERED: dict[str, JudgeFactory] = {}


def register_judge(name: str) -> Callable[[JudgeFactory], JudgeFactory]:
    """Register a judge under `name`; the decorated factory is called with a `JudgeContext` once a run."""

    def register(factory: JudgeFactory) -> JudgeFactory:
        _REGISTERED[name] = factory
        return factory

    return register


def list_judges() -> list[str]:
    """Names of all judges, built-in ones first."""
    installed = {point.name for point in entry_points(group=ENTRY_POINTS)}
    return [*_BUILT_IN, *sorted((set(_REGISTERED) | installed) - set(_BUILT_IN))]


def default_judges(config: RunConfig, groups: Sequence[str] | None = None) -> tuple[str, ...]:
    """The judges a run applies: those the user named, else those its task's table needs.

    Task `talm`: `reference`, and with a judge model `llm` and, for no-tools, `preference`. Task `when2call`: none where the model chooses among
    given answers; `behaviour` in judge mode, and with a judge model `behaviour-llm`.

    The order matters: `preference` goes by what the judges before it said.
    """
    if config.judge:
        return tuple(sorted(config.judge, key=lambda name: name == "preference"))
    if config.task == "when2call":
        if config.mode == "logprob":
            return ()
        return ("behaviour",) if config.judge_model is None else ("behaviour", "behaviour-llm")
    if config.judge_model is None:
        return ("reference",)
    held = config.groups if groups is None else groups
    return ("reference", "llm", *(["preference"] if "no-tools" in held else []))


def open_judge(name: str, context: JudgeContext) -> Judge:
    """Build the judge called `name`.

    Raises:
        PrerequisiteError: No judge has this name, or it needs a model and the context has none.
    """
    return _factory(name, with_model=context.model is not None)(context)


def judge_config_digest(name: str, config: RunConfig) -> str:
    """The `config_digest` of the judge called `name` under `config`, without building it or its model.

    Judges from elsewhere are told apart by name, judge model and prompt file.

    Raises:
        PrerequisiteError: No judge has this name, or the prompt file is broken.
    """
    if name in _BUILT_IN and name not in _REGISTERED:
        module = import_module(_BUILT_IN[name].where)
        return cast(str, module.config_digest(config.judge_model or "", load_judge_prompts(config.prompts)))
    _factory(name, with_model=True)
    prompts = config.prompts.read_text(encoding="utf-8") if config.prompts else ""
    return digest({"judge": name, "model": config.judge_model, "prompts": prompts})


def _factory(name: str, *, with_model: bool) -> JudgeFactory:
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in _BUILT_IN:
        if _BUILT_IN[name].needs_model and not with_model:
            raise PrerequisiteError(f"judge '{name}' needs a model: add --judge-model PROVIDER/NAME.")
        return cast(JudgeFactory, import_module(_BUILT_IN[name].where).open_judge)
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            return cast(JudgeFactory, point.load())
    raise PrerequisiteError(f"unknown judge '{name}'.{did_you_mean(name, list_judges())}")
