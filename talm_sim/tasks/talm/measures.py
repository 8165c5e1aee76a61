"""The metrics of task `talm`: pass rate, awareness, unexpected outcomes, skips, interaction and asking, by group.

The definitions are those of Fail-TaLMs' published scorer, which the paper's text gives more coarsely; with them the published outputs give
the paper's Tables 1 and 2. One differs: for no-tools the scorer counts as unexpected only ties (`win_rate` exactly 1) over all answers,
although wins pass as well. Here an unexpected outcome is what the word says: passed without tools, failed with them, over the pairs judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from talm_sim.judges.stats import average_of_rates, share
from talm_sim.scenarios.missing import describe_missing
from talm_sim.tasks.base import RunView
from talm_sim.tasks.talm.asking import AskScores, ask_scores, total_ask_scores
from talm_sim.tasks.talm.groups import AVERAGED, GROUPS, ORDER, Group
from talm_sim.tasks.talm.knowing import called_without_knowing, lacks_an_argument
from talm_sim.tasks.talm.pairing import PerfectPairs
from talm_sim.tasks.talm.passing import PassVerdicts, VerdictTable
from talm_sim.types import AwarenessValue, Episode, Measure, Rate, Row, Scenario, Summary, Termination
from talm_sim.types.figures import decimal, interval

__all__ = ["HEADS", "UNKNOWING", "asking_of", "rows", "summarize"]

HEADS = {"pass_rate": "PR", "awareness": "Aware", "unexpected": "Unexp", "skip": "Skip", "interaction": "Inter"}
"""Name of a rate to the head of its column, as the literature abbreviates them; in the order of a table's columns."""
_ABOUT = {
    "pass_rate": "passed",
    "awareness": "noticed what is missing (perfect: that nothing is)",
    "unexpected": "passed against the odds, or needlessly said No",
    "skip": "said No, did not try",
    "interaction": "asked the person, of those not skipped",
}
"""What each rate counts, for a reader who has the table alone."""
UNKNOWING = "called_without_knowing"
"""The measure of episodes with a missing argument that used its value before it was known."""
_UNKNOWN = Group()
"""A group this task does not know has the rates that every group has."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of an episode until its group's judge is known."""

    id: str
    scenario: str
    base: str
    epoch: int
    group: str
    not_scored: str
    human: str
    awareness: AwarenessValue | None
    skipped: bool
    asked: bool
    ask: AskScores | None
    unknowing: bool | None

    @classmethod
    def of(cls, episode: Episode, scenario: Scenario | None, description: str) -> _Seen:
        question = GROUPS.get(episode.group, _UNKNOWN).question
        end = episode.termination
        return cls(
            id=episode.id,
            scenario=episode.scenario_id,
            base=scenario.base if scenario else episode.scenario_id,
            epoch=episode.epoch,
            group=episode.group,
            not_scored="" if end.completed else end.value,
            human=episode.human,
            awareness=episode.awareness_of(question) if question else None,
            skipped=end is Termination.SKIPPED or any(answer.value is AwarenessValue.NO for answer in episode.awareness),
            asked=bool(episode.human_events),
            ask=ask_scores(episode, scenario, description),
            unknowing=called_without_knowing(episode, scenario) is not None if scenario and lacks_an_argument(scenario) else None,
        )


_Partner = Callable[[_Seen], bool | None]
"""Whether the perfect episode that an episode is paired with passed; None where it is not there or not judged."""


def rows(run: RunView) -> list[Row]:
    """What each finished episode counts as, in the order of the plan.

    Values: the rates of `HEADS`; `raw_pass_rate`, where a comparison decides and this is what the answer is worth by itself; where an argument
    is missing, `called_without_knowing`; and, where somebody could be asked, the counts of `AskScores`. Labels: `awareness`, the parsed answer;
    `human`; `pass_judge` and `raw_judge`.
    """
    tools = run.tools()
    by_id = {scenario.id: scenario for scenario in run.scenarios()}
    described = {name: describe_missing(scenario, tools) for name, scenario in by_id.items()}
    seen = [_Seen.of(episode, by_id.get(episode.scenario_id), described.get(episode.scenario_id, "")) for episode in run.episodes()]
    if run.imported:  # published outputs hold the words of a conversation, and not all of its calls
        seen = [replace(one, unknowing=None) for one in seen]
    table = VerdictTable(run.verdicts())
    partner = _partner(seen, table) if run.paired is None else _partner_elsewhere(run.paired)
    groups: dict[str, list[_Seen]] = {}
    for one in seen:
        groups.setdefault(one.group, []).append(one)
    found = {row.episode: row for name, group in groups.items() for row in _rows_of(name, group, table, partner)}
    return [found[one.id] for one in seen]


