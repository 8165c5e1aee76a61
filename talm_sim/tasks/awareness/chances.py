"""Measures and curves of how good the probabilities of a Yes are (the study's appendix B.5, figure 3; calibration is ours)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from talm_sim.judges.stats import Interval
from talm_sim.tasks.awareness.intervals import (
    BINS,
    Chance,
    area_interval,
    area_over,
    auroc,
    bin_of,
    brier,
    brier_interval,
    calibration_error,
    calibration_interval,
)
from talm_sim.types import Curve, Measure, Row, Series

_EDGES = tuple(place / BINS for place in range(BINS + 1))
SHARE, OWN, MASS = "p_yes", "p_yes_token", "yes_no_mass"
"""Values of a row: Yes / (Yes + No); Yes alone; Yes + No."""
MEASURES = (
    "auroc",
    SHARE,
    MASS,
    "brier",
    "calibration_error",
    f"{OWN}_auroc",
    *(f"{name}_{kind}" for name in (SHARE, OWN) for kind in ("complete", "incomplete")),
)
"""Names of the measures that a group has only if probabilities are known."""
_TITLES = {SHARE: "P(Yes), the share Yes / (Yes + No)", OWN: "P(Yes), the probability of Yes itself"}


def columns(scored: Sequence[Row], seed: int) -> Iterator[Measure]:
    """Return what a table has room for; nothing if no row has a probability."""
    if known := _known_chances(scored):
        note = "P(Yes) is higher where nothing is missing"
        yield _score("auroc", "AUROC", auroc(*_split(known)), area_interval(known, seed), note=note, better="higher")
        yield _mass(scored)


def mean_column(scored: Sequence[Row]) -> Iterator[Measure]:
    """Return the mean probability, of instances that are all complete or all incomplete."""
    if known := _known_chances(scored):
        yield Measure(name="p_yes", head="P(Yes)", kind="score", value=_mean(known), note="mean Yes / (Yes + No) over those that have one")
        yield _mass(scored)


def area_figure(rows: Sequence[Row]) -> Callable[[Sequence[int]], float | None]:
    """Return what gives AUROC from how often each row counts."""
    known = ((float(row.values.get(SHARE) or 0), row.labels["gold"] == "yes", place) for place, row in enumerate(rows) if _has_chance(row))
    return area_over(known)


def _has_chance(row: Row) -> bool:
    return row.scored and row.values.get(SHARE) is not None


def _mass(scored: Sequence[Row]) -> Measure:
    return Measure(
        name=MASS, head="Yes or No", kind="score", value=_mean(_known_chances(scored, MASS)), note="mean probability of Yes and No together"
    )


def lines(scored: Sequence[Row], seed: int) -> Iterator[Measure]:
    """Return what is shown below the row: how good the share of Yes is, and also the probability of Yes itself if that says anything."""
    known, own = _known_chances(scored), _known_chances(scored, OWN)
    if not known:
        return
    error = calibration_error(*_split(known))
    about = {"place": "line", "under": _TITLES[SHARE]}
    yield _score("brier", "Brier", brier(*_split(known)), brier_interval(known, seed), note="mean squared error", better="lower", **about)
    yield _score(
        "calibration_error",
        "calibration error",
        error,
        calibration_interval(known, seed),
        note=f"of P(Yes), over {BINS} bins",
        better="lower",
        **about,
    )
    yield from _mean_measures(SHARE, known)
    area = auroc(*_split(own))
    yield _score(
        f"{OWN}_auroc",
        "AUROC",
        area,
        area_interval(own, seed),
        note="P(Yes) is higher where nothing is missing",
        better="higher",
        place="line",
        under=_TITLES[OWN],
    )
    yield from _mean_measures(OWN, own)


def _mean_measures(name: str, chances: Sequence[Chance]) -> Iterator[Measure]:
    for kind, complete in (("complete", True), ("incomplete", False)):
        kept = [one for one in chances if one.complete is complete]
        note = f"mean over the {len(kept):,} {kind} ones"
        yield Measure(name=f"{name}_{kind}", head=kind, kind="score", value=_mean(kept), note=note, place="line", under=_TITLES[name])


def _score(name: str, head: str, value: float | None, limits: Interval | None, **more: Any) -> Measure:
    low, high = limits or (None, None)
    return Measure(name=name, head=head, kind="score", value=value, low=low, high=high, **more)


def curves(scored: Sequence[Row]) -> tuple[Curve, ...]:
    """Return the distributions of both probabilities, and the reliability diagram of the share."""
    known = _known_chances(scored)
    return (_histogram(SHARE, known), _histogram(OWN, _known_chances(scored, OWN)), _reliability(known)) if known else ()


def _histogram(name: str, chances: Sequence[Chance]) -> Curve:
    series = []
    for kind, complete in (("complete", True), ("incomplete", False)):
        counts = Counter(bin_of(one.value) for one in chances if one.complete is complete)
        series.append(Series(name=kind, values=tuple(counts[place] for place in range(BINS))))
    return Curve(name=name, title=_TITLES[name], x="P(Yes)", y="instances", edges=_EDGES, series=tuple(series))


def _reliability(chances: Sequence[Chance]) -> Curve:
    bins: list[list[Chance]] = [[] for _ in range(BINS)]
    for one in chances:
        bins[bin_of(one.value)].append(one)
    return Curve(
        name="reliability",
        title="reliability of P(Yes)",
        kind="reliability",
        x="mean P(Yes)",
        y="share complete",
        edges=_EDGES,
        series=(
            Series(name="share complete", values=tuple(sum(one.complete for one in own) / len(own) if own else None for own in bins)),
            Series(name="mean P(Yes)", values=tuple(map(_mean, bins))),
            Series(name="n", values=tuple(map(len, bins))),
        ),
    )


def _known_chances(scored: Sequence[Row], name: str = SHARE) -> list[Chance]:
    found = (Chance(float(chance), row.labels["gold"] == "yes", row.base) for row in scored if (chance := row.values.get(name)) is not None)
    return sorted(found)


def _split(chances: Sequence[Chance]) -> tuple[list[float], list[bool]]:
    return [one.value for one in chances], [one.complete for one in chances]


def _mean(chances: Sequence[Chance]) -> float | None:
    return sum(one.value for one in chances) / len(chances) if chances else None
