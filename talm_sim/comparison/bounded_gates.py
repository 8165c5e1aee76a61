"""Check gates with a bound that a run's measures must reach. Every gate is checked, and one without a value is missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talm_sim.common.gate import Gate
from talm_sim.errors import OptionError, did_you_mean, format_names
from talm_sim.judges.registry import judge_class
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import label_measure
from talm_sim.tasks import Job
from talm_sim.tasks.judge_names import judge_names
from talm_sim.tasks.outcomes import BY_SUCCESS
from talm_sim.types import Episode, Measure, Measured, Scenario, Summary, Termination, ToolSpec, Verdict, episode_id
from talm_sim.types.written_figures import decimal, format_figure, interval

__all__ = ["GateResult", "check_bounds", "check_names", "find_measures", "planned_summaries"]


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of a gate for one row of a table."""

    name: str
    """The gate with the row's group, as `perfect.pass_rate>=0.6`."""
    passed: bool
    found: str
    """The value with its interval and n, in words."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p: float | None = None
    """Against a baseline: the p value, corrected for the number of gates."""

    @property
    def line(self) -> str:
        """The result in one line."""
        return f"gate {'passed' if self.passed else 'missed'}: {self.name}: {self.found}"

    def record(self) -> dict[str, Any]:
        """Return the result as flat data."""
        names = ("name", "passed", "value", "low", "high", "n", "p")
        return {name: getattr(self, name) for name in names}


def check_bounds(run: StoredRun, gates: Sequence[Gate]) -> list[GateResult]:
    """Check gates that have a bound, in each row of the run's table that they are for."""
    with run.at_once():
        summaries, further = run.summary(), run.job.task.further_measures or ()
        if run.finished < run.total or not summaries:  # a group may have no row yet
            known = {one.group for one in summaries}
            summaries += [one for one in planned_summaries(run.job, list(run.scenarios())) if one.group not in known]
    found: list[GateResult] = []
    for gate in gates:
        group, name = _split_at_group(gate.name, summaries)
        of = [one for one in summaries if group in ("", one.group)]
        if name in further and not _having(name, of):  # it applies to no episode of these groups
            found.append(GateResult(gate.text, passed=False, found=f"no value, n {sum(one.n for one in of if not one.derived):,}"))
        else:
            found += [_check(gate, summary, measure) for summary, measure in find_measures(gate, summaries, further)]
    return found


def _check(gate: Gate, summary: Summary, measure: Measure) -> GateResult:
    name = f"{summary.group}.{measure.name}{f'@{gate.end}' if gate.end != 'value' else ''}{gate.sign}{gate.bound:g}"
    _check_bound(gate, measure)
    value = {"value": measure.value, "lower": measure.low, "upper": measure.high}[gate.end]
    n = summary.n if measure.n is None else measure.n
    ends = [end for end in (measure.least, measure.most) if end is not None]
    passed = value is not None and all(map(gate.holds, (value, *ends)))
    found = f"{_format_value(gate, measure, value)}, n {n:,}" if value is not None else f"no value, n {n:,}"
    if ends:
        found += f", {decimal(ends[0])} to {decimal(ends[1])} with the {measure.undecided:,} undecided"
    return GateResult(name, passed, found, measure.value, measure.low, measure.high, n)


def _format_value(gate: Gate, measure: Measure, value: float) -> str:
    """Return a value with its interval; with more digits if two do not tell it from the bound."""
    limits = interval(measure)
    found = format_figure(measure)
    if value != gate.bound and decimal(value) == decimal(gate.bound):
        exact = f"{value:.6g}".removeprefix("0")
        found = exact if gate.end == "value" else f"{found}, {gate.end} end {exact}"
    return f"{found}{f' [{limits}]' if limits else ''}"


def _check_bound(gate: Gate, measure: Measure) -> None:
    if measure.kind == "number":
        if gate.end != "value":
            raise OptionError("--gate", f"'{gate.text}': {measure.name} is a number without an interval; leave out @{gate.end}.")
        return
    least = 0 if measure.kind == "rate" else -1  # a difference of shares is a score, too
    if not least <= gate.bound <= 1:
        meant = f" For {gate.bound:g} % write {gate.bound / 100:g}." if 1 < gate.bound <= 100 else ""
        raise OptionError("--gate", f"'{gate.text}': no value of {measure.name} is beyond {least} and 1.{meant}")


def find_measures(gate: Gate, summaries: Sequence[Summary], further: Iterable[str] = ()) -> list[tuple[Summary, Measure]]:
    """Return the rows of a table that a gate is for, each with its measure.

    A gate without a group is for every row that has the measure, without rows that repeat the episodes of others; only if no other row has
    it, for those.

    Args:
        gate: The gate.
        summaries: The table's rows.
        further: Names of measures that a table of this task may have besides, for the message.
    """
    if having := _having(gate.name, summaries):
        return [(summary, measure) for summary, measure in having if not summary.derived] or having
    for group, name in _splits(gate.name):
        for summary in summaries:
            if summary.group == group and (measure := summary.measure(name)) is not None:
                return [(summary, measure)]
    raise OptionError("--gate", f"'{gate.text}': {_explain_unknown(gate.name, summaries, further)}")


