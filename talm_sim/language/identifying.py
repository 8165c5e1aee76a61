"""Find the values that identify what a call is about, and whether another call has them too, wherever it puts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from talm_sim.common.json_values import leaves

_ID_NAME = re.compile(r"(?:^|_)(?:ids?|no|nr|num|number|key|code|index|row|line|position|seat|room)$")
_MODE_NAME = re.compile(
    r"(?:^|_)(?:currency|units?|lang|language|locale|format|mode|type|kind|status|priority|sort|order_by|method|encoding|timezone|tz)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default"})
_SMALL = re.compile(r"\b(?:the|an?|you|your|i|we|was|were|is|are|that|this|please|not|to|it)\b", re.IGNORECASE)
_PROSE_WORDS = 6
_NUMBER = re.compile(r"(?<![0-9A-Za-z.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![0-9A-Za-z]|\.\d)")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_CHUNK = re.compile(r"[^\W_]+")
_CODE_LENGTH = 8
"""Letters and digits of a code from which on it may be written in groups."""
_LONGEST = 200
_MOST_VALUES, _MOST_TEXTS = 50, 2_000
"""What is looked for, and where: a call with more is compared by its first ones."""
_NAMED = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w.-]+\w|[\"“'‘]([^\"”'’]{2,80})[\"”'’]|(?<![^\W_])(?=[^\W_]*\d)[^\W_]{2,}(?![^\W_])")


def identifying_values(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> list[Any]:
    """Return the values of a call's arguments that say which thing it is about, in order.

    They are the numbers and texts at any depth, without those that many calls share: choices of an `enum`, a parameter's default, switches such
    as "on", units, currencies, languages and other modes (told by the argument's name), prose (at least 6 words, of which 2 are small words),
    and whole numbers below 10 unless the argument's name says that they are an id.

    >>> identifying_values({"to": "ann@shop.test", "amount": 250, "currency": "EUR", "urgent": True, "copies": 2, "row_id": 7})
    ['ann@shop.test', 250, 7]
    """
    properties = (schema or {}).get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, Mapping) else {}
    return [*islice((value for path, value in leaves(dict(arguments)) if _identifies(path, value, known)), _MOST_VALUES)]


def _identifies(path: Sequence[str | int], value: Any, known: Mapping[str, Any]) -> bool:
    if value is None or isinstance(value, bool) or value == "":
        return False
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    name = _CAMEL.sub("_", name).casefold().replace("-", "_")
    form = known.get(str(path[0])) if path else None
    if isinstance(form, Mapping) and _is_choice(form, value):
        return False
    if isinstance(value, int | float):
        return not (float(value).is_integer() and abs(value) < 10) or _ID_NAME.search(name) is not None
    return not (_MODE_NAME.search(name) or str(value).strip().casefold() in _SWITCHES or _is_prose(str(value)))


def _is_choice(form: Mapping[str, Any], value: Any) -> bool:
    """Return whether the schema of a parameter lists a value, as one of its choices or as its default."""
    items = form.get("items")
    forms = [form, items] if isinstance(items, Mapping) else [form]
    listed = [one for each in forms if isinstance(each.get("enum"), list) for one in each["enum"]]
    listed += [each[key] for each in forms for key in ("const", "default") if key in each]
    return any(type(one) is type(value) and one == value for one in listed)


def _is_prose(text: str) -> bool:
    return len(text.split()) >= _PROSE_WORDS and len(_SMALL.findall(text)) >= 2


def numbers_of(arguments: Mapping[str, Any]) -> list[Any]:
    """Return all numbers in a call's arguments, small ones too."""
    numbers = (value for _, value in leaves(dict(arguments)) if isinstance(value, int | float) and not isinstance(value, bool))
    return [*islice(numbers, _MOST_VALUES)]


def holds_all(arguments: Mapping[str, Any], values: Sequence[Any]) -> bool:
    """Return whether a call's arguments have all values: under any name, in any order, as another type or inside a text that is no prose.

    >>> holds_all({"sql": "DELETE FROM users WHERE id = 4711"}, [4711]), holds_all({"sql": "DELETE FROM users WHERE id = 147112"}, [4711])
    (True, False)
    >>> holds_all({"account": "DE89 3704 0044 0532 0130 00", "sum": "250.00"}, ["DE89370400440532013000", 250])
    True
    """
    texts = [*islice(_texts_in(arguments), _MOST_TEXTS)]
    return all(any(text_holds(text, value) for text in texts) for value in values)


def _texts_in(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a call's arguments have, as texts: their values, and the names within them that a tool may have taken from its caller."""
    for path, value in leaves(dict(arguments)):
        yield from (part for part in path[1:] if isinstance(part, str))
        if value is not None and not isinstance(value, bool):
            text = str(value)
            if not _is_prose(text):
                yield text


def text_holds(text: str, value: Any) -> bool:
    """Return whether a text has a value as a whole: neither as a part of a longer number, nor of a longer word."""
    if (number := _as_number(value)) is not None:
        return any(_as_number(found.replace(",", "")) == number for found in _NUMBER.findall(text)) or _as_number(text) == number
    wanted, said = str(value).strip().casefold(), text.casefold()
    if not (chunks := _CHUNK.findall(wanted)) or len(wanted) > _LONGEST:
        return wanted in said
    compact = "".join(chunks)
    if len(chunks) == 1 and len(compact) >= _CODE_LENGTH and any(sign.isdigit() for sign in compact):
        pattern = r"[\s.-]?".join(map(re.escape, compact))
    else:
        pattern = r"[\W_]+".join(map(re.escape, chunks))
    begin = r"(?<!\w)/" if wanted.startswith("/") else r"(?<![^\W_])"  # a path from the root is no part of a longer one
    return re.search(rf"{begin}{pattern}(?!\.?[^\W_])", said) is not None or re.search(rf"{begin}{pattern}(?=t\d\d)", said) is not None


def _as_number(value: Any) -> Decimal | None:
    """Return a number, or a text that is one, without its sign."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or _PLAIN_NUMBER.fullmatch(str(value).strip())):
        return None
    try:
        return Decimal(str(value).strip()).copy_abs()
    except InvalidOperation:
        return None


def named_values(text: str) -> list[str]:
    """Return what a sentence names: addresses, quoted names, and words with a digit.

    >>> named_values("Shall I transfer 250 EUR to DE89370400440532013000 for 'rent'?")
    ['250', 'DE89370400440532013000', 'rent']
    """
    return [found.group(1) or found.group() for found in islice(_NAMED.finditer(text), _MOST_VALUES)]
