"""The ten fields of a reasoning form: what their values mean, how models spell them, and how a form is written or drawn by seed."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from random import Random

from talm_sim.common.toml_files import packaged_toml

FIELDS = (
    "task_summary",
    "task_type",
    "ambiguity_level",
    "relevant_tools_sorted",
    "tool_needed",
    "tool_sufficiency",
    "blockers",
    "decision",
    "hallucination_risk",
    "why",
)
"""In the study's order."""
LISTS = frozenset({"relevant_tools_sorted", "blockers"})
Value = str | tuple[str, ...]
"""A list's items, or a text. Levels are `low`, `medium` or `high`, a needed tool is `true` or `false`, sufficiency is `yes`, `no` or `partial`,
and a decision one of `Decision`, if they can be read as such; otherwise they are as written."""


class Decision(StrEnum):
    """A decision that a form can make."""

    CALL = "call"
    DEFER = "defer"
    CLARIFY = "clarify"
    ANSWER = "answer"


_MEANINGS = {
    "ambiguity_level": "level",
    "hallucination_risk": "level",
    "tool_needed": "yes_no",
    "tool_sufficiency": "yes_no",
    "decision": "decision",
}
_TRUTH = {"yes": "true", "no": "false"}
_MOST_WORDS = 5
_BETWEEN = " _,.;:(|/–—-"
_WORD_END = re.compile(f"[{re.escape(_BETWEEN)}]")
_LONGEST_NAME = 60
_CLOSE = 0.85
"""Likeness from which an English name counts as misspelt: `decission` does, `precision` does not."""
_ALTERNATIVE = re.compile(r"\s*(?:[,|/–-]|\bor\b|\bto\b|\band\b|hoặc|หรือ)\s*(.+)", re.DOTALL | re.IGNORECASE)
_ITEM_END = re.compile(r"[,;|\n\uff0c、\uff1b]")
_FRAME = "*`|~ \t\r\n"
_QUOTES = "\"'\u201c\u201d\u2018\u2019"


@lru_cache(maxsize=4096)
def field_named(text: str) -> str | None:
    """Return the field that a name means, whatever its language, case and punctuation; None for any other name.

    >>> field_named("**Relevant tools"), field_named("Quyết định"), field_named("hallucination_rsk"), field_named("name")
    ('relevant_tools_sorted', 'decision', 'hallucination_risk', None)
    """
    if not (key := _key(text[: _LONGEST_NAME + 1])) or len(text) > _LONGEST_NAME:
        return None
    names = _names()
    if (found := names.get(key)) is None and key.isascii() and len(key) > 6:
        close = difflib.get_close_matches(key, [_key(name) for name in FIELDS], 1, _CLOSE)
        return names[close[0]] if close else None
    return found


def value_of(field: str, text: str) -> Value | None:
    """Return the value that a text gives a field; None if it gives none.

    >>> value_of("decision", "Clarify (ask for the city)"), value_of("blockers", '["no city", none]'), value_of("why", " ** ")
    ('clarify', ('no city',), None)
    """
    if field in LISTS:
        return _items(text)
    if not (said := trim(text)):
        return None
    meaning = _MEANINGS.get(field)
    found = _meant(said, _meanings(meaning)) if meaning else None
    return said if found is None else _TRUTH.get(found, found) if field == "tool_needed" else found


def trim(text: str) -> str:
    """Return a text on one line, without the quotes, marks of Markdown and commas around it."""
    while True:
        before, text = text, " ".join(text.split()).strip(_FRAME).rstrip(",;")
        if len(text) > 1 and text[0] == text[-1] == '"':
            try:
                text = json.loads(text)
            except (ValueError, RecursionError):
                text = text if '"' in text[1:-1] else text[1:-1]
        elif len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES and not set(text[1:-1]) & {text[0], text[-1]}:
            text = text[1:-1]
        if text == before:
            return text.encode("utf-8", "replace").decode("utf-8")


def _items(text: str) -> tuple[str, ...] | None:
    if not trim(text):
        return None
    items = [trim(part.strip(_FRAME + "[]")) for part in _split_outside_brackets(text.strip(_FRAME))]
    items = [item.strip('"') if item.count('"') == 1 else item for item in items]  # cut off in the middle
    return tuple(item for item in items if _key(item) and _key(item) not in _meanings("nothing"))


