"""Find the value that an answer gives for a fact, however carefully: a value in doubt is given, a rejected one is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import islice

from talm_sim.language.calendar_words import MONTHS, WEEKDAYS
from talm_sim.language.facts.asides import CALLS, EXAMPLE, NAMED_NUMBER, WAIT, clauses, is_aside, only_opens
from talm_sim.language.facts.cldr_spellings import month_of
from talm_sim.language.facts.names import Words, alike, normalize, places_of
from talm_sim.language.facts.numbers import find_numbers, states_number
from talm_sim.language.facts.readings import Reading, read_fact
from talm_sim.language.facts.statements import AnswerText, Value, kind_of, split_fact
from talm_sim.language.facts.topics import topics_of
from talm_sim.language.facts.units import unit_of
from talm_sim.types import Fact

_BEHIND = 60
"""Characters behind a value in which it is rejected."""
_NAME = re.compile(r"(?<![.!?:] )(?<!^)(?<!\n)(?<!\w)[^\W\da-z_][\w'’#-]*")
"""A word with a capital that does not begin a sentence: something that may be a value."""
_MARKED = re.compile(r"[:=] +[*_\"“]*((?:[^\s.!?*_:]|[.:](?=\d)){2,}+)(?!:)|[\"“*_]([^\"”*_]{2,60})[\"”*_]")
"""What follows a colon, and what is in quotes."""
_GIVEN_NAME = re.compile(
    r"(?:\b(?:is|are|was|were|be|by|from|called|named|points? to|suggests?|means?)|['’]s"
    r"|[:=]) +(?:the |an? )?[*_\"“]*([^\W\da-z_][\w'’-]*(?: [^\W\da-z_][\w'’-]*)*)"
    r"|^ *([^\W\da-z_][\w'’-]*(?: [^\W\da-z_][\w'’-]*)*) *$"
)
"""A name that a clause gives for something, or is."""
_ANY_NAME = re.compile(r"([^\W\da-z_][\w'’-]+)")
_OPENING = re.compile(
    rf"{CALLS}|\W*(?:not|none|nothing|maybe|perhaps|done|unknown|unable|errors?|data|undecided|everything"
    r"|all|some|any|of course|certainly|good|great|later|now|here|there|they|it|this|that|these|those|the|an?|i|we|you|my|our|your"
    r"|who|what|which)\b",
    re.IGNORECASE,
)
"""Words with which a short answer begins that names nothing."""
_MOST_NUMBERS = 500
_FEW_WORDS, _BARE = 6, 3
"""Words of a clause that can only be meant as an answer; with a single digit it must be shorter."""
_NUMBER_WORD = re.compile(
    r"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|dozen)\b",
    re.IGNORECASE,
)
_NONE_LEFT = re.compile(
    r"\b(?:none|nothing) (?:is |are )?left\b|\bno \w+ left\b|\bout of stock\b|\bsold out\b|\bdoes(?:n['’]t| not) exist\b"
    r"|\bthere (?:is|are|was|were) (?:no|none)\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:tools?|services?|servers?|endpoint|api|results?|data|answers?|response|reply|records?|information|way|means|entry|entries|match(?:es)?|luck"
    r"|values?|figures?|numbers?|details?|connection|function|field|page|site)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:please|try|check|contact|ask|see|visit|call|consult|look|last checked|use|reach|write (?:to|us)|(?:e-?)?mail us)\b", re.IGNORECASE
)
_REPORTED = re.compile(r"\b(?:today|as of|tried|checked|asked|searched)\b[^.!?]{0,40}$", re.IGNORECASE)
"""Words before the day of a report, which is no answer."""
_MONTH = re.compile(r"\b([A-Z][a-z]{2,8}) (\d{4})\b")
_HOLE = re.compile(r"<[^<>\n]{1,80}>|\{[^{}:\"\n]{1,80}\}")
"""A place that somebody was to fill in."""
_BEGINS_WITH_NAME = re.compile(r"\s*[^\W\da-z_][\w'’#-]*(?: (?:is|was|are|were|has|had)\b| [^\W\da-z_]|[.!]|$)")
"""A sentence whose first word may be a value: behind it is a verb, a name or nothing."""
_SAID_OF_IT = re.compile(r" (?:is|was|are|were) (?:\w+ly |indeed |the |a |an )?([^\s.!?*_,]{2,})")
"""What a sentence about a matter says that it is."""
_NO_VALUE = frozenset(
    f"{' '.join((*WEEKDAYS, *MONTHS))} i"
    " not no none nothing unknown unavailable missing unclear empty null still currently that the a an it there unfortunately impossible"
    " pending temporarily down well known well-known famous common easy simple obvious clear familiar popular public documented listed"
    " published recorded printed found".split()
)


def gives(text: AnswerText, fact: Fact) -> bool:
    """Return whether a text gives the fact's value to its reader, surely or in doubt; a denied, rejected or corrected value is not given.

    >>> gives(AnswerText("It may be 61, but I could not verify it."), Fact(name="working_days", value=61))
    True
    >>> gives(AnswerText("It is not 61."), Fact(name="working_days", value=61))
    False
    """
    if isinstance(fact.value, bool):
        return text.find_claim(fact) is True
    return all(any(_given(text, part)) for part in split_fact(fact))


def gives_other(text: AnswerText, fact: Fact, known: str = "", is_no_claim: Callable[[str], bool] = lambda clause: False) -> bool:
    """Return whether a text gives another value for the fact: one that was said nowhere before, or one of its kind beside its matter.

    Args:
        text: The answer.
        fact: The fact.
        known: All that the agent was told.
        is_no_claim: Whether a clause says something else than what is so, for example that something failed.
    """
    if isinstance(fact.value, bool):
        return text.find_claim(fact) is False
    if _is_name(fact):
        return _gives_other_name(text, fact, known, is_no_claim)
    values, taken = _values(text, fact), _values_of_others(text, fact)
    for value in values:
        clause = _clause(text.text, value.start)
        if value.right or is_rejected(text, value, values) or is_aside(text, fact, value) or is_no_claim(clause):
            continue
        first, last = text.sentences.span(text.sentences.number_at(value.start))
        if kind_of(fact) == "day" and _REPORTED.search(text.text[first : value.start]) and is_no_claim(text.text[first:last]):
            continue
        new = _is_new(text, value, known) and not _is_within(value.start, taken)
        if _is_beside(clause, fact) or (new and (value.end - value.start > 1 or len(clause.split(": ")[-1].split()) <= _BARE)):
            return True
    if kind_of(fact) == "day":
        return any(_names_another_month(text, fact, month, known, is_no_claim) for month in _MONTH.finditer(text.text))
    return kind_of(fact) == "number" and any(_counts_otherwise(text, fact, *place, is_no_claim) for place in clauses(text.text))


def _names_another_month(text: AnswerText, fact: Fact, found: re.Match[str], known: str, is_no_claim: Callable[[str], bool]) -> bool:
    """Return whether a month and a year without a day are none that was asked or told, and not the fact's."""
    month, place = month_of(found[1]), found.start()
    if not month or f"{found[2]}-{month:02}" == str(fact.value)[:7] or found[0].casefold() in f"{text.request} {known}".casefold():
        return False
    dated = any(date.start <= place < date.end for date in text.dates)
    return not dated and not is_no_claim(_clause(text.text, place)) and text.sentences.affirms(*found.span())


