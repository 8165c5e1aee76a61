"""How good the probabilities of a Yes are (the study's appendix B.5, figure 3; calibration is ours): measures, and their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talm_sim.tasks.awareness.scores import BINS, auroc, bin_of, brier, calibration_error
from talm_sim.types import Curve, Measure, Row, Series

__all__ = ["columns", "curves", "lines", "mean_column"]

_EDGES = tuple(place / BINS for place in range(BINS + 1))
_UNDER = "P(Yes)"


def columns(scored: Sequence[Row]) -> Iterator[Measure]:
    """What a table has room for; nothing where no row has a probability."""
    known = _known(scored)
    if known:
        value = auroc(*_split(known))
        yield Measure(name="auroc", head="AUROC", kind="score", value=value, note="P(Yes) is higher where nothing is missing")


def mean_column(scored: Sequence[Row]) -> Iterator[Measure]:
    """The mean probability, of instances that are all complete or all incomplete."""
    known = _known(scored)
    if known:
        mean = sum(chance for chance, _ in known) / len(known)
        yield Measure(name="p_yes", head="P(Yes)", kind="score", value=mean, note="mean over those that have one")


def lines(scored: Sequence[Row]) -> Iterator[Measure]:
    """What stands below the row."""
    known = _known(scored)
    if not known:
        return
    chances, complete = _split(known)
    about = {"place": "line", "under": _UNDER}
    yield Measure(name="brier", head="Brier", kind="score", value=brier(chances, complete), note="mean squared error of P(Yes)", **about)
    error = calibration_error(chances, complete)
    yield Measure(name="calibration_error", head="ECE", kind="score", value=error, note=f"calibration error over {BINS} bins", **about)
    for name, kind in (("complete", True), ("incomplete", False)):
        own = [chance for chance, one in zip(chances, complete, strict=True) if one is kind]
        mean = sum(own) / len(own) if own else None
        yield Measure(name=f"p_yes_{name}", head=name, kind="score", value=mean, note=f"mean over the {len(own):,} {name} ones", **about)


def curves(scored: Sequence[Row]) -> tuple[Curve, ...]:
    """The two distributions, and the reliability diagram."""
    known = _known(scored)
    if not known:
        return ()
    counts = {True: [0] * BINS, False: [0] * BINS}
    sums = [0.0] * BINS
    for chance, complete in known:
        counts[complete][bin_of(chance)] += 1
        sums[bin_of(chance)] += chance
    both = [one + other for one, other in zip(counts[True], counts[False], strict=True)]
    shares = tuple(one / n if n else None for one, n in zip(counts[True], both, strict=True))
    means = tuple(total / n if n else None for total, n in zip(sums, both, strict=True))
    return (
        Curve(
            name="p_yes",
            title="P(Yes), instances",
            x="P(Yes)",
            y="instances",
            edges=_EDGES,
            series=(Series(name="complete", values=tuple(counts[True])), Series(name="incomplete", values=tuple(counts[False]))),
        ),
        Curve(
            name="reliability",
            title="reliability: share that is complete, by P(Yes)",
            kind="reliability",
            x="mean P(Yes)",
            y="share complete",
            edges=_EDGES,
            series=(
                Series(name="share complete", values=shares),
                Series(name="mean P(Yes)", values=means),
                Series(name="n", values=tuple(both)),
            ),
        ),
    )


def _known(scored: Sequence[Row]) -> list[tuple[float, bool]]:
    return [(float(chance), row.labels["gold"] == "yes") for row in scored if (chance := row.values.get("p_yes")) is not None]


def _split(known: Sequence[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [chance for chance, _ in known], [complete for _, complete in known]
