"""Measure propensity: how likely a model begins a call where no tool fits, next to how likely it refuses.

A text's likelihood is exp of the mean log-probability of its tokens after the prompt that the model answers. That of a call is of its opening,
up to the function's name, as the template's models write it. That of a refusal is the mean over the row's own `cannot_answer` or, without one,
the refusals that `prompts.toml` lists in the row's language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import exp, fsum, log, tanh
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import FORMATS, CallToWrite, format_of_template
from talm_sim.tasks.model_task import Asking
from talm_sim.tasks.page_sections import EpisodeDetails
from talm_sim.tasks.refusal.prompts import CHAT
from talm_sim.tasks.refusal.tool_wording import TOLD
from talm_sim.types import Behaviour, Calls, FrozenModel, JsonObject, Option, Precision, Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import Model, TextModel
    from talm_sim.types import ModelTurn

_TABLE = "propensity"
_ENGLISH = "en"
_FORMS = dict(zip(TOLD, ("hermes", "pythonic"), strict=True))
_NAMES = ("first", "second")
"""Names of two functions, with different first letters: calls of them are alike up to the name."""


class TextScore(FrozenModel):
    """How likely a model finds a text after the prompt."""

    kind: Literal["call", "refusal"]
    text: str
    logprob: float
    """Sum of the natural-log probabilities of its tokens."""
    tokens: int

    @property
    def per_token(self) -> float:
        """Mean log-probability of its tokens."""
        return self.logprob / self.tokens


class Propensity(EpisodeDetails):
    """`Episode.details` of the task; empty without `--propensity`, and where a call may be right."""

    option_scores: tuple[TextScore, ...] = ()
    """The opening of a call, then the refusals."""
    precision: Precision | None = None
    """How they were computed; None if the model does not say."""

    @property
    def difference(self) -> float | None:
        """The logarithm of the likelihood of a call, minus that of a refusal; None if one of them was not scored."""
        call, refusals = ([one.per_token for one in self.option_scores if one.kind == kind] for kind in ("call", "refusal"))
        if not call or not refusals:
            return None
        largest = max(refusals)
        return call[0] - largest - log(fsum(exp(one - largest) for one in refusals) / len(refusals))

    @property
    def value(self) -> float | None:
        """The likelihood of a call, divided by its sum with that of a refusal; between 0 and 1."""
        return None if self.difference is None else (1 + tanh(self.difference / 2)) / 2


def wants_propensity(scenario: Scenario) -> bool:
    """Return whether no call is right, so that there is a propensity to make one."""
    return isinstance(scenario.target, Calls) and scenario.target.expected == "none"


def load_refusals(file: Path | None = None) -> dict[str, tuple[str, ...]]:
    """Return the listed refusals by language, with those of the user's `file` in their place."""
    document = {} if file is None else read_toml(file, "prompts")
    own = texts_of(document, _TABLE, document.get(_TABLE, ()), str(file))
    return {language: tuple(filter(None, map(str.strip, text.splitlines()))) for language, text in {**_packaged(), **own}.items()}


def refusals_for(scenario: Scenario, listed: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the refusals that a row is scored with: its own, or those listed in its language, or else in English."""
    own = scenario.target.cannot_answer if isinstance(scenario.target, Calls) else ""
    return (own,) if own else listed.get(scenario.language) or listed[_ENGLISH]


def add_propensity(asking: Asking, model: Model, listed: Mapping[str, Sequence[str]]) -> Asking:
    """Return how a model is asked if, where no tool fits, its propensity to call is measured as well."""
    from talm_sim.models.base import ScenarioModel, ScoringModel, TextModel
    from talm_sim.tasks.templates.chat_template import check_thought_ended

    if not isinstance(model, TextModel | ScenarioModel):
        if isinstance(model, ScoringModel):
            raise PrerequisiteError(f"--propensity: {model.name} is sent messages, and scores texts; add -M tokenizer=DIR to send it texts.")
        raise no_scores_error(model.name)
    opening = _opening(model, asking.template) if isinstance(model, TextModel) else _common_opening(FORMATS[_FORMS[TOLD[0]]].write)

    def check(scenario: Scenario) -> None:
        prompt = asking.check(scenario)
        if wants_propensity(scenario) and isinstance(model, TextModel):
            check_thought_ended(str(prompt), model)

    async def detail(model: Model, scenario: Scenario, turns: Sequence[ModelTurn]) -> JsonObject:
        if not wants_propensity(scenario):
            return {}
        assert isinstance(model, ScoringModel)
        texts = [opening, *refusals_for(scenario, listed)]
        found = await model.score(turns[0].raw_prompt, texts)
        scores = tuple(
            TextScore(kind="refusal" if place else "call", text=text, logprob=one.logprob, tokens=one.tokens)
            for place, (text, one) in enumerate(zip(texts, found, strict=True))
        )
        return Propensity(option_scores=scores, precision=getattr(model, "precision", None)).model_dump(mode="json")

    refusals = "\n".join(f"{language}: {text}" for language, texts in sorted(listed.items()) for text in texts)
    wording = {**asking.wording, "the opening of a call": opening, f"the refusals of [{_TABLE}]": refusals}
    return replace(asking, check=check, detail=detail, wording=wording)


def no_scores_error(model: str) -> PrerequisiteError:
    """Return the error for a model that cannot score given texts."""
    return PrerequisiteError(
        f"--propensity: {model} gives no log-probabilities of given texts; use hf/, vllm/, or openai-api/ with -M tokenizer=DIR."
    )


def _opening(model: TextModel, template: str) -> str:
    """Return how a call begins, up to the function's name, in the form that a template asks for."""
    from talm_sim.tasks.templates import load_template

    if template in _FORMS:
        return _common_opening(FORMATS[_FORMS[template]].write)
    if template != CHAT:
        style = load_template(template, model, TOLD)

        def write(calls: Sequence[CallToWrite]) -> str:
            return style.option(Option(behaviour=Behaviour.TOOL_CALL, text=calls[0].json))

        return _checked(_common_opening(write), template)
    if (form := format_of_template(model.chat_template)) is None:
        raise PrerequisiteError(
            f"--propensity: the chat template of {model.name} uses no tool-call format that talm-sim knows; give --template {TOLD[0]}."
        )
    return _checked(_common_opening(form.write), template)


def _common_opening(write: Callable[[Sequence[CallToWrite]], str]) -> str:
    one, other = (write([CallToWrite(name, {})]) for name in _NAMES)
    return one[: next(at for at, (sign, its) in enumerate(zip(one, other, strict=False)) if sign != its)]


def _checked(opening: str, template: str) -> str:
    if not opening.strip():
        raise PrerequisiteError(f"--propensity: a call of template '{template}' begins with the function's name; give another --template.")
    return opening


@cache
def _packaged() -> dict[str, Any]:
    return dict(packaged_toml("talm_sim.tasks.refusal")[_TABLE])
