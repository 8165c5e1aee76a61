"""Digest values: canonical JSON, and a short hash of it. Equal values have equal digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def canonical_json(value: Any) -> str:
    """Return `value` as JSON with sorted keys and no spaces, so equal values have equal text; what JSON lacks is written with `str`."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def digest(value: Any, length: int = 12) -> str:
    """Return the first `length` hex digits of the SHA-256 of `value`'s canonical JSON.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def digest_each(values: Iterable[Any], length: int = 12) -> str:
    """Return the digest of a list of values, of which only one is in memory at a time.

    >>> digest_each(iter([1, {"a": 2}])) == digest([1, {"a": 2}])
    True
    """
    found, before = hashlib.sha256(), "["
    for value in values:
        found.update(f"{before}{canonical_json(value)}".encode())
        before = ","
    found.update(b"]" if before == "," else b"[]")
    return found.hexdigest()[:length]


def derive_seed(*parts: Any) -> int:
    """Return a 28-bit seed that depends on all `parts`.

    A single seed would make a server draw the same noise everywhere: the draws would not be independent, and no interval would be valid.
    """
    return int(digest(list(parts), 7), 16)