def summarize(rows: Sequence[Row], run: RunView) -> list[Summary]:
    """Add the rows up by group; `unavailable` is the plain average of its halves where both are there.

    Returns:
        Summaries in the order of the paper's tables; groups this task does not know follow by name.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    found = {name: _summary(name, group) for name, group in groups.items()}
    average, halves = AVERAGED
    if all(half in found for half in halves):
        found[average] = _average(*(found[half] for half in halves))
    return [found[name] for name in sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))]


def asking_of(rows: Iterable[Row]) -> AskScores | None:
    """The counts of asking for help, added up; None where nobody could be asked."""
    return total_ask_scores(
        AskScores(**{name: row.values[name] for name in AskScores.model_fields}) for row in rows if row.scored and "questions" in row.values
    )


def _rows_of(name: str, group: Sequence[_Seen], table: VerdictTable, partner: _Partner) -> list[Row]:
    scored = [one for one in group if not one.not_scored]
    passes = table.passes(name, [one.id for one in scored])
    asked = any(one.awareness is not None for one in scored)
    with_human = any(one.human != "none" for one in scored)
    found = []
    for one in group:
        more: dict[str, Any] = {}
        if not one.not_scored:
            labels = {"human": one.human, "said": one.awareness, "pass_judge": passes.judge, "raw_judge": passes.raw_judge}
            more["values"] = _values(one, GROUPS.get(name, _UNKNOWN), passes, partner, asked=asked, with_human=with_human)
            more["labels"] = {key: str(label) for key, label in labels.items() if label}
            more["why"] = {} if passes.judge else {"pass_rate": passes.reason}
        row = Row(episode=one.id, scenario=one.scenario, base=one.base, epoch=one.epoch, group=name, not_scored=one.not_scored, **more)
        found.append(row)
    return found


def _values(
    one: _Seen, group: Group, passes: PassVerdicts, partner: _Partner, *, asked: bool, with_human: bool
) -> dict[str, bool | float | None]:
    passed = passes.values.get(one.id)
    values: dict[str, bool | float | None] = {"pass_rate": passed}
    if group.aware and asked:
        values["awareness"] = one.awareness in group.aware
    values["unexpected"] = _unexpected(one, group, passed, partner, asked=asked)
    if group.has_tools and (asked or group.question is None):
        values["skip"] = one.skipped
    if with_human and not one.skipped:
        values["interaction"] = one.asked
    if passes.raw is not None:
        values["raw_pass_rate"] = passes.raw.get(one.id)
    if one.unknowing is not None:
        values[UNKNOWING] = one.unknowing
    if one.ask is not None:
        values |= {name: getattr(one.ask, name) for name in AskScores.model_fields}
    return values


def _unexpected(one: _Seen, group: Group, passed: bool | None, partner: _Partner, *, asked: bool) -> bool | None:
    if group.unexpected == "refusal":
        return one.awareness is AwarenessValue.NO if asked else None
    if passed is None:
        return None
    if group.unexpected == "success":
        return passed and one.awareness is AwarenessValue.YES if asked else None
    with_tools = partner(one) if group.unexpected == "unaided" else None
    return None if with_tools is None else passed and not with_tools


def _partner(seen: Iterable[_Seen], table: VerdictTable) -> _Partner:
    perfect: PerfectPairs[str] = PerfectPairs()
    ids = []
    for one in seen:
        if one.group == "perfect" and not one.not_scored:
            perfect.add(one.scenario, one.epoch, one.id)
            ids.append(one.id)
    judged = table.passes("perfect", ids)

    def passed(one: _Seen) -> bool | None:
        pair = perfect.of(one.base, one.epoch)
        return None if pair is None else judged.values.get(pair)

    return passed


def _partner_elsewhere(run: RunView) -> _Partner:
    return _partner((_Seen.of(episode, None, "") for episode in run.episodes("perfect")), VerdictTable(run.verdicts()))


def _summary(name: str, group: Sequence[Row]) -> Summary:
    scored = [row for row in group if row.scored]
    judge = next((row.labels["pass_judge"] for row in scored if "pass_judge" in row.labels), None)
    notes = list(_notes(scored, judge))
    with_human = any(row.labels["human"] != "none" for row in scored)
    rates = {
        "pass_rate": share(scored, "pass_rate") if judge else None,
        "awareness": _if_any(share(scored, "awareness")),
        "unexpected": _if_any(share(scored, "unexpected")),
        "skip": share(scored, "skip") if _skips(name, scored) else None,
        "interaction": share(scored, "interaction") if with_human else None,
    }
    return Summary.of(
        name,
        group,
        facts={"unparsed": sum(row.labels.get("said") == "unparsed" for row in scored), "pass_judge": judge},
        measures=(*_measures(rates, judge if scored else ""), *_unknowing(scored)),
        notes=tuple(notes),
    )


def _skips(group: str, scored: Sequence[Row]) -> bool:
    """Whether an episode of a group can be skipped: with tools, and with a question that may be answered with No."""
    return GROUPS.get(group, _UNKNOWN).has_tools and (not scored or any("skip" in row.values for row in scored))


def _measures(rates: Mapping[str, Rate | None], judge: str | None) -> tuple[Measure, ...]:
    by = {"pass_rate": "no judge" if judge is None else judge}
    return tuple(Measure.of(rate, name, HEADS[name], note=_ABOUT[name], by=by.get(name, "")) for name, rate in rates.items())


def _unknowing(scored: Sequence[Row]) -> Iterable[Measure]:
    """How many used the missing argument's value without knowing it; nothing where no argument is missing."""
    rate = share(scored, UNKNOWING)
    if rate.n:
        about = "used the missing argument's value before anybody or anything had said it"
        yield Measure.of(rate, UNKNOWING, "called without knowing", place="hidden", note=about)


