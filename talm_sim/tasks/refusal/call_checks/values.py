"""Check whether a value is of an argument's type, and one of its accepted values.

Types are exact: neither `true` nor 5.0 is an integer. An integer is accepted for a float, as in Python. If the first accepted value is of
another type than the declared one (a variable's name for a list, null for a text), that type is right as well, and values are compared
exactly. Texts compare without case and without spaces and the characters `,./-_*^`; an apostrophe is a double quote. Within an object
each key has its own accepted values. Lists and objects deeper inside are compared exactly, including choices: BFCL looks no deeper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Kind", "is_accepted", "is_typed"]

_SPELLING = str.maketrans({character: None for character in " ,./-_*^"} | {"'": '"'})


class Kind(NamedTuple):
    """The type of an argument in Python and, for a list, the type of its items."""

    declared: str
    python: type
    item: type | None = None


def is_typed(value: Any, kind: Kind, accepted: Sequence[Any]) -> bool:
    """Return whether `value` is of its argument's type, or of the type of its accepted values."""
    if type(value) is not kind.python:
        return type(value) is _type_of(accepted)
    return kind.item is None or any(_items_typed(value, kind.item, one) for one in accepted)


def is_accepted(value: Any, kind: Kind, accepted: Sequence[Any]) -> bool:
    """Return whether `value`, whose type is right, is one of the accepted values."""
    if _type_of(accepted) not in {kind.python, None}:
        return value in accepted
    if kind.python is str:
        return _normalize(value) in [_normalize(one) for one in accepted if isinstance(one, str)]
    if kind.python is dict:
        return any(_is_object(value, one) for one in accepted)
    if kind.python is not list:
        return value in accepted
    if kind.item is dict:
        return any(len(value) == len(one) and all(map(_is_object, value, one)) for one in accepted if isinstance(one, list | str))
    items = [*map(_normalize, value)]
    return any(items == [*map(_normalize, one)] for one in accepted if isinstance(one, list | str))


def _type_of(accepted: Sequence[Any]) -> type | None:
    """Return the type of the first accepted value; None if an argument may only be left out."""
    return next((type(one) for one in accepted if one != ""), None)


def _items_typed(items: Any, declared: type, accepted: Any) -> bool:
    """Return whether all items are of the declared type, or of that of an accepted list's items; if that is not a list, anything is."""
    if not isinstance(accepted, list):
        return True
    right = {declared, _type_of(accepted)}
    return all(type(item) in right for item in items)


def _is_object(value: Any, accepted: Any) -> bool:
    """Return whether each key has one of its accepted values, and those that are absent may be left out."""
    if not (isinstance(value, dict) and isinstance(accepted, dict)):
        return False
    choices = {key: one if isinstance(one, list | str) else () for key, one in accepted.items()}
    return all(key in choices and _normalize(one) in [*map(_normalize, choices[key])] for key, one in value.items()) and all(
        key in value or "" in choice for key, choice in choices.items()
    )


def _normalize(value: Any) -> Any:
    """Return a text without what its spelling may differ in; any other value unchanged."""
    return value.translate(_SPELLING).lower() if isinstance(value, str) else value
