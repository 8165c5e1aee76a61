"""A stored run that lies in memory, for what a task reads of one; and what must hold of the numbers of any task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.judges.stats import wilson
from talm_sim.tasks import Job, RunView, job_of
from talm_sim.types import Episode, Measured, Rate, Row, Scenario, Summary, ToolSpec, Verdict


def job(task: str, **options: Any) -> Job[Any]:
    """A job of `task`; `options` are shared ones or the task's own."""
    return job_of(RunConfig(task=task, **options))


@dataclass
class View:
    """A run in memory; every call reads it anew."""

    job: Job[Any]
    kept: Sequence[Episode] = ()
    items: Sequence[Scenario] = ()
    said: Sequence[Verdict] = ()
    specs: Mapping[str, ToolSpec] = field(default_factory=dict)
    declared: Mapping[str, Measured] = field(default_factory=dict)
    imported: bool = False
    paired: RunView | None = None

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        return (episode for episode in self.kept if group in (None, episode.group))

    def scenarios(self) -> Iterator[Scenario]:
        return iter(self.items)

    def verdicts(self) -> Iterator[Verdict]:
        return iter(self.said)

    def tools(self) -> dict[str, ToolSpec]:
        return dict(self.specs)

    def measures(self) -> dict[str, Measured]:
        return dict(self.declared)

    def rows(self) -> list[Row]:
        return list(self.job.task.rows(self))

    def summaries(self) -> list[Summary]:
        return self.job.task.summarize(self.rows(), self)


def share(summary: Summary, name: str) -> tuple[int, int] | None:
    """k and n of a rate; None where it could not be had."""
    measure = summary.measure(name)
    assert measure is not None and measure.kind == "rate"
    return None if measure.n is None else (measure.k or 0, measure.n)


def check_summaries(view: View, shuffler: random.Random) -> None:
    """What holds of every task: the numbers are those of the rows alone, and their order says nothing.

    Every rate is a count over the rows' values, with Wilson's interval where each row has a base of its own; no row is lost; rows survive
    their JSON.
    """
    rows = view.rows()
    assert [row.episode for row in rows] == [episode.id for episode in view.episodes()], "one row an episode, in the order of the plan"
    assert [Row.model_validate_json(row.model_dump_json()) for row in rows] == rows
    assert not any(row.values for row in rows if row.not_scored), "an episode that is not scored adds to no measure"
    summaries = view.job.task.summarize(rows, view)
    for summary in summaries:
        assert summary.total == summary.n + sum(summary.not_scored.values())
        if not summary.derived:
            _check_rates(view.job, summary, [row for row in rows if row.group == summary.group])
    assert sum(summary.total for summary in summaries if not summary.derived) == len(rows)
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert view.job.task.summarize(mixed, view) == summaries


def _check_rates(job: Job[Any], summary: Summary, rows: Sequence[Row]) -> None:
    assert (len(rows), sum(row.scored for row in rows)) == (summary.total, summary.n)
    for measure in summary.measures:
        values = [value for row in rows if (value := row.values.get(measure.name)) is not None]
        if measure.kind != "rate":
            continue
        figure = job.task.figure(summary.group, measure.name)
        if figure is not None:  # a share of what rows count, not of rows
            assert measure.value == figure(rows)([1] * len(rows)) == (measure.k / measure.n if measure.n and measure.k is not None else None)
        elif measure.n is None:
            assert measure.rate() == Rate(k=0, n=0, value=None, low=None, high=None)
        else:
            assert (measure.k, measure.n) == (sum(map(bool, values)), len(values)), measure.name
            bases = {row.base for row in rows if row.values.get(measure.name) is not None}
            if len(bases) == len(values):
                assert measure.rate() == wilson(measure.k or 0, measure.n)
            else:
                assert measure.value is not None and measure.low is not None and measure.high is not None
                assert measure.value == sum(map(bool, values)) / len(values) and measure.low <= measure.value <= measure.high
                assert measure.low < measure.high
            assert measure.n <= summary.n
