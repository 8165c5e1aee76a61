"""Judge a run: check its judges and give them a model before anything runs, then let them read the stored episodes and commit each verdict."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.config import RESULT_LIMIT, RunConfig, Scope, Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError, line_to_copy
from talm_sim.judges.base import Earlier, Judge, JudgeContext, OpenVote, Pair, WayOut, unrecorded_vote
from talm_sim.judges.person import WHERE, asks_people
from talm_sim.judges.registry import JUDGES, judge_class, load_instructions
from talm_sim.models.base import Model
from talm_sim.models.metering import JUDGE, asking_as
from talm_sim.models.registry import in_process
from talm_sim.recordings import CassetteLibrary
from talm_sim.runs.budget import Spending
from talm_sim.runs.events import JudgeProgress, OnEvent, ignore_events
from talm_sim.store.files import stored_documents
from talm_sim.store.files.manifest import find_run
from talm_sim.store.files.parts import SHARD, ShardFacts
from talm_sim.store.files.store import RunStore
from talm_sim.tasks import AgentOptions, Job, PairedOptions
from talm_sim.tasks.judge_names import has_no_answers, judge_names
from talm_sim.tasks.registry import every_task
from talm_sim.tasks.shared import Shared
from talm_sim.types import Episode, Scenario, ToolSpec


@dataclass(frozen=True, slots=True)
class Grader:
    """A run's judges, their model, and where its votes are recorded."""

    judges: tuple[str, ...]
    """Their names, in the order in which they work."""
    model: Model | None = None
    """None where the user named none."""
    open_vote: OpenVote = unrecorded_vote


def check_judges(job: Job[Any]) -> Job[Any]:
    """See that a job's judges are there and have the model, the wording and the run they need, before anything is run.

    Returns:
        The job, the run it is paired with by its full name.
    """
    _instructions(job)
    if has_no_answers(job) and (job.config.judge or job.config.judge_model):
        flag = "--judge" if job.config.judge else "--judge-model"
        raise PrerequisiteError(f"{flag}: with --stop-after awareness there is no answer to judge; leave out {flag}.")
    if any(name not in JUDGES for name in job.config.judge):
        _meet_all_judges()
    try:
        names = judge_names(job)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--judge: {err}") from None
    for name in names:
        typed = name in job.config.judge and name not in job.task.own_judges
        owner = next((task.name for task in every_task() if name in task.own_judges), "") if typed else ""
        if owner:
            own = [one for one in job.task.own_judges if one in JUDGES]
            choose = f"choose among {', '.join(own)}" if own else "leave it out"
            raise PrerequisiteError(f"--judge {name}: judges task {owner}, not task {job.task.name}; {choose}.")
        if asks_people([name]):
            raise PrerequisiteError(f"--judge {name}: {WHERE}")
        if "model" in judge_class(name).needs and job.config.judge_model is None:
            raise PrerequisiteError(f"judge '{name}' needs a model: add --judge-model PROVIDER/NAME.")
        if not judge_class(name).needs:
            judge_class(name)(JudgeContext(options=job.options))  # one whose package is not installed says so now
    if isinstance(job.options, PairedOptions) and job.options.paired_run is not None:
        named, run_dir = job.options.paired_run, job.config.run_dir
        try:
            found = find_run(named, run_dir)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"paired_run: {err}") from None
        if found not in (named, run_dir / named):  # what is stored must mean the same run tomorrow
            job = job.having(paired_run=Path(found.name) if found.parent == run_dir else found)
    return job


def _instructions(job: Job[Any]) -> dict[str, str]:
    """Return the user's texts in place of the judges' own; a file of them may serve several tasks."""
    if job.config.prompts is not None:
        _meet_all_judges()
    return load_instructions(job.config.prompts)


def _meet_all_judges() -> None:
    """Import all tasks: each brings its judges."""
    for _ in every_task():
        pass


async def open_grader(job: Job[Any], scenarios: Iterable[Scenario], shared: Shared) -> Grader:
    """Open the judges' model, once for a session."""
    config, judge_model, judges = job.config, job.config.judge_model, judge_names(job)
    if judge_model is None:
        return Grader(judges)
    library = shared.library(config.cassettes, job.task.recorded_in)
    traffic = _judge_traffic(config, library, scenarios)
    as_judge: dict[str, Any] = {"model": judge_model, "tool_format": "auto", "model_options": {}, "models": traffic}
    try:
        model = await shared.model(config.model_copy(update=as_judge), job.created)
    except PrerequisiteError as err:
        flag = f"--judge-model {judge_model}: "
        raise PrerequisiteError(flag + str(err).removeprefix(flag)) from None

    def open_vote(digest: str, episode: Episode, vote: int) -> AbstractContextManager[object]:
        return library.conversation(judge_model, episode.scenario_id, episode.group, episode.epoch, vote, digest, traffic)

    return Grader(judges, model, open_vote)


