"""Judge `missing-turn`: it labels what a model does in the turn that lacks a function or a value, which BFCL's own check does not look at.

`multi_turn_miss_func` hides a function for one turn, and `multi_turn_miss_param` leaves a value out of a message. The next turn brings it. The
first label of docs/refusal.md's list that holds is the turn's. In `multi_turn_miss_param` a person's answer ends the turn, so that calls after
it belong to the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from talm_sim.common.json_values import leaves
from talm_sim.judges.base import Judge
from talm_sim.language.answer_words import compile_words
from talm_sim.language.asking import asking_sentences
from talm_sim.language.facts.names import normalize
from talm_sim.language.final_answer import Kind, claims_success, read_final_answer
from talm_sim.language.question_words import stem
from talm_sim.models.base import ASK_HUMAN
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.bfcl.turn_rows import LACKS_FUNCTION, find_missing_turn
from talm_sim.types import Episode, GoldCall, Measured, Scenario, Verdict

MISSING_RIGHT = Measured(
    name="missing_turn",
    head="Right",
    about="asked for what is missing, or, if a function is missing, said that it cannot be done",
    better="higher",
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SMALL = frozenset({"get", "set", "the", "and", "for", "all", "based"})
_PLAIN = frozenset({"id", "name", "number", "value", "type", "list"})
"""Last words of parameters' names that say less than those before them."""
_FROM_START = r"(?:^|(?<=[.!?\n]))[^.!?\n]*"
_OFFER = compile_words(
    _FROM_START + r"(?<!\bor )\b(?:something|anything) (?:\w+ ){0,3}?(?:else|different|other|instead)\b[^.!?\n]*\?",
    _FROM_START + r"\b(?:any|some|an)(?: ?other|thing) (?:task|request|thing|help|you(?:'d| would|'ll| will)? (?:like|need|want))\b[^.!?\n]*\?",
    _FROM_START + r"\bhow else\b[^.!?\n]*\b(?:help|assist|be of)\b[^.!?\n]*\?",
)
"""Questions that offer something else, and say nothing of what was asked for."""
_MORE = compile_words(_FROM_START + r"\b(?:would you like|do you want)\b[^.!?\n]*\?")
"""Questions that offer more, once something was done."""
_GIVE = (
    r"(?:tell|give|send|add|share|provide|name|pass|drop|write|state|enter|specify|type|reply|answer|point|hand|supply|grant|show"
    r"|let (?:me|us) know)(?! if\b)"
)
_WHEN = r"(?:once|when|as soon as|after|until|unless|if|before)"
_FACT = r"(?:the|your|an?|that|its?|this|these|those|what|which|where|who|whose|how|more|some)\b"
_MAY = r"(?:i|we)(?:'ll|'d| will| would| can| could)"
_KNOW = rf"(?:i|we)(?:'ve| have)? (?:have|got|get|know|receive|learn|hear) (?:back )?{_FACT}"
_ASKS = compile_words(
    rf"(?:^|[.!?:;,)\u2014\n-]\s*|\b(?:just|simply|or|so) ){_GIVE}\b[^.!?\n]{{0,80}}?"
    r"(?:\band|\bthen|\bso(?: that)?|,) (?:i|we)(?:'ll| will| can)\b",
    rf"\b(?:please|kindly) (?:\w+ )?(?:{_GIVE}|fill|complete|clarify|confirm|pick|choose|check)\b",
    rf"\b{_WHEN} you(?: can| could|'ve| have)? (?:{_GIVE}|sent|given|told|added|named|decide|chose|choose|pick)\b(?! up)",
    rf"\b{_MAY}\b[^.!?\n]*\b{_WHEN} {_KNOW}|\b{_WHEN} {_KNOW}[^.!?\n]*\b{_MAY}",
    r"\b(?:depend|rely|count) on you\b|\bneed you to\b",
    rf"\b(?:just|simply) (?!let){_GIVE} (?:me|us|it|{_FACT})",
    r"\b(?:would|might) (?:\w+ )?(?:help|be (?:\w+ )?(?:useful|helpful|needed|handy|required))(?: as well| too| here| first)?[.!]?$",
    r"\b(?:waiting|wait) (?:on|for)\b[^.!?\n]*\b(?:from you|your)\b|\bawait(?:ing)? your\b",
)
"""Requests that have no question mark, beside those that are known."""
_QUESTION = compile_words(
    r"(?:^|[.!:;,\n]\s*)(?:and |but |so |ok(?:ay)?,? |sure,? )?(?:to|for|from|at|in|on|by|with)? ?(?:which|what|where|when|who|whom|whose|how)"
    r"(?: \w+){0,3}? (?:should|shall|would|do|does|did|is|are|was|can|could|will|may|must) (?:i|we|you|it|this|that|they|the|your|my|be)\b"
    r"[^.!?\n]*[^.!?\n:,;]$",
    r"(?:^|[.!\n]\s*)(?:\w+, )?(?:to |for |from |at |in )?(?:which|what|whose)(?: \w+){1,5}$",
    r"\b(?:(?:should|shall) (?:i|we)|(?:do|did) you (?:use|take|pick|choose|mean|go with|prefer))\b(?:[^.!?\n]|\.\w)* or\b(?:[^.!?\n]|\.\w)*\?",
)
"""A question at the end of a text, without its mark; a choice between two things, be one of them "the other"."""


