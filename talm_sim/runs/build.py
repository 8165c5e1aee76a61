"""Where a run is built: a job opened and tried, its judges' model with it, and what runs one episode with its recordings in place."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.checkpoints import checkpoint_file, durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Players, Waiting, run_episode
from talm_sim.agent.humans import HumanReply, question_digest
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import NotRecordedError, PrerequisiteError, did_you_mean, format_names, line_to_copy, suggest_nearest
from talm_sim.models.registry import has_traffic, in_process
from talm_sim.recordings import CassetteLibrary, RecordedAnswer, model_folder
from talm_sim.runs.batch import EpisodeRunner
from talm_sim.runs.files.manifest import wording_digests
from talm_sim.runs.files.store import RunStore
from talm_sim.runs.judging import Grader, check_judges, open_grader
from talm_sim.runs.resolve import RECORDINGS
from talm_sim.runs.shards import Cut, check_shard, cut_scenarios
from talm_sim.runs.stored_run import StoredRun
from talm_sim.runs.unanswered import number_put
from talm_sim.scenarios.load import select
from talm_sim.tasks import AgentOptions, Job, Opened, Recorded
from talm_sim.tasks.answering import settle_person
from talm_sim.tasks.keys import are_alike, differences, has_earlier_schedule, recorded_settings, recording_key
from talm_sim.tasks.shared import Shared
from talm_sim.types import Episode, HumanEvent, Scenario, Termination, episode_id

__all__ = ["CHECKPOINTS", "Built", "Runner", "build", "open_runner", "plan", "settle_automatic"]

CHECKPOINTS = "checkpoints.db"
"""Name of the file below the run's directory that keeps paused episodes."""


@dataclass(frozen=True, slots=True)
class Built:
    """A run that can begin: everything that can be missing was found to be there."""

    job: Job[Any]
    """The job with every value decided."""
    opened: Opened[Job[Any]]
    scenarios: Sequence[Scenario]
    grader: Grader
    library: CassetteLibrary
    cut: Cut | None = None
    """Of a new shard: the whole it is cut from, and where."""
    played: StoredRun | None = None
    """A finished run of the same episodes, which are taken from there in place of being run."""


def plan(job: Job[Any], shared: Shared) -> tuple[Job[Any], list[Scenario]]:
    """Read the scenarios, decide every automatic value that needs no model, and see that the judges are there.

    Of a shard, they are those of the whole, so that all shards decide alike.

    Raises:
        PrerequisiteError: A scenario, judge, wording or recording it needs is not there.
    """
    if job.config.shard is not None:
        check_shard(job)
    scenarios = _choose_scenarios(job, shared)
    first = {scenario.group: scenario.id for scenario in reversed(scenarios)}
    known = job.config.scenarios is None or job.config.cassettes is not None
    _check_cassettes(job.config)
    without_tools = frozenset(first) - {scenario.group for scenario in scenarios if scenario.tools}
    job = settle_automatic(job, Recorded(shared.library(job.config.cassettes, job.task.recorded_in), first, known, without_tools))
    return check_judges(job), scenarios


def settle_automatic(job: Job[Any], recorded: Recorded) -> Job[Any]:
    """Decide the automatic values: the model is replayed where a recording is found; the rest is the task's affair.

    Raises:
        PrerequisiteError: The user says how tools are reached, and the task executes none.
    """
    models, tools = job.config.models, job.config.tools
    if tools not in (None, models) and not isinstance(job.options, AgentOptions):
        raise PrerequisiteError(f"--tools {tools}: task {job.task.name} executes no tools; leave it out.")
    if in_process(job.config.model):
        models = None
    elif models is None:
        models = Traffic.REPLAY if recorded.model(job.config.model) else Traffic.LIVE
    said = job.config
    job = job.task.settle(job.having(models=models), recorded)
    if isinstance(job.options, AgentOptions) and ":" in job.options.human:
        job = settle_person(job, said.models, said.tools, recorded.library)
    if Traffic.RECORD in (job.config.models, job.config.tools) and job.config.cassettes is None:
        return job.having(cassettes=RECORDINGS)
    return job


