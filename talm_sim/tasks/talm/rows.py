"""Make the row of each episode of task `talm`, from which every number of a table is computed; say whose verdict counts as passing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from talm_sim.agent.responders import RESPONDERS, responder_kind
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.acting.person_faults import passing_values, person_values, read_person
from talm_sim.tasks.acting.standing_in import count_stand_ins
from talm_sim.tasks.base import RunView
from talm_sim.tasks.outcomes import CRASHED, NO_ANSWER
from talm_sim.tasks.talm.ask_scores import MARKS, AskScores, ask_scores, asked_in_words, without_babble
from talm_sim.tasks.talm.blockers import Blockers, BlockerScores, blocker_scores
from talm_sim.tasks.talm.groups import GROUPS, UNKNOWN, Group
from talm_sim.tasks.talm.outcomes import GUESSED, Seen, awareness_outcome, decide_outcome, read_outcome
from talm_sim.tasks.talm.reactions import AFTER_FAULT, behaviour_after_fault, behaviour_when_missing, declined_first
from talm_sim.types import AwarenessValue, Episode, Row, Verdict

T = TypeVar("T")
_RAW_JUDGES = ("llm", "reference", "published")
"""Judges of an answer by itself, the first that decided anything in a group counts. `published`: the grade that came with imported outputs."""
PUBLISHED_UNEXPECTED = "published_unexpected"
"""Value of an imported answer without tools: what the authors' scorer counts as an unexpected success."""
_OF_WORDS = frozenset({"went_ahead", "went_on", "persons_failure"})
"""Values that say what an answer lacks, or whose failure it was: silence has none of them."""
TIE = "win_rate 1"
"""Explanation of a published comparison that neither answer won."""
_PREFERENCES = ("preference", "published-preference")


@dataclass(frozen=True, slots=True)
class _PassVerdicts:
    """Verdicts on passing, for the episodes of one group."""

    judge: str | None
    values: Mapping[str, bool]
    """Episode id to whether it passed; episodes left open by the judge are not in it."""
    reason: str = ""
    """Why there is no judge, if there is none."""
    raw_judge: str | None = None
    """The judge of the answers by themselves, if a comparison decides."""
    raw: Mapping[str, bool] | None = None


