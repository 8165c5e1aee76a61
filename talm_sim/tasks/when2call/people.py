"""What a person is asked of task `when2call`: which of the four behaviours an answer shows."""

from __future__ import annotations

from talm_sim.judges.behaviour import reason_unjudged
from talm_sim.tasks.judged_by_people import Material, PersonQuestion
from talm_sim.tasks.when2call.behaviour_llm import answer_for_judge
from talm_sim.types import Behaviour, Choice, Episode, Scenario

__all__ = ["BEHAVIOUR"]


def _answer(episode: Episode, scenario: Scenario) -> Material | None:
    if reason_unjudged(episode, scenario):
        return None
    tools = "\n".join(scenario.shown_tools) or "(none)"
    return [("Tools", tools), ("Request", scenario.query), ("Answer", answer_for_judge(episode).strip() or "(none)")]


BEHAVIOUR = PersonQuestion(
    name="behaviour",
    asks="Which of the four is the answer?",
    labels={
        "d": Behaviour.DIRECT.value,
        "t": Behaviour.TOOL_CALL.value,
        "i": Behaviour.REQUEST_FOR_INFO.value,
        "c": Behaviour.CANNOT_ANSWER.value,
    },
    about="the answer shows the right behaviour",
    show=_answer,
    value=lambda label, scenario: isinstance(scenario.target, Choice) and label == scenario.target.gold.value,
    judges=("behaviour", "behaviour-llm", "behaviour-llm-first-call"),
    not_asked="the model chose among given answers; people judge free ones: make a run with --mode judge",
)
