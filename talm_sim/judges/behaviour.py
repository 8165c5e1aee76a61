"""The `behaviour` judge: which of the four behaviours an answer shows, by rules, without a model.

Tool calls are recognised well, as they have a form. The other three are distinguished by wording, in English only. On the published answers of
When2Call, of one author and one style each, that goes well; on the free answers of weak models it is a poor substitute for a judge that reads,
which is what the paper uses (section 4): `behaviour-llm`.
"""

from __future__ import annotations

import re

from talm_sim.judges.base import Judge
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.types import UNPARSED, Behaviour, Choice, Episode, Measured, Scenario, Verdict

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?![a-z])|\n+")
_DECLINE = re.compile(
    r"\b(?:unable|not able|not capable|incapable)\b"
    r"|\b(?:can(?:no|['’])t|cannot|can not|couldn['’]t|could not)\b"
    r"|\b(?:do(?:es)?n['’]t|do(?:es)? not|currently lack|lack)\s+(?:\w+\s+){0,2}?"
    r"(?:have|access|ability|capab|the (?:tools?|ability|capab)|support|provide|possess|include|offer)"
    r"|\b(?:no|none of the)\s+(?:\w+\s+){0,2}?(?:tools?|functions?|access|way)\b"
    r"|\b(?:beyond|outside)\s+(?:of\s+)?(?:my|what i can|the scope|the capab)",
    re.IGNORECASE,
)
_ASK = re.compile(
    r"\b(?:please|kindly)\s+(?:\w+\s+)?"
    r"(?:specify|provide|confirm|tell|clarify|share|give|enter|indicate|supply|let me know|state|choose|select)\b"
    r"|\b(?:i|we)(?:['’]ll|\s+will|\s+would)?\s+(?:(?:also|still)\s+)?(?:need|require)\b"
    r"|\b(?:once|as soon as) you (?:tell|give) me\b"
    r"|\blet me know\s+(?:the|your|which|what|where|when|who|how|whether)\b"
    r"|\b(?:could|can|would|may) (?:you|i) (?:please\s+)?(?:specify|provide|confirm|tell|clarify|share|give|know|have|ask|let)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:is there|do you (?:need|have)) (?:anything|any other|something)\b"
    r"|\bwould you like (?:me|to (?:know|hear|see|learn|book|proceed|continue)|more|any|some|help|further|additional|details)\b"
    r"|\b(?:do you|you) want (?:me|more)\b|\bshall i\b"
    r"|\b(?:how|what) (?:else )?(?:can|may) i (?:help|assist|do)\b"
    r"|\b(?:need|want|like) (?:any )?(?:more|further|additional) (?:details|information|help|assistance)",
    re.IGNORECASE,
)
_WHICH = re.compile(r"^\W*(?:(?:in|at|on|for|from|to|with|by) )?(?:which|where|when|who|how (?:many|much|long|far))\b", re.IGNORECASE)
_SUGGESTION = re.compile(r"^\W*(?:how|what) about\b|^\W*why (?:not|don['’]t)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^\W*(?:sure|certainly|absolutely|of course|ok(?:ay)?|great|thanks?|thank you|got it|understood|apolog\w+|i['’]m sorry|sorry"
    r"|i apologi[sz]e|that['’]s|that sounds|no problem|happy to|hello|hi|i see|alright|i understand)\b"
    r"|\b(?:i|we)(?:['’]d| would|['’]ll| will| can)? (?:be )?(?:happy|glad|able|love|help|assist)\b"
    r"|\b(?:help|assist) you with\b|\bto (?:help|assist|proceed|ensure|provide)\b",
    re.IGNORECASE,
)
_LONGEST_LEAD = 16
"""Words; a longer sentence says something, however politely it begins."""
_REFERRAL = re.compile(
    r"\b(?:please|recommend|suggest|advise|consult|contact|visit|refer|check|consider|try|instead|i['’]m here|designed to|sorry|apolog"
    r"|my (?:knowledge|capab|training|function)|feel free|let me know|capabilities are"
    r"|you (?:may|might|could) (?:\w+ )?(?:want|find|wish|need|use|try|look))\b",
    re.IGNORECASE,
)


class BehaviourJudge(Judge):
    """Labels an answer with a behaviour by `classify`, and passes it if that is the gold one; an empty answer is `unparsed`."""

    name = "behaviour"
    measure = Measured(name="behaviour", head="Behav", about="the answer shows the right behaviour, as rules judge", better="higher")
    rules = 5

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        reason = reason_unjudged(episode, scenario)
        if reason:
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Choice)
        gold = scenario.target.gold
        label = Behaviour.TOOL_CALL if _calls_a_tool(episode) else classify(episode.answer)
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


def classify(answer: str) -> Behaviour | str:
    """Return the behaviour an answer shows, or `unparsed` where it is empty.

    A tool call written as text counts as one, readable or not (`read_calls`). Otherwise, in this order: an answer that asks the user
    something before it says anything asks for information; one that declines, followed only by apologies and advice, cannot answer; any
    other answers directly.

    >>> str(classify("Sure, I can help with that. In which city?")), str(classify("It is 12:30 in Hanoi. Would you like more details?"))
    ('request_for_info', 'direct')
    """
    text = split_reasoning(answer)[0].strip()
    if not text:
        return UNPARSED
    written = read_calls(text)
    if written.calls or written.unparsable:
        return Behaviour.TOOL_CALL
    declined = asked = False
    said = 0
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        if asks_user(sentence):
            asked = asked or not said
        elif _DECLINE.search(sentence) and not said:
            declined = True
        elif not _is_filler(sentence, declined):
            said += 1
    if asked:
        return Behaviour.REQUEST_FOR_INFO
    return Behaviour.CANNOT_ANSWER if declined and not said else Behaviour.DIRECT


def asks_user(sentence: str) -> bool:
    """Return whether a sentence asks its reader for something; a suggestion or an offer of more help asks nothing."""
    if _SUGGESTION.search(sentence) or (_OFFER.search(sentence) and not _WHICH.search(sentence)):
        return False
    return sentence.rstrip("\"')*").endswith("?") or bool(_ASK.search(sentence))


def _is_filler(sentence: str, declined: bool) -> bool:
    """Return whether the sentence answers nothing: politeness, or, after declining, advice on where to turn."""
    if declined and _REFERRAL.search(sentence):
        return True
    return bool(_LEAD.search(sentence) or _OFFER.search(sentence)) and len(sentence.split()) <= _LONGEST_LEAD