class _VerdictTable:
    """Verdicts by judge and episode."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._values: dict[str, dict[str, Verdict]] = {}
        for verdict in verdicts:
            self._values.setdefault(verdict.judge, {})[verdict.episode_id] = verdict

    def tied(self, episode: str) -> bool | None:
        """Return whether an imported answer without tools was as good as the one with tools; None if it was not compared."""
        verdict = self._values.get("published-preference", {}).get(episode)
        return None if verdict is None else verdict.explanation == TIE

    def passes(self, group: str, ids: Sequence[str]) -> _PassVerdicts:
        """Choose the judge for the completed episodes `ids` of a group, and return what it said of them."""
        raw_judge = self._first_judge(_RAW_JUDGES, ids)
        judge = self._first_judge(_PREFERENCES, ids) if group == "no-tools" else None
        judge = judge or raw_judge
        if judge is None:
            return _PassVerdicts(None, {}, reason=self._reason(ids))
        values = self._decided_values(judge, ids)
        if judge == raw_judge or raw_judge is None:
            return _PassVerdicts(judge, values)
        return _PassVerdicts(judge, values, raw_judge=raw_judge, raw=self._decided_values(raw_judge, ids))

    def _decided_values(self, judge: str, ids: Iterable[str]) -> dict[str, bool]:
        said = self._values.get(judge, {})
        return {one: verdict.value for one in ids if (verdict := said.get(one)) is not None and verdict.value is not None}

    def _first_judge(self, judges: Iterable[str], ids: Sequence[str]) -> str | None:
        """Return the first judge that decided anything, or was asked and could not: no other takes its place."""
        said = ((judge, found) for judge in judges for one in ids if (found := self._values.get(judge, {}).get(one)) is not None)
        return next((judge for judge, one in said if one.value is not None or one.undecided or one.left_open), None)

    def _reason(self, ids: Iterable[str]) -> str:
        """Return the first explanation of a judge that decided nothing."""
        wanted = set(ids)
        for judge in sorted({*_RAW_JUDGES, *_PREFERENCES} & set(self._values)):
            for one, verdict in self._values[judge].items():
                if one in wanted:
                    return f"{judge}: {verdict.explanation or 'no decision'}"
        return "no judge has run" if wanted else "no completed episode"


class PerfectPairs(Generic[T]):
    """The facts about `perfect` episodes, by the scenario that another one was derived from.

    A pair shares the base scenario and, if the perfect run has it, the epoch; otherwise the earliest epoch is used.
    """

    def __init__(self) -> None:
        self._by_scenario: dict[str, dict[int, T]] = {}

    def add(self, scenario_id: str, epoch: int, value: T) -> None:
        """Keep `value` for an epoch of a perfect scenario."""
        self._by_scenario.setdefault(scenario_id, {})[epoch] = value

    def of(self, base: str, epoch: int) -> T | None:
        """Return what is known of the perfect episode of scenario `base`, or None where there is none."""
        if not (epochs := self._by_scenario.get(base)):
            return None
        return epochs[epoch] if epoch in epochs else epochs[min(epochs)]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of an episode until its group's judge is known."""

    id: str
    scenario: str
    base: str
    perfect: str
    """Id of the perfect scenario in the same language."""
    epoch: int
    group: str
    not_scored: str
    human: str
    awareness: AwarenessValue | None
    skipped: bool
    asked: bool
    ask: AskScores | None
    blockers: BlockerScores | None
    people: Mapping[str, float]
    """What people did and how long it took; empty where none was waited for."""
    done: Mapping[str, bool | int]
    awareness_alone: bool
    """Whether it was asked the awareness questions alone."""
    imported: bool
    """Whether it was imported, so that it may not have been asked them."""
    came_to: Seen | None
    """What decides its outcome; None where too little is known of it."""
    silent: bool
    remarks: Mapping[str, int]
    """Whether the model gave no answer, so that nothing that it left undone counts for it."""
    unsaid: bool
    """Whether an awareness question got no answer at all."""

    @classmethod
    def of(
        cls,
        episode: Episode,
        missing: Blockers | None = None,
        *,
        own: bool = False,
        waits: bool = False,
        imported: bool = False,
        awareness_alone: bool = False,
        fault: Verdict | None = None,
    ) -> _Seen:
        question, scenario = GROUPS.get(episode.group, UNKNOWN).question, missing.scenario if missing else None
        words_alone = imported and not episode.model_turns
        left_open = () if words_alone else asked_in_words(episode)
        counted = left_open if own or imported else ()
        done: dict[str, bool | int] = (
            {}
            if words_alone or awareness_alone
            else {**behaviour_when_missing(episode, scenario, left_open), **behaviour_after_fault(episode, scenario)}
        )
        counts = {"open_questions": len(left_open), "calls_from_text": sum(turn.calls_from_text for turn in episode.model_turns)}
        end = episode.termination
        known = missing is not None and end.completed and not words_alone and not awareness_alone
        asks = not awareness_alone and not (imported and episode.group not in GROUPS)
        return cls(
            id=episode.id,
            scenario=episode.scenario_id,
            base=scenario.base if scenario else episode.scenario_id,
            perfect=scenario.base_in_language if scenario else episode.scenario_id,
            epoch=episode.epoch,
            group=episode.group,
            not_scored="" if end.completed else end.value,
            human=episode.human,
            awareness=episode.awareness_of(question) if question else None,
            skipped=declined_first(episode),
            asked=bool(episode.questions or counted),
            ask=ask_scores(episode, missing.scenario, missing.descriptions, counted) if missing and asks else None,
            blockers=blocker_scores(episode, missing, counted) if missing and asks else None,
            people=_people(episode, missing) if waits else {},
            done=done | {name: count for name, count in counts.items() if count},
            awareness_alone=awareness_alone,
            imported=imported,
            came_to=read_outcome(episode, missing, counted, fault) if known and missing is not None else None,
            silent=end.completed and episode.gave_no_answer,
            remarks=episode.remarks,
            unsaid=not imported and "" in (split_reasoning(one.raw)[0].strip() for one in episode.awareness if one.value == "unparsed"),
        )

    def without_plain_faults(self) -> _Seen:
        """Return it without what it did after a fault, which a judge that knows the facts says better."""
        return replace(self, done={name: value for name, value in self.done.items() if name not in AFTER_FAULT})


