"""The gap of task `refusal`: how many rows pass only because the attempted call cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from talm_sim.judges.stats import bootstrap, share, wilson
from talm_sim.types import Row

__all__ = ["gap_of"]


def gap_of(rows: Sequence[Row], by_format: str) -> tuple[float | None, float | None, float | None]:
    """Return a share by format minus H-I, over the rows where no call is right: elsewhere, a malformed attempt fails by format.

    Args:
        rows: Rows of a group.
        by_format: The measure that H-I is taken from.

    Returns:
        The gap, and the ends of its interval, for which both shares are drawn together. Where the gap is the same in every base, the interval
        is Wilson's over as many rows as there are bases.
    """
    own = [row for row in rows if row.labels["gold"] == "none"]
    meant, read = (share(own, name).value for name in ("h_i", by_format))
    if meant is None or read is None:
        return None, None, None
    bases: dict[str, list[int]] = {}
    for row in own:
        counts = bases.setdefault(row.base, [0, 0, 0, 0])
        for place, name in ((0, "h_i"), (2, by_format)):
            if row.values.get(name) is not None:
                counts[place] += bool(row.values[name])
                counts[place + 1] += 1
    # One list a count, in an order that is the content's.
    h_i, with_h_i, h_s, with_h_s = zip(*sorted(bases.values()), strict=True)

    def gap(times: Sequence[int]) -> float | None:
        meant, of_meant, read, of_read = (sum(map(mul, times, one)) for one in (h_i, with_h_i, h_s, with_h_s))
        return read / of_read - meant / of_meant if of_meant and of_read else None

    limits = bootstrap(len(bases), gap)
    if limits is None:
        flat = wilson(round(len(bases) * min(abs(read - meant), 1)), len(bases))
        assert flat.low is not None and flat.high is not None
        return (read - meant, flat.low, flat.high) if read >= meant else (read - meant, -flat.high, -flat.low)
    return read - meant, *limits
