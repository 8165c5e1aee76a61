"""Values in a JSON text that may be none, and parts of a value that may not be there."""

from __future__ import annotations

import json
from typing import Any, Final

from jsonpointer import EndOfList, JsonPointerException, resolve_pointer

__all__ = ["NOT_THERE", "read_json", "value_at"]

NOT_THERE: Final = object()
"""What `value_at` returns of a part that is not there; it is no JSON value."""


def read_json(text: str | None) -> Any:
    """Return the value of a JSON text; None if it is none, for example because a long result was cut.

    >>> read_json('{"a": 1}'), read_json('{"a": 1'), read_json(None)
    ({'a': 1}, None, None)
    """
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def value_at(document: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a JSON pointer (RFC 6901) names, or `NOT_THERE`.

    >>> value_at({"a": [1, None]}, "/a/1"), value_at({"a": []}, "/a/0") is NOT_THERE, value_at(None, "") is NOT_THERE
    (None, True, True)
    """
    if document is None:
        return NOT_THERE
    try:
        found = resolve_pointer(document, pointer)
    except JsonPointerException:
        return NOT_THERE
    return NOT_THERE if isinstance(found, EndOfList) else found
