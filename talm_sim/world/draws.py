"""Draws that are the same for the same key, whenever and wherever they are made."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def draw(items: Sequence[_Item], *key: str) -> _Item:
    """Return one of the items, chosen by the key alone.

    Args:
        items: What is drawn from.
        key: What the draw belongs to, for example a purpose and a day.
    """
    return items[draw_number(0, len(items) - 1, *key)]


def draw_number(lowest: int, highest: int, *key: str) -> int:
    """Return a number of a range, chosen by the key alone."""
    number = int.from_bytes(hashlib.sha256("|".join(key).encode()).digest()[:8], "big")
    return lowest + number % (highest - lowest + 1)
