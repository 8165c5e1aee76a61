"""The gap of task `refusal`: how many rows more pass by format than by intent."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from talm_sim.judges.stats import bootstrap, wilson
from talm_sim.types import Row

__all__ = ["gap_of"]

_PAIRS = {
    "h_s": (("h_i", "relevance_intent"), ("h_s", "relevance")),
    "h_s_bfcl": (("h_i", "relevance_intent"), ("h_s_bfcl", "relevance_bfcl")),
}
"""What a row counts as by intent and by format: where no call is right, and where any is."""


def gap_of(rows: Sequence[Row], by_format: str) -> tuple[float | None, float | None, float | None]:
    """Return H-S less H-I, both over the same rows; a row where any call is right counts by the rule of its own subset, as in the two.

    Args:
        rows: The rows that both figures are over.
        by_format: The measure that H-I is taken from: `h_s` or `h_s_bfcl`.

    Returns:
        The gap, and the ends of its interval, for which both shares are drawn together. Where the gap is the same in every base, the interval
        is Wilson's over as many rows as there are bases. All are None where one of the figures has rows that the other lacks.
    """
    bases: dict[str, list[int]] = {}
    for row in rows:
        meant, read = (next((row.values[name] for name in names if row.values.get(name) is not None), None) for names in _PAIRS[by_format])
        if (meant is None) != (read is None):
            return None, None, None
        if meant is not None:
            counts = bases.setdefault(row.base, [0, 0, 0])
            counts[:] = [counts[0] + bool(meant), counts[1] + bool(read), counts[2] + 1]
    if not bases:
        return None, None, None
    # One list a count, in an order that is the content's.
    h_i, h_s, sizes = zip(*sorted(bases.values()), strict=True)

    def gap(times: Sequence[int]) -> float | None:
        meant, read, size = (sum(map(mul, times, one)) for one in (h_i, h_s, sizes))
        return (read - meant) / size if size else None

    found = (sum(h_s) - sum(h_i)) / sum(sizes)
    limits = bootstrap(len(bases), gap)
    if limits is None:
        flat = wilson(round(len(bases) * abs(found)), len(bases))
        assert flat.low is not None and flat.high is not None
        return (found, flat.low, flat.high) if found >= 0 else (found, -flat.high, -flat.low)
    return found, *limits