def _choose_scenarios(job: Job[Any], shared: Shared) -> list[Scenario]:
    """The job's scenarios: those of its split, of these the ones named by id or by the tools they use, of these those within the limit."""
    config, task = job.config, job.task
    if not (config.scenario or config.category):
        return task.load(job)
    scenarios = task.load(job.having(limit=None))
    if config.scenario:
        known = {scenario.id: scenario for scenario in scenarios}
        for name in config.scenario:
            if name not in known:
                several = did_you_mean(name, known) if "," in name and {*name.split(",")} <= {*known} else ""
                hint = several or suggest_nearest(name, [*known]) or f" See: talm-sim scenarios list --task {task.name}"
                raise PrerequisiteError(f"--scenario: no scenario '{name}' in {task.searched(job)}.{hint}")
        scenarios = [scenario for scenario in scenarios if scenario.id in config.scenario]
    if config.category:
        of = task.categories(scenarios, job, Recorded(shared.library(config.cassettes, task.recorded_in), {}, known=False))
        found = sorted({category for categories in of.values() for category in categories})
        for name in config.category:
            if name not in found:
                hint = did_you_mean(name, found) if found else f" Task {task.name} has no tool categories; leave out --category."
                raise PrerequisiteError(f"--category: no scenario of category '{name}' in {task.searched(job)}.{hint}")
        scenarios = [scenario for scenario in scenarios if not of.get(scenario.id, frozenset()).isdisjoint(config.category)]
    return select(scenarios, list(dict.fromkeys(scenario.group for scenario in scenarios)), config.limit) if config.limit else scenarios


def _check_cassettes(config: RunConfig) -> None:
    """Check that there are recordings where the user says; without any, the run would call live services."""
    place, traffic = config.cassettes, (config.tools, config.models)
    if place is not None and Traffic.RECORD not in traffic and traffic != (Traffic.LIVE, Traffic.LIVE) and not any(place.glob("*/*")):
        raise PrerequisiteError(f"--cassettes {place}: there are no recordings there; add --record to make one, or leave it out.")


@asynccontextmanager
async def build(
    job: Job[Any],
    scenarios: Sequence[Scenario],
    shared: Shared,
    begun_with: Mapping[str, str] | None = None,
    *,
    answered: bool = False,
) -> AsyncIterator[Built]:
    """Open a planned job, and try it: before the run exists, so that a failed start leaves nothing behind.

    Args:
        job: Planned.
        scenarios: What is run, in order; of a shard that begins, the whole it is cut from.
        shared: What other runs of the session opened.
        begun_with: For a run that continues: digests of the texts it started with.
        answered: For a run that continues: whether its model's server answered before, so that a refusal concerns one episode only.

    Raises:
        PrerequisiteError: Something the run needs is missing: a key, a recording, a package, a port; or a text is not the one it began with.
    """
    shard = job.config.shard if begun_with is None else None
    cut = None if shard is None else cut_scenarios(scenarios, shard)
    grader = await open_grader(job, scenarios, shared)
    async with job.task.open(job.having(fail_fast=False) if answered else job, shared) as opened:
        _check_wording(opened, begun_with or {})
        opened.check(scenarios)
        _check_control(job, scenarios)
        job = opened.job
        library = shared.library(job.config.cassettes, job.task.recorded_in)
        built = Built(job, opened, scenarios if cut is None else cut.scenarios, grader, library, cut)
        await _check_recorded(built)
        yield built


def _check_control(job: Job[Any], scenarios: Sequence[Scenario]) -> None:
    """See that a control knows how to play every scenario: one that does not would print rates that say nothing."""
    name = job.config.model
    for scenario in scenarios if name.startswith("sim/") else ():
        if name.removeprefix("sim/") not in job.task.controls or job.task.control(name, scenario) is None:
            raise PrerequisiteError(f"model '{name}': task {job.task.name} has no policy for it; choose another --model.")


@asynccontextmanager
async def open_runner(built: Built, store: RunStore) -> AsyncIterator[EpisodeRunner]:
    """Make the episode runner of a run; what waits for a person is kept in its directory."""
    if built.played is not None:
        yield _PlayedEpisodes(built.played)
        return
    async with AsyncExitStack() as stack:
        saver: BaseCheckpointSaver[Any] | None = None
        survives = built.opened.waits and not built.opened.starts_again
        if survives:
            saver = await stack.enter_async_context(durable_saver(store.directory / CHECKPOINTS))
        elif built.opened.human != "none":
            saver = memory_saver()
        runner = Runner(built, saver)
        if (limits := runner.agent.ask_limits) is not None and limits.per_run is not None:
            limits.asked |= number_put(store.reader)
        if saver is not None and survives:
            await _reconcile(store, saver, runner.agent.graph)
        elif built.opened.starts_again:
            for waiting in store.paused_episodes():
                await store.forget_waiting(waiting)
        yield runner
    if built.opened.waits and not store.paused_episodes():
        for end in ("", "-wal", "-shm"):
            (store.directory / f"{CHECKPOINTS}{end}").unlink(missing_ok=True)


