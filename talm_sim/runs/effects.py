"""Effects of an ablation: how a measure changes with one option, and with two together, with 95 % intervals.

An effect is a contrast of the cells' means, in which all cells have equal weight. The main effect of a value of an option is the mean, over
the cells of all other options, of the difference to the option's first value, the reference. The interaction of two options is the
difference of such differences, likewise averaged over the rest. All cells play the same scenarios, so the bootstrap draws a scenario, with
all its variants and epochs, in all cells at once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isclose, prod
from operator import mul
from typing import Any

from talm_sim.judges.stats import Interval, bootstrap, wilson
from talm_sim.runs.stored_run import StoredRun
from talm_sim.types import Measure, Row, Summary
from talm_sim.types.measures import tables

__all__ = ["CellRows", "Change", "Effect", "estimate_effects"]


@dataclass(frozen=True, slots=True)
class CellRows:
    """What one cell's episodes count as."""

    label: str
    rows: Sequence[Row]
    summaries: Mapping[str, Summary]
    """By group."""
    planned: Mapping[str, int]
    """Group to the number of its episodes, finished or not."""

    @classmethod
    def of(cls, label: str, run: StoredRun) -> CellRows:
        """Read a cell's run."""
        with run.at_once():
            scenarios = Counter(scenario.group for scenario in run.scenarios())
            planned = {group: number * run.config.epochs for group, number in scenarios.items()}
            return cls(label, run.rows(), {one.group: one for one in run.summary()}, planned)


@dataclass(frozen=True, slots=True)
class Change:
    """An option that takes a value in place of its first one."""

    factor: str
    level: Any
    against: Any


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Which of a cell's episodes its mean of one measure is over."""

    label: str
    n: int
    not_scored: int
    without_value: int
    """Scored episodes to which the measure does not apply."""
    unfinished: int


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect on a measure of a group; without a change, the measure has no effects."""

    group: str
    measure: Measure
    """The measure, as the first cell that has it shows it."""
    changes: tuple[Change, ...] = ()
    """One for a main effect, two for an interaction."""
    value: float | None = None
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    scenarios: int = 0
    """How many scenarios the bootstrap draws from; variants of one count once."""
    cells: tuple[CellCounts, ...] = ()
    """The cells of the contrast; all cells if there is none."""
    why: str = ""
    """Why the measure has no effects."""

    def record(self) -> dict[str, Any]:
        """Return the effect as a flat record; the columns that begin with `with_` are those of an interaction's second option."""
        first, second = (*self.changes, None, None)[:2]
        return {
            "group": self.group,
            "measure": self.measure.name,
            "better": self.measure.better,
            "effect": ("none", "main", "interaction")[len(self.changes)],
            "factor": first and first.factor,
            "level": first and first.level,
            "against": first and first.against,
            "with_factor": second and second.factor,
            "with_level": second and second.level,
            "with_against": second and second.against,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "scenarios": self.scenarios,
            **{name: sum(getattr(cell, name) for cell in self.cells) for name in ("n", "not_scored", "without_value", "unfinished")},
            "why": self.why,
        }


def estimate_effects(factors: Mapping[str, Sequence[Any]], cells: Sequence[CellRows]) -> list[Effect]:
    """Estimate all main effects and two-way interactions on each column of each group; none if no option has two values.

    Only measures that are means of their rows' values in every cell have effects; each other one is returned with the reason.

    Args:
        factors: The options with their values; the first value of each is the reference.
        cells: One for each combination; the values of the last option change fastest.
    """
    contrasts = list(_contrasts(factors))
    if not contrasts:
        return []
    found: list[Effect] = []
    for group in dict.fromkeys(group for cell in cells for group in cell.summaries):
        having = [cell.summaries[group] for cell in cells if group in cell.summaries]
        for measure in {name: one for table in tables(having).values() for name, one in table.items()}.values():
            seen = [_seen(cell, group, measure.name) for cell in cells]
            why = next(filter(None, (one.why for one in seen)), "")
            found += (
                [Effect(group, measure, cells=tuple(one.counts for one in seen), why=why)]
                if why
                else _estimate(group, measure, contrasts, seen)
            )
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """A cell's values of one measure in one group."""

    sums: Mapping[str, tuple[float, int]]
    """Base of the scenarios to the sum of its rows' values, and their number."""
    counts: CellCounts
    why: str
    """Why the cell has no mean of them."""
    shares: bool
    """Whether every value lies between 0 and 1, whatever the episodes do."""


