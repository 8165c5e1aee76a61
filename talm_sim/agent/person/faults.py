"""Find what a simulated person got wrong in an answer: a leak, a contradiction, a false claim.

Fixed rules read the answer's values and claims and compare them with what the person knows; docs/people.md gives them in words. English only;
in another language the values alone are read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from talm_sim.agent.person.giving import (
    day_of,
    derived_days,
    gives_thing,
    is_bound,
    is_relative,
    number_of,
    other_day,
    other_unit,
    read_text,
    right_places,
)
from talm_sim.agent.person.knowledge import Knowledge, KnownThing
from talm_sim.language.facts.names import normalize
from talm_sim.language.facts.statements import AnswerText, kind_of
from talm_sim.language.question_words import GENERIC, STOP, stem
from talm_sim.language.said.counts import bounded, counted, counts_in_words, is_ordinal, other_counts, stems
from talm_sim.language.said.past_acts import claimed_acts
from talm_sim.language.said.spoken_values import SaidValue, names_in, remember, turns, values_in

_NOT_NAME = re.compile(
    r"\b(?:not|never|no longer|instead of|rather than)((?: (?:at|in|for|from|to|on|with|by|the|an?|mrs?|ms|of|really|any ?more))*)"
    r" ((?-i:[^\W\da-z_])[\w'\u2019-]*)",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"(?:\b(?:without|skip|leave out|cancel|drop|forget)|(?:^|[,.;!:]|\b(?:and|with|but|please)) ?\bno) (?:(?:any|the|my|our) )?([^\W\d_]+)",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(r"\b(?:without|no|not|any|don['\u2019]?t)\b[^.,;!?]{0,30}$", re.IGNORECASE)


def _denied_of_request(text: AnswerText, request: str, question: str, *, at_odds: bool) -> bool:
    """Return whether an answer says No to something that the request asks for and that the question does not name.

    Args:
        text: The answer.
        request: What the person asked the agent.
        question: What the agent asked.
        at_odds: Whether a name of the request may only be denied: no name was asked for that it could be told apart from.
    """
    asked, names = normalize(question).split(), names_in(request)
    for match in _NOT_NAME.finditer(text.text):
        name = normalize(match[2]).strip()
        preposition = match[1].split()[:1]
        same = preposition and re.search(rf"\b{re.escape(preposition[0])} (?:the )?{re.escape(match[2])}\b", request, re.IGNORECASE)
        if name in names and name not in asked and (at_odds or same):
            return True
    return any(_is_wanted(match[1], request) for match in _WITHOUT.finditer(text.text))


def _is_wanted(word: str, request: str) -> bool:
    """Return whether a request asks for something, rather than to do without it."""
    if stem(word.lower()) in STOP | GENERIC:
        return False
    places = [match.start() for match in re.finditer(r"[^\W\d_]+", request) if stem(match[0].lower()) == stem(word.lower())]
    return bool(places) and not any(_DENIED_BEFORE.search(request[:place]) for place in places)


FaultKind = Literal["contradiction", "false_claim", "leak"]
FAULTS: tuple[FaultKind, ...] = ("contradiction", "false_claim", "leak")
"""Kinds of fault, the gravest first."""

_YES = re.compile(
    r"\W*(?:yes|yep|yeah|right|correct|exactly|sure|indeed|absolutely|definitely|certainly|of course|ok(?:ay)?|fine|perfect|(?:we|i) do|it is"
    r"|that(?:['\u2019]?s| is) (?:right|correct|it|fine|perfect|good)|that works)\b|\s*\U0001f44d",
    re.IGNORECASE,
)
_NO = re.compile(r"\W*(?:no|nope|wrong)\b", re.IGNORECASE)
_DISOWNS = re.compile(r"\bI (?:never|did ?n['\u2019]?t|did not) (?:say|said|ask(?:ed)?|mention(?:ed)?|want(?:ed)?|mean|meant)\b", re.IGNORECASE)
_OR = re.compile(r"[\s,.]*(?:\w+ )?(?:or|/)(?: (?:maybe|perhaps|even|was it|is it|possibly))?[\s,]*(?:the )?", re.IGNORECASE)
_EVADES = re.compile(
    r"\?\s*$|\b(?:know|idea|sure|remember|recall|tell|say|unable|cannot|can['\u2019]?t|won['\u2019]?t|unknown|sorry|why|rather|find|guess|choose"
    r"|decide|matter|matters|please|up to you|none|nothing|whatever|whichever|yes|no|thanks?|thank|hello|need|provide|assist(?:ant)?|help)\b",
    re.IGNORECASE,
)
_SAYS_WHAT = re.compile(
    r"^\W*(?:(?:it|that|this|they|we|he|she|mine|ours|the \w+(?: \w+)?)(?:['\u2019]s| is|['\u2019]re| are| was| were| would be| says?)"
    r"|to|from|in|at|on|with)?\s*(?:the |an? |called |probably |maybe )*((?:[\w#'\u2019.-]+ ?){1,4})\W*$",
    re.IGNORECASE,
)
"""A sentence that only says what something is."""
_PRONOUN = re.compile(r"\b(?:i|we|you|they|it|he|she)\b", re.IGNORECASE)
_ASKS_KIND = {
    "day": re.compile(r"\b(?:when|days?|dates?)\b", re.IGNORECASE),
    "number": re.compile(r"\b(?:which|what) (?:numbers?|amount|year)\b|\bhow (?:many|much|long|far)\b", re.IGNORECASE),
}
_KNOWS_NOT = re.compile(r"\b(?:do(?:es)?(?: not|n['\u2019]?t) know|not (?:sure|certain|aware)|no idea)\b", re.IGNORECASE)
_NEAR = 0.8
"""Likeness of two codes of which one is the other with a slip of the hand."""
_SHORTEST_CODE = 4
_FEW_WORDS = 8
_FEW_SENTENCES = 3
_READ = 4_000
_LONGEST_SENTENCE = 80
"""Characters of a sentence that only says what something is, and of a code."""
_OF_SAYING = frozenset(stem(word) for word in normalize("told mentioned said asked wrote gave provided stated explained").split()) | {
    *normalize("first before already earlier above message i as write note describe specify").split()
}
"""Words of a claim to have said something that do not say what."""


@dataclass(frozen=True, slots=True)
class PersonFault:
    """Something that a simulated person got wrong in an answer."""

    kind: FaultKind
    about: str


def find_faults(answer: str, asked: Sequence[str], knowledge: Knowledge, earlier: Sequence[str] = ()) -> list[PersonFault]:
    """Find what is wrong with an answer, the gravest first.

    Of each text the first 4,000 characters are read: no person answers in more.

    >>> from talm_sim.types import Fact, Missing, MissingKind
    >>> gone = Missing(kind=MissingKind.ARGUMENT, name="year", value=2027)
    >>> year = KnownThing(gone, "", (Fact(name="year", value=2027),), "2027")
    >>> known = Knowledge("When is Easter Monday in the year of our wedding?", (year,))
    >>> [find_faults(said, ["Which year is it?"], known) for said in ("In 2027.", "I don't know.")]
    [[], []]
    >>> find_faults("In 2026.", ["Which year is it?"], known)
    [PersonFault(kind='contradiction', about='year')]
    >>> find_faults("I don't know, but it is 2027.", ["Shall I leave out Sundays?"], known)
    [PersonFault(kind='leak', about='year')]
    """
    reading = _Reading(answer[:_READ], [one[:_READ] for one in asked], knowledge, [one[:_READ] for one in earlier])
    contradicted = list(reading.contradictions())
    claimed = reading.false_claims({fault.about for fault in contradicted})
    found = dict.fromkeys([*contradicted, *claimed, *reading.leaks()])
    return sorted(found, key=lambda fault: FAULTS.index(fault.kind))


def told_things(answer: str, knowledge: Knowledge) -> list[str]:
    """Return the names of the missing things whose values an answer gives."""
    text = read_text(answer[:_READ], knowledge)
    return [thing.name for thing in knowledge.things if gives_thing(text, thing)]


class _Reading:
    """One answer, read against what its person knows."""

    def __init__(self, answer: str, asked: Sequence[str], knowledge: Knowledge, earlier: Sequence[str]) -> None:
        self._asked, self._knowledge, self._earlier = asked, knowledge, earlier
        self._text = read_text(answer, knowledge, knowledge.request)
        self._question = asked[-1] if asked else ""
        self._about = [thing for thing in knowledge.things if thing.is_asked(self._question) or _asks_kind(self._question, thing)]
        self._given = [thing for thing in knowledge.things if gives_thing(self._text, thing, by_the_way=thing not in self._about)]
        self._missed = [thing for thing in self._about if thing not in self._given]
        own = remember(knowledge.text)
        heard = remember("\n".join([knowledge.text, *asked]))
        right = [place for thing in knowledge.things for place in right_places(self._text, thing, by_the_way=thing not in self._about)]
        said = [
            one for one in values_in(self._text) if not any(start <= one.start < end or one.start <= start < one.end for start, end in right)
        ]
        said = [one for one in said if not self._is_derived(one)]
        self._unknown = [one for one in said if not own.has(one, self._text)]
        """Values that are in no fact, those of the questions included."""
        self._new = [one for one in self._unknown if not heard.has(one, self._text)]
        """Values that nobody said before."""
        self._right, self._said = right, said

    def contradictions(self) -> Iterator[PersonFault]:
        """Find values in place of those that the person knows."""
        for thing in self._missed:
            own = remember(thing.words)
            short = [one for one in self._said if self._is_short(one) and not one.opens and not own.has(one, self._text)]
            other = [*self._unknown, *short]
            if any(self._may_replace(one, thing) for one in other) or self._names_other(thing) or self._agrees_wrongly(thing):
                yield PersonFault("contradiction", thing.name)
        for thing in self._about:
            bound = is_bound(self._text, thing) or other_unit(self._text, thing, self._knowledge.request)
            if bound or self._is_other_day(thing) or self._counts_otherwise(thing):
                yield PersonFault("contradiction", thing.name)
        for thing in self._knowledge.things:
            if self._denies(thing) or (thing in self._given and (self._leaves_open() or self._gives_second(thing) or self._turns_away(thing))):
                yield PersonFault("contradiction", thing.name)
        for one in self._new:
            if near := self._slip(one):
                yield PersonFault("contradiction", near)
        others = [place for place in other_counts(self._text, self._read(self._knowledge.text)) if place not in self._right]
        if others or _denied_of_request(self._text, self._knowledge.request, self._question, at_odds=not self._asks_name()):
            yield PersonFault("contradiction", "request")
        if not self._about and self._is_in_request() and any(self._counts(one) for one in self._new):
            yield PersonFault("contradiction", "request")
        disowned = _DISOWNS.search(self._text.text)
        if disowned and any(
            one.kind == "name" or not one.spelt for one in self._said if one.start > disowned.end() and one not in self._unknown
        ):
            yield PersonFault("contradiction", "request")

    def false_claims(self, contradicted: Collection[str]) -> Iterator[PersonFault]:
        """Find claims to have done or said something, and values that are in no fact and not in place of one that is `contradicted`."""
        replaced = [*self._missed, *(thing for thing in self._about if thing.name in contradicted)]
        before = "\n".join([self._knowledge.request, *self._earlier])
        for claim in claimed_acts(self._text.text, self._knowledge.text):
            if not claim.of_saying or not self._was_said(claim.words, before):
                yield PersonFault("false_claim", claim.words)
        for one in self._new:
            if self._counts(one) and not any(self._may_replace(one, thing) for thing in replaced):
                yield PersonFault("false_claim", self._text.text[one.start : one.end])

    def leaks(self) -> Iterator[PersonFault]:
        """Find the missing things that are given and that no question so far asked for."""
        before = self._read("\n".join([self._knowledge.request, *self._asked, *self._earlier]))
        for thing in self._given:
            if not any(thing.is_asked(question) for question in self._asked) and not gives_thing(before, thing):
                yield PersonFault("leak", thing.name)

    def _counts(self, one: SaidValue) -> bool:
        """Return whether a value cannot be an idiom, the first word of a sentence or a small number by the way."""
        if one.spelt or one.opens:
            return False
        return one.kind != "number" or one.end - one.start > 1 or one.measured or self._is_short(one)

    def _is_short(self, one: SaidValue) -> bool:
        """Return whether a value is in a short sentence that states something, so that the sentence is about it."""
        first, last = self._text.sentences.span(self._text.sentences.number_at(one.start))
        sentence = self._text.text[first : last + 1]
        return len(sentence.split()) <= _FEW_WORDS and not sentence.rstrip().endswith("?") and not _EVADES.search(sentence)

    def _may_replace(self, one: SaidValue, thing: KnownThing) -> bool:
        """Return whether a value is of the kind of a thing's."""
        kinds = {kind_of(fact) for fact in thing.facts} or {"text"}
        if "color" in kinds:
            return not one.spelt and not (one.opens and self._evades())
        if "text" in kinds:
            coded = any(sign.isdigit() for fact in thing.facts for sign in str(fact.value))
            unsure = (one.opens and self._evades()) or _KNOWS_NOT.search(self._text.text)
            return (one.kind == "name" or coded) and not one.spelt and not unsure
        if "number" in kinds:
            return one.kind == "number" and (not one.spelt or self._is_short(one) or self._is_counted(one))
        number = self._is_short(one) and is_ordinal(self._text.text[one.start : one.end]) if one.spelt else one.end - one.start > 1
        return one.kind in {"day", "time"} or (one.kind == "number" and number)

    def _is_counted(self, one: SaidValue) -> bool:
        """Return whether a number counts what the question asks for: "one working day"."""
        behind = normalize(self._text.text[one.end : one.end + 24]).split()[:2]
        return not {stem(word) for word in behind}.isdisjoint({stem(word) for word in normalize(self._question).split()} - STOP)

    def _names_other(self, thing: KnownThing) -> bool:
        """Return whether a sentence only says that the thing is something, in words without a capital."""
        if not {"text", "color"} & {kind_of(fact) for fact in thing.facts} or self._evades():
            return False
        known = {stem(word) for word in normalize(self._knowledge.text).split()} | {stem(word) for word in normalize(self._question).split()}
        for number in range(len(self._text.sentences)):
            first, last = self._text.sentences.span(number)
            match = _SAYS_WHAT.match(self._text.text[first:last]) if last - first <= _LONGEST_SENTENCE else None
            if match and not _PRONOUN.search(match[1]) and {stem(word) for word in normalize(match[1]).split()} - known - STOP:
                return True
        return False

    def _agrees_wrongly(self, thing: KnownThing) -> bool:
        """Return whether the answer agrees to a question that gives another value."""
        if not _YES.match(self._text.text):
            return False
        question, own = self._read(self._question), remember(self._knowledge.text)
        wrong = [one for one in values_in(question) if not one.opens and not one.spelt and not own.has(one, question)]
        return not gives_thing(question, thing) and any(self._may_replace(one, thing) for one in wrong)

    def _denies(self, thing: KnownThing) -> bool:
        """Return whether the answer rejects a thing's value and gives it nowhere, or says No to a question that gives it."""
        if thing in self._given:
            return False
        if any(True for _ in right_places(self._text, thing, by_the_way=thing not in self._about)):
            return True
        return thing in self._about and bool(_NO.match(self._text.text)) and gives_thing(self._read(self._question), thing)

    def _turns_away(self, thing: KnownThing) -> bool:
        """Return whether a right value is taken back for another one: "three, no, four"."""
        places = list(right_places(self._text, thing))
        later = [one for one in self._said if self._may_replace(one, thing) or one.kind == "number"]
        return any(one.start > end and turns(self._text.text[end : one.start]) for _, end in places for one in later)

    def _counts_otherwise(self, thing: KnownThing) -> bool:
        """Return whether the answer gives another number without a numeral: "nobody", "just me"."""
        if (number := number_of(thing)) is None or len(self._text.sentences) > _FEW_SENTENCES:
            return False
        if thing in self._missed and any(one.kind == "number" and bounded(self._text.text, one.start, one.end) for one in self._said):
            return True
        known = stems(f"{self._question} {thing.words} {thing.name.replace('_', ' ')}")
        places = list(right_places(self._text, thing)) if thing in self._given else []
        other = [(start, end) for start, end, value in counts_in_words(self._text.text, known) if value != number]
        return any(not places or any(start <= first < end for first, _ in places) for start, end in other)

    def _is_other_day(self, thing: KnownThing) -> bool:
        """Return whether the answer says when in another way than the person knows it, a year included."""
        day = day_of(thing)
        if thing in self._missed and "year" in thing.name.split("_"):
            return is_relative(self._text)
        return day is not None and other_day(self._text, day, self._read(self._question), given=thing in self._given)

    def _is_derived(self, one: SaidValue) -> bool:
        """Return whether a day follows from one that the person knows and a length of time in the request, or "1 room" from "a room"."""
        if one.kind == "number" and one.value == 1:
            return bool(counted(self._text.text, one.end) & stems(self._knowledge.request))
        if one.kind == "day" and isinstance(one.value, tuple):
            year, month, number = one.value
        elif one.kind == "number" and is_ordinal(self._text.text[one.start : one.end]):
            year, month, number = None, None, one.value
        else:
            return False
        days = {
            day for thing in self._knowledge.things if (own := day_of(thing)) for day in derived_days(self._read(self._knowledge.request), own)
        }
        return bool(self._given) and any(month in {None, day.month} and day.day == number and year in {None, day.year} for day in days)

    def _asks_name(self) -> bool:
        return any(kind_of(fact) in {"text", "color"} for thing in self._about for fact in thing.facts)

    def _read(self, text: str) -> AnswerText:
        return read_text(text, self._knowledge)

    def _leaves_open(self) -> bool:
        """Return whether a right value is one of two between which the answer does not choose."""
        places = sorted([*((start, end, True) for start, end in self._right), *((one.start, one.end, False) for one in self._said)])
        for (_, end, right), (start, _, other) in pairwise(places):
            if right is not other and start >= end and _OR.fullmatch(self._text.text[end:start]):
                return True
        return False

    def _gives_second(self, thing: KnownThing) -> bool:
        """Return whether a number or day that nobody said is given beside the right one, as plainly."""
        plain = [one for one in self._new if one.kind in {"number", "day"} and (one.measured or self._is_short(one))]
        return (
            thing in self._about
            and any(kind_of(fact) in {"number", "day"} for fact in thing.facts)
            and any(self._may_replace(one, thing) for one in plain)
        )

    def _slip(self, one: SaidValue) -> str:
        """Return the known code or name that a value is with a slip of the hand; empty if there is none."""
        said = self._text.text[one.start : one.end].strip("#").lower()
        if one.opens or one.spelt or not _SHORTEST_CODE <= len(said) <= _LONGEST_SENTENCE or one.kind in {"day", "time"}:
            return ""
        for thing in self._knowledge.things:
            for fact in thing.facts:
                value = str(fact.value).strip("#").lower()
                if len(value) >= _SHORTEST_CODE and value != said and SequenceMatcher(None, value, said).ratio() >= _NEAR:
                    return thing.name
        return ""

    def _is_in_request(self) -> bool:
        """Return whether the question asks for something that the request says."""
        request = normalize(self._knowledge.request).split()
        words = {stem(word) for word in normalize(self._question).split()} - STOP - {"when", "where", "who"}
        return bool(words) and all(any(said.startswith(word) for said in request) for word in words)

    def _evades(self) -> bool:
        return bool(_EVADES.search(self._text.text))

    def _was_said(self, words: str, before: str) -> bool:
        """Return whether what the answer says that it said before was said: its values, or else anything in answer to this question."""
        if said := {stem(word) for word in normalize(words).split()} - STOP - _OF_SAYING:
            return said <= {stem(word) for word in normalize(before).split()}
        meant = self._given or self._about
        return bool(meant) and all(gives_thing(self._read(before), thing) for thing in meant)


def _asks_kind(question: str, thing: KnownThing) -> bool:
    """Return whether a question asks for a value of a thing's kind, in words that do not name the thing."""
    return any(kind in _ASKS_KIND and _ASKS_KIND[kind].search(question) for kind in map(kind_of, thing.facts))
