"""Compute the difference of one measure over pairs of scenarios: its value, its interval and its test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter, mul, sub, xor
from typing import Any, NamedTuple

from talm_sim.comparison.compared_rows import OUTCOMES, Side
from talm_sim.errors import NotComparableError
from talm_sim.judges.paired import Cluster, difference_interval, flat_interval, flip_signs, newcombe_interval, swap_sides
from talm_sim.judges.stats import Interval, bootstrap
from talm_sim.store.people.kept_verdicts import is_of_people
from talm_sim.store.people.labelled_rate import compare_samples
from talm_sim.tasks import find_task
from talm_sim.tasks.row_figures import Figure
from talm_sim.types import FrozenModel, Measure, Row

_FEW_DISCORDANT = 10
"""Of fewer pairs that differ, a bootstrap's interval is too narrow."""
_LEAST_REPEATED = 0.9
"""Share of the pairs that must have all epochs; of a few the means differ widely."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Pair:
    """A scenario and its episodes on both sides; of two groups, the scenarios of one base."""

    name: str
    base: str
    group: str
    first: Sequence[Row]
    second: Sequence[Row]

    @property
    def scored(self) -> bool:
        """Whether each side has an episode that is scored."""
        return all(any(row.scored for row in rows) for rows in (self.first, self.second))

    @property
    def reasons(self) -> Iterable[str]:
        """Why not."""
        return [rows[0].not_scored for rows in (self.first, self.second) if not any(row.scored for row in rows)]


@dataclass(frozen=True, slots=True)
class Paired:
    """Two sides by pairs."""

    first: Side
    second: Side
    pairs: Sequence[Pair]
    first_only: tuple[str, ...] = ()
    second_only: tuple[str, ...] = ()
    other_texts: tuple[str, ...] = field(default=())
    """Scenarios of one id that are not the same."""
    translated: dict[str, str] = field(default_factory=dict)
    """Scenarios of the first side to those of the second that say the same in another language; empty if both have the same scenarios."""


def pair_rows(first: Side, second: Side, groups: tuple[str, str] | None = None) -> Paired:
    """Pair the rows of two sides: by scenario and group or, across two groups, by base.

    Sides without a common scenario are paired by what their scenarios are translations of.
    """
    label = " to ".join(groups or ())
    if groups:
        before = _sort((row for row in first.rows if row.group == groups[0]), lambda row: (row.base, label))
        after = _sort((row for row in second.rows if row.group == groups[1]), lambda row: (row.base, label))
    else:
        names = _translated_names(first, second)
        before, after = (_sort(side.rows, lambda row: (names.get(row.scenario, row.scenario), row.group)) for side in (first, second))
    both = [key for key in before if key in after]
    translated = {} if groups else {name: after[name, group][0].scenario for name, group in both if after[name, group][0].scenario != name}
    return Paired(
        first,
        second,
        [Pair(name, before[name, group][0].base, group, before[name, group], after[name, group]) for name, group in both],
        first_only=tuple(name for name, group in before if (name, group) not in after),
        second_only=tuple(after[key][0].scenario if not groups else key[0] for key in after if key not in before),
        other_texts=() if groups else tuple(dict.fromkeys(name for name, _ in both if not _is_same(first, second, name, translated.get(name)))),
        translated=translated,
    )


def _translated_names(first: Side, second: Side) -> dict[str, str]:
    """Return, for sides without a common scenario, the first side's name of each scenario of the second that has a translation there."""
    if not first.texts.keys().isdisjoint(second.texts) or not (first.originals or second.originals):
        return {}
    here: dict[str, str] = {}
    for side in (first, second):
        seen: dict[str, str] = {}
        for name in side.texts:
            original = side.originals.get(name, name)
            if original in seen:
                raise NotComparableError(
                    f"{side.name}: has '{original}' in several languages ('{seen[original]}', '{name}'); run one language to compare it with "
                    "another, or compare two groups of it."
                )
            seen[original] = name
        here = here or seen
    return {name: here[original] for name in second.texts if (original := second.originals.get(name, name)) in here}


def _is_same(first: Side, second: Side, name: str, translated: str | None) -> bool:
    """Return whether a scenario asks and accepts the same on both sides, or in a translation all but the words."""
    if translated is None:
        return first.texts[name] == second.texts[name]
    return first.kept.get(name, "") == second.kept.get(translated, "")