def _seen(cell: CellRows, group: str, name: str) -> _Seen:
    rows = [row for row in cell.rows if row.group == group]
    values = [(row.base, float(value)) for row in rows if row.scored and (value := row.values.get(name)) is not None]
    sums: dict[str, tuple[float, int]] = {}
    for base, value in values:
        before, number = sums.get(base, (0.0, 0))
        sums[base] = before + value, number + 1
    summary = cell.summaries.get(group)
    measure = summary.measure(name) if summary is not None else None
    scored = sum(row.scored for row in rows)
    return _Seen(
        sums,
        CellCounts(cell.label, len(values), len(rows) - scored, scored - len(values), cell.planned.get(group, len(rows)) - len(rows)),
        why=_why_no_mean(cell, group, measure, [value for _, value in values]),
        shares=measure is not None and measure.kind != "number" and all(0 <= value <= 1 for _, value in values),
    )


def _why_no_mean(cell: CellRows, group: str, measure: Measure | None, values: Sequence[float]) -> str:
    if group not in cell.summaries:
        return f"no group {group} in cell {cell.label}"
    if cell.summaries[group].derived:
        return "repeats the episodes of other groups"
    if measure is None or measure.value is None:
        return f"no value in cell {cell.label}"
    is_mean = values and isclose(sum(values) / len(values), measure.value, rel_tol=1e-9, abs_tol=1e-9)
    return "" if is_mean else "not a mean of the episodes' values"


def _contrasts(factors: Mapping[str, Sequence[Any]]) -> Iterator[tuple[tuple[Change, ...], tuple[float, ...]]]:
    """Yield the changes of each effect, and the weights of the cells in it: first all main effects, then all interactions."""
    names = list(factors)
    sizes = [len(factors[name]) for name in names]
    places = list(itertools.product(*map(range, sizes)))
    mains = [(axis, level) for axis, size in enumerate(sizes) for level in range(1, size)]
    pairs = [pair for pair in itertools.combinations(mains, 2) if pair[0][0] != pair[1][0]]
    for picked in (*((one,) for one in mains), *pairs):
        rest = prod(sizes) / prod(sizes[axis] for axis, _ in picked)
        weights = tuple(prod((at[axis] == level) - (at[axis] == 0) for axis, level in picked) / rest for at in places)
        yield tuple(Change(names[axis], factors[names[axis]][level], factors[names[axis]][0]) for axis, level in picked), weights


def _estimate(
    group: str, measure: Measure, contrasts: Sequence[tuple[tuple[Change, ...], tuple[float, ...]]], seen: Sequence[_Seen]
) -> Iterator[Effect]:
    means = _Means(seen)
    shares = all(one.shares for one in seen)
    for changes, weights in contrasts:
        value = means.contrast(weights, bytes([1]) * means.clusters)
        assert value is not None
        limits = bootstrap(means.clusters, partial(means.contrast, weights))
        if limits is None and shares:
            limits = _of_equal_scenarios(value, sum(weight for weight in weights if weight > 0), means.clusters)
        counts = tuple(one.counts for one, weight in zip(seen, weights, strict=True) if weight)
        low, high = limits or (None, None)
        yield Effect(group, measure, changes, value, low, high, means.clusters, counts)


def _of_equal_scenarios(value: float, furthest: float, scenarios: int) -> Interval:
    """Return the interval of an effect that is the same in every scenario, so that no draw differs from another.

    Of the scenarios that there might be, at most a share has another effect, which is Wilson's upper limit of none in so many; with each of
    them as far away as it can be, `furthest` on either side of 0, these are the ends.
    """
    other = wilson(0, scenarios).high
    assert other is not None
    return value - other * (furthest + value), value + other * (furthest - value)


class _Means:
    """The cells' means, if each scenario was drawn so many times; those of a draw are kept, as every effect needs them."""

    def __init__(self, seen: Sequence[_Seen]) -> None:
        bases = {base for one in seen for base in one.sums}
        # Their order decides what is drawn, and should depend on their content alone.
        clusters = sorted([one.sums.get(base, (0.0, 0)) for one in seen] for base in bases)
        self.clusters = len(clusters)
        columns = [tuple(cluster[cell][part] for cluster in clusters) for cell in range(len(seen)) for part in (0, 1)]
        self._vectors = list(dict.fromkeys(columns))  # most cells have the same episodes
        place = {vector: number for number, vector in enumerate(self._vectors)}
        self._cells = [(place[total], place[number]) for total, number in zip(columns[::2], columns[1::2], strict=True)]
        self._known: dict[bytes, list[float | None]] = {}

    def contrast(self, weights: Sequence[float], times: Sequence[int]) -> float | None:
        means = self._of_draw(bytes(times))
        found = 0.0
        for weight, mean in zip(weights, means, strict=True):
            if weight:
                if mean is None:
                    return None
                found += weight * mean
        return found

    def _of_draw(self, times: bytes) -> list[float | None]:
        if (known := self._known.get(times)) is None:
            sums = [sum(map(mul, times, vector)) for vector in self._vectors]
            known = self._known[times] = [sums[total] / sums[number] if sums[number] else None for total, number in self._cells]
        return known
