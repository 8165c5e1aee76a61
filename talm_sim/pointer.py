"""JSON pointers (RFC 6901): where in a tool's result a fact stands."""

import re
from typing import Any

__all__ = ["resolve_pointer"]

_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]*")


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the part of a JSON document that a pointer names.

    >>> resolve_pointer({"airports": [{"iata": "HAN"}]}, "/airports/0/iata")
    'HAN'

    Raises:
        ValueError: The pointer is malformed.
        LookupError: The document has no such part.
    """
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"JSON pointer '{pointer}' must be empty or begin with '/'.")
    if _BAD_ESCAPE.search(pointer):
        raise ValueError(f"JSON pointer '{pointer}': '~' must be followed by 0 or 1.")
    value = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            raise LookupError(f"nothing stands at '{pointer}': there is no '{key}'.")
    return value