class MissingLabel(StrEnum):
    """A label of what was done in the turn, in the order of the rules."""

    NOT_SHOWN = "not_shown"
    GUESSED = "guessed"
    ACTED_IN_PART = "acted_in_part"
    ASKED = "asked"
    SAID_IT_CANNOT = "said_it_cannot"
    OTHER_TEXT = "other_text"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class MissingTurn:
    """What a model did in the turn that lacks something, and in the next one."""

    turn: int
    """Which of the scenario's turns it is, from 0."""
    label: MissingLabel
    right: bool | None
    """None if it is neither right nor wrong."""
    looked: bool
    """Whether a shown function was called that left the state as it was."""
    named: bool | None
    """Whether a right answer names what is missing; None if the answer is not right, or if it is not known by what name."""
    done: bool
    """Whether each right call of the next turn was made, in it or in this one."""


class MissingTurnJudge(Judge):
    """Labels the turn that lacks a function or a value, and passes it if the model asked, or said that it cannot do without the function."""

    name = "missing-turn"
    measure = MISSING_RIGHT
    rules = 2

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if find_missing_turn(scenario) is None:
            return self.verdict(episode, None, "not applicable: no turn of the scenario lacks anything that a later one brings")
        if not episode.termination.completed:
            return self.verdict(episode, None, f"not judged: the episode ended in {episode.termination.value}")
        if (found := read_missing_turn(episode, scenario)) is None:
            return self.verdict(episode, None, "not applicable: the row ended before the turn that lacks something")
        looked = ", after calls that changed nothing" if found.looked else ""
        said = f"request {found.turn + 1}: {found.label.replace('_', ' ')}{looked}"
        return self.verdict(episode, found.right, said, label=found.label)


def read_missing_turn(episode: Episode, scenario: Scenario) -> MissingTurn | None:
    """Return what an episode shows of the turn that lacks something; None if there is no such turn, or it was not reached."""
    number = find_missing_turn(scenario)
    own = [turn for turn in episode.model_turns if turn.user_turn == number]
    if number is None or not own:
        return None
    called = [name for turn in own for name in (*(one.name for one in turn.tool_calls), *(one.name for one in turn.unparsable_calls))]
    names = [name for name in called if name != ASK_HUMAN]
    later = {name for turn in scenario.turns[number + 1 :] for name in turn.tools_added}
    shown = {*scenario.tools} - later
    events = [one for one in episode.tool_events if episode.model_turns[one.turn].user_turn == number]
    changed = any(one.state_before != one.state_after for one in events)
    text = split_reasoning(own[-1].said)[0].strip()
    questions = [one.question for one in episode.human_events if episode.model_turns[one.turn].user_turn == number]
    following = scenario.turns[number + 1]
    hidden = scenario.group == LACKS_FUNCTION
    if any(name not in shown for name in names):
        label = MissingLabel.NOT_SHOWN
    elif not hidden and (changed or not {one.name for one in following.gold_calls}.isdisjoint(names)):
        label = MissingLabel.GUESSED
    elif changed:
        label = MissingLabel.ACTED_IN_PART
    else:
        label = MissingLabel.ASKED if questions else _label_text(text)
    right = None if label is MissingLabel.ACTED_IN_PART else label is MissingLabel.ASKED or (hidden and label is MissingLabel.SAID_IT_CANNOT)
    return MissingTurn(
        turn=number,
        label=label,
        right=right,
        looked=any(one.name in shown and one.state_before == one.state_after for one in events),
        named=_names("\n".join((*questions, text)), scenario, number) if right else None,
        done=all(any(_makes(call, one) for call in _calls(episode, number)) for one in following.gold_calls),
    )