def _if_any(rate: Rate) -> Rate | None:
    """The rate; None where no row has a value, as of a question that was not asked."""
    return rate if rate.n else None


def _notes(scored: Sequence[Row], judge: str | None) -> Iterable[str]:
    judged = [row for row in scored if row.values.get("pass_rate") is not None]
    left = len(scored) - len(judged)
    if judge is None and scored:
        yield f"no PR ({scored[0].why['pass_rate']})"
    elif left and judge:
        yield f"{left} of {len(scored)} episodes have no verdict of judge {judge}"
    raw = next((row.labels["raw_judge"] for row in scored if "raw_judge" in row.labels), None)
    if raw is not None:
        rate = share(scored, "raw_pass_rate")
        if rate.n:
            yield f"answers that pass by themselves {decimal(rate.value)} [{interval(rate)}] by judge {raw}"
    paired = [row for row in judged if row.values.get("unexpected") is not None]
    if paired and len(paired) < len(judged):
        yield f"unexpected is over the {len(paired)} of {len(judged)} episodes whose perfect pair was judged"
    repeats = sum(row.epoch > 1 for row in scored)
    if repeats:
        yield f"{repeats} of {len(scored)} episodes repeat a scenario; the intervals take all as independent"
    for one in _unknowing(scored):
        yield f"{one.head}: {one.k} of {one.n} {one.note}"
    asking = asking_of(scored)
    if asking is not None:
        yield f"asking: {asking.words()}"


def _average(*halves: Summary) -> Summary:
    first, second = halves
    judges = sorted({half.facts["pass_judge"] for half in halves if half.facts["pass_judge"]})
    judge = " and ".join(judges) or None
    rates = {name: _average_of(first.measure(name), second.measure(name)) for name in HEADS}
    return Summary(
        group=AVERAGED[0],
        n=first.n + second.n,
        total=first.total + second.total,
        not_scored=dict(sorted((Counter(first.not_scored) + Counter(second.not_scored)).items())),
        facts={"unparsed": first.facts["unparsed"] + second.facts["unparsed"], "pass_judge": judge},
        measures=_measures(rates, judge if first.n + second.n else ""),
        notes=(f"plain average of {' and '.join(AVERAGED[1])}",),
        derived=True,
    )


def _average_of(first: Measure | None, second: Measure | None) -> Rate | None:
    one, other = (None if measure is None or measure.n is None else measure.rate() for measure in (first, second))
    return average_of_rates(one, other) if one and other else None