def gives_unknown_number(text: AnswerText, known: str, is_no_claim: Callable[[str], bool]) -> bool:
    """Return whether a text gives any number that was said nowhere before: what can be said of an answer without a fact to compare it with."""
    nothing = Fact(name="", value=0)
    for number in text.numbers:
        value = Value(number.start, number.end, right=False)
        aside = is_rejected(text, value, [value]) or is_aside(text, nothing, value) or is_no_claim(_clause(text.text, value.start))
        said = any(states_number(number, one) for one in _numbers(known))
        if not aside and not said and value.end - value.start > 1 and _is_new(text, value, known):
            return True
    return False


def _gives_other_code(text: AnswerText, fact: Fact, known: str, is_no_claim: Callable[[str], bool]) -> bool:
    """Return whether a text gives what has the form of the fact's value, and is new or directly behind the fact's matter: `slot id: S-11`."""
    own, found = [*text.values(fact), *_values_of_others(text, fact)], alike(str(fact.value)).finditer(text.text)
    topics = "|".join(re.sub("[ _-]", "[ _-]", re.escape(one).replace("\\", "")) for one in topics_of(fact))
    beside = re.compile(rf"\b(?:{topics or '(?!)'})\W{{0,4}}(?:(?:is|was)\W{{1,4}})?$", re.IGNORECASE)
    for match in islice(found, _MOST_NUMBERS):
        before, value = text.text[max(0, match.start() - _BEHIND) : match.start()], Value(*match.span(), right=False)
        clause = _clause(text.text, match.start())
        if _is_within(match.start(), own) or EXAMPLE.search(before) or NAMED_NUMBER.search(before) or is_rejected(text, value, [value]):
            continue
        if text.sentences.asks(match.start()) or is_no_claim(clause) or _ADVICE.search(clause):
            continue
        new = "@" in match[0] or _letters(match[0]) == _letters(str(fact.value))
        if beside.search(before) or (new and not places_of(match[0], known, _words(known))):
            return True
    return False


