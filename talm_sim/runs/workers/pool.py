"""Where the worker processes of a run are started, given its episodes, and started again where one dies.

The process that owns the run is one of them, unless code of the user's runs: what ends a process, blocks it or prints then happens in a worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from talm_sim.agent.episode import Waiting
from talm_sim.agent.humans import HumanReply
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, WorkersGoneError
from talm_sim.foreign.loop import LoopGivenUp
from talm_sim.runs.batch import EpisodeRunner, JudgedEpisode, WorkerDiedError
from talm_sim.runs.budget import Spending
from talm_sim.runs.events import OnEvent, RunEvent, ServersChanged, WorkerReplaced, listening
from talm_sim.runs.workers import messages
from talm_sim.runs.workers.checks import AHEAD, connections_of, modules_to_load, names_own_code
from talm_sim.runs.workers.messages import FROM_WORKER, LENGTH, frame
from talm_sim.runs.workers.processes import start_process
from talm_sim.tasks import Job
from talm_sim.tools_env.service.process import ToolService
from talm_sim.types import Episode, Scenario, episode_id

__all__ = ["Plan", "Workers", "plan_workers"]

_MOST_DEATHS: Final = 3
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the workers of a run are started with.

    Attributes:
        config: The run's, with every automatic value decided; `workers` says how many processes play.
        created: When the run was created, ISO 8601.
        path: The run's directory.
        modules: The user's modules that this process has imported.
        service: The built-in tools, where the run has them.
        early: Processes that `start_early` has started for them.
        owner_plays: Whether the process that owns the run is one of those that play.
    """

    config: RunConfig
    created: str
    path: str
    modules: tuple[str, ...] = ()
    service: ToolService | None = None
    early: list[asyncio.subprocess.Process] = field(default_factory=list)
    owner_plays: bool = False

    def first(self, number: int, service: str) -> messages.Open:
        """Return what a worker is told first.

        Args:
            number: Of the processes that play, counted from 0.
            service: Address of the built-in tools; empty where the run has none.
        """
        most = connections_of(self.config, number, owner_plays=self.owner_plays)
        share = self.config.model_copy(update={"workers": 1, "max_connections": most})
        return messages.Open(
            config=share.model_dump_json(),
            created=self.created,
            path=self.path,
            modules=self.modules,
            service=service,
            import_path=tuple(filter(None, sys.path)),
            python_path=os.environ.get("PYTHONPATH"),
            log_level=logging.getLogger("talm_sim").getEffectiveLevel(),
        )


def plan_workers(
    job: Job[Any],
    scenarios: Sequence[Scenario],
    judges: Iterable[str],
    directory: Path,
    *,
    service: ToolService | None,
    early: list[asyncio.subprocess.Process],
) -> Plan:
    """Plan the workers of a run.

    Args:
        job: The run's, final.
        scenarios: What is run.
        judges: Who judges it.
        directory: Where the run is.
        service: The built-in tools, where they are live.
        early: Processes that `start_early` has started.

    Raises:
        PrerequisiteError: See `modules_to_load`.
    """
    modules = modules_to_load(job, scenarios, judges)
    owner_plays = not modules and not names_own_code(job.config)
    return Plan(job.config, job.created.isoformat(), str(directory.absolute()), modules, service, early, owner_plays)


@dataclass
class _RemoteForms:
    """The forms that a tool waits for in a worker."""

    open: set[str]

    def ids(self) -> set[str]:
        """Return the ids of those that are open."""
        return self.open

    def __len__(self) -> int:
        return len(self.open)


@dataclass(eq=False)
class _Process:
    """One worker, as it runs now."""

    number: int
    process: asyncio.subprocess.Process
    jobs: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    """What it is doing, by the number of the message; number 0 is its start."""
    forms: dict[int, _RemoteForms] = field(default_factory=dict)
    """Forms that tools wait for there, by the number of the `Paused`."""
    reading: asyncio.Task[None] | None = None

    def send(self, message: messages.ToWorker) -> None:
        """Send a message; where the process has died, whoever reads from it finds out."""
        assert self.process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.process.stdin.write(frame(message))


