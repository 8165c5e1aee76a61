"""Split a run into equal parts: read which one is played, as it is written (`2/16`), and find the part that a name falls into."""

from __future__ import annotations

import re
from typing import NamedTuple

from talm_sim.common.digests import digest

_FORM = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")


class Shard(NamedTuple):
    """One of the equal parts of a run."""

    part: int
    """Its number, counted from 1."""
    of: int
    """How many parts there are."""

    def __str__(self) -> str:
        return f"{self.part}/{self.of}"


def read_shard(text: str) -> Shard:
    """Read a part as it is written.

    >>> read_shard("2/16")
    Shard(part=2, of=16)
    """
    if (found := _FORM.fullmatch(text.strip())) is None:
        raise ValueError(f"'{text[:40]}' is not a shard: write I/N, with N up to 99,999; 2/16 is the second of 16.")
    shard = Shard(int(found[1]), int(found[2]))
    if not 1 <= shard.part <= shard.of:
        raise ValueError(f"there is no shard {shard}: write I/N, with I from 1 to N.")
    return shard


def part_of(name: str, parts: int) -> int:
    """Return the number of the part, from 1, that a name falls into: the same for equal names, whatever else there is."""
    return int(digest(name, 16), 16) % parts + 1
