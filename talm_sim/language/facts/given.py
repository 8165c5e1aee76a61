"""Read the values that an answer gives for its facts, each under the fact's name, where a run takes values in place of words.

Null, an empty text and an absent name give nothing. A number is in the fact's unit, a text is read as an answer in words would be.
A name is the fact's, by its folding, or it is left undecided.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from math import isclose
from typing import Any

from talm_sim.language.facts.cldr_spellings import normalize_answer
from talm_sim.language.facts.dates import find_slashed
from talm_sim.language.facts.names import Words, normalize, places_of
from talm_sim.language.facts.numbers import find_spelled_numbers
from talm_sim.language.facts.readings import Reading, read_fact
from talm_sim.language.facts.statements import AnswerText, kind_of, number_of, split_fact
from talm_sim.language.facts.units import unit_of
from talm_sim.types import Fact, JsonObject

NOTHING = frozenset({"", "?", "n/a", "none", "null", "string", "tbd", "unknown", "value", "nan", "yyyy-mm-dd", "hh:mm"})
"""Texts that fill nothing, in lower case."""
_NOT_GIVEN = NOTHING | {"-", "\u2013", "\u2014", "na", "not found", "nil", "not available", "not given", "not known", "unavailable"}
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_LIKE = 0.5
"""Share of common letters from which on a name may be a spelling of another."""
_COUNTING = re.compile(r"(?:^|_)(?:first|second|third|fourth|fifth|sixth|\d+)(?=_|$)")
_SIGN = re.compile(r"[+#\u2212-](?!\w)|[^\w\s!-/:-@\[-`{-~]")
"""A sign that folding drops: `A-` is not `A`, and `3\u2666` is not `3`."""
_PLAIN = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)")
_FORMS = {"day": "YYYY-MM-DD, with THH:MM if it has a time.", "time": "HH:MM, 24 hours.", "color": "#rrggbb."}


def values_schema(facts: Sequence[Fact], about: str) -> JsonObject:
    """Return the JSON Schema of an object with a nullable property for each fact: its name, its type and its unit."""
    types = {fact: "boolean" if isinstance(fact.value, bool) else "number" if kind_of(fact) == "number" else "string" for fact in facts}
    forms = {fact: f"In {fact.unit}." if fact.unit else _FORMS.get(kind_of(fact), "") for fact in facts}
    properties = {fact.name: {"type": [types[fact], "null"], **({"description": forms[fact]} if forms[fact] else {})} for fact in facts}
    return {"type": "object", "description": about, "properties": properties, "additionalProperties": False}


def read_value(values: Mapping[str, Any], fact: Fact, facts: Sequence[Fact] = (), request: str = "", locale: str = "") -> Reading:
    """Return what is given for a fact: True for its value, False for another, None for nothing, or why nobody can tell.

    Items of a whole list, such as `first_neighbour` and `second_neighbour`, may stand in any order.

    Args:
        values: What was given, by the facts' names.
        fact: The fact.
        facts: All facts of the scenario: the value of another one is wrong here.
        request: What the user said; see `AnswerText`.
        locale: The scenario's language; likewise.

    >>> [read_value({"height": one}, Fact(name="height", value=39, unit="ft")).claim for one in (39, "39 kg", None)]
    [True, False, None]
    >>> read_value({"city": "San Paolo"}, Fact(name="city", value="São Paulo"))
    Reading(claim=None, unsure="nobody can tell whether 'San Paolo' is it")
    """
    others = [one for one in facts if one is not fact and kind_of(one) == kind_of(fact)]
    listed = [one for one in others if _is_list(one, fact)]
    own = _read(values.get(fact.name), fact, request, locale)
    if own.claim is True or any(_read(values.get(one.name), fact, request, locale).claim is True for one in listed):
        return Reading(True)
    taken = [one for one in others if own.unsure and _read(values.get(fact.name), one, request, locale).claim is True]
    if not taken:
        return own
    return Reading(None) if any(one in listed for one in taken) else Reading(False)


def gives_another(values: Mapping[str, Any], fact: Fact, facts: Sequence[Fact], request: str, known: str) -> bool:
    """Return whether another value is given for a fact: surely, or a name unlike the fact's that was said nowhere in `known`."""
    read, said = read_value(values, fact, facts, request), str(values.get(fact.name))
    if not read.unsure or kind_of(fact) != "text" or not isinstance(values.get(fact.name), str) or isinstance(fact.value, bool):
        return read.claim is False
    like = any(SequenceMatcher(None, normalize(said), normalize(one)).ratio() > _LIKE for one in (str(fact.value), *fact.accepted))
    return not like and not {*normalize(said).split()} & {*normalize(known).split()}


def leaves_open(values: Mapping[str, Any], facts: Sequence[Fact], request: str, locale: str = "") -> bool:
    """Return whether values say that something is not known: one is not given, and each that is given is right."""
    read = [read_value(values, fact, facts, request, locale) for fact in facts]
    return any(one == Reading(None) for one in read) and all(one in (Reading(None), Reading(True)) for one in read)


