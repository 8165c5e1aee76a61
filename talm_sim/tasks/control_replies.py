"""What a control makes of a person's reply: does it tell what is missing, and if not that, which value does it give for a parameter?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from talm_sim.types import Missing

__all__ = ["gives_missing", "is_refusal", "to_text", "value_in_reply"]

_NOT = re.compile(r"\b(?:don['’]?t|do not|can['’]?t|cannot|won['’]?t|not)\b", re.IGNORECASE)
_KNOW = re.compile(r"\b(?:know|say|tell|answer|sure|remember)\b", re.IGNORECASE)
_NO_IDEA = re.compile(r"\bno idea\b", re.IGNORECASE)
_LEADS = re.compile(
    r"\A(?:.*\b)?(?:it['’]s|that['’]s|is|are|was|were|in|on|at|to|from|about|for|by|of|mean|want|says?)\s+(?=\S)", re.IGNORECASE
)
_OPENING = re.compile(r"^(?:it|that)(?:['’]s| is| was) |^i mean ", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DATES = ("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d.%m.%Y", "%Y/%m/%d")
_DATE = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?\.\d\d?\.\d{4}|\d\d?(?:st|nd|rd|th)? [^\W\d]++\.?,? \d{4}"
    r"|(?<![^\W\d])[^\W\d]++\.? \d\d?(?:st|nd|rd|th)?,? \d{4}"
)
_QUOTED = re.compile(r"[\"“']([^\"”']{1,200})[\"”'](?!\w)")
_A_FEW_WORDS = 3


def is_refusal(reply: str) -> bool:
    """Whether a reply holds no answer at all."""
    said = " ".join(reply.split())
    denied = _NOT.search(said)
    return not said or _NO_IDEA.search(said) is not None or (denied is not None and _KNOW.search(said, denied.end()) is not None)


def gives_missing(reply: str, missing: Missing | None) -> bool:
    """Whether a reply gives what is missing: its value, the answer the scenario knows for it, or a part of that which says it."""
    if missing is None or not reply:
        return False
    said = " ".join(reply.split()).casefold()
    known = [" ".join(text.split()).casefold() for text in (missing.human_answer, missing.removed_text) if text]
    if missing.human_answer and known[0] in said:
        return True
    bare = said.strip(" .!")
    if len(bare) > _A_FEW_WORDS and any(_is_said(bare, text) for text in known):
        return True
    values = missing.value if isinstance(missing.value, list) else [missing.value]
    return missing.value is not None and all(_is_said(to_text(value).casefold(), said) for value in values)


def value_in_reply(reply: str, schema: dict[str, Any]) -> Any:
    """The value a reply gives for a parameter of this JSON schema; its words where it gives none that fits, as the tool may know better.

    >>> value_in_reply("We moved to Germany, so DE.", {"type": "string", "minLength": 2, "maxLength": 2})
    'DE'
    >>> value_in_reply("about 1,200 of them", {"type": "integer"}), value_in_reply("on 1 May 2020", {"type": "string", "format": "date"})
    (1200, '2020-05-01')
    """
    words = " ".join(reply.split())
    for form in (schema, *schema.get("anyOf", ())):
        found = next(_read(words, form), None)
        if found is not None:
            return found
    return words.strip().rstrip(".!")


def _read(words: str, schema: dict[str, Any]) -> Iterator[Any]:
    """Values of the schema's type that stand in a reply, the likeliest first."""
    enum = [value for value in schema.get("enum", ()) if isinstance(value, str)]
    if enum:
        plain = words.casefold().replace("_", " ")
        yield from sorted((value for value in enum if _is_said(value.casefold().replace("_", " "), plain)), key=len, reverse=True)
        return
    match schema.get("type"):
        case "integer" | "number" as kind:
            numbers = [match.group().replace(",", "") for match in _NUMBER.finditer(words)]
            yield from (int(text) if kind == "integer" else float(text) for text in numbers if kind == "number" or "." not in text)
        case "boolean" if found := re.search(r"\b(?:yes|true|no|false)\b", words.casefold()):
            yield found.group() in {"yes", "true"}
        case "array":
            items = re.split(r"\s*(?:,|;|\band\b)\s*", words.rstrip(".!"))
            yield [value_in_reply(item, schema.get("items", {})) for item in items if item]
        case "string" if schema.get("format") == "date":
            yield from _dates(words)
        case "string":
            yield from (text for text in _candidate_values(words, schema) if _fits_schema(text, schema))


def _dates(words: str) -> Iterator[str]:
    for match in _DATE.finditer(words):
        text = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|[,]|(?<=[^\W\d])\.", "", match.group())
        for form in _DATES:
            with suppress(ValueError):
                yield datetime.strptime(text, form).date().isoformat()
                break


def _candidate_values(words: str, schema: dict[str, Any]) -> Iterator[str]:
    """Parts of a reply that may be the value it gives."""
    bare = _OPENING.sub("", words.rstrip(".!"))
    tokens = [token.strip(".,;:!?()'\"") for token in bare.split()]
    yield from re.findall(r"#[0-9a-fA-F]{3,8}\b", words)
    yield from _QUOTED.findall(words)
    if schema.get("maxLength", 99) <= 4:  # a code: mostly in capitals, however it is typed
        yield from (token for token in reversed(tokens) if token.isupper())
        yield bare.upper()
    if len(tokens) > _A_FEW_WORDS:
        yield _LEADS.sub("", bare, count=1).strip()
    yield bare
    yield from reversed(tokens)


def _fits_schema(text: str, schema: dict[str, Any]) -> bool:
    pattern = schema.get("pattern")
    return (
        bool(text)
        and schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 10_000)
        and not (pattern and not re.search(pattern, text))
    )


def _is_said(value: str, said: str) -> bool:
    """Whether `value` stands in the reply as a whole: an amount of 5 is neither in "15" nor in "5.5"."""
    return bool(value) and re.search(rf"(?<!\w)(?<!\d\.){re.escape(value)}(?!\w)(?!\.\d)", said) is not None


def to_text(value: Any) -> str:
    """A value as a text: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
