"""Measure what asking is worth: success lost where something must be asked for, and success gained per question to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from talm_sim.comparison.differences import Pair, Paired
from talm_sim.judges.stats import ratio_interval
from talm_sim.tasks import find_task
from talm_sim.types import FrozenModel, Row

MANY = 3
"""Pairs with as many questions or more are counted together."""


class Gap(FrozenModel):
    """How much less often episodes succeed in which something must be asked for, over scenarios of one base."""

    name: str
    """What the task calls it."""
    pairs: int
    complete: float
    """Share of success where nothing is missing."""
    lacking: float
    """Share of success where something is."""
    value: float
    """The first share less the second."""
    low: float | None = None
    """Lower end of its 95 % interval."""
    high: float | None = None
    kept: float | None = None
    """The second share over the first; None if nothing succeeded there."""
    asked: bool = True
    """Whether the agent could ask somebody where something was missing; if not, the gap is not one of judgement."""


class GainStep(FrozenModel):
    """The pairs that have one number of questions."""

    questions: int
    """The number; `MANY` stands for as many or more. Of several epochs, their mean, rounded up."""
    pairs: int
    alone: float
    """Share of success without a person."""
    helped: float
    """Share of success with one."""


class Gain(FrozenModel):
    """The gain from having a person at hand, in one group and per question."""

    group: str
    pairs: int
    questions: float
    """Questions in all; epochs of a scenario are averaged first."""
    value: float
    """Share of success with a person less the share without one."""
    per_question: float | None
    """The success gained over the questions asked, over all pairs; None without a question."""
    low: float | None = None
    """Lower end of its 95 % interval, drawn by base."""
    high: float | None = None
    steps: tuple[GainStep, ...]


def find_gap(paired: Paired, groups: tuple[str, str], found: Sequence[dict[str, Any]]) -> Gap | None:
    """Return the gap between two groups if their task has a name for it; None otherwise."""
    task = find_task(paired.first.task)
    name = task.gaps.get(groups, "")
    one = next((one for one in found if one["measure"].name in task.success), None)
    if not name or one is None:
        return None
    low, high = one.get("low"), one.get("high")
    return Gap(
        name=name,
        pairs=one["pairs"],
        complete=one["first"],
        lacking=one["second"],
        value=one["first"] - one["second"],
        low=None if high is None else -high,
        high=None if low is None else -low,
        kept=one["second"] / one["first"] if one["first"] else None,
        asked=_has_person(paired.second.settings) is not False,
    )


def list_gains(paired: Paired) -> Iterator[Gain]:
    """Yield what a person adds, group by group; nothing unless exactly one of the two sides had a person at hand."""
    with_person = [_has_person(side.settings) for side in (paired.first, paired.second)]
    if sorted(map(str, with_person)) != ["False", "True"]:
        return
    succeeded = find_task(paired.first.task).succeeded
    groups: dict[str, list[tuple[Pair, float, float, float]]] = {}
    for pair in paired.pairs:
        helped, alone = (pair.first, pair.second) if with_person[0] else (pair.second, pair.first)
        after, before = (_mean([succeeded(row) for row in rows if row.scored]) for rows in (helped, alone))
        asked = _mean([_questions(row) for row in helped if row.scored and succeeded(row) is not None])
        if after is not None and before is not None and asked is not None:
            groups.setdefault(pair.group, []).append((pair, before, after, asked))
    for group, known in groups.items():
        yield _gain(group, known)


def _gain(group: str, known: Sequence[tuple[Pair, float, float, float]]) -> Gain:
    steps: dict[int, list[tuple[float, float]]] = {}
    bases: dict[str, list[float]] = {}
    for pair, before, after, asked in known:
        steps.setdefault(min(MANY, ceil(asked)), []).append((before, after))
        own = bases.setdefault(pair.base, [0.0, 0.0])
        own[0] += after - before
        own[1] += asked
    gained, questions = (sum(values) for values in zip(*bases.values(), strict=True))
    low, high = (ratio_interval((one, other) for one, other in bases.values()) if questions else None) or (None, None)
    return Gain(
        group=group,
        pairs=len(known),
        questions=questions,
        value=gained / len(known),
        per_question=gained / questions if questions else None,
        low=low,
        high=high,
        steps=tuple(
            GainStep(
                questions=number,
                pairs=len(pairs),
                alone=sum(before for before, _ in pairs) / len(pairs),
                helped=sum(after for _, after in pairs) / len(pairs),
            )
            for number, pairs in sorted(steps.items())
        ),
    )


def _has_person(settings: dict[str, Any]) -> bool | None:
    """Return whether somebody could be asked; None if the task asks nobody."""
    return settings["human"] not in (None, "", "none") if "human" in settings else None


def _questions(row: Row) -> float | None:
    value = row.values.get("questions")
    return None if value is None else float(value)


def _mean(values: Sequence[bool | float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None