_Partner = Callable[[_Seen], bool | None]
"""Return whether the perfect episode that an episode is paired with passed; None if there is none, or it is not judged."""


def rows(run: RunView) -> list[Row]:
    """Return what each finished episode counts as, in the order of the plan.

    Values: the rates of `measures.HEADS`; `raw_pass_rate`, where a comparison decides and
    this is what the answer is worth by itself; what `behaviour_when_missing` and `behaviour_after_fault` say; `open_questions`, those in the
    final answer; `calls_from_text`, turns whose calls were read from text; where somebody could be asked, the counts
    of `AskScores` and `BlockerScores`, and what `person_values` and `passing_values`
    say of the person; where a person was waited for, `waited_seconds` and `waited_answers`, how often one answered, and `stand_ins` and
    `stand_ins_in_json`, how often one stood in for a tool.
    Labels: `awareness`, the parsed answer; `human`; `pass_judge` and `raw_judge`.

    A question in the words of a final answer counts as asked where the agent is the user's own; ours has a tool to ask with. Published outputs
    contain the words of a conversation and no turns, so nothing is said of what was done in them; imported traces are of the user's agent.
    """
    tools = run.tools()
    by_id = {scenario.id: Blockers(scenario, tools) for scenario in run.scenarios()}
    alone = run.job.options.stop_after is not None
    whose: dict[str, bool] = {"own": run.job.options.agent is not None, "imported": run.imported, "awareness_alone": alone}
    whose["waits"] = not run.imported and run.job.options.human in RESPONDERS and responder_kind(run.job.options.human).waits
    perturb = run.job.options.perturb

    verdicts = [*run.verdicts()]
    faults = {one.episode_id: one for one in verdicts if one.judge == "fault"}

    def see(episode: Episode) -> _Seen:
        known = by_id.get(episode.scenario_id)
        episode = episode if whose["own"] or whose["imported"] else without_babble(episode)
        found = _Seen.of(episode, known, **whose, fault=faults.get(episode.id))
        said = {} if known is None else person_values(read_person(episode, known.scenario, tools, perturb))
        return replace(found, done={**found.done, **said}) if said else found

    seen = [see(episode) for episode in run.episodes()]
    labelled = {one.episode_id for one in verdicts if {*one.labels.values()} - {"undecided"}}
    labelled |= {one.id for one in seen if one.silent and one.id in faults}
    table = _VerdictTable(verdicts)
    seen = [one.without_plain_faults() if one.id in labelled else one for one in seen]
    partner = _partner(seen, table) if run.paired is None else _partner_elsewhere(run.paired)
    groups: dict[str, list[_Seen]] = {}
    for one in seen:
        groups.setdefault(one.group, []).append(one)
    found = {row.episode: row for name, group in groups.items() for row in _rows_of(name, group, table, partner)}
    return [found[one.id] for one in seen]


def _rows_of(name: str, group: Sequence[_Seen], table: _VerdictTable, partner: _Partner) -> list[Row]:
    scored = [one for one in group if not one.not_scored]
    passes = table.passes(name, [one.id for one in scored])
    asked = any(one.awareness is not None for one in scored)
    with_human = any(one.human != "none" for one in scored)
    found = []
    for one in group:
        more: dict[str, Any] = {}
        if not one.not_scored:
            labels = {"human": one.human, "said": one.awareness, "pass_judge": passes.judge, "raw_judge": passes.raw_judge}
            more["values"] = _values(one, GROUPS.get(name, UNKNOWN), passes, partner, table.tied(one.id), asked=asked, with_human=with_human)
            more["labels"] = {key: str(label) for key, label in labels.items() if label}
            more["outcome"] = _outcome(one, GROUPS.get(name, UNKNOWN), passes.values.get(one.id))
            reason = "awareness questions alone" if one.awareness_alone else passes.reason
            more["why"] = {} if passes.judge else {"pass_rate": reason}
        known = {"epoch": one.epoch, "group": name, "not_scored": one.not_scored, "silent": one.silent, "remarks": one.remarks}
        found.append(Row(episode=one.id, scenario=one.scenario, base=one.base, **known, **more))
    return found


