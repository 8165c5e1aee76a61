"""What routers share: forgiving comparison of names, and the 404 that tells a model what to try instead."""

import difflib
import unicodedata
from collections.abc import Iterable

from fastapi import HTTPException


def fold(text: str) -> str:
    """Reduce a name to what two spellings of it share: no case, no diacritics, single spaces.

    >>> fold("  São  Paulo ")
    'sao paulo'
    """
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return " ".join(plain.casefold().split())


def not_found(what: str, value: str, known: Iterable[str] = (), hint: str = "") -> HTTPException:
    """Build the answer to an unknown key.

    Args:
        what: What was looked up, e.g. `airport code`.
        value: What the model gave.
        known: Values that exist; the nearest one is suggested.
        hint: One sentence about the expected form.
    """
    near = difflib.get_close_matches(value, list(known), n=1)
    parts = [f"No {what} '{value}'.", f"Did you mean '{near[0]}'?" if near else "", hint]
    return HTTPException(404, " ".join(part for part in parts if part))


def several_fit(what: str, name: str, candidates: Iterable[str], argument: str) -> HTTPException:
    """Build the answer to a name that fits several things.

    Args:
        what: What was looked up, in the plural, e.g. `films`.
        name: The name they share.
        candidates: What tells them apart, with the value to give.
        argument: The argument that says which one is meant.
    """
    return HTTPException(422, f"Several {what} fit '{name}': {'; '.join(candidates)}. Say which one is meant by '{argument}'.")