def _judge_traffic(config: RunConfig, library: CassetteLibrary, scenarios: Iterable[Scenario]) -> Traffic | None:
    """Return the traffic of the judges' model: as the agent's, for replay must not reach the network; None for a model in process."""
    model = config.judge_model
    assert model is not None
    if in_process(model):
        return None
    if config.models in (Traffic.LIVE, Traffic.RECORD):
        return config.models
    # Not the split's groups: one without scenarios has no recording.
    if library.has_model(model, {scenario.group for scenario in scenarios}):
        return Traffic.REPLAY
    if config.models is None:
        return Traffic.LIVE
    run = config.run_id or "RUN"  # one that is not begun has no name yet
    command = line_to_copy("talm-sim", "judge", run, "--judge-model", model, "--live")
    first = "" if config.run_id else "run without --judge-model, then "
    raise PrerequisiteError(f"--judge-model {model}: was not recorded, and this run is replayed; {first}judge it live: {command}")


async def judge_run(
    store: RunStore,
    job: Job[Any],
    grader: Grader,
    *,
    pairs: Callable[[], Pair],
    on_event: OnEvent = ignore_events,
    spending: Spending | None = None,
) -> int:
    """Judge the finished episodes of a run, and note who judged it, by what configuration, and what they measure.

    Returns:
        How many verdicts failed.
    """
    judges = _open_judges(store.reader, job, grader, pairs)
    failed = await score(store, judges, max_at_once=job.config.max_connections, on_event=on_event, spending=spending)
    # Verdicts that came with an imported run cannot be made again, so they stay.
    now = [*stored_documents.imported_judges(store.reader), *((judge.name, judge.config_digest) for judge in judges)]
    measures = {judge.name: judge.measure.model_dump(mode="json") for judge in judges}
    await store.set_meta({"judges": now, "measures": measures, "scoring": job.values(Scope.SCORING)})
    return failed


def _open_judges(conn: sqlite3.Connection, job: Job[Any], grader: Grader, pairs: Callable[[], Pair] | None = None) -> list[Judge]:
    """Open the judges in the order in which they work, each told what those before it said."""
    classes, own = [judge_class(name) for name in grader.judges], job.task.own_judges
    tools = {tool.name: tool for tool in stored_documents.meta(conn, "tools", list[ToolSpec]) or ()}
    way_out, calls_as = _find_way_out(conn, job, tools), job.task.calls_as(job)
    sampling = job.config.judge_sampling
    told = {"way_out": way_out, "tools": tools, "options": job.options, "calls_as": calls_as, "sampling": sampling}
    context = JudgeContext(grader.model, _instructions(job), grader.open_vote, **told)
    if pairs is not None and any("pairs" in judge.needs for judge in classes):
        context = replace(context, pair=pairs())
    judges: list[Judge] = []
    for judge in classes:
        before = [one for one in reversed(judges) if "earlier" not in one.needs]
        # The task's own say what passes; where the user chose none of them, the user's own judge does.
        before = [one for one in before if one.name in own] or before
        judges.append(judge(replace(context, earlier=_earlier_verdicts(conn, [(one.name, one.config_digest) for one in before]))))
    return judges


def _find_way_out(conn: sqlite3.Connection, job: Job[Any], specs: Mapping[str, ToolSpec]) -> WayOut:
    """Return what says whether there was a way out of a fault, as it was drawn in an episode."""
    others: dict[str, Sequence[Mapping[str, Any]]] = {}

    def way_out(episode: Episode, scenario: Scenario, place: int) -> bool | None:
        from talm_sim.tasks.acting.recoveries import (  # not at the top: a run without faults needs none
            clean_answers,
            could_recover,
            gold_arguments,
        )

        if not isinstance(job.options, AgentOptions) or not scenario.gold_calls:
            return None
        if place >= len(scenario.perturbations) + len(job.options.perturb):  # traces of a run that is not here
            return None
        if not others:
            shard = stored_documents.meta(conn, SHARD, ShardFacts)  # the faults of a shard were drawn from the whole
            others.update(gold_arguments(stored_documents.scenarios(conn)) if shard is None else {**shard.gold})
        way = could_recover(
            scenario,
            job.options.perturb,
            place,
            seed=job.config.seed,
            epoch=episode.epoch,
            specs=specs,
            human=episode.human,
            answers=clean_answers(episode.events),
            others=others,
            result_limit=getattr(job.options, "most_read", RESULT_LIMIT),
        )
        return way.exists if way.exists or way == "none" else None

    return way_out