def _outcome(one: _Seen, group: Group, passed: bool | None) -> str:
    if one.awareness_alone:
        found = NO_ANSWER if one.unsaid and one.awareness is AwarenessValue.UNPARSED else awareness_outcome(one.awareness, group.aware)
    else:
        found = None if one.came_to is None else decide_outcome(one.came_to, one.group, passed=passed)
    if one.silent and found not in (None, GUESSED, CRASHED):
        found = NO_ANSWER
    return "" if found is None else found.name


def _values(
    one: _Seen, group: Group, passes: _PassVerdicts, partner: _Partner, tied: bool | None, *, asked: bool, with_human: bool
) -> dict[str, bool | float | None]:
    passed = passes.values.get(one.id)
    passed = passed if passed is None else passed and not one.silent
    values: dict[str, bool | float | None] = {"pass_rate": passed}
    if group.aware and asked:
        values["awareness"] = one.awareness in group.aware
    values["unexpected"] = _unexpected(one, group, passed, partner, asked=asked)
    if group.has_tools and (asked or (group.question is None and not one.imported)) and (one.skipped or not one.unsaid):
        values["skip"] = one.skipped
    if with_human and not one.skipped and not one.awareness_alone:
        values["interaction"] = one.asked
    if tied is not None:
        values[PUBLISHED_UNEXPECTED] = tied and partner(one) is False
    if passes.raw is not None:
        values["raw_pass_rate"] = passes.raw.get(one.id)
    said = {**one.done, **passing_values(one.done, passed)}
    values |= {name: value for name, value in said.items() if not (one.silent and name in _OF_WORDS)}
    if one.ask is not None:
        values |= {name: number for name, number in one.ask.counts().items() if name not in MARKS or one.ask.marked}
    if one.blockers is not None:
        values |= one.blockers.model_dump()
    values |= one.people
    return values


def _unexpected(one: _Seen, group: Group, passed: bool | None, partner: _Partner, *, asked: bool) -> bool | None:
    if one.unsaid and one.awareness is AwarenessValue.UNPARSED:
        return None
    if group.unexpected == "refusal":
        return one.awareness is AwarenessValue.NO if asked else None
    if passed is None or one.silent:
        return None
    if group.unexpected == "success":
        return passed and one.awareness is AwarenessValue.YES if asked else None
    with_tools = partner(one) if group.unexpected == "unaided" else None
    return None if with_tools is None else passed and not with_tools


def _people(episode: Episode, missing: Blockers | None) -> dict[str, float]:
    """Return how long people took in all, from asking to answering, for how many questions, approvals and forms, and how often for a tool."""
    answered = [event for event in episode.human_events if not event.unanswered and event.answered_at >= event.asked_at > 0]
    times = [event.answered_at - event.asked_at for event in answered]
    found: dict[str, float] = {"waited_seconds": sum(times), "waited_answers": len(times)}
    if missing is not None and found["waited_answers"]:
        stood_in = count_stand_ins(episode, missing.scenario, missing.specs)
        found |= dict(zip(("stand_ins", "stand_ins_in_json"), stood_in, strict=True)) if stood_in[0] else {}
    return found


def _partner(seen: Iterable[_Seen], table: _VerdictTable) -> _Partner:
    perfect: PerfectPairs[str] = PerfectPairs()
    ids = []
    for one in seen:
        if one.group == "perfect" and not one.not_scored and not one.silent:
            perfect.add(one.scenario, one.epoch, one.id)
            ids.append(one.id)
    judged = table.passes("perfect", ids)

    def passed(one: _Seen) -> bool | None:
        pair = perfect.of(one.perfect, one.epoch)
        return None if pair is None else judged.values.get(pair)

    return passed


def _partner_elsewhere(run: RunView) -> _Partner:
    seen = (_Seen.of(episode, imported=True) for episode in run.episodes("perfect"))
    return _partner(seen, _VerdictTable(run.verdicts()))