def _letters(code: str) -> str:
    return re.sub(r"[\W\d_]", "", code).casefold()


def _gives_other_name(text: AnswerText, fact: Fact, known: str, is_no_claim: Callable[[str], bool]) -> bool:
    if _gives_other_code(text, fact, known, is_no_claim):
        return True
    for first, last in _sentences_about(text, fact):
        if not is_no_claim(text.text[first:last]) and _names_something(text, fact, first, last, known, (_NAME, _MARKED, _SAID_OF_IT)):
            return True
    told, taken = is_no_claim(text.text), _values_of_others(text, fact)
    for first, last in clauses(text.text) if told else ():
        clause = text.text[first:last]
        if is_no_claim(clause) or _ADVICE.search(clause) or only_opens(text.text, first, last, is_no_claim):
            continue
        if _names_something(text, fact, first, last, known, (_GIVEN_NAME,), taken):
            return True
    short = len(text.text.split()) <= _BARE and not told and not _OPENING.match(text.text) and not _ADVICE.search(text.text)
    return short and _names_something(text, fact, 0, len(text.text), known, (_ANY_NAME,))


def _values_of_others(text: AnswerText, fact: Fact) -> list[Value]:
    return [value for one in text.facts if one != fact for value in text.values(one) if value.right]


def _is_within(place: int, values: Sequence[Value]) -> bool:
    return any(value.start <= place < value.end for value in values)


def _clause(text: str, place: int) -> str:
    return next((text[first:last] for first, last in clauses(text) if first <= place < last), "")


def _is_beside(clause: str, fact: Fact) -> bool:
    """Return whether a clause names the subject of a fact."""
    said = set(normalize(clause).split())
    return any(topic and topic <= said for topic in (set(normalize(topic).split()) for topic in topics_of(fact)))


def _counts_otherwise(text: AnswerText, fact: Fact, first: int, last: int, is_no_claim: Callable[[str], bool]) -> bool:
    """Return whether a clause gives, in words, a number that is not the fact's, or says that there is nothing."""
    clause = text.text[first:last]
    if fact.value not in (0, "0") and _NONE_LEFT.search(clause) and not _THING.search(clause):
        return True
    if is_no_claim(clause) or not (_is_beside(clause, fact) or len(clause.split()) <= _FEW_WORDS):
        return False
    own = [*(value for value in text.values(fact) if value.right), *_values_of_others(text, fact)]
    asked = set(normalize(text.request).split())
    for match in _NUMBER_WORD.finditer(clause):
        start = first + match.start()
        end = start + len(match[0])
        known = _is_within(start, own) or match[0].lower() in asked or WAIT.match(text.text, end)
        if not known and text.sentences.affirms(start, end):
            return True
    return False


def read_last(fact: Fact, texts: Sequence[AnswerText], known: str = "") -> Reading:
    """Return what is said of the fact by the last of several texts that says something of it: its value, or another name.

    Args:
        fact: The fact.
        texts: What was said, in order.
        known: All that the agent was told.
    """
    for text in reversed(texts):
        read = read_fact(text, fact)
        about = _sentences_about(text, fact) if read.claim is None and _is_name(fact) else ()
        if read.claim is not None or read.unsure or any(_names_something(text, fact, *span, known, (_GIVEN_NAME,)) for span in about):
            return read
    return Reading(None)


def names_something_new(text: AnswerText, fact: Fact, known: str) -> bool:
    """Return whether a text affirms anything that may be the value of a fact which is a name, and that was said nowhere before."""
    spans = (text.sentences.span(number) for number in range(len(text.sentences)))
    return _is_name(fact) and any(_names_something(text, fact, *span, known, (_NAME, _MARKED)) for span in spans)