def _earlier_verdicts(conn: sqlite3.Connection, judges: list[tuple[str, str]]) -> Earlier:
    """Return a function that says whether an episode passed by itself, as the first of `judges` that decided it said."""

    def passed(episode_id: str) -> bool | None:
        for judge, config in judges:
            verdict = stored_documents.verdict(conn, episode_id, judge, config)
            if verdict is not None and verdict.value is not None:
                return verdict.value
        return None

    return passed


async def score(
    store: RunStore, judges: Sequence[Judge], *, max_at_once: int = 16, on_event: OnEvent = ignore_events, spending: Spending | None = None
) -> int:
    """Let each judge say what it thinks of every finished episode it has not judged yet, several episodes at once.

    A judge that fails on an episode (its model does not answer so that it can be read, or was not recorded) leaves an open verdict that says
    why, and is asked again next time.

    Args:
        store: The run.
        judges: In the order in which they work: a later one may read what an earlier one said.
        max_at_once: Episodes one judge looks at at once.
        on_event: Told of progress.
        spending: The command's budget: once a limit is reached, a judge that asks a model starts no further episode, and those in flight are
            judged. Other judges judge what is finished all the same, as they spend nothing.

    Returns:
        How many verdicts failed.
    """
    failed = 0

    @cache  # read where there is something to judge, and once for all judges
    def scenarios() -> Mapping[str, Scenario]:
        return {scenario.id: scenario for scenario in store.scenarios()}

    with asking_as(JUDGE):
        for judge in judges:
            limited = spending if "model" in judge.needs else None
            failed += await _Scoring(store, judge, scenarios, on_event, limited).run(max_at_once)
    return failed


class _Scoring:
    """One judge at work."""

    def __init__(
        self, store: RunStore, judge: Judge, scenarios: Callable[[], Mapping[str, Scenario]], on_event: OnEvent, spending: Spending | None
    ) -> None:
        self._store = store
        self._judge = judge
        self._on_event = on_event
        self._spending = spending
        self._scenarios = scenarios
        self._judged = store.judged_ids(judge.name, judge.config_digest)
        self._depends = not judge.needs.isdisjoint({"pairs", "earlier"})
        self._total = store.number_finished()
        self._done = len(self._judged)
        self._failed = 0

    async def run(self, max_at_once: int) -> int:
        running: set[asyncio.Task[None]] = set()
        left = 0
        try:
            for episode in stored_documents.episodes(self._store.reader, without=frozenset() if self._depends else self._judged):
                scenario = self._scenarios()[episode.scenario_id]
                basis = self._basis_digest(episode, scenario) if self._depends else ""
                if self._depends and episode.id in self._judged and not self._is_stale(episode, basis):
                    continue
                if len(running) >= max_at_once:
                    running = await _progress(running)
                if self._spending is not None and self._spending.stops(len(running)):
                    left += 1
                    continue
                running.add(asyncio.create_task(self._judge_one(episode, scenario, basis)))
            while running:
                running = await _progress(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if self._spending is not None:
            self._spending.leave(f"judge {self._judge.name}", left)
        return self._failed

    def _basis_digest(self, episode: Episode, scenario: Scenario) -> str:
        """Digest of what the verdict goes by besides the episode: the one it is compared with, and what judges earlier in line said."""
        context = self._judge.context
        pair = context.pair(episode, scenario) if "pairs" in self._judge.needs else None
        said = context.earlier(episode.id) if "earlier" in self._judge.needs else None
        return digest({"pair": pair and [pair.id, pair.attempt, pair.answer], "earlier": said})

    def _is_stale(self, episode: Episode, basis: str) -> bool:
        """Return whether the basis of a stored verdict has changed since; a verdict that does not say its basis stands."""
        if not basis:
            return False
        verdict = stored_documents.verdict(self._store.reader, episode.id, self._judge.name, self._judge.config_digest)
        if verdict is None or verdict.basis in ("", basis):
            return False
        self._done -= 1
        return True

    async def _judge_one(self, episode: Episode, scenario: Scenario, basis: str) -> None:
        try:
            verdict = await self._judge(episode, scenario)
            failed = verdict.undecided
        except (ProviderError, CassetteMissError) as err:
            verdict, failed = self._judge.verdict(episode, None, f"not judged: {err}"), True
            verdict = verdict.model_copy(update={"asked": "model" in self._judge.needs})
        self._failed += failed
        await self._store.add_verdict(verdict.model_copy(update={"basis": basis}) if basis and not failed else verdict, failed=failed)
        self._done += 1
        self._on_event(JudgeProgress(self._judge.name, self._done, self._total))


async def _progress(running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until at least one is done; what it raised is raised here."""
    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    return running