def _is_list(one: Fact, other: Fact) -> bool:
    """Return whether two facts are items of a whole list, so that nobody can tell which is first."""
    alike = _COUNTING.sub("", one.name) == _COUNTING.sub("", other.name)
    return alike and one.complete and other.complete and bool(one.asks) and one.asks == other.asks


def _read(given: Any, fact: Fact, request: str, locale: str) -> Reading:
    given = given[0] if isinstance(given, list) and len(given) == 1 else given
    said = "" if given is None or given in ([], {}) else str(given).strip()
    if not said:
        return Reading(None)
    unsure, kind = Reading(None, f"nobody can tell whether '{said[:80]}' is it"), kind_of(fact)
    if isinstance(fact.value, bool):
        truth = _TRUTHS.get(said.casefold().rstrip(".")) if isinstance(given, str | bool) else None
        read = unsure if truth is None else Reading(truth is fact.value)
    elif isinstance(given, list | dict | bool):
        return unsure
    elif kind == "number":
        read = _read_number(said, given, fact, locale, unsure)
    else:
        read = _read_text(said, fact, request, locale, unsure) if kind in ("day", "time") else _read_name(said, fact, unsure)
    if said.casefold().rstrip(".") not in _NOT_GIVEN:
        return read
    return unsure if kind == "number" and not number_of(fact.value) else Reading(None) if read is unsure else read


def _read_number(said: str, given: Any, fact: Fact, locale: str, unsure: Reading) -> Reading:
    """Read a number that is in the fact's unit; one that is a hundred times as much, or as little, may be a share or per cent."""
    if isinstance(given, str) and not _PLAIN.fullmatch(said):
        return _read_text(said, fact, "", locale, unsure)
    written = said if isinstance(given, str) else f"{Decimal(repr(given)):f}"
    given, value = float(written), float(number_of(fact.value) or 0)
    read = _read_text(f"{written} {fact.unit}", fact, "", locale, unsure)
    if given * value < 0:  # an accepted spelling stands behind any minus
        return Reading(False)
    is_share = unit_of(fact.unit) == "percent" or (not fact.unit and 0 < abs(value) < 1)
    return unsure if is_share and any(isclose(given * times, value, rel_tol=0.001) for times in (100, 0.01)) else read


def _read_text(said: str, fact: Fact, request: str, locale: str, unsure: Reading) -> Reading:
    """Read a number with its unit, a day or a clock time in a text."""
    text, parts = AnswerText(said, request, (), locale), split_fact(fact)
    read = [read_fact(text, part) for part in parts]
    claims = {one.claim for one in read}
    if any(one.unsure for one in read) or (kind_of(fact) == "number" and _is_of_something(text, fact)):
        return unsure
    if False in claims or claims == {True}:
        return Reading(False not in claims)
    right = [[value.right for value in text.values(part)] for part in parts]
    if kind_of(fact) == "number":
        return unsure if any(map(any, right)) or not text.numbers else Reading(False)
    if any(one.year is None for one in text.dates) or any(find_slashed(text.text, locale)):
        return unsure
    return Reading(False) if any(one and not any(one) for one in right) or (not any(right) and (text.dates or text.times)) else unsure


def _is_of_something(text: AnswerText, fact: Fact) -> bool:
    """Return whether a number may be in a unit that is not known, or of something else: `3 zorks`, "three of diamonds"."""
    if not fact.unit:
        return any(not one.unit and one.end < len(text.text) for one in find_spelled_numbers(text.text, text.words))
    behind = [text.text[one.end :].lstrip(" -") for one in text.numbers if not one.unit]
    return any(re.match(r"[^\W\d_]", after) and not after.startswith(fact.unit) for after in behind)


def _read_name(said: str, fact: Fact, unsure: Reading) -> Reading:
    """Compare a name or a code with the fact's; other digits are another code."""
    clean, spellings = normalize_answer(said).strip(), [str(fact.value), *fact.accepted]
    words = Words(clean)
    for spelling in spellings:
        same = normalize(spelling) == normalize(clean) != "  " or _fold(spelling) == _fold(said)
        whole = any(not normalize(f"{clean[:start]} {clean[end:]}").strip() for start, end in places_of(spelling, clean, words))
        if (same or whole) and _signs(spelling) == _signs(said):
            return Reading(True)
    digits = _digits(said)
    return Reading(False) if digits and all(_digits(one) not in ("", digits) for one in spellings) else unsure


def _signs(text: str) -> list[str]:
    return [sign for sign in _SIGN.findall(_fold(text)) if unicodedata.category(sign)[0] == "S" or sign in "+#-"]


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _digits(text: str) -> str:
    return "".join(re.findall(r"\d", text)).lstrip("0")