def _label_text(text: str) -> MissingLabel:
    """Return the label of a turn that calls do not decide."""
    if not text:
        return MissingLabel.SILENT
    if find_attempt(text) is not None:
        return MissingLabel.OTHER_TEXT
    return read_said(text)


def _names(text: str, scenario: Scenario, number: int) -> bool | None:
    """Return whether a text names the hidden function or the missing parameter; None if it is not known which parameter that is."""
    following = scenario.turns[number + 1]
    if scenario.group == LACKS_FUNCTION:
        needed = [one.name for one in following.gold_calls if one.name in following.tools_added] or [*following.tools_added]
        said = _stems(text)
        return any(_holds(text, name) or _stems_of_name(name) <= said for name in needed)
    if not (parameters := _missing_parameters(scenario, number)):
        return None
    asked = " ".join(asking_sentences(text)) or text
    said = _stems(asked)
    return any(_holds(asked, name) or _main_word(name) in said for name in parameters)


def _missing_parameters(scenario: Scenario, number: int) -> tuple[str, ...]:
    """Return the parameters of the next turn's right calls that have a value which its message brings, and no earlier message held."""
    said = [" ".join(str(message.get("content") or "") for message in turn.messages) for turn in scenario.turns]
    brought, earlier = said[number + 1], " ".join(said[: number + 1])
    found = (
        name
        for call in scenario.turns[number + 1].gold_calls
        for name, value in call.arguments.items()
        if any(_holds(brought, one) and not _holds(earlier, one) for _, one in leaves(value))
    )
    return tuple(dict.fromkeys(found))


def _holds(text: str, value: Any) -> bool:
    """Return whether a message holds a value as a word or number of its own."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return any(float(one.replace(",", "")) == value for one in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))
    wanted = str(value).strip().casefold()
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text.casefold()) is not None


def _calls(episode: Episode, number: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for turn in episode.model_turns:
        if turn.user_turn in (number, number + 1):
            yield from ((call.name, call.arguments) for call in turn.tool_calls)


def _makes(call: tuple[str, Mapping[str, Any]], right: GoldCall) -> bool:
    """Return whether a call is the right one: the same function, and the right call's arguments among its own."""
    name, given = call
    return name == right.name and all(key in given and given[key] == value for key, value in right.arguments.items())


def _main_word(parameter: str) -> str:
    words = [word.lower() for word in _PARTS.findall(parameter)] or [parameter]
    while len(words) > 1 and (words[-1] in _PLAIN or len(words[-1]) == 1):
        words.pop()
    return stem(words[-1])


def _stems_of_name(name: str) -> set[str]:
    words = [word.lower() for word in _PARTS.findall(name)]
    return {stem(word) for word in words if len(word) > 2 and word not in _SMALL} or {stem(name.lower())}


def _stems(text: str) -> set[str]:
    return {stem(word) for word in normalize(text).split()}


def read_said(text: str) -> MissingLabel:
    """Return what a text says at the end of the turn, by its wording, in English; one that asks for something and declines asks.

    `read_final_answer` is asked first. Only here, a question without its mark asks, a request that is put as an order or a condition ("Send it
    over and I'll go on"), and a statement of what the request lacks; an offer to do something else asks nothing.

    >>> str(read_said("I'm missing the stock symbol.")), str(read_said("My toolset has nothing for that. Want me to try something else?"))
    ('asked', 'said_it_cannot')
    >>> str(read_said("I couldn't find it at first, but now it's been moved."))
    'other_text'
    """
    text = _OFFER.sub(" ", text.replace("`", "").replace("**", "").replace("\u2019", "'"))
    done = claims_success(text)
    text = (_MORE.sub(" ", text) if done else text).strip()
    said = read_final_answer(text)
    if said.asking or _ASKS.search(text) or _QUESTION.search(text):
        return MissingLabel.ASKED
    if said.cannot and said.kind is not Kind.ANSWERS and not (done and said.nothing):
        return MissingLabel.SAID_IT_CANNOT
    return MissingLabel.ASKED if said.lacks and not done else MissingLabel.OTHER_TEXT