class Workers:
    """Plays the episodes of a run in worker processes; a `run_batch` uses it as its runner.

    Args:
        plan: What the workers are started with.
        here: Plays episodes in this process, if it plays.
        on_event: Receives what workers report.
        spending: The command's budget, which counts what they ask; None without one.
    """

    def __init__(self, plan: Plan, here: EpisodeRunner | None, on_event: OnEvent, spending: Spending | None) -> None:
        self._plan = plan
        self._here = here
        self._number_here = 0
        """How many episodes are in flight in this process."""
        self._on_event = on_event
        self._spending = spending
        self._started: set[_Process] = set()
        self._processes: list[_Process] = []
        """Those that take episodes."""
        self._numbers = itertools.count(1)
        self._at: dict[tuple[str, int], tuple[_Process | None, int]] = {}
        """Where an episode waits that only one process can continue, None for this one, and the number of its `Paused`."""
        self._left_out: dict[tuple[str, str], bool] = {}
        """Whether a server of a model was last said to be left out."""
        self._deaths = 0
        self._failure: Exception | None = None
        """Why nothing more can be played."""
        self._changed = asyncio.Event()
        self._closing = False
        self._helpers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        starting = [self._help(self._replace(number)) for number in range(self._here is not None, self._plan.config.workers)]
        if self._here is None:  # all begin together, so that what one episode does to its process concerns as few others as possible
            try:
                await asyncio.gather(*starting)
            except BaseException:
                await asyncio.shield(self.aclose())
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.aclose())

    async def aclose(self) -> None:
        """End the workers; one that does not end by itself is killed."""
        self._closing = True
        for task in self._helpers:
            task.cancel()
        await asyncio.gather(*self._helpers, return_exceptions=True)
        for one in self._started:
            if one not in self._processes and one.process.returncode is None:
                one.process.kill()  # it is still starting, and nothing was played in it
            if one.process.stdin is not None:
                one.process.stdin.close()
        await asyncio.gather(*map(_end, self._started))

    async def __call__(
        self,
        scenario: Scenario,
        *,
        epoch: int,
        attempt: int,
        resume: Mapping[str, HumanReply] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> JudgedEpisode | Waiting:
        """Play an episode, or the next stretch of one that waited, in the worker that has the least to do, or that holds it.

        Raises:
            WorkerDiedError: Its worker died.
            LoopGivenUp: It was blocked by other work of the user's code, and starts again.
            PrerequisiteError: The user must fix something.
        """
        name = episode_id(scenario.id, epoch)
        place = name, attempt
        process, paused = self._at.pop(place) if place in self._at else (await self._least_busy(), 0)
        if process is None:
            return await self._play_here(scenario, place, epoch=epoch, attempt=attempt, resume=resume, state=state)
        if process not in self._processes:
            raise WorkerDiedError("the worker that held it died")
        process.forms.pop(paused, None)
        number = next(self._numbers)
        done = process.jobs[number] = asyncio.get_running_loop().create_future()
        kept, replies = None if state is None else json.dumps(state), None if resume is None else dict(resume)
        process.send(messages.Play(number=number, scenario=scenario.id, epoch=epoch, attempt=attempt, resume=replies, state=kept))
        try:
            answer: messages.Finished | messages.Paused = await done
        finally:
            process.jobs.pop(number, None)
        if isinstance(answer, messages.Finished):
            return JudgedEpisode(answer.episode, answer.verdicts)
        if answer.held:
            self._at[place] = process, number
        seen = (answer.questions, answer.model_turns, answer.events, json.loads(answer.state))
        return Waiting(name, scenario.id, epoch, attempt, *seen, process.forms.get(number))

    async def _play_here(self, scenario: Scenario, place: tuple[str, int], **given: Any) -> JudgedEpisode | Waiting:
        assert self._here is not None
        self._number_here += 1
        try:
            with listening(self._report, progress=False):
                result = await self._here(scenario, **given)
        finally:
            self._number_here -= 1
        assert not isinstance(result, Episode), "it is judged"
        if isinstance(result, Waiting) and result.forms is not None:
            self._at[place] = None, 0
        return result

    async def _least_busy(self) -> _Process | None:
        """Return the worker that has the least to do; None if this process is to play. A worker is given `AHEAD` times as much."""
        while self._failure is None and self._here is None and not self._processes:
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure
        found = min(self._processes, key=lambda one: len(one.jobs), default=None)
        return found if found is not None and (self._here is None or len(found.jobs) <= AHEAD * self._number_here) else None

    async def _start(self, number: int) -> None:
        """Start a worker, and return when it takes episodes."""
        service = self._plan.service
        # No address is asked for: where the service has just died, this waits until it is there again.
        address = "" if service is None else (await asyncio.to_thread(service.recover, "")).address
        process = self._plan.early.pop() if self._plan.early else await start_process()
        one = _Process(number, process)
        self._started.add(one)
        ready = one.jobs[0] = asyncio.get_running_loop().create_future()
        one.reading = asyncio.create_task(self._read(one))
        one.send(self._plan.first(number, address))
        try:
            await ready
        finally:
            one.jobs.pop(0, None)
        self._processes.append(one)

    async def _read(self, one: _Process) -> None:
        """Take what a worker sends, until it ends."""
        assert one.process.stdout is not None
        try:
            while True:
                (size,) = LENGTH.unpack(await one.process.stdout.readexactly(LENGTH.size))
                self._take(one, FROM_WORKER.validate_json(await one.process.stdout.readexactly(size)))
        except asyncio.IncompleteReadError:
            code = await one.process.wait()
            if not self._closing:
                self._note_death(one, _describe_end(code))
        except Exception as err:  # a bug: in what it sends, or in who listens
            self._fail_all(one, err)

    def _take(self, one: _Process, message: messages.FromWorker) -> None:
        match message:
            case messages.Ready() | messages.Finished():
                _settle(one.jobs.get(message.number), message)
            case messages.Paused():
                if message.forms:
                    one.forms[message.number] = _RemoteForms({asked.interrupt_id for asked in message.questions})
                _settle(one.jobs.get(message.number), message)
            case messages.Failed():
                _fail(one.jobs.get(message.number), LoopGivenUp(None, message.text) if message.starts_again else message.error())
            case messages.Withdrawn():
                if (forms := one.forms.get(message.number)) is not None:
                    forms.open -= {*message.forms}
            case messages.Spent():
                if self._spending is not None:
                    self._spending.count_elsewhere(one, message.counts)
            case messages.Told():
                self._report(message.event)
            case messages.Logged():
                logging.getLogger(message.logger).log(message.level, "%s", message.text)
            case messages.AskService():
                self._help(self._find_service(one, message))

    def _report(self, event: RunEvent) -> None:
        """Report what happened in a process that plays; that a server is left out or answers again, once and not for each of them."""
        if isinstance(event, ServersChanged):
            place, known = (event.model, event.server), bool(event.reason)
            if self._left_out.get(place, False) is known:
                return
            self._left_out[place] = known
        self._on_event(event)

    async def _find_service(self, one: _Process, asked: messages.AskService) -> None:
        assert self._plan.service is not None
        try:
            found = await asyncio.to_thread(self._plan.service.recover, asked.address)
            answer = messages.ServiceAt(number=asked.number, address=found.address, died=found.died)
        except PrerequisiteError as err:
            answer = messages.ServiceAt(number=asked.number, address="", died="", error=str(err))
        one.send(answer)

    def _note_death(self, one: _Process, how: str) -> None:
        """Let the episodes of a dead worker start again in one that takes its place."""
        self._deaths += 1
        if self._deaths > _MOST_DEATHS:
            gone = f"{self._deaths} workers have died; the last one was {how}: find out why, for example whether memory ran out."
            self._fail_all(one, WorkersGoneError(gone))
            return
        self._on_event(WorkerReplaced(how))
        if one in self._processes:
            self._processes.remove(one)
        for done in one.jobs.values():
            _fail(done, WorkerDiedError(f"its worker was {how}"))
        self._help(self._replace(one.number))

    def _fail_all(self, one: _Process, err: Exception) -> None:
        """Let nothing more be played, as a worker can do nothing any more."""
        self._failure = self._failure or err
        for done in one.jobs.values():
            _fail(done, err)
        self._changed.set()

    async def _replace(self, number: int) -> None:
        try:
            await self._start(number)
        except WorkerDiedError:
            return  # yet another one is started
        except Exception as err:
            self._failure = self._failure or err
        self._changed.set()

    def _help(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)
        return task


def _settle(done: asyncio.Future[Any] | None, value: Any) -> None:
    if done is not None and not done.done():
        done.set_result(value)


def _fail(done: asyncio.Future[Any] | None, err: BaseException) -> None:
    if done is not None and not done.done():
        done.set_exception(err)


async def _end(one: _Process) -> None:
    if one.process.returncode is None:
        try:
            await asyncio.wait_for(one.process.wait(), _END_S)
        except TimeoutError:
            one.process.kill()
            await one.process.wait()
    if one.reading is not None:
        one.reading.cancel()
        await asyncio.gather(one.reading, return_exceptions=True)


def _describe_end(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"gone with exit code {code}"
