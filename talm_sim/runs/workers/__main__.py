"""`python -m talm_sim.runs.workers`: one worker. It ends when the process that started it does, however that ends."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import json
import logging
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel

from talm_sim.agent.checkpoints import durable_saver, memory_saver
from talm_sim.agent.episode import Waiting
from talm_sim.common.garbage import rare_searches
from talm_sim.common.processes import end_in_time, leave
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, ToolsGoneError
from talm_sim.foreign.code import directory_kept, foreign_code_has_run
from talm_sim.foreign.loop import LoopGivenUp, running_loop
from talm_sim.foreign.plugins import load_plugins
from talm_sim.runs.api import run_to_completion
from talm_sim.runs.batch import JudgedEpisode
from talm_sim.runs.budget import Spending, within_budget
from talm_sim.runs.events import RequestRetried, RunEvent, ServersChanged, ToolsRestarted, ignore_events, listening
from talm_sim.runs.extensions import import_agent
from talm_sim.runs.files import stored_documents
from talm_sim.runs.files.database import connect_reader
from talm_sim.runs.judging import Grader, open_early_judges
from talm_sim.runs.resolve import configure
from talm_sim.runs.runner import CHECKPOINTS, Built, JudgingRunner, Runner
from talm_sim.runs.workers import messages
from talm_sim.runs.workers.messages import LENGTH, TO_WORKER, frame
from talm_sim.tasks.shared import Shared
from talm_sim.tools_env.restarts import Recovered
from talm_sim.tools_env.sources.built_in import RunningService, running_service
from talm_sim.types import Scenario

_EVERY_S = 0.1
"""Seconds between two looks at what is told without being asked: what was spent, and which forms no tool waits for any more."""
_ALONE_S = 1.0
"""Seconds that a worker has to end if the run was killed."""
_LOGGER = "talm_sim.runs.workers"
_Find = Callable[[str], Scenario]
"""Returns the scenario with an id."""


class _Worker:
    """Plays what it is sent.

    Args:
        reader: What the run sends.
        pipe: Where the run reads.
    """

    def __init__(self, reader: asyncio.StreamReader, pipe: int) -> None:
        self._reader = reader
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Recovered]] = {}
        self._playing: set[asyncio.Task[None]] = set()
        self._held: dict[int, Waiting] = {}
        """Episodes of which tools wait for the person while calls run, by the number of their `Paused`."""
        self._told = messages.Spent(counts=())
        self._holds = False

    async def work(self) -> None:
        """Open the run, and play until the pipe is closed."""
        received = self._receive()
        first = await anext(received, None)
        if not isinstance(first, messages.Open):
            return
        os.environ.pop("PYTHONPATH", None)  # with which this process was started
        if first.python_path is not None:
            os.environ["PYTHONPATH"] = first.python_path
        sys.path[:] = first.import_path
        logging.getLogger().addHandler(logging.NullHandler())  # what is logged while it opens was logged where the run was tried
        try:
            async with self._opened(first) as (runner, find, spending):
                logging.basicConfig(handlers=[_Log(self._tell)], level=logging.WARNING, force=True)
                logging.getLogger("talm_sim").setLevel(first.log_level)
                self._tell(messages.Ready())
                look = asyncio.create_task(self._look(spending))
                try:
                    async for message in received:
                        self._take(message, runner, find, spending)
                finally:
                    await _cancel({look, *self._playing})
        except Exception as err:
            self._tell(_describe_failure(0, err))

    @asynccontextmanager
    async def _opened(self, given: messages.Open) -> AsyncIterator[tuple[JudgingRunner, _Find, Spending | None]]:
        """Open what the episodes of the run share; it was all tried where the run is."""
        load_plugins(given.modules)
        job = configure(RunConfig.model_validate_json(given.config), {}, look_up=False, created=datetime.fromisoformat(given.created))
        import_agent({"agent": getattr(job.options, "agent", None)})
        if given.service:
            running_service.set(RunningService(given.service, self._find_service))
        async with AsyncExitStack() as stack:
            stack.enter_context(listening(self._tell_event, progress=False))
            spending = stack.enter_context(within_budget(job.config, ignore_events))
            conn = stack.enter_context(closing(connect_reader(Path(given.path))))
            shared = await stack.enter_async_context(Shared())
            opened = await stack.enter_async_context(job.task.open(job, shared))
            self._holds = opened.starts_again
            saver: BaseCheckpointSaver[Any] | None = memory_saver() if opened.human != "none" else None
            if opened.waits and not opened.starts_again:
                saver = await stack.enter_async_context(durable_saver(Path(given.path) / CHECKPOINTS))
            library = shared.library(job.config.cassettes, job.task.recorded_in)
            built = Built(opened.job, opened, (), Grader(()), library)
            stack.enter_context(directory_kept())
            find = cache(partial(stored_documents.scenario_named, conn))
            yield JudgingRunner(Runner(built, saver), open_early_judges(conn, job)), find, spending

    async def _receive(self) -> AsyncIterator[messages.ToWorker]:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                (size,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                yield TO_WORKER.validate_json(await self._reader.readexactly(size))

    def _tell(self, message: BaseModel) -> None:
        """Send a message, from any thread."""
        if running_loop() is self._loop:
            self._write(frame(message))
        else:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._write, frame(message))

    def _write(self, framed: bytes) -> None:
        document = memoryview(framed)
        try:
            while document:  # it blocks where the run is slower: then it is for this process to wait
                document = document[os.write(self._pipe, document) :]
        except BrokenPipeError:
            os._exit(1)  # the run was killed, and keeps nothing that is done here

    def _tell_event(self, event: RunEvent) -> None:
        if isinstance(event, RequestRetried | ServersChanged | ToolsRestarted):
            self._tell(messages.Told(event=event))

    def _tell_spent(self, spending: Spending | None) -> None:
        spent = messages.Spent(counts=() if spending is None else spending.counts())
        if spent != self._told:
            self._told = spent
            self._tell(spent)

    def _take(self, message: messages.ToWorker, runner: JudgingRunner, find: _Find, spending: Spending | None) -> None:
        if isinstance(message, messages.Play):
            task = asyncio.create_task(self._play(message, runner, find, spending))
            self._playing.add(task)
            task.add_done_callback(self._playing.discard)
        elif isinstance(message, messages.ServiceAt) and (asked := self._asked.pop(message.number, None)) is not None:
            if message.error:
                asked.set_exception(ToolsGoneError(message.error))
            else:
                asked.set_result(Recovered(message.address, message.died))

    async def _play(self, given: messages.Play, runner: JudgingRunner, find: _Find, spending: Spending | None) -> None:
        state = None if given.state is None else json.loads(given.state)
        try:
            result = await runner(find(given.scenario), epoch=given.epoch, attempt=given.attempt, resume=given.resume, state=state)
            answer = frame(self._describe(given.number, result))
        except asyncio.CancelledError:
            raise
        except BaseException as err:  # the run waits for an answer, whatever the user's code raises
            answer = frame(_describe_failure(given.number, err))
        self._tell_spent(spending)  # first, so that the budget is known when the next episode is due
        self._write(answer)

    def _describe(self, number: int, result: JudgedEpisode | Waiting) -> BaseModel:
        if isinstance(result, JudgedEpisode):
            return messages.Finished(number=number, episode=result.episode, verdicts=result.verdicts)
        if result.forms is not None:
            self._held[number] = result
        return messages.Paused(
            number=number,
            questions=result.questions,
            model_turns=result.model_turns,
            events=result.events,
            state=json.dumps(result.state),
            forms=result.forms is not None,
            held=result.forms is not None or self._holds,
        )

    async def _look(self, spending: Spending | None) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            self._tell_spent(spending)
            for number, waiting in [*self._held.items()]:
                if gone := waiting.withdrawn():
                    self._tell(messages.Withdrawn(number=number, forms=tuple(gone)))
                if not waiting.forms:
                    del self._held[number]

    def _find_service(self, address: str) -> Recovered:
        """Ask the run, from another thread, where the built-in tools are that do not answer at an address."""
        return asyncio.run_coroutine_threadsafe(self._ask_service(address), self._loop).result()

    async def _ask_service(self, address: str) -> Recovered:
        number = next(self._numbers)
        asked: asyncio.Future[Recovered] = self._loop.create_future()
        self._asked[number] = asked
        self._tell(messages.AskService(number=number, address=address))
        return await asked


class _Log(logging.Handler):
    """Hands each line of the log to the run."""

    def __init__(self, tell: Callable[[BaseModel], None]) -> None:
        super().__init__()
        self._tell = tell
        self.setFormatter(logging.Formatter("%(message)s"))  # what is around it is the run's to add

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record).encode(errors="backslashreplace").decode()
            self._tell(messages.Logged(level=record.levelno, logger=record.name, text=text))
        except Exception:  # what cannot be logged ends nothing, as with any handler
            self.handleError(record)


def _describe_failure(number: int, err: BaseException) -> messages.Failed:
    if isinstance(err, LoopGivenUp):
        return messages.Failed(number=number, kind="", text=err.place, starts_again=True)
    if isinstance(err, PrerequisiteError):
        kind, text = type(err).__name__, str(err)
    else:
        kind, text = "", "".join(traceback.format_exception(err))
    return messages.Failed(number=number, kind=kind, text=text.encode(errors="backslashreplace").decode())


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _work(orders: int, pipe: int) -> None:
    reader = asyncio.StreamReader(2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), open(orders, "rb", 0))  # noqa: SIM115
    await _Worker(reader, pipe).work()


def _end_with(parent: int, orders: int) -> None:
    """Wait until nobody writes orders any more; if that is because the run was killed, leave this process a moment to end."""
    poll = select.poll()
    poll.register(orders, 0)  # which waits for a hang-up alone
    poll.poll()
    while os.getppid() == parent:  # it is ending the workers, and kills those that take too long
        time.sleep(_EVERY_S)
    time.sleep(_ALONE_S)
    os._exit(1)


def main() -> int:
    """Work until standard input is closed. Both standard streams are the run's alone: others read nothing, and write to standard error."""
    parent, orders, pipe = os.getppid(), os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the run; one that is ignored would be ignored by what is started here, too
    threading.Thread(target=_end_with, args=(parent, orders), name="talm-sim-end-with-run", daemon=True).start()
    with rare_searches():
        run_to_completion(_work(orders, pipe))
    if not foreign_code_has_run():  # the interpreter's own end frees every object, which takes a second
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(0)
    end_in_time(0, logging.getLogger(_LOGGER).warning)
    return leave(0)


if __name__ == "__main__":
    sys.exit(main())
