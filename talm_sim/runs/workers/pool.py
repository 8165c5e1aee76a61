"""Where the worker processes of a run are started, given its episodes, and started again where one dies."""

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
from talm_sim.runs.batch import JudgedEpisode, WorkerDiedError
from talm_sim.runs.budget import Spending
from talm_sim.runs.events import OnEvent, RequestRetried, ServersChanged, ToolsRestarted
from talm_sim.runs.workers import messages
from talm_sim.runs.workers.checks import modules_to_load
from talm_sim.runs.workers.messages import FROM_WORKER, LENGTH, frame
from talm_sim.runs.workers.processes import start_process
from talm_sim.tasks import Job
from talm_sim.tools_env.service.process import ToolService
from talm_sim.types import Scenario, episode_id

__all__ = ["Plan", "Workers", "plan_workers"]

_MOST_DEATHS: Final = 3
_END_S: Final = 5.0
_LOGGER: Final = "talm_sim.runs.workers"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the workers of a run are started with.

    Attributes:
        config: The run's, with every automatic value decided; `workers` says how many there are.
        created: When the run was created, ISO 8601.
        path: The run's directory.
        modules: The user's modules that this process has imported.
        service: The built-in tools, where the run has them.
        early: Processes that `start_early` has started for them.
    """

    config: RunConfig
    created: str
    path: str
    modules: tuple[str, ...] = ()
    service: ToolService | None = None
    early: list[asyncio.subprocess.Process] = field(default_factory=list)

    def first(self, number: int, service: str) -> messages.Open:
        """Return what a worker, counted from 0, is told first: it may make its share of the model requests at the same time.

        Args:
            number: The worker.
            service: Address of the built-in tools; empty where the run has none.
        """
        workers, most = self.config.workers, self.config.max_connections
        share = self.config.model_copy(update={"workers": 1, "max_connections": most // workers + (number < most % workers)})
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
    return Plan(job.config, job.created.isoformat(), str(directory.absolute()), modules, service, early)


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
        on_event: Receives what workers report.
        spending: The command's budget, which counts what they ask; None without one.
    """

    def __init__(self, plan: Plan, on_event: OnEvent, spending: Spending | None) -> None:
        self._plan = plan
        self._on_event = on_event
        self._spending = spending
        self._started: set[_Process] = set()
        self._processes: list[_Process] = []
        """Those that take episodes."""
        self._numbers = itertools.count(1)
        self._at: dict[tuple[str, int], tuple[_Process, int]] = {}
        """Where an episode waits that only one process can continue, and the number of its `Paused`."""
        self._left_out: dict[tuple[str, str], bool] = {}
        """Whether a server of a model was last said to be left out."""
        self._deaths = 0
        self._failure: Exception | None = None
        """Why nothing more can be played."""
        self._changed = asyncio.Event()
        self._closing = False
        self._helpers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            await asyncio.gather(*[self._help(self._start(number)) for number in range(self._plan.config.workers)])
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
        process, paused = self._at.pop((name, attempt), (None, 0))
        if process is None:
            process = await self._least_busy()
        elif process not in self._processes:
            raise WorkerDiedError("the worker that held it died")
        process.forms.pop(paused, None)
        number = next(self._numbers)
        done = process.jobs[number] = asyncio.get_running_loop().create_future()
        kept, replies = None if state is None else json.dumps(state), None if resume is None else dict(resume)
        process.send(messages.Play(number=number, scenario=scenario, epoch=epoch, attempt=attempt, resume=replies, state=kept))
        try:
            answer: messages.Finished | messages.Paused = await done
        finally:
            process.jobs.pop(number, None)
        if isinstance(answer, messages.Finished):
            return JudgedEpisode(answer.episode, answer.verdicts)
        if answer.held:
            self._at[name, attempt] = process, number
        seen = (answer.questions, answer.model_turns, answer.events, json.loads(answer.state))
        return Waiting(name, scenario.id, epoch, attempt, *seen, process.forms.get(number))

    async def _least_busy(self) -> _Process:
        while self._failure is None and not self._processes:
            self._changed.clear()
            await self._changed.wait()
        if self._failure is not None:
            raise self._failure
        return min(self._processes, key=lambda one: len(one.jobs))

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

    def _report(self, event: RequestRetried | ServersChanged | ToolsRestarted) -> None:
        """Report what happened in a worker; that a server is left out or answers again, once and not for each worker."""
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
        if 0 in one.jobs or self._deaths > _MOST_DEATHS:
            times = f"{self._deaths} workers have died; the last one" if self._deaths > 1 else "a worker"
            self._fail_all(one, WorkersGoneError(f"{times} was {how}: find out why, for example whether memory ran out."))
            return
        logging.getLogger(_LOGGER).warning("a worker was %s; another one starts its episodes again", how)
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
