"""Queue questions for one worker thread: only that thread touches the model, and waiting questions are scored together.

A batch is built around one question, the one that has waited longest unless the engine prefers another, from those nearest to it in size, so
that little is padded. Questions that nobody waits for (a cancelled future) are skipped.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from talm_sim.errors import ProviderError

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Batched:
    """A question to be answered together with others, or a function to be run alone."""

    asked: Any
    function: Callable[[Callable[[], bool]], Any] | None = None
    future: Future[Any] = field(default_factory=Future)
    ready: Any = None
    size: int = 0


def settle(future: Future[Any], result: object) -> None:
    """Hand over a result, or an exception, if anybody still waits for it."""
    with suppress(InvalidStateError):  # cancelled meanwhile
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)


class Worker:
    """The thread that owns a model.

    Args:
        prepare: Prepares a question (for example, as tokens) and returns its size; its exceptions are the question's own.
        answer: Answers prepared questions together.
        batch_size: Most questions in one call of `answer`; fewer once memory ran out.
        budget: Largest total size of the questions of one call, each counted as large as the largest; a larger one is answered alone.
        first: Chooses the next among the waiting questions, by its index; by default the oldest.
        too_much: Whether an exception of `answer` means that memory ran out; the batch is then halved and tried again.
    """

    def __init__(
        self,
        prepare: Callable[[Any], tuple[Any, int]],
        answer: Callable[[Sequence[Any]], Sequence[Any]],
        *,
        batch_size: int,
        budget: int,
        first: Callable[[Sequence[Any]], int] = lambda ready: 0,
        too_much: Callable[[Exception], bool] = lambda err: False,
        name: str = "model",
    ) -> None:
        self._prepare = prepare
        self._answer = answer
        self._batch_size = batch_size
        self._budget = budget
        self._first = first
        self._too_much = too_much
        self._name = name
        self._waiting: list[_Batched] = []
        self._news = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    async def ask(self, asked: Any) -> Any:
        """Answer a question, together with others that wait."""
        return await self._enqueue(_Batched(asked))

    async def run(self, function: Callable[[Callable[[], bool]], T]) -> T:
        """Run a function alone on the thread; it receives a function that says whether nobody waits for it any more."""
        result: T = await self._enqueue(_Batched(None, function))
        return result

    async def aclose(self) -> None:
        """End the thread after its present work; what still waits is cancelled."""
        with self._news:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            self._news.notify_all()
        for job in waiting:
            job.future.cancel()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _enqueue(self, job: _Batched) -> asyncio.Future[Any]:
        with self._news:
            if self._closed:
                raise ProviderError(f"{self._name} is closed.")
            self._waiting.append(job)
            if self._thread is None:
                # A daemon: Ctrl-C must not wait for a long generation.
                self._thread = threading.Thread(target=self._run_loop, name=f"talm-sim {self._name}", daemon=True)
                self._thread.start()
            self._news.notify()
        return asyncio.wrap_future(job.future)

    def _run_loop(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                waiting = list(self._waiting)
            concerned = waiting[:1]
            try:
                if waiting[0].function is None:
                    concerned = [job for job in waiting if job.function is None]
                    concerned = self._choose(concerned)
                self._forget(concerned)
                self._run_jobs(concerned)
            except BaseException as err:  # an engine's bug: those who wait must hear of it, not wait forever
                self._forget(concerned)
                for job in concerned:
                    settle(job.future, err)

    def _forget(self, jobs: Sequence[_Batched]) -> None:
        with self._news:
            self._waiting = [job for job in self._waiting if job not in jobs and not job.future.done()]

    def _choose(self, waiting: list[_Batched]) -> list[_Batched]:
        """Prepare what waits, and choose which questions are answered together."""
        for job in waiting:
            if job.ready is None and not job.future.done():
                try:
                    job.ready, job.size = self._prepare(job.asked)
                except Exception as err:
                    settle(job.future, err)
        ready = [job for job in waiting if not job.future.done()]
        if ready:
            ready.insert(0, ready.pop(self._first([job.ready for job in ready])))
        return [ready[index] for index in plan_batch([job.size for job in ready], self._batch_size, self._budget)]

    def _run_jobs(self, jobs: list[_Batched]) -> None:
        jobs = [job for job in jobs if not job.future.cancelled()]
        if not jobs:
            return
        try:
            alone = jobs[0].function
            answers = self._answer([job.ready for job in jobs]) if alone is None else [alone(jobs[0].future.cancelled)]
        except Exception as err:
            if not self._too_much(err):
                raise
            problem = self._in_words(err)
        else:
            for job, answer in zip(jobs, answers, strict=True):
                settle(job.future, answer)
            return
        # Outside the except clause: its traceback would keep the failed batch's memory alive.
        if len(jobs) == 1:
            settle(jobs[0].future, problem)
            return
        self._batch_size = middle = len(jobs) // 2
        self._run_jobs(jobs[:middle])
        self._run_jobs(jobs[middle:])

    def _in_words(self, err: Exception) -> ProviderError:
        first = next(iter(str(err).splitlines()), "")
        return ProviderError(f"{self._name}: not enough memory for one request ({first}); use a smaller -M dtype, or another -M device.")


def plan_batch(sizes: Sequence[int], batch_size: int, budget: int) -> list[int]:
    """Choose which of the waiting questions are answered together: the first, and those nearest to it in size, largest first.

    >>> plan_batch([10, 90, 11, 40], batch_size=3, budget=1000)
    [3, 2, 0]
    """
    if not sizes:
        return []
    near = sorted(range(len(sizes)), key=lambda index: (abs(sizes[index] - sizes[0]), index))
    chosen: list[int] = []
    for index in near[:batch_size]:
        longest = max([sizes[index], *(sizes[one] for one in chosen)])
        if chosen and longest * (len(chosen) + 1) > budget:
            break
        chosen.append(index)
    return sorted(chosen, key=lambda index: (-sizes[index], index))
