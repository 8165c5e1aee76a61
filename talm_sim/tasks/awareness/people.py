"""What a person is asked of task `awareness`: the instance itself, as in the study, or whether an explanation is right."""

from __future__ import annotations

from collections.abc import Mapping

from talm_sim.scenarios.dialogue import ATTEMPT, as_text, dialogue, part_of
from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.tasks.judged_by_people import Material, PersonQuestion, PublishedAgreement
from talm_sim.types import Episode, Row, Scenario, YesNo

__all__ = ["EXPLANATION", "INSTANCE"]


def _instance(episode: Episode, scenario: Scenario) -> Material | None:
    if not isinstance(scenario.target, YesNo):
        return None
    attempt = part_of(scenario, ATTEMPT)
    return [
        ("APIs", "\n".join(scenario.shown_tools) or "(none)"),
        ("Conversation", as_text(dialogue(scenario))),
        *([("The call made before", as_text(attempt))] if attempt else []),
    ]


def _explanation(episode: Episode, scenario: Scenario) -> Material | None:
    """Return what the judge of explanations is shown; as for it, there is something to judge only where No is right and was said."""
    if not isinstance(scenario.target, YesNo) or scenario.target.gold != "no" or not episode.termination.completed:
        return None
    decision = read_decision(episode.answer)
    if decision.said != "no" or not decision.explanation:
        return None
    return [*(_instance(episode, scenario) or ()), ("The assistant's explanation", decision.explanation)]


def _gold(scenario: Scenario) -> str:
    return scenario.target.gold if isinstance(scenario.target, YesNo) else ""


def _answers(row: Row) -> Mapping[str, str]:
    return {name: row.labels[label] for name, label in (("what is right", "gold"), ("the model", "said")) if label in row.labels}


def _judged(row: Row) -> str:
    """Return what the judge said of the explanation: each is of a right No, so whether it was right is the same for all."""
    value = row.values.get("explanation")
    return "not judged" if value is None else "correct" if value else "wrong"


INSTANCE = PersonQuestion(
    name="instance",
    asks="Can the request be served with these APIs now?",
    labels={"y": "yes", "n": "no"},
    about="said what is right",
    show=_instance,
    value=lambda label, scenario: label == _gold(scenario),
    judges=(),
    beside=_answers,
    outcome=lambda row: row.labels.get("gold", ""),
    published=(PublishedAgreement("incomplete-conditions", "3", ("Human",), "Overall Acc"),),
    needs_episode=False,
)
EXPLANATION = PersonQuestion(
    name="explanation",
    asks="Is the reason the assistant gave right?",
    labels={"c": "correct", "w": "wrong"},
    about="a right No has the right reason",
    show=_explanation,
    value=lambda label, scenario: label == "correct",
    judges=("explanation",),
    said={True: "correct", False: "wrong"},
    outcome=_judged,
    published=(PublishedAgreement("incomplete-conditions", "people", ("GPT-4",), "Agree"),),
    not_asked="none of its answers is a right No with an explanation; make a run with --protocol explanation",
)
