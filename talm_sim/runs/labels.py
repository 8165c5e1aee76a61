"""What a judge that labels several things in an episode adds to a run's rows and table: shares of its labels, and a matrix of their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from talm_sim.judges.stats import share
from talm_sim.types import LabelMeasured, Matrix, Measure, Measured, Row, Verdict

__all__ = ["label_columns", "label_matrix", "label_measure", "label_measures", "label_values"]


_MOST_THINGS = 8
"""Rows of a matrix: each scenario may have a mask of its own."""


def label_measure(judge: str, label: LabelMeasured) -> str:
    """Return the name of a label's share."""
    return f"{judge}_{label.name}"


def label_columns(verdict: Verdict) -> dict[str, str]:
    """Return the labels as columns of a row: `JUDGE THING`."""
    return {f"{verdict.judge} {thing}": label for thing, label in verdict.labels.items()}


def label_values(verdict: Verdict, measure: Measured) -> dict[str, bool | None]:
    """Return whether each label is among those of an episode; without a counted one, none has a value."""
    given = set(verdict.labels.values())
    if not any(label.counted and label.name in given for label in measure.labels):
        return {}
    found: dict[str, bool | None] = {label_measure(verdict.judge, label): label.name in given for label in measure.labels if label.counted}
    return found | {label_measure(verdict.judge, flag): verdict.flags.get(flag.name) for flag in measure.flags}


def label_measures(group: Sequence[Row], judge: str, measure: Measured) -> Iterator[Measure]:
    """Yield the shares of the labels, over the scored episodes that have any counted one; none where nothing was labelled."""
    if not any(row.scored for row in _labelled(group, judge)):
        return
    under, several = measure.title, any(len(_labels_of(row, judge)) > 1 for row in group)
    whole = share(group, measure.name)
    yield Measure.of(whole, measure.name, measure.head, place=measure.place, under=under, note=measure.about, better=measure.better)
    for label in (*measure.flags, *measure.labels):
        if label.counted:
            name = label_measure(judge, label)
            rate = share(group, name)
            about = f"{label.about}{f' (any of its {measure.things})' if several and label.place == 'column' else ''}"
            yield Measure.of(rate, name, label.head, place=label.place, under=under, note=about, better=label.better)
    counted = {label.name for label in measure.labels if label.counted}
    for thing, found in _counts(group, judge).items():
        number = sum(found[name] for name in counted)
        yield Measure(name=f"{judge}_n_{thing}", head="n", kind="number", place="matrix", under=thing, value=number)


def label_matrix(group: Sequence[Row], judge: str, measure: Measured) -> Iterator[Matrix]:
    """Yield the matrix of things and labels over the scored episodes of a group; none where nothing was labelled."""
    counts = _counts(group, judge)
    if counts:
        columns = tuple(label.name for label in measure.labels)
        yield Matrix(
            name=measure.things,
            rows=tuple(counts),
            columns=columns,
            heads=tuple(label.head for label in measure.labels),
            counts=tuple(tuple(found[name] for name in columns) for found in counts.values()),
            axes=(measure.things, "verdict"),
        )


def _counts(group: Sequence[Row], judge: str) -> dict[str, Counter[str]]:
    """Count the labels of each thing over the scored episodes; of more things than a matrix has room for, those of one kind together."""
    counts: dict[str, Counter[str]] = {}
    for row in _labelled(group, judge):
        for thing, label in _labels_of(row, judge).items() if row.scored else ():
            counts.setdefault(thing, Counter())[label] += 1
    if len(counts) <= _MOST_THINGS:
        return counts
    kinds: dict[str, Counter[str]] = {}
    for thing, found in counts.items():
        kinds.setdefault(thing.partition(":")[0], Counter()).update(found)
    return kinds


def _labelled(group: Sequence[Row], judge: str) -> list[Row]:
    return [row for row in group if _labels_of(row, judge)]


def _labels_of(row: Row, judge: str) -> dict[str, str]:
    start = f"{judge} "
    return {name.removeprefix(start): label for name, label in row.labels.items() if name.startswith(start)}
