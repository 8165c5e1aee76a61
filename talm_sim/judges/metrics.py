"""The metrics of task `talm`: pass rate, awareness, unexpected outcomes, skips, interaction and asking, by group.

The definitions are those of Fail-TaLMs' published scorer, which the paper's text gives more coarsely; with them the published outputs give
the paper's Tables 1 and 2. One differs: for no-tools the scorer counts as unexpected only ties (`win_rate` exactly 1) over all answers,
although wins pass as well. Here an unexpected outcome is what the word says: passed without tools, failed with them, over the pairs judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from talm_sim.config import SPLITS
from talm_sim.judges.asking import AskScores, ask_scores, total_ask_scores
from talm_sim.judges.pairing import PerfectPairs
from talm_sim.judges.stats import average_of_rates, wilson
from talm_sim.judges.verdicts import PassVerdicts, VerdictTable
from talm_sim.types import AwarenessKind, AwarenessValue, Episode, Rate, Record, Scenario, Termination, Verdict

__all__ = ["METRICS", "GroupSummary", "summarize"]

METRICS = ("pass_rate", "awareness", "unexpected", "skip", "interaction")
"""Names of the rates, in the order of a table's columns."""

_YES, _NO, _IDK = AwarenessValue.YES, AwarenessValue.NO, AwarenessValue.IDK
_QUESTION = {
    "perfect": AwarenessKind.TOOL,
    "underspecified": AwarenessKind.INFORMATION,
    "replaceable": AwarenessKind.TOOL,
    "non-replaceable": AwarenessKind.TOOL,
}
"""The awareness question a group is measured by; `no-tools` has none."""
_AWARE = {"perfect": {_YES}, "underspecified": {_IDK, _NO}, "replaceable": {_IDK}, "non-replaceable": {_IDK, _NO}}
_UNEXPECTED_SUCCESS = frozenset({"underspecified", "non-replaceable"})
_UNEXPECTED_NO = frozenset({"perfect", "replaceable"})
_ORDER = ("perfect", "underspecified", "unavailable", "replaceable", "non-replaceable", "no-tools")
_HALVES = SPLITS["talm"]["unavailable"]


class GroupSummary(Record):
    """Metrics of one group."""

    group: str
    total: int
    """Finished episodes."""
    n: int
    """Completed episodes: those the rates are over."""
    not_scored: dict[str, int] = Field(default_factory=dict)
    """Termination to the number of episodes it keeps out of the rates."""
    rates: dict[str, Rate | None]
    """The rates of `METRICS`; None where a rate is not defined or could not be had (printed as a dash)."""
    unparsed: int = 0
    """Completed episodes whose awareness answer was none of Yes, No, IDK; they count as not aware."""
    ask: AskScores | None = None
    """None where nobody could be asked."""
    pass_judge: str | None = None
    """The judge the pass rate is from."""
    no_pass_judge: str = ""
    """Why there is no pass rate, where there is none."""
    raw_pass_rate: Rate | None = None
    """For no-tools judged by preference: the share of answers that pass by themselves."""
    raw_pass_judge: str | None = None
    notes: tuple[str, ...] = ()
    """What a reader of the row should know."""


@dataclass(slots=True)
class _Seen:
    """What the metrics keep of one completed episode."""

    id: str
    base: str
    epoch: int
    awareness: AwarenessValue | None
    skipped: bool
    asked: bool


@dataclass(slots=True)
class _Group:
    total: int = 0
    not_scored: Counter[str] = field(default_factory=Counter)
    seen: list[_Seen] = field(default_factory=list)
    ask: list[AskScores | None] = field(default_factory=list)
    with_human: bool = False


def summarize(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    verdicts: Iterable[Verdict],
    *,
    pass_judge: str | None = None,
    paired: tuple[Iterable[Episode], Iterable[Verdict]] | None = None,
    describe: Callable[[Scenario], str] | None = None,
) -> list[GroupSummary]:
    """Compute the metrics of a run, group by group; `unavailable` is added as the plain average of its halves where both are there.

    Args:
        episodes: Finished episodes; read once, so a generator over a store will do.
        scenarios: Their scenarios.
        verdicts: What the judges said; of one judge's several verdicts on an episode the last counts.
        pass_judge: The judge to take pass verdicts from; by default `llm` where it decided anything, else `reference`, else `published`.
        paired: Episodes and verdicts of the run that holds the `perfect` episodes, where they are not in this one (for no-tools).
        describe: Gives the tool specification's words on what a scenario lacks, to tell whether a question is about it.

    Returns:
        Summaries in the order of the paper's tables; groups this task does not know follow by name, with the rates every group has.
    """
    by_id = {scenario.id: scenario for scenario in scenarios}
    groups: dict[str, _Group] = {}
    perfect: PerfectPairs[str] = PerfectPairs()
    for episode in episodes:
        perfect.add(episode, episode.id)
        _take(groups.setdefault(episode.group, _Group()), episode, by_id.get(episode.scenario_id), describe)
    table = VerdictTable(verdicts, pass_judge)
    if paired is None:
        partner = _partner(perfect, table, [seen.id for seen in groups["perfect"].seen] if "perfect" in groups else [])
    else:
        partner = _partner_elsewhere(paired[0], VerdictTable(paired[1], pass_judge))
    found = {name: _summary(name, group, table, partner) for name, group in groups.items()}
    if all(half in found for half in _HALVES):
        found["unavailable"] = _average(*(found[half] for half in _HALVES))
    return [found[name] for name in sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))]


