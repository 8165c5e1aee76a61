"""Run the episodes of a run, each with its recordings in place."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.checkpoints import checkpoint_file, durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Players, Waiting, run_episode
from talm_sim.agent.humans import HumanReply, question_digest
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.registry import has_traffic
from talm_sim.models.request_facts import RequestFacts
from talm_sim.recordings import CassetteLibrary, RecordedAnswer, model_folder
from talm_sim.recordings.packing import save_ignored
from talm_sim.runs.batch import EpisodeRunner
from talm_sim.runs.engines.run_shard import Cut
from talm_sim.runs.judging import Grader
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import number_put
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import Job, Opened
from talm_sim.tasks.keys import recorded_settings, recording_key
from talm_sim.types import Episode, HumanEvent, Scenario, Termination, episode_id

CHECKPOINTS = "checkpoints.db"
"""Name of the file below the run's directory that keeps paused episodes."""


@dataclass(frozen=True, slots=True)
class Built:
    """A run whose prerequisites have all been checked, so that it can begin."""

    job: Job[Any]
    """The job with every value decided."""
    opened: Opened[Job[Any]]
    scenarios: Sequence[Scenario]
    grader: Grader
    library: CassetteLibrary
    facts: Mapping[str, RequestFacts] = field(default_factory=dict)
    """By model: how it is asked."""
    cut: Cut | None = None
    """Of a new shard: the whole it is cut from, and where."""
    played: StoredRun | None = None
    """A finished run of the same episodes, which are taken from there in place of being run."""


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
    """Runs an episode with its recordings in place: opened before it, saved after it."""

    def __init__(self, built: Built, saver: BaseCheckpointSaver[Any] | None) -> None:
        self.agent: Agent = built.opened.agent(saver)
        self._job = built.job
        self._library = built.library
        self._key = recording_key(built.job)
        self._facts = built.facts

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
            save_ignored(self._library.root / model_folder(self._job.config.model), self._library.ignored)
            for model, facts in list(self._facts.items()):  # in a thread, while models learn
                self._library.save_facts(model, facts)
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
    """Return whether a graph can continue from a checkpoint."""
    try:
        await graph.aget_state({"configurable": {"thread_id": thread}})
    except Exception:  # a damaged checkpoint breaks in as many ways as there are libraries that read it
        return False
    return True
