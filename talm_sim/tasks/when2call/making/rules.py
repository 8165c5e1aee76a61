"""`sim/writer`, a writer without a model: fixed phrasings, and requests out of reach written by hand. A control, and labelled as one.

The phrasings of an option are the same whichever option is right, so that the form gives nothing away (`scripts/form_check.py`). Every row
names it as its source ("talm-sim rules").
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.common.toml_files import packaged_toml
from talm_sim.scenarios.making.prompts import WrittenText
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.tasks.when2call.making.writers import tool_use_of_call
from talm_sim.types import Behaviour, Fact, Missing

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FOLLOW_UPS = (
    "Could you tell me {what}?",
    "Please tell me {what}.",
    "Can you let me know {what}, please?",
    "I still need to know {what}. Could you add it?",
    "Before I start, may I know {what}?",
    "To go on, I need to know {what}.",
    "Would you mind telling me {what}?",
    "One thing is open: could you say {what}?",
    "May I know {what} first, please?",
    "Please let me know {what}, so that I can begin.",
    "Can you tell me {what} before I go ahead?",
    "I can begin once you tell me {what}. Could you say it?",
)
"""The same whatever is right, so that the wording does not give it away: only what is asked for does."""
_CLAUSE = re.compile(r"[,;:(]|\.(?=\s|$)|\s(?:as|in the form)\s|\s(?:from|on) whose\s")
_CLAUSE_OPENS = re.compile(r"(?:how|what|which|when|where|whether|who|whose|the|an?|one|this|your)\b", re.IGNORECASE)
_PROPER = re.compile(
    r"(?:English|European|American|British|German|Gregorian|Roman|Latin|Unicode|Greek|French|Colour Index|Electron|Node\.js)\b"
)
_LONGEST = 9
"""Words of a description that are taken for the name of what it describes."""
_YEARS = (1500, 2100)
"""Whole numbers that may be years: one that is told for them lies near."""
_WEEKS = timedelta(days=31)
_LATE = 25
"""Day of a month after which an earlier one is told for it."""
_DETAILS = 0.4
"""Share of needless follow-ups that ask for a detail; the others ask for what is given."""
_REFUSALS = (
    "I'm sorry, but I can't find that out for you.",
    "Unfortunately I'm unable to help with this request, as I have no way to look it up.",
    "I'm afraid I can't answer that with what is open to me.",
    "That is something I can't do here, sorry.",
    "I don't have a way to find this, so I can't give you an answer.",
    "Sorry, this is beyond what I can look up.",
    "I can't help you with that: the information is not available to me.",
    "I'm not able to get this for you, I'm sorry.",
)


class RuleWriter:
    """Writes items by rule."""

    name = "talm-sim rules"

    def __init__(self, sources: Sequence[SourceQuestion], seed: int) -> None:
        self._seed = seed
        self._values: dict[tuple[str, str, bool], list[Fact]] = defaultdict(list)
        for source in sources:
            for fact in source.facts:
                self._values[source.spec.name, fact.pointer, fact.complete].append(fact)

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        """Explain by the gold call; see `tool_use_of_call`."""
        return tool_use_of_call(source)

    async def rewrite(self, source: SourceQuestion, missing: Missing, attempt: int) -> WrittenText:
        """Refuse: taking words out by rule would not leave a sentence."""
        return WrittenText("", "the rules cannot rewrite a question; only those with a human-checked rewriting have this item")

    async def unanswerable(self, source: SourceQuestion, attempt: int) -> WrittenText:
        """Return the request written by hand for this tool, for the first source question that calls it."""
        known = _handwritten_requests().get(source.spec.name)
        if known is None:
            return WrittenText("", "the rules know no request that is out of this tool's reach")
        if source.turn or attempt:
            return WrittenText("", "the rules know one request out of this tool's reach, and an earlier source question has it")
        return WrittenText(known["question"])

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        """Return a fixed phrasing, or make up a direct answer."""
        by_hand = item.gold is Behaviour.CANNOT_ANSWER and not item.removed
        known = _handwritten_requests().get(item.source.spec.name, {}) if by_hand else {}
        # Not by the gold behaviour: the items of one source have the same wordings.
        draw = random.Random(derive_seed(self._seed, item.source.id, "by hand" if by_hand else "", behaviour.value, attempt))
        match behaviour:
            case Behaviour.CANNOT_ANSWER:
                return WrittenText(draw.choice(_REFUSALS))
            case Behaviour.DIRECT if known:
                return WrittenText(known["answer"])
            case Behaviour.DIRECT:
                return self._write_invented(item.source, draw)
            case _ if known:
                return WrittenText(known["follow_up"])
            case _:
                return _write_follow_up(item, draw)

    async def judge(self, item: Item, options: Mapping[Behaviour, str], tools: Sequence[str]) -> None:
        """Judge nothing: rules understand no text."""
        return

    async def aclose(self) -> None:
        """Do nothing: the rules hold nothing."""

    def _write_invented(self, source: SourceQuestion, draw: random.Random) -> WrittenText:
        """Write a sentence for each fact, with a value that is not the true one."""
        if not source.facts:
            return WrittenText("", "the rules make up answers from a scenario's facts, and it has none")
        values = [(fact.name, self._wrong_value(source, fact, draw)) for fact in source.facts]
        unknown = [name for name, value in values if value is None]
        if unknown:
            return WrittenText("", f"the rules know no other value for '{unknown[0]}'")
        said = " ".join(f"{name.replace('_', ' ')}: {str(value).rstrip('.')}." for name, value in values)
        return WrittenText(said[0].upper() + said[1:])

    def _wrong_value(self, source: SourceQuestion, fact: Fact, draw: random.Random) -> Any:
        """Return a value written by hand, another question's, or one beside the true one; None if that would be no word."""
        true = {str(value).casefold() for value in (fact.value, *fact.accepted)}
        others = [one.value for one in self._values[source.spec.name, fact.pointer, fact.complete] if str(one.value).casefold() not in true]
        other = draw.choice(others) if others else None
        by_hand = _handwritten_values().get(source.spec.name, {}).get(str(fact.value))
        if by_hand is not None:
            return by_hand
        if other is not None and _are_alike(fact.value, other):
            return other
        return _beside(fact.value)