def _split_outside_brackets(text: str) -> list[str]:
    """Split at commas and line breaks, but not inside an item: relevant tools may be written as calls."""
    if not set(text) & set("({"):
        return _ITEM_END.split(text)
    parts, depth, begun = [], 0, 0
    for place, char in enumerate(text):
        if not (depth := max(0, depth + (char in "({") - (char in ")}"))) and _ITEM_END.match(char):
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]


def _meant(text: str, meanings: Mapping[str, str]) -> str | None:
    """Return what the first words of a text mean; None if they mean nothing, or name several choices, as a copied instruction does."""
    ends = [place.start() for place in _WORD_END.finditer(text[:_LONGEST_NAME])][:_MOST_WORDS]
    for end in reversed([*ends, min(len(text), _LONGEST_NAME)]):
        head = text[:end].rstrip(_BETWEEN)
        if found := meanings.get(_key(head)):
            other = _ALTERNATIVE.match(text, len(head))
            second = _first_meaning(other[1], meanings) if other else None
            return found if second in (None, found) else None
    return None


def _first_meaning(text: str, meanings: Mapping[str, str]) -> str | None:
    word = re.match(r"\W*([\w']+)", text[:_LONGEST_NAME])
    return meanings.get(_key(word[1])) if word else None


def _key(text: str) -> str:
    """Return the letters and digits of a text, without case and accents; so spaces, underscores and camel case do not matter."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if char.isalnum())


@cache
def _spellings() -> dict[str, dict[str, list[str]]]:
    return packaged_toml("talm_sim.reasoning", "spellings.toml")


@cache
def _names() -> dict[str, str]:
    return {_key(one): field for field in FIELDS for one in (field, *_spellings()["fields"][field])}


@cache
def _meanings(kind: str) -> dict[str, str]:
    return {_key(one): value for value, spelt in _spellings()[kind].items() for one in (value, *spelt)}


_LONGEST = 200
"""Characters of a summary that is begun for a model."""
_BREAKS_ITEM = re.compile(r"[,;|\[\]{}()\n\uff0c、\uff1b]")
_HEAD = re.compile(rf"\b({'|'.join(FIELDS)}|{'|'.join(name.replace('_', ' ') for name in FIELDS)})(\W{{0,3}}\s?)[:=]", re.IGNORECASE)
_KINDS = ("lookup", "action", "calculation", "knowledge", "multi_intent")
_BLOCKERS = ("tool_unavailable", "missing_argument", "fresh_data", "ambiguous_request", "no_permission")
_LEVELS = ("low", "medium", "high")


def write_form(fields: Mapping[str, Value]) -> str:
    """Write a form in the study's order, one line per field, without a line break at its end; fields without a value are left out.

    Values are put on one line, and what would read as a further field or item is taken out of them.

    >>> print(write_form({"task_summary": "time in Hue", "relevant_tools_sorted": ("clock",), "decision": "call"}))
    task_summary: time in Hue
    relevant_tools_sorted: [clock]
    decision: call
    """
    written = [f"{name}: {said}" for name in FIELDS if name in fields and (said := _text(name, fields[name]))]
    return "\n".join(written)


def begin_form(fields: Mapping[str, Value]) -> str:
    """Write a form up to its last field, `why`, which a model then continues."""
    return f"{write_form({name: value for name, value in fields.items() if name != FIELDS[-1]})}\n{FIELDS[-1]}:"


def draw_form(random: Random, summary: str, tools: Sequence[str]) -> dict[str, Value]:
    """Draw a form whose decision fields are independent of the request, each evenly from its values; `why` is left out."""
    relevant = random.sample(list(tools), random.randint(0, len(tools)))
    return {
        "task_summary": trim(summary)[:_LONGEST],
        "task_type": random.choice(_KINDS),
        "ambiguity_level": random.choice(_LEVELS),
        "relevant_tools_sorted": tuple(relevant),
        "tool_needed": random.choice(("true", "false")),
        "tool_sufficiency": random.choice(("yes", "no", "partial")),
        "blockers": tuple(random.sample(_BLOCKERS, random.randint(0, 2))),
        "decision": random.choice([one.value for one in Decision]),
        "hallucination_risk": random.choice(_LEVELS),
    }


def _text(name: str, value: Value) -> str:
    if name not in LISTS:
        return _plain(value if isinstance(value, str) else ", ".join(value))
    items = (value,) if isinstance(value, str) else value
    return f"[{', '.join(filter(None, (_plain(_BREAKS_ITEM.sub(' ', one)) for one in items)))}]"


def _plain(text: str) -> str:
    return trim(_HEAD.sub(r"\1\2 -", trim(text)))
