"""`python -m talm_sim.runs.workers`: one worker. It ends when the process that started it does, however that ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import BaseModel

from talm_sim.agent.checkpoints import durable_saver, memory_saver
from talm_sim.agent.episode import Waiting
from talm_sim.common.processes import leave
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, ToolsGoneError
from talm_sim.foreign.code import directory_kept
from talm_sim.foreign.loop import LoopGivenUp
from talm_sim.foreign.plugins import load_plugins
from talm_sim.judges.base import Judge
from talm_sim.judges.registry import judge_class
from talm_sim.runs.api import run_to_completion
from talm_sim.runs.budget import Spending, within_budget
from talm_sim.runs.events import RequestRetried, RunEvent, ToolsRestarted, ignore_events, listening
from talm_sim.runs.extensions import import_agent
from talm_sim.runs.files.database import connect_reader
from talm_sim.runs.judging import Grader, judge_names, open_judges
from talm_sim.runs.resolve import configure
from talm_sim.runs.runner import CHECKPOINTS, Built, Runner
from talm_sim.runs.workers import messages
from talm_sim.runs.workers.messages import LENGTH, TO_WORKER, frame
from talm_sim.tasks.shared import Shared
from talm_sim.tools_env.restarts import Recovered
from talm_sim.tools_env.sources.built_in import RunningService, running_service
from talm_sim.types import Episode

_EVERY_S = 0.1
"""Seconds between two looks at what is told without being asked: what was spent, and which forms no tool waits for any more."""


class _Worker:
    """Plays what it is sent.

    Args:
        reader: What the run sends.
        pipe: Where the run reads.
    """

    def __init__(self, reader: asyncio.StreamReader, pipe: int) -> None:
        self._reader = reader
        self._pipe = pipe
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Recovered]] = {}
        self._playing: set[asyncio.Task[None]] = set()
        self._held: dict[tuple[str, int], Waiting] = {}
        self._told = messages.Spent(counts=())
        self._holds = False

    async def work(self) -> None:
        """Open the run, and play until the pipe is closed."""
        received = self._receive()
        first = await anext(received, None)
        if not isinstance(first, messages.Open):
            return
        logging.basicConfig(handlers=[_Log(self._tell)], level=logging.WARNING, force=True)
        logging.getLogger("talm_sim").setLevel(first.log_level)
        try:
            async with self._opened(first) as (runner, judges, spending):
                self._tell(messages.Ready())
                look = asyncio.create_task(self._look(spending))
                try:
                    async for message in received:
                        self._take(message, runner, judges, spending)
                finally:
                    await _cancel({look, *self._playing})
        except Exception as err:
            self._tell(_failed(0, err))

    @asynccontextmanager
    async def _opened(self, given: messages.Open) -> AsyncIterator[tuple[Runner, list[Judge], Spending | None]]:
        """Open what the episodes of the run share; it was all tried where the run is."""
        load_plugins(given.modules)
        job = configure(RunConfig.model_validate_json(given.config), {}, look_up=False, created=datetime.fromisoformat(given.created))
        import_agent({"agent": getattr(job.options, "agent", None)})
        loop = asyncio.get_running_loop()
        if given.service:
            running_service.set(RunningService(given.service, partial(self._find_service, loop)))
        names = tuple(name for name in judge_names(job) if not judge_class(name).needs)
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
            built = Built(opened.job, opened, (), Grader(names), library)
            stack.enter_context(directory_kept())
            yield Runner(built, saver), open_judges(conn, job, built.grader), spending

    async def _receive(self) -> AsyncIterator[messages.ToWorker]:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                (size,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                yield TO_WORKER.validate_json(await self._reader.readexactly(size))

    def _tell(self, message: BaseModel) -> None:
        document = memoryview(frame(message))
        try:
            while document:  # it blocks where the run is slower: then it is for this process to wait
                document = document[os.write(self._pipe, document) :]
        except BrokenPipeError:
            os._exit(1)  # the run was killed, and keeps nothing that is done here

    def _tell_event(self, event: RunEvent) -> None:
        if isinstance(event, RequestRetried | ToolsRestarted):
            self._tell(messages.Told(event=event))

    def _tell_spent(self, spending: Spending | None) -> None:
        spent = messages.Spent(counts=() if spending is None else spending.counts())
        if spent != self._told:
            self._told = spent
            self._tell(spent)

    def _take(self, message: messages.ToWorker, runner: Runner, judges: list[Judge], spending: Spending | None) -> None:
        if isinstance(message, messages.Play):
            task = asyncio.create_task(self._play(message, runner, judges, spending))
            self._playing.add(task)
            task.add_done_callback(self._playing.discard)
        elif isinstance(message, messages.ServiceAt) and (asked := self._asked.pop(message.number, None)) is not None:
            if message.error:
                asked.set_exception(ToolsGoneError(message.error))
            else:
                asked.set_result(Recovered(message.address, message.died))

    async def _play(self, given: messages.Play, runner: Runner, judges: list[Judge], spending: Spending | None) -> None:
        try:
            result = await runner(given.scenario, epoch=given.epoch, attempt=given.attempt, resume=given.resume, state=given.state)
            answer: BaseModel
            if isinstance(result, Episode):
                verdicts = [await judge(result, given.scenario) for judge in judges]
                answer = messages.Finished(number=given.number, episode=result, verdicts=tuple(verdicts))
            else:
                if result.forms is not None:
                    self._held[result.episode_id, result.attempt] = result
                answer = messages.Paused(
                    number=given.number,
                    questions=result.questions,
                    model_turns=result.model_turns,
                    events=result.events,
                    state=result.state,
                    forms=result.forms is not None,
                    held=result.forms is not None or self._holds,
                )
        except (Exception, LoopGivenUp) as err:
            answer = _failed(given.number, err)
        self._tell_spent(spending)  # first, so that the budget is known when the next episode is due
        self._tell(answer)

    async def _look(self, spending: Spending | None) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            self._tell_spent(spending)
            for (episode_id, attempt), waiting in [*self._held.items()]:
                if gone := waiting.withdrawn():
                    self._tell(messages.Withdrawn(episode_id=episode_id, attempt=attempt, forms=tuple(gone)))
                if not waiting.forms:
                    del self._held[episode_id, attempt]

    def _find_service(self, loop: asyncio.AbstractEventLoop, address: str) -> Recovered:
        """Ask the run, from any thread, where the built-in tools are that do not answer at an address."""
        return asyncio.run_coroutine_threadsafe(self._ask_service(address), loop).result()

    async def _ask_service(self, address: str) -> Recovered:
        number = next(self._numbers)
        asked: asyncio.Future[Recovered] = asyncio.get_running_loop().create_future()
        self._asked[number] = asked
        self._tell(messages.AskService(number=number, address=address))
        return await asked


class _Log(logging.Handler):
    """Hands each line of the log to the run."""

    def __init__(self, tell: Callable[[BaseModel], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(messages.Logged(level=record.levelno, logger=record.name, text=record.getMessage()))


def _failed(number: int, err: BaseException) -> messages.Failed:
    if isinstance(err, LoopGivenUp):
        return messages.Failed(number=number, kind="", text=err.place, starts_again=True)
    if isinstance(err, PrerequisiteError):
        return messages.Failed(number=number, kind=type(err).__name__, text=str(err))
    return messages.Failed(number=number, kind="", text="".join(traceback.format_exception(err)))


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _work(pipe: int) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await _Worker(reader, pipe).work()


def main() -> int:
    """Work until standard input is closed; standard output is the run's, so what else is written there goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run
    pipe = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    run_to_completion(_work(pipe))
    return leave(0)


if __name__ == "__main__":
    sys.exit(main())