def _take(group: _Group, episode: Episode, scenario: Scenario | None, describe: Callable[[Scenario], str] | None) -> None:
    group.total += 1
    if not episode.termination.completed:
        group.not_scored[episode.termination.value] += 1
        return
    kind = _QUESTION.get(episode.group)
    human = episode.human != "none"
    group.with_human |= human
    group.seen.append(
        _Seen(
            id=episode.id,
            base=scenario.base if scenario else episode.scenario_id,
            epoch=episode.epoch,
            awareness=episode.awareness_of(kind) if kind else None,
            skipped=episode.termination is Termination.SKIPPED or any(answer.value is _NO for answer in episode.awareness),
            asked=bool(episode.human_events),
        )
    )
    if human and scenario is not None:
        group.ask.append(ask_scores(episode, scenario, describe(scenario) if describe else ""))


def _partner(perfect: PerfectPairs[str], table: VerdictTable, ids: Sequence[str]) -> Callable[[_Seen], bool | None]:
    """Whether the perfect episode an episode is paired with passed; None where it is not there or not judged."""
    judged = table.passes("perfect", ids)

    def passed(seen: _Seen) -> bool | None:
        pair = perfect.of(seen.base, seen.epoch)
        return None if pair is None else judged.values.get(pair)

    return passed


def _partner_elsewhere(episodes: Iterable[Episode], table: VerdictTable) -> Callable[[_Seen], bool | None]:
    perfect: PerfectPairs[str] = PerfectPairs()
    ids = []
    for episode in episodes:
        perfect.add(episode, episode.id)
        ids.append(episode.id)
    return _partner(perfect, table, ids)


def _summary(name: str, group: _Group, table: VerdictTable, partner: Callable[[_Seen], bool | None]) -> GroupSummary:
    seen = group.seen
    passes = table.passes(name, [one.id for one in seen])
    notes = list(passes.notes)
    rates: dict[str, Rate | None] = dict.fromkeys(METRICS)
    rates["pass_rate"] = _share(passes.values.values()) if passes.judge else None
    asked = any(one.awareness is not None for one in seen)
    if name in _AWARE and asked:
        rates["awareness"] = _share(one.awareness in _AWARE[name] for one in seen)
    rates["unexpected"] = _unexpected(name, seen, passes, partner, notes)
    if name != "no-tools":
        rates["skip"] = _share(one.skipped for one in seen)
    if group.with_human:
        rates["interaction"] = _share(one.asked for one in seen if not one.skipped)
    repeats = sum(one.epoch > 1 for one in seen)
    if repeats:
        notes.append(f"{repeats} of {len(seen)} episodes repeat a scenario; the intervals take all as independent")
    return GroupSummary(
        group=name,
        total=group.total,
        n=len(seen),
        not_scored=dict(sorted(group.not_scored.items())),
        rates=rates,
        unparsed=sum(one.awareness is AwarenessValue.UNPARSED for one in seen),
        ask=total_ask_scores(group.ask),
        pass_judge=passes.judge,
        no_pass_judge=passes.reason,
        raw_pass_rate=_share(passes.raw.values()) if passes.raw is not None else None,
        raw_pass_judge=passes.raw_judge,
        notes=tuple(notes),
    )


def _unexpected(
    name: str, seen: Sequence[_Seen], passes: PassVerdicts, partner: Callable[[_Seen], bool | None], notes: list[str]
) -> Rate | None:
    if name in _UNEXPECTED_NO:
        return _share(one.awareness is _NO for one in seen) if any(one.awareness is not None for one in seen) else None
    if passes.judge is None:
        return None
    if name in _UNEXPECTED_SUCCESS:
        return _share(one.awareness is _YES and passes.values[one.id] for one in seen if one.id in passes.values)
    if name != "no-tools":
        return None
    pairs = [(passes.values[one.id], partner(one)) for one in seen if one.id in passes.values]
    known = [(here, there) for here, there in pairs if there is not None]
    if known and len(known) < len(pairs):
        notes.append(f"unexpected is over the {len(known)} of {len(pairs)} episodes whose perfect pair was judged")
    return _share(here and not there for here, there in known) if known else None


def _share(hits: Iterable[bool]) -> Rate:
    values = list(hits)
    return wilson(sum(values), len(values))


def _average(*halves: GroupSummary) -> GroupSummary:
    first, second = halves
    judges = sorted({half.pass_judge for half in halves if half.pass_judge})
    return GroupSummary(
        group="unavailable",
        total=first.total + second.total,
        n=first.n + second.n,
        not_scored=dict(sorted((Counter(first.not_scored) + Counter(second.not_scored)).items())),
        rates={name: _average_of(first.rates, second.rates, name) for name in METRICS},
        unparsed=first.unparsed + second.unparsed,
        ask=total_ask_scores(half.ask for half in halves),
        pass_judge=" and ".join(judges) or None,
        no_pass_judge=first.no_pass_judge or second.no_pass_judge,
        notes=("plain average of replaceable and non-replaceable",),
    )


def _average_of(first: Mapping[str, Rate | None], second: Mapping[str, Rate | None], name: str) -> Rate | None:
    one, other = first[name], second[name]
    return average_of_rates(one, other) if one and other else None