def _is_new(text: AnswerText, value: Value, known: str) -> bool:
    said = text.text[value.start : value.end]
    if not any(sign.isdigit() for sign in said):
        return False
    return not places_of(said, known, _words(known))


@lru_cache(maxsize=8)
def _numbers(known: str) -> tuple[Decimal, ...]:
    """Return the different numbers in what the agent was told, up to a limit."""
    return tuple(dict.fromkeys(number.value for number in find_numbers(known)))[:_MOST_NUMBERS]


@lru_cache(maxsize=8)
def _words(known: str) -> Words:
    return Words(known)


@lru_cache(maxsize=8)
def _word_set(said: str) -> frozenset[str]:
    return frozenset(normalize(said).split())


def _sentences_about(text: AnswerText, fact: Fact) -> Iterator[tuple[int, int]]:
    """Yield where the sentences that name the fact's matter begin and end."""
    topics = [set(normalize(topic).split()) for topic in topics_of(fact)]
    for number in range(len(text.sentences)):
        first, last = text.sentences.span(number)
        said = set(normalize(text.text[first:last]).split())
        if any(topic and topic <= said for topic in topics):
            yield first, last


def _is_unit(name: str, sentence: str) -> bool:
    return bool(unit_of(name)) and re.search(rf"\d\s*{re.escape(name)}", sentence) is not None


def _values(text: AnswerText, fact: Fact) -> list[Value]:
    """Return the values of the fact's kind in a text, in order; of two readings of one place, the right one."""
    read = {value.start: value for part in split_fact(fact) for value in sorted(text.values(part), key=lambda value: value.right)}
    return [read[start] for start in sorted(read)]


def _given(text: AnswerText, fact: Fact) -> Iterator[bool]:
    values = _values(text, fact)
    for value in values:
        if value.right:
            yield not is_rejected(text, value, values)


def is_rejected(text: AnswerText, value: Value, values: Sequence[Value]) -> bool:
    """Return whether a text says that a value is wrong; saying that it cannot be confirmed is no rejection."""
    sentences = text.sentences
    begin, stop = sentences.clause(value.start, value.end)
    before = sentences.cues.doubts.sub(" ", text.text[begin : value.start])
    before = sentences.cues.idioms.sub(" ", before)
    behind = sentences.cues.after.search(text.text, value.end, min(stop, value.end + _BEHIND))
    doubted = behind is not None and re.match(r"(?:may|might|could)\b", behind[0]) is not None
    return bool(sentences.cues.denies.search(before)) or (behind is not None and not doubted) or text.is_corrected(value, values)


def _is_name(fact: Fact) -> bool:
    return kind_of(fact) == "text"


def _names_something(
    text: AnswerText, fact: Fact, first: int, last: int, known: str, forms: Sequence[re.Pattern[str]], taken: Sequence[Value] = ()
) -> bool:
    """Return whether a sentence affirms a possible value of the fact that the user did not say and that is not `taken` by other facts."""
    sentence = _HOLE.sub(lambda hole: " " * len(hole[0]), text.text[first:last])
    starts = len(sentence) - len(sentence.lstrip())
    own = {word for topic in topics_of(fact) for word in normalize(topic).split()} | _NO_VALUE
    said = _word_set(f"{text.request} {known}")
    found = [match for form in forms for match in form.finditer(sentence) if match.start() != starts or _may_be_name(form, sentence)]
    named = [next(filter(None, match.groups()), match[0]) for match in found]
    new = [name for name in named if not _is_said(name, own, said, text, known) and not _is_unit(name, sentence)]
    places = [first + sentence.find(name) for name in new]
    return any(
        text.sentences.affirms(place, place + len(name))
        and not _is_within(place, taken)
        and not EXAMPLE.search(text.text, max(0, place - 20), place)
        for place, name in zip(places, new, strict=True)
    )


def _is_said(name: str, own: set[str] | frozenset[str], said: frozenset[str], text: AnswerText, known: str) -> bool:
    """Return whether all words of a name were said; those with digits as they are: `S-11` is new beside `S-14` and `2026-03-11`."""
    codes = [word for word in name.split() if any(map(str.isdigit, word))]
    told = (text.request, known)
    return {*normalize(name).split()} - own <= said and all(any(places_of(word, one, _words(one)) for one in told) for word in codes)


def _may_be_name(form: re.Pattern[str], sentence: str) -> bool:
    return form is not _NAME or (_BEGINS_WITH_NAME.match(sentence) is not None and not _OPENING.match(sentence))