def _sort(rows: Iterable[Row], key: Callable[[Row], tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


LEVEL = 0.05
"""A difference whose corrected p value is lower is not taken for chance."""
_MOST_UNEQUAL = 0.05
"""Between two sides' shares of undecided episodes; above it, which ones were left open can decide a difference."""


def difference_of(paired: Paired, group: str, measure: Measure, *, derived: bool, seed: int) -> dict[str, Any] | None:
    """Return the fields of a `Difference`; None if no pair has a value.

    A mean of row values is computed by itself. Any other measure needs the task's figure; without one it has neither interval nor test, and
    its values are those of the whole runs, where these are what is compared.
    """
    scored = sorted((pair for pair in paired.pairs if pair.scored), key=lambda pair: (pair.name, pair.group))  # draws depend on the order
    own = [pair for pair in scored if pair.group == group]
    known = {"group": group, "measure": measure, "noise": None}
    sides = [[(pair.base, row) for pair in own for row in rows(pair)] for rows in (attrgetter("first"), attrgetter("second"))]
    if is_of_people(measure) and (rates := compare_samples(sides, measure.name)) != {}:
        return rates and {**known, "pairs": len(own), **rates}
    if not derived and _is_mean(paired, group, measure.name):
        found = _difference_of_means(own, measure.name, seed, known)
        return found if found is None else found | _ends(paired, own, seed, found)
    if (figure := find_task(paired.first.task).figure(group, measure.name)) is not None:
        return _difference_of_figures(scored if derived else own, figure, seed, known, tested=not derived)
    whole = not paired.first_only and not paired.second_only and len(own) == sum(pair.group == group for pair in paired.pairs)
    values = [_value_in(side, group, measure.name) if whole or derived else None for side in (paired.first, paired.second)]
    if values[0] is None or values[1] is None:
        return None
    valued = [all(_mean(rows, measure.name) is not None for rows in (pair.first, pair.second)) for pair in own]
    in_rows = any(row.values.get(measure.name) is not None for pair in own for row in (*pair.first, *pair.second))
    pairs = None if derived else sum(valued) if in_rows else len(own)
    return {**known, "pairs": pairs, "first": values[0], "second": values[1], "difference": values[1] - values[0]}


def _is_mean(paired: Paired, group: str, name: str) -> bool:
    """Return whether a measure is the mean of the values that its rows have under its name; the sides' own tables must say so."""
    found = False
    for side in (paired.first, paired.second):
        values = [float(value) for row in side.rows if row.scored and row.group == group and (value := row.values.get(name)) is not None]
        said = _value_in(side, group, name)
        if said is not None and (not values or abs(sum(values) / len(values) - said) > _ROUNDING):
            return False
        found |= bool(values)
    return found or " to " in group


def _value_in(side: Side, group: str, name: str) -> float | None:
    return next((one.measure.value for one in side.columns if (one.group, one.measure.name) == (group, name)), None)


def _ends(paired: Paired, own: Sequence[Pair], seed: int, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what undecided episodes leave open, if one side has so many more: the differences if they fail in one and pass in the other."""
    known = {name: found[name] for name in ("group", "measure", "noise")}
    group, name = found["group"], found["measure"].name
    columns = [one.measure for side in (paired.first, paired.second) for one in side.columns if (one.group, one.measure.name) == (group, name)]
    if not any(one.undecided for one in columns):
        return {}
    sides = ([row for pair in own for row in getattr(pair, side) if row.scored] for side in ("first", "second"))
    shares = [sum(row.values.get(name) is None for row in rows) / len(rows) for rows in sides]
    if abs(shares[1] - shares[0]) <= _MOST_UNEQUAL:
        return {}
    ends = []
    for passed in (False, True):
        filled = [replace(pair, first=_fill(pair.first, name, not passed), second=_fill(pair.second, name, passed)) for pair in own]
        end = _difference_of_means(filled, name, seed, known) or {}
        ends.append((end["difference"], end["p"]))
    undone = any(size * found["difference"] <= 0 or p >= LEVEL for size, p in ends)
    return {"undecided": tuple(shares), "ends": tuple(ends), "can_be_undone": undone}


def _fill(rows: Sequence[Row], name: str, passed: bool) -> list[Row]:
    return [row.model_copy(update={"values": {**row.values, name: passed}}) if row.values.get(name) is None else row for row in rows]


class _Means(NamedTuple):
    pair: Pair
    first: Fraction | float
    second: Fraction | float


def _difference_of_means(pairs: Sequence[Pair], name: str, seed: int, known: dict[str, Any]) -> dict[str, Any] | None:
    found = []
    for pair in pairs:
        before, after = _mean(pair.first, name), _mean(pair.second, name)
        if before is not None and after is not None:
            found.append(_Means(pair, before, after))
    if not found:
        return None
    n = len(found)
    first, second = (float(sum(values)) / n for values in zip(*((one.first, one.second) for one in found), strict=True))
    if known["measure"].under == OUTCOMES and not (first or second):  # what came of neither says nothing
        return None
    sums: dict[str, list[Any]] = {}
    for one in found:
        total = sums.setdefault(one.pair.base, [0, 0])
        total[0] += one.second - one.first
        total[1] += 1
    clusters = [Cluster(*total) for total in sums.values()]
    test = flip_signs(clusters, seed)
    low, high = _interval_of_means(found, clusters, known["measure"], seed) or (None, None)
    return {
        **known,
        "pairs": n,
        "first": first,
        "second": second,
        "difference": float(sum(one.second - one.first for one in found)) / n,
        "low": low,
        "high": high,
        "p": test.p,
        "exact": test.exact,
        "noise": _noise(found, name),
    }


def _mean(rows: Sequence[Row], name: str) -> Fraction | float | None:
    if not (values := [value for row in rows if row.scored and (value := row.values.get(name)) is not None]):
        return None
    if all(isinstance(value, int) for value in values):
        return Fraction(sum(map(int, values)), len(values))
    return float(sum(values)) / len(values)


def _interval_of_means(found: Sequence[_Means], clusters: Sequence[Cluster], measure: Measure, seed: int) -> Interval | None:
    """Return the interval: of few pass-or-fail pairs that differ, Newcombe's, or the wider one if bases have several; else the bootstrap's."""
    single = all(_is_decided(rows, measure.name) for one in found for rows in (one.pair.first, one.pair.second))
    changed = sum(one.first != one.second for one in found)
    if single and changed < _FEW_DISCORDANT:
        both = sum(bool(one.first and one.second) for one in found)
        up, down = (sum(one.first < one.second for one in found), sum(one.first > one.second for one in found))
        own = newcombe_interval(both, down, up, len(found) - both - up - down)
        if len(clusters) == len(found):
            return own
        drawn = difference_interval(clusters, seed) or own
        return min(own[0], drawn[0]), max(own[1], drawn[1])
    means = [float(sum(values)) / len(found) for values in zip(*((one.first, one.second) for one in found), strict=True)]
    return difference_interval(clusters, seed) or _flat_interval(measure, means[0], means[1], len(clusters))


def _flat_interval(measure: Measure, first: float, second: float, clusters: int) -> Interval | None:
    """Return an interval where all draws are equal; None for what is no share, as nothing says how wide it would be."""
    if measure.kind == "number" or not (0 <= first <= 1 and 0 <= second <= 1):
        return None
    return flat_interval(first, second, clusters)


def _is_decided(rows: Sequence[Row], name: str) -> bool:
    """Return whether rows passed or failed, all alike: one epoch, or several that agree."""
    values = [value for row in rows if row.scored and (value := row.values.get(name)) is not None]
    return all(isinstance(value, bool) for value in values) and len(set(values)) == 1


def _noise(found: Sequence[_Means], name: str) -> float | None:
    """Return the largest difference of two epochs of one side, over the pairs with a value in each; None if these are few of its pairs."""
    widest = None
    for rows_of in (attrgetter("first"), attrgetter("second")):
        values = [{row.epoch: row.values.get(name) for row in rows_of(one.pair) if row.scored} for one in found]
        epochs = {epoch for known in values for epoch in known}
        whole = [known for known in values if all(known.get(epoch) is not None for epoch in epochs)]
        if len(epochs) > 1 and len(whole) >= _LEAST_REPEATED * len(found):
            means = [sum(float(known[epoch] or 0) for known in whole) / len(whole) for epoch in epochs]
            widest = max(widest or 0.0, max(means) - min(means))
    return widest


def _difference_of_figures(pairs: Sequence[Pair], figure: Figure, seed: int, known: dict[str, Any], *, tested: bool) -> dict[str, Any] | None:
    """Return the difference of a figure over all rows of the pairs: bases are drawn for its interval, and change sides for its test."""
    rows = [*(row for pair in pairs for row in pair.first), *(row for pair in pairs for row in pair.second)]
    own = sum(len(pair.first) for pair in pairs)
    places: dict[str, int] = {}
    base = [places.setdefault(row.base, len(places)) for row in rows]
    value, first = figure(rows), [*[1] * own, *[0] * (len(rows) - own)]

    # Thousands of draws over all rows: each step is one of the interpreter's own loops.
    def difference(times: Sequence[int], swapped: Sequence[int] | None = None) -> float | None:
        drawn = [*map(times.__getitem__, base)]
        here = [*map(mul, drawn, first if swapped is None else map(xor, map(swapped.__getitem__, base), first))]
        before, after = value(here), value([*map(sub, drawn, here)])
        return None if before is None or after is None else after - before

    once = [1] * len(places)
    if (found := difference(once)) is None:
        return None
    before = value([1] * own + [0] * (len(rows) - own))
    assert before is not None
    if (limits := bootstrap(len(places), difference, seed)) is None and tested:
        limits = _flat_interval(known["measure"], before, before + found, len(places))
    low, high = limits or (None, None)
    test = swap_sides(len(places), lambda swapped: difference(once, swapped), seed) if tested else None
    return {
        **known,
        "pairs": len(pairs) if tested else None,
        "first": before,
        "second": before + found,
        "difference": found,
        "low": low,
        "high": high,
        "p": None if test is None else test.p,
        "exact": test is None or test.exact,
    }


class Flips(FrozenModel):
    """The changes of one group's scenarios: which episodes succeeded on either side; of several epochs, how many did."""

    group: str
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    both_passed: tuple[str, ...]
    both_failed: tuple[str, ...]
    as_often: tuple[str, ...]
    """Some epochs succeeded, in both runs as many."""


def list_flips(paired: Paired, judged: Measure | None = None) -> Iterable[Flips]:
    """Yield what flipped: by whether episodes succeeded, or by what a measure of people says of them."""
    task = find_task(paired.first.task)

    def succeeded(row: Row) -> bool | None:
        if judged is None:
            return task.succeeded(row)
        value = row.values.get(judged.name)
        return None if value is None else bool(value)

    groups: dict[str, dict[str, list[str]]] = {}
    for pair in paired.pairs:
        shares = []
        for rows in (pair.first, pair.second):
            known = [one for row in rows if (one := succeeded(row)) is not None]
            shares.append(sum(known) / len(known) if known else None)
        before, after = shares
        if before is None or after is None:
            continue
        if before != after:
            kind = "improved" if after > before else "regressed"
        else:
            kind = {1.0: "both_passed", 0.0: "both_failed"}.get(before, "as_often")
        groups.setdefault(pair.group, {}).setdefault(kind, []).append(pair.name)
    kinds = [name for name in Flips.model_fields if name != "group"]
    for group, found in groups.items():
        yield Flips(group=group, **{kind: tuple(found.get(kind, ())) for kind in kinds})


def labelling_judges(side: Side) -> set[str]:
    """Return the judges whose labels the rows of a side have."""
    named = {name.partition(" ")[0] for row in side.rows for name in row.labels if " " in name}
    return named & side.judges.keys()


def select_exposed(paired: Paired, judge: str) -> Paired:
    """Return the pairs in which both sides met what a judge labels.

    Which pairs these are depends on what the agents did, so a difference over them alone is not one over all scenarios.
    """
    kept = [pair for pair in paired.pairs if _met(pair.first, judge) and _met(pair.second, judge)]
    left = tuple(pair.name for pair in paired.pairs if pair not in kept)
    return replace(paired, pairs=kept, first_only=(*paired.first_only, *left))


def _met(rows: Iterable[Row], judge: str) -> bool:
    start = f"{judge}_"
    return any(row.scored and any(name.startswith(start) and value is not None for name, value in row.values.items()) for row in rows)


def share_of_common_calls(paired: Paired) -> tuple[int, int] | None:
    """Return how many calls both sides made, and how many either made: for calls that both made, both met the same faults.

    Returns: None where a side does not know its calls.
    """
    if not (paired.first.calls and paired.second.calls):
        return None
    both = either = 0
    for pair in paired.pairs:
        calls = []
        for side, rows in ((paired.first, pair.first), (paired.second, pair.second)):
            calls.append({(row.epoch, call) for row in rows for call in side.calls.get(row.episode, ())})
        both += len(calls[0] & calls[1])
        either += len(calls[0] | calls[1])
    return both, either