class _PlayedEpisodes:
    """Hands over the episodes of a finished run."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run

    async def __call__(self, scenario: Scenario, *, epoch: int, attempt: int, **waiting: Any) -> Episode:
        """Return the episode of a scenario and epoch; none of them waits."""
        return self._run.episode(episode_id(scenario.id, epoch)).model_copy(update={"attempt": attempt})


class Runner:
    """Runs an episode with its recordings in place: opened before it, saved after it.

    Args:
        built: The run.
        saver: Keeps paused episodes; None where nobody is asked.
    """

    def __init__(self, built: Built, saver: BaseCheckpointSaver[Any] | None) -> None:
        self.agent: Agent = built.opened.agent(saver)
        self._job = built.job
        self._library = built.library
        self._key = recording_key(built.job)

    async def __call__(
        self,
        scenario: Scenario,
        *,
        epoch: int,
        attempt: int,
        resume: Mapping[str, HumanReply] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Episode | Waiting:
        """Run an episode; with `resume` (answers by interrupt id) and `state` (`Waiting.state`), continue one."""
        players = self.agent.players_of(scenario, epoch, attempt) or self._open(scenario, epoch)
        try:
            result = await run_episode(self.agent, scenario, epoch=epoch, attempt=attempt, players=players, resume=resume, state=state)
        except sqlite3.OperationalError as err:
            raise PrerequisiteError(
                f"{CHECKPOINTS}: cannot be written ({err}); free disk space or fix its permissions, then resume the run."
            ) from None
        return await self._finish(players, scenario, epoch, result)

    def _open(self, scenario: Scenario, epoch: int) -> Players:
        config, library = self._job.config, self._library
        tools = model = None
        if config.tools in (Traffic.REPLAY, Traffic.RECORD):
            tools = library.open_tools(scenario.id, scenario.group, config.tools)
        if config.models in (Traffic.REPLAY, Traffic.RECORD) and has_traffic(config.model):
            model = library.open_model(config.model, scenario.id, scenario.group, epoch, 0, self._key, config.models)
        return Players(tools, model)

    def _save(self, players: Players, scenario: Scenario, epoch: int, result: Episode | Waiting) -> None:
        for player in (players.tools, players.model):
            if player is not None:
                player.save()
        if self._job.config.models is Traffic.RECORD and has_traffic(self._job.config.model):
            self._library.save_settings(self._job.config.model, self._key, recorded_settings(self._job))
        if self._job.config.models is Traffic.RECORD and isinstance(result, Episode) and result.human_events:
            forms = [event for event in result.human_events if event.by == "elicitation"]
            others = [event for event in result.human_events if event.by != "elicitation"]
            answers = [_recorded_answer(ask, event) for events in (others, forms) for ask, event in enumerate(events, start=1)]
            self._library.save_human_answers(self._job.config.model, scenario.id, scenario.group, epoch, self._key, answers)

    async def _finish(self, players: Players, scenario: Scenario, epoch: int, result: Episode | Waiting) -> Episode | Waiting:
        """Mark an episode whose replay missed a request, and save what was recorded."""
        missed = [miss for player in (players.tools, players.model) if player is not None for miss in player.misses]
        if missed and isinstance(result, Episode) and result.termination is not Termination.REPLAY_MISS:
            # A client library that wraps or retries what a transport raises would pass the miss off as a failure of the network.
            result = result.model_copy(update={"termination": Termination.REPLAY_MISS, "error": missed[0]})
        if Traffic.RECORD in (self._job.config.tools, self._job.config.models):
            await asyncio.to_thread(self._save, players, scenario, epoch, result)
        return result


def _recorded_answer(ask: int, event: HumanEvent) -> RecordedAnswer:
    return RecordedAnswer(
        ask=ask,
        question_digest=question_digest(event.question),
        question=event.question,
        answer=event.answer,
        declined=event.declined,
        responder=event.responder,
        appropriate=event.appropriate,
        name=event.name,
        decision=event.decision,
    )


def _check_wording(opened: Opened[Any], begun_with: Mapping[str, str]) -> None:
    """Check that the model would read the same texts: two wordings in one run would be two experiments."""
    if not begun_with:
        return
    now, file = wording_digests(opened.wording), opened.job.config.prompts
    for name, digest in begun_with.items():
        if now.get(name) != digest:
            where = f"{file}: {name}" if file else name
            raise PrerequisiteError(f"resume: {where} has changed since the run began; restore it, or start a new run.")


async def _check_recorded(built: Built) -> None:
    """Where a model is to be replayed, replay one episode of each group, and see that it was recorded with these settings.

    Other prompts, sampling or perturbations are other conversations; better said now than once for each episode.

    Raises:
        NotRecordedError: Not even the first request of an episode is in the recording.
    """
    config = built.job.config
    if config.models is not Traffic.REPLAY or not has_traffic(config.model):
        return
    _check_number_recorded(built)
    runner = Runner(built, memory_saver())
    for scenario in {scenario.group: scenario for scenario in reversed(built.scenarios)}.values():
        result = await runner(scenario, epoch=config.epochs, attempt=1)
        begun = result.model_turns or (isinstance(result, Episode) and result.awareness)
        if isinstance(result, Episode) and result.termination is Termination.REPLAY_MISS and not begun:
            known = built.library.models()
            if model_folder(config.model) not in map(model_folder, known):
                there = f"; recorded there: {format_names(known, 8)}" if known else ""
                raise NotRecordedError(f"model '{config.model}': there are no recordings of it in {built.library.root}{there}; add --live.")
            if any(has_earlier_schedule(recorded_settings(built.job), there) for there in built.library.settings(config.model).values()):
                drawn = "was recorded with an earlier schedule of faults, and p < 1 makes them fall on other calls now"
                raise NotRecordedError(f"model '{config.model}': {scenario.id} {drawn}; record it again with --record.")
            settings = _nearest_recording_settings(built)
            what = f"{scenario.id}, epoch {config.epochs}, was not recorded{settings}"
            if not settings and " differs in " in result.error:  # it names the nearest request: the settings are right, the text is another
                raise NotRecordedError(f"model '{config.model}': {what}: {result.error.rstrip('.')}; add --live, or ask as it was recorded.")
            raise NotRecordedError(f"model '{config.model}': {what}; add --live, or use the settings of the recording.")


def _check_number_recorded(built: Built) -> None:
    """Of packaged scenarios, see that all are recorded where some are: the package has more than comes with a recording.

    Raises:
        NotRecordedError: Only some are.
    """
    config, key, scenarios = built.job.config, recording_key(built.job), built.scenarios
    if config.scenarios is not None or config.epochs > 1:
        return
    there = sum(built.library.has_conversation(config.model, one.id, one.group, 1, key) for one in scenarios)
    if 0 < there < len(scenarios):
        live = line_to_copy("talm-sim", "run", *built.job.task.selection(built.job), "--model", config.model, "--live")
        recorded = f"{there:,} of {len(scenarios):,} scenarios are recorded in {built.library.root}"
        raise NotRecordedError(f"model '{config.model}': {recorded}; choose fewer, or ask it live: {live}")


def _nearest_recording_settings(built: Built) -> str:
    """Return how the settings of the nearest recording of the model differ."""
    known = built.library.settings(built.job.config.model)
    if recording_key(built.job) in known:
        return ""  # only this one is missing
    here = recorded_settings(built.job)
    alike = [there for there in known.values() if are_alike(here, there)]
    nearest = min((list(differences(here, there)) for there in alike or known.values()), key=len, default=[])
    return " with these settings" + (f", but {', '.join(nearest)}" if nearest else "")


async def _reconcile(store: RunStore, saver: BaseCheckpointSaver[Any], graph: Any) -> None:
    """Make checkpoints and store agree after a kill between their two commits.

    A checkpoint whose pause was never committed is dropped; an episode whose checkpoint is gone, or cannot be read, starts again (what its
    person said is kept).
    """
    threads = {f"{paused.episode_id}#{paused.attempt}": paused.episode_id for paused in store.paused_episodes().values()}
    kept: set[str] = set()
    path = store.directory / CHECKPOINTS
    with checkpoint_file(path), contextlib.closing(sqlite3.connect(path)) as conn:
        kept.update(thread for (thread,) in conn.execute("SELECT DISTINCT thread_id FROM checkpoints"))
    sound = {thread for thread in kept & set(threads) if await _is_sound(graph, thread)}
    for thread in kept - sound:
        await saver.adelete_thread(thread)
    for thread in set(threads) - sound:
        await store.forget_waiting(threads[thread])


async def _is_sound(graph: Any, thread: str) -> bool:
    """Whether a graph can continue from a checkpoint."""
    try:
        await graph.aget_state({"configurable": {"thread_id": thread}})
    except Exception:  # a damaged checkpoint breaks in as many ways as there are libraries that read it
        return False
    return True
