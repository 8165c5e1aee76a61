"""Run many episodes at once and commit each; while one waits for a person, others continue."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from talm_sim.common.turn_notes import follow_turns
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.loop import LoopGivenUp
from talm_sim.runs.budget import Spending
from talm_sim.runs.events import EpisodeFinished, EpisodeStarted, EpisodeWaiting, OnEvent, ignore_events
from talm_sim.store.desk import Desk
from talm_sim.store.files.in_flight import write_in_flight
from talm_sim.store.files.store import PausedEpisode, RunProgress, RunStore
from talm_sim.store.questions import Key, Question, answered_episodes, next_open_question
from talm_sim.types import Episode, Scenario, episode_id

if TYPE_CHECKING:
    from talm_sim.agent.episode import Waiting

_POLL_SECONDS = 0.2
_NOTED_SECONDS = 1.0
"""Seconds between two notes of which episodes are in flight."""

log = logging.getLogger(__name__)

Ask = Callable[[Question, Desk], Awaitable[None]]
"""Puts a question to a person and files the answer at the desk. If the question stays open, nobody is there, and no further one is put."""


EpisodeRunner: TypeAlias = "Callable[..., Awaitable[Episode | Waiting]]"
"""Runs an episode of a scenario, given `epoch` and `attempt`; with `resume` (answers by interrupt id) and `state` (`Waiting.state`), it goes on
with one that waited."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The state of a run when its batch returns."""

    total: int
    finished: int
    waiting: int
    terminations: dict[str, int]
    """Episodes of this session by termination."""


@dataclass(frozen=True, slots=True)
class _EpisodeJob:
    scenario: Scenario
    position: int
    epoch: int
    attempt: int
    paused: PausedEpisode | None = None

    @property
    def episode_id(self) -> str:
        return episode_id(self.scenario.id, self.epoch)


_SPACING_S, _SPACED_S = 0.003, 0.5
"""Seconds between the first starts, about what an episode costs the processor, and seconds that these take at most. Started at once, all would
stay in step: they would wait for their models together and then for the processor together."""


async def run_batch(
    store: RunStore,
    runner: EpisodeRunner,
    progress: RunProgress,
    *,
    epochs: int = 1,
    max_episodes: int = 16,
    on_event: OnEvent = ignore_events,
    ask: Ask | None = None,
    wait: bool = False,
    answer_timeout: float | None = None,
    spending: Spending | None = None,
) -> BatchCounts:
    """Run every episode of a run that is not finished yet.

    An episode counts as finished, and is reported, when its commit stands. One that waits for a person gives its slot to another; it goes
    on as soon as all its questions are answered, by `ask` or from any other process. One that was interrupted starts again.

    Args:
        store: The run.
        runner: Runs one episode.
        progress: How far the run is. What a finished episode left that is tried again goes when its new attempt begins.
        epochs: Times each scenario is run.
        max_episodes: Episodes in flight.
        on_event: Told of progress.
        ask: Puts open questions to a person, one at a time, in the order they came up.
        wait: Whether to stay for answers from elsewhere when nothing else is left to do.
        answer_timeout: Seconds after which what nobody answered is closed, counted from when it was put; the run stays for it. None for never.
        spending: The command's budget: once a limit is reached, no episode starts or continues, and those in flight end.

    Returns:
        Where the run stands: with neither `ask` nor `wait`, some episodes may still wait for a person.

    Raises:
        Exception: A bug in the runner; raised after the other episodes in flight were finished and kept.
    """
    batch = _Batch(store, runner, progress, epochs, on_event=on_event, ask=ask, wait=wait, answer_timeout=answer_timeout, spending=spending)
    return await batch.run(max_episodes)


