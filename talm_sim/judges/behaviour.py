"""The `behaviour` judge: which of the four behaviours an answer shows, by rules, without a model.

Tool calls are recognised well, as they have a form. The other three are distinguished by wording, in English only. On the published answers of
When2Call, of one author and one style each, that goes well; on the free answers of weak models it is a poor substitute for a judge that reads,
which is what the paper uses (section 4): `behaviour-llm`.
"""

from __future__ import annotations

from talm_sim.judges.base import Judge
from talm_sim.judges.reference import user_text
from talm_sim.language.final_answer import Kind, read_final_answer
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import UNPARSED, Behaviour, Choice, Episode, Measured, Scenario, Verdict

_SHOWN = {Kind.ASKS: Behaviour.REQUEST_FOR_INFO, Kind.DECLINES: Behaviour.CANNOT_ANSWER, Kind.REPORTS: Behaviour.CANNOT_ANSWER}


class BehaviourJudge(Judge):
    """Labels an answer with a behaviour by `classify`, and passes it if that is the gold one; an empty answer is `unparsed`."""

    name = "behaviour"
    measure = Measured(name="behaviour", head="Behaviour", about="the answer shows the right behaviour, as rules judge", better="higher")
    rules = 8

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if reason := reason_unjudged(episode, scenario):
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Choice)
        gold = scenario.target.gold
        label = (
            Behaviour.TOOL_CALL if _calls_a_tool(episode) else classify("" if episode.gave_no_answer else episode.answer, user_text(scenario))
        )
        return self.verdict(episode, label == gold, f"taken for {label}, right is {gold}", label=label)


def reason_unjudged(episode: Episode, scenario: Scenario) -> str:
    """Say why an episode has no label; empty if it gets one. A classifying judge asks this first."""
    if not isinstance(scenario.target, Choice):
        return "not applicable: the scenario has no gold behaviour"
    if not episode.termination.completed:
        return f"not judged: the episode ended in {episode.termination.value}"
    if "option_scores" in episode.details:
        return "not applicable: the model chose among given answers"
    return ""


def _calls_a_tool(episode: Episode) -> bool:
    """Tell whether the model made a tool call that the provider or the model's own format marks as one, well-formed or not."""
    return any(turn.tool_calls or turn.unparsable_calls for turn in episode.model_turns)


def classify(answer: str, request: str = "") -> Behaviour | str:
    """Return the behaviour an answer to a request shows, or `unparsed` where it is empty.

    A tool call written as text counts as one, readable or not (`read_calls`). Otherwise `read_final_answer` decides: an answer that asks the
    user for something asks for information; one that declines, or reports that something failed or was not found, cannot answer; any other
    answers directly.

    >>> str(classify("Sure, I can help with that. In which city?")), str(classify("It is 12:30 in Hanoi. Would you like more details?"))
    ('request_for_info', 'direct')
    """
    if not (text := split_reasoning(answer)[0].strip()):
        return UNPARSED
    written = read_calls(text)
    if written.calls or written.unparsable:
        return Behaviour.TOOL_CALL
    return _SHOWN.get(read_final_answer(text, request).kind, Behaviour.DIRECT)