def _write_follow_up(item: Item, draw: random.Random) -> WrittenText:
    """Ask for what is missing; where nothing is, for what the request gives, or for a detail of the subject that nobody needs.

    What is given is asked for in the words in which the same source's other item asks for it as missing.
    """
    wording, source = draw.choice(_FOLLOW_UPS), item.source
    required = [name for name in source.spec.required if name in item.given]
    gap = item.missing or (source.removal.missing if source.removal else None)
    asked = [gap.name] if gap else draw.sample(required, min(1, len(required)))
    texts = [describe_parameter(name, item.argument_description(name)) for name in asked]
    if not item.missing and (not texts or draw.random() < _DETAILS):
        spare = [name for name in source.spec.parameters.get("properties", {}) if name not in (*source.spec.required, *item.given)]
        known = _handwritten_details().get(source.spec.name)
        texts = [known] if known else [describe_parameter(name, item.argument_description(name)) for name in spare[:1]] or texts
    if not texts:
        return WrittenText("", "the rules know nothing that a needless question may ask for: the tool has no parameter")
    return WrittenText(wording.format(what=texts[0]))


def _beside(true: bool | int | float | str) -> Any:
    """Return a value near a number or a date; None of anything else."""
    if isinstance(true, bool):
        return None
    if isinstance(true, str):
        return _shift_date(true) if _DATE.match(true) else None
    if isinstance(true, float):
        return round(true * (0.93 if 93 < true <= 100 else 1.07), 2 if abs(true) >= 1 else 6)
    return true - 4 if _YEARS[0] <= true <= _YEARS[1] else true + max(2, abs(true) // 9)


def _shift_date(true: str) -> str:
    """Return a day near the true one, in the same month: what the request says of the time still fits.

    >>> _shift_date("2008-11-20"), _shift_date("2025-09-29T05:05")
    ('2008-11-22', '2025-09-27T05:05')
    """
    day = int(true[8:10])
    return f"{true[:8]}{day + 2 if day <= _LATE else day - 2:02}{true[10:]}"


def _are_alike(true: Any, other: Any) -> bool:
    """Return whether a value may be taken for another: a day of the weeks around it, or a number of about its size."""
    if isinstance(true, str):
        days = [date.fromisoformat(one[:10]) for one in (true, other) if _DATE.match(one)]
        return len(days) < 2 or abs(days[0] - days[1]) <= _WEEKS
    return isinstance(true, bool) or (true * other > 0 and 2 * abs(true) <= 3 * abs(other) <= 4.5 * abs(true))


def describe_parameter(name: str, description: str) -> str:
    """Return what a parameter is, as the object of "tell me": the beginning of its description, or its name.

    >>> describe_parameter("start", "Day to count from, not counted itself, as YYYY-MM-DD.")
    'the day to count from'
    >>> describe_parameter("working_days", "How many working days to add.")
    'how many working days to add'
    >>> describe_parameter("to_key", "")
    'the to key'
    >>> describe_parameter("feature", "A web feature by its caniuse.com name.")
    'a web feature by its caniuse.com name'
    """
    said = _CLAUSE.split(description.strip(), maxsplit=1)[0].strip()
    if not said or said.startswith("Every ") or len(said.split()) > _LONGEST:
        said = name.replace("_", " ")
    if said.startswith("A ") or not (said[:2].isupper() or _PROPER.match(said)):
        said = said[0].lower() + said[1:]
    return said if _CLAUSE_OPENS.match(said) else f"the {said}"


@lru_cache(maxsize=1)
def _handwritten_values() -> dict[str, dict[str, str]]:
    return packaged_toml("talm_sim.tasks.when2call.making", "wrong_values.toml")


@lru_cache(maxsize=1)
def _handwritten_requests() -> dict[str, dict[str, str]]:
    return packaged_toml("talm_sim.tasks.when2call.making", "unanswerable.toml")


@lru_cache(maxsize=1)
def _handwritten_details() -> dict[str, str]:
    return packaged_toml("talm_sim.tasks.when2call.making", "details.toml")