class _Batch:
    def __init__(
        self,
        store: RunStore,
        runner: EpisodeRunner,
        progress: RunProgress,
        epochs: int,
        *,
        on_event: OnEvent,
        ask: Ask | None,
        wait: bool,
        answer_timeout: float | None,
        spending: Spending | None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._on_event = on_event
        self._ask = ask
        self._wait = wait or answer_timeout is not None
        self._answer_timeout = answer_timeout
        self._spending = spending
        self._epochs = epochs
        self._scenarios = progress.scenarios
        self._by_id = {scenario.id: scenario for scenario in self._scenarios}
        self._positions = progress.positions
        self._total = len(self._scenarios) * epochs
        self._paused = dict(progress.paused)
        self._held: dict[str, Waiting] = {}
        self._finished = len(progress.finished)
        self._to_begin = self._total - len(progress.finished | progress.paused.keys())
        self._plan = self._jobs_to_begin(progress.finished | progress.paused.keys(), progress.attempts)
        self._ready: deque[_EpisodeJob] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._asking: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._turns: dict[str, list[int]] = {}
        self._wake = asyncio.Event()
        self._terminations: Counter[str] = Counter()

    async def run(self, max_episodes: int) -> BatchCounts:
        poll = asyncio.create_task(self._poll())
        poll.add_done_callback(self._note_failure)
        try:
            await self._dispatch(max_episodes)
        finally:
            helpers = {poll, *self._running, *({self._asking} if self._asking else ())}
            for task in helpers:
                task.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            write_in_flight(self._store.directory, {})
        if self._failure is not None:
            raise self._failure
        if self._spending is not None:
            self._spending.leave("episodes", self._to_begin + len(self._ready))
        return BatchCounts(self._total, self._finished, len(self._paused), dict(self._terminations))

    def _jobs_to_begin(self, left_out: frozenset[str], attempts: Mapping[str, int]) -> Iterator[_EpisodeJob]:
        """Yield the episodes to begin, epoch by epoch, so that an early stop leaves every scenario equally often run."""
        for epoch in range(1, self._epochs + 1):
            for scenario in self._scenarios:
                name = episode_id(scenario.id, epoch)
                if name not in left_out:
                    yield _EpisodeJob(scenario, self._positions[scenario.id], epoch, attempts.get(name, 0) + 1)

    async def _dispatch(self, max_episodes: int) -> None:
        if self._paused:
            self._collect_answers()
        to_space, spacing = max_episodes, min(_SPACING_S, _SPACED_S / max_episodes)
        while True:
            self._wake.clear()
            # What still waits for its commit is in no one's way, but it is held in memory: a slow disk must slow the run.
            while self._failure is None and self._in_flight < max_episodes and len(self._running) < 2 * max_episodes:
                if self._is_spent():
                    break
                if (job := self._next_job()) is None:
                    break
                self._in_flight += 1
                task = asyncio.create_task(self._episode(job))
                self._running.add(task)
                task.add_done_callback(self._slot_is_free)
                if to_space:
                    to_space -= 1
                    await asyncio.sleep(spacing)
            self._start_asking()
            if isinstance(self._failure, PrerequisiteError) or (not self._running and not self._expects_answers()):
                return
            await self._wake.wait()

    def _next_job(self) -> _EpisodeJob | None:
        if self._ready:
            return self._ready.popleft()
        job = next(self._plan, None)
        self._to_begin -= job is not None
        return job

    def _is_spent(self) -> bool:
        """Return whether the budget lets nothing more start. It is not asked if nothing is left to start, as nothing is missing then."""
        left = self._to_begin + len(self._ready) + (len(self._paused) if self._wait or self._ask else 0)
        return self._spending is not None and left > 0 and self._spending.stops(self._in_flight)

    def _expects_answers(self) -> bool:
        if self._failure is not None or not self._paused:
            return False
        return self._asking is not None or (not self._is_spent() and (self._wait or bool(self._ready)))

    def _slot_is_free(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._note_failure(task)

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (err := task.exception()) is not None and not isinstance(self._failure, PrerequisiteError):
            self._failure = err
        self._wake.set()

    async def _episode(self, job: _EpisodeJob) -> None:
        paused = job.paused
        replies = None if paused is None else await self._store.take_answers(job.episode_id, job.attempt)
        if paused is not None and replies is None:  # an answer was taken back at the last moment
            self._paused[job.episode_id] = paused
            self._give_back(job)
            return
        self._on_event(EpisodeStarted(job.episode_id, job.attempt, resumed=paused is not None))
        self._turns[job.episode_id] = follow_turns()
        try:
            if paused is None:
                self._store.start_attempt(job.episode_id, job.attempt)
                result = await self._runner(job.scenario, epoch=job.epoch, attempt=job.attempt)
            else:
                result = await self._runner(job.scenario, epoch=job.epoch, attempt=job.attempt, resume=replies, state=paused.state)
        except LoopGivenUp as err:
            log.info("%s starts again: %s", job.episode_id, err)
            if paused is not None:
                await self._store.forget_waiting(job.episode_id)
            self._ready.append(_EpisodeJob(job.scenario, job.position, job.epoch, job.attempt + 1))
            self._give_back(job)
            return
        # The next one need not wait for this one's commit; where the runner failed, there is no next one.
        self._give_back(job)
        if isinstance(result, Episode):
            result = await self._store.finish(result, job.position)
            self._finished += 1
            self._terminations[result.termination.value] += 1
            self._log_finished(result)
        else:
            await self._store.pause(result)
            if result.forms is not None:
                self._held[job.episode_id] = result
            self._paused[job.episode_id] = PausedEpisode(job.episode_id, job.scenario.id, job.epoch, job.attempt, result.state)
            self._on_event(EpisodeWaiting(job.episode_id, job.attempt, tuple(q.question for q in result.questions)))
            self._collect_answers(job.episode_id)  # it may have been answered in an earlier attempt

    def _give_back(self, job: _EpisodeJob) -> None:
        """Give the episode's slot to another."""
        self._in_flight -= 1
        self._turns.pop(job.episode_id, None)
        self._wake.set()

    def _log_finished(self, episode: Episode) -> None:
        place, error = f"[{self._finished}/{self._total}]", f": {episode.error}" if episode.error else ""
        if fired := [one.name for one in episode.perturbations if one.fired]:
            log.debug("%s: %s fired", episode.id, ", ".join(fired))
        log.info("%s %s: %s, %.1f s%s", place, episode.id, episode.termination.value, episode.elapsed_s, error)
        tokens = (episode.usage.input_tokens, episode.usage.output_tokens)
        end = (episode.termination, episode.error, episode.elapsed_s)
        self._on_event(EpisodeFinished(episode.id, episode.group, *end, self._finished, self._total, *tokens, episode.crashed))

    # --- people -----------------------------------------------------------------------------------------------------------------------

    async def _poll(self) -> None:
        """Look for answers from other processes, close what nobody answered in time, and note what is in flight."""
        before: dict[str, int] = {}
        noted = time.monotonic()
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            if time.monotonic() - noted >= _NOTED_SECONDS:
                now, noted = {name: turn for name, (turn,) in self._turns.items()}, time.monotonic()
                if now != before:
                    write_in_flight(self._store.directory, now)
                before = now
            if self._paused and await self._store.close_unanswered(self._answer_timeout, self._withdrawn()):
                self._collect_answers()
            if self._paused and self._store.has_changed():
                self._collect_answers()
            if self._spending is not None:
                self._wake.set()  # its minutes may be over while people are waited for

    def _withdrawn(self) -> list[Key]:
        """Return the forms whose tools no longer wait for them."""
        self._held = {name: one for name, one in self._held.items() if name in self._paused}
        return [(one.episode_id, one.attempt, asked) for one in self._held.values() for asked in one.withdrawn()]

    def _collect_answers(self, episode_id: str = "") -> None:
        for ready in answered_episodes(self._store.reader, episode_id):
            if (paused := self._paused.pop(ready, None)) is not None:
                scenario, position = self._by_id[paused.scenario_id], self._positions[paused.scenario_id]
                self._ready.append(_EpisodeJob(scenario, position, paused.epoch, paused.attempt, paused))
        if self._ready:
            self._wake.set()

    def _start_asking(self) -> None:
        if self._ask is not None and self._asking is None and self._paused and self._failure is None and not self._is_spent():
            self._asking = asyncio.create_task(self._put_questions(self._ask))
            self._asking.add_done_callback(self._end_asking)

    def _end_asking(self, task: asyncio.Task[None]) -> None:
        self._asking = None
        self._note_failure(task)

    async def _put_questions(self, ask: Ask) -> None:
        while question := next_open_question(self._store.reader):
            await ask(question, self._store.desk)
            if self._store.desk.is_open(question.key):
                self._ask = None
                break
            self._collect_answers(question.episode_id)
            if self._is_spent():
                break
        self._store.desk.release()  # there is no next question at which it could be taken back
        self._collect_answers()
        if self._ask is not None and self._paused and not self._ready:  # somebody elsewhere may still take an answer back
            await asyncio.sleep(_POLL_SECONDS)
