"""Count a run's calls by tool: where a gold call wants it, which one was called instead, with which arguments, and how often it failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.stats import share
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import settings_of
from talm_sim.tasks.acting.gold_calls import EpisodeCalls
from talm_sim.types import Episode, Measure, Row, Scenario, Summary

NOTHING = "nothing"
"""What was called in place of a tool if nothing was."""
_RATES = {
    "called": ("Called", "the tool was called, of Wanted"),
    "arguments": ("Arguments", "called with the gold arguments, of Called"),
    "replaced": ("Other", "a tool that no gold call wants was called in its place, of Wanted"),
    "failed": ("Failed", "the call failed, of Calls"),
}


@dataclass(frozen=True, slots=True)
class ToolTable:
    """The calls of one run.

    Attributes:
        summaries: One per tool, by name; `n` is the number of scored episodes in which it is wanted or was called.
        invented: Names that were called and that no tool has, and how often.
        left_out: Finished episodes that are not counted, by reason.
        without_gold: Episodes that are counted and whose scenario has no gold calls: their calls and failures count alone.
        episodes: Episodes that are counted.
    """

    summaries: list[Summary]
    invented: Mapping[str, int]
    left_out: Mapping[str, int]
    without_gold: int
    episodes: int

    def notes(self) -> Iterator[str]:
        """Say what the table leaves out, and what was called in place of each tool."""
        if self.summaries:
            yield "n: scored episodes in which the tool is wanted by a gold call, or was called"
        else:
            yield "no tool was wanted or called"
        for summary in self.summaries:
            others = {name: number for name, number in summary.facts.get("instead", {}).items() if name != NOTHING}
            if others:
                yield f"in place of {summary.group}: {_times(others)}"
        if self.without_gold:
            yield f"{self.without_gold:,} of {self.episodes:,} episodes have no gold calls: only calls and failures are counted there"
        if self.invented:
            yield f"no such tool: {_times(self.invented)}"
        if self.left_out:
            yield "not counted: " + ", ".join(f"{number:,} {reason}" for reason, number in self.left_out.items())

    def records(self, run: StoredRun) -> list[dict[str, Any]]:
        """Return one flat record per tool: the run and its settings, then the figures; `instead` counts what was called in its place."""
        named = {"run": run.id, **settings_of(run.job)}
        dropped = ("group", "total", "not_scored")
        return [
            named | {"tool": one.group} | {name: value for name, value in one.record().items() if name not in dropped} for one in self.summaries
        ]


@dataclass(slots=True)
class _Tool:
    """What was counted of one tool."""

    rows: list[Row] = field(default_factory=list)
    instead: Counter[str] = field(default_factory=Counter)

    def summary(self, name: str, *, with_gold: bool) -> Summary:
        rates = {key: share(self.rows, key) for key in _RATES}
        calls = sum("call" in row.values for row in self.rows)
        measures = [Measure.of(rate if rate.n else None, key, _RATES[key][0], note=_RATES[key][1]) for key, rate in rates.items()]
        wanted = Measure(name="wanted", head="Wanted", kind="number", value=rates["called"].n, note="gold calls of the tool")
        number = Measure(name="calls", head="Calls", kind="number", value=calls, note="all calls of the tool")
        n = len({row.episode for row in self.rows})
        facts = {"instead": dict(sorted(self.instead.items(), key=lambda one: (-one[1], one[0])))}
        about_gold = (wanted, *measures[:3]) if with_gold else ()
        return Summary(group=name, n=n, total=n, facts=facts if with_gold else {}, measures=(*about_gold, number, *measures[3:]))


def tool_table(run: StoredRun) -> ToolTable:
    """Count the calls of a run's finished episodes, over all groups and epochs."""
    with run.at_once():
        job = run.job
        scenarios = {scenario.id: scenario for scenario in run.scenarios()}
        found: dict[str, _Tool] = {}
        invented: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        counted = without_gold = 0
        for episode in run.episodes():
            scenario = scenarios[episode.scenario_id]
            calls = job.task.calls(episode, scenario, job) if episode.termination.completed else None
            if calls is None:
                left_out[episode.termination.value] += 1
                continue
            counted += 1
            without_gold += not calls.wanted
            _count(found, calls, episode, scenario)
            invented.update(call.name for call in calls.made if not call.exists)
        if not counted and any(episode.termination.completed for episode in run.episodes()):
            raise PrerequisiteError(f"{run.path}: task {job.task.name} does not say which tools its episodes call, so --by-tool has no table.")
    summaries = [one.summary(name, with_gold=counted > without_gold) for name, one in sorted(found.items())]
    return ToolTable(summaries, _most_first(invented), _most_first(left_out), without_gold, counted)


def _count(found: dict[str, _Tool], calls: EpisodeCalls, episode: Episode, scenario: Scenario) -> None:
    """Add the calls of one episode; each gold call and each call is a row, so that an interval draws the rows of one request together."""

    def add(tool: str, **values: bool | int | None) -> _Tool:
        one = found.setdefault(tool, _Tool())
        one.rows.append(Row.of(episode, scenario, values=values))
        return one

    for gold in calls.outcomes():
        one = add(gold.name, called=gold.called, replaced=bool(gold.instead), arguments=gold.right if gold.called else None)
        if not gold.called:
            one.instead[gold.instead or NOTHING] += 1
    for call in calls.made:
        if call.exists:
            add(call.name, call=True, failed=call.failed)


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _times(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,} time{'' if number == 1 else 's'}" for name, number in counts.items())