def _having(name: str, summaries: Sequence[Summary]) -> list[tuple[Summary, Measure]]:
    return [(summary, measure) for summary in summaries if (measure := summary.measure(name)) is not None]


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to read a name as a group and a measure, the shortest measure first."""
    for place in range(len(name) - 1, 0, -1):
        if name[place] == ".":
            yield name[:place], name[place + 1 :]


def _split_at_group(name: str, summaries: Sequence[Summary]) -> tuple[str, str]:
    """Return the group that a name begins with, empty if it is none of these, and the measure."""
    groups = {one.group for one in summaries}
    return next((one for one in _splits(name) if one[0] in groups), ("", name))


def _explain_unknown(name: str, summaries: Sequence[Summary], further: Iterable[str]) -> str:
    if not summaries:
        return "the run has no group yet."
    groups = [summary.group for summary in summaries]
    group, measure = _split_at_group(name, summaries)
    if not group:
        group, measure = next(_splits(name), ("", name))
    if group and group not in groups:
        return f"there is no group '{group}'.{did_you_mean(group, groups)}"
    of = [summary for summary in summaries if group in ("", summary.group)]
    if elsewhere := [summary.group for summary, _ in _having(measure, summaries)]:
        return f"group '{group}' has no measure '{measure}'; these have it: {format_names(elsewhere)}."
    names = list(dict.fromkeys(one.name for summary in of for one in summary.measures if one.place != "hidden") | dict.fromkeys(further))
    by_head = next((one.name for summary in of for one in summary.measures if one.head.lower() == measure.lower()), None)
    hint = f" Did you mean '{by_head}'?" if by_head else did_you_mean(measure, names)
    return f"there is no measure '{measure}'{f' in group {group!r}' if group else ''}.{hint}"


# --- before a run ---------------------------------------------------------------------------------------------------------------------------


class _NothingFinished:
    """A run in which no episode could be finished: its table has all groups, without values."""

    imported = False
    paired = None

    def __init__(self, job: Job[Any], scenarios: Sequence[Scenario]) -> None:
        self.job = job
        self._scenarios = scenarios

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        end, model = Termination.INFRASTRUCTURE_ERROR, self.job.config.model
        for one in self._scenarios:
            if group in (None, one.group):
                yield Episode(id=episode_id(one.id, 1), scenario_id=one.id, group=one.group, model=model, human="none", termination=end)

    def scenarios(self) -> Iterator[Scenario]:
        return iter(self._scenarios)

    def verdicts(self) -> Iterator[Verdict]:
        return iter(())

    def tools(self) -> dict[str, ToolSpec]:
        return {}

    def measures(self) -> dict[str, Measured]:
        return {}


def planned_summaries(job: Job[Any], scenarios: Sequence[Scenario]) -> list[Summary]:
    """Return the rows that a run's table will have, without values; none if its task cannot tell.

    Measures that a table has only where they apply may be absent.
    """
    view = _NothingFinished(job, scenarios)
    try:
        summaries = job.task.summarize(list(job.task.rows(view)), view)
    except Exception:  # a task of somebody else's, of which nothing is asked but this
        return []
    own = [judge_class(name).measure for name in judge_names(job) if name not in job.task.own_judges]
    columns = [Measure(name=one.name, head=one.head, better=one.better) for one in own]
    for name in judge_names(job):
        labels = (label for label in (*judge_class(name).measure.labels, *judge_class(name).measure.flags) if label.counted)
        columns += [Measure(name=label_measure(name, label), head=label.head, better=label.better) for label in labels]
    columns += [Measure(name=one.name, head=one.words, better=one.better) for one in job.task.outcomes or BY_SUCCESS]
    return [one.model_copy(update={"measures": (*one.measures, *columns)}) for one in summaries]


def check_names(gates: Sequence[Gate], job: Job[Any], scenarios: Sequence[Scenario]) -> None:
    """Check, before a run, that its table will have the groups and measures that gates name, as far as its task can tell."""
    summaries = planned_summaries(job, scenarios)
    further = job.task.further_measures
    for gate in gates if summaries else ():
        group, name = next(
            ((group, name) for group, name in _splits(gate.name) if any(one.group == group for one in summaries)), ("", gate.name)
        )
        has_group = bool(group) or "." not in gate.name
        if has_group and (further is None or name in further) and not _having(name, summaries):
            continue
        for _, measure in find_measures(gate, summaries, further or ()):
            if gate.sign:
                _check_bound(gate, measure)
