"""One worker thread behind an async queue: the model is touched by that thread alone, and waiting questions are scored together.

A batch is built around one question, the one that has waited longest unless the engine prefers another, from those nearest to it in length, so
that little is padded. Padded tokens of a batch are bounded. Whoever no longer waits (a cancelled future) is skipped.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from talm_sim.errors import ProviderError

__all__ = ["Worker", "plan_batch"]

Asked = TypeVar("Asked")
Ready = TypeVar("Ready")
Answer = TypeVar("Answer")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Question(Generic[Asked, Ready, Answer]):
    """A question to be answered together with others."""

    asked: Asked
    future: Future[Answer] = field(default_factory=Future)
    ready: Ready | None = None
    size: int = 0


@dataclass(slots=True, eq=False)
class _Task:
    """A function to be run alone; it is told how to see that nobody waits any more."""

    function: Callable[[Callable[[], bool]], Any]
    future: Future[Any] = field(default_factory=Future)


class Worker(Generic[Asked, Ready, Answer]):
    """The thread that owns a model.

    Args:
        prepare: Makes a question ready (tokens, say) and tells its size in tokens; its exceptions are the question's own.
        answer: Answers questions that were made ready, together.
        batch_size: Most questions in one call of `answer`.
        budget: Most padded tokens in one call of `answer`; a longer question goes alone.
        first: Chooses, among the questions that wait, the one to go on with, by its index; by default the oldest.
        too_much: Whether an exception of `answer` means that memory ran out; the batch is then halved and tried again.
        name: Of the model, for messages.
    """

    def __init__(
        self,
        prepare: Callable[[Asked], tuple[Ready, int]],
        answer: Callable[[Sequence[Ready]], Sequence[Answer]],
        *,
        batch_size: int,
        budget: int,
        first: Callable[[Sequence[Ready]], int] = lambda ready: 0,
        too_much: Callable[[BaseException], bool] = lambda err: False,
        name: str = "model",
    ) -> None:
        self._prepare = prepare
        self._answer = answer
        self._batch_size = batch_size
        self._budget = budget
        self._first = first
        self._too_much = too_much
        self._name = name
        self._waiting: list[_Question[Asked, Ready, Answer] | _Task] = []
        self._news = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    async def ask(self, asked: Asked) -> Answer:
        """Answer a question, together with others that wait."""
        question: _Question[Asked, Ready, Answer] = _Question(asked)
        self._enqueue(question)
        return await asyncio.wrap_future(question.future)

    async def run(self, function: Callable[[Callable[[], bool]], T]) -> T:
        """Run a function alone on the thread; it is handed a function that says whether nobody waits for it any more."""
        task = _Task(function)
        self._enqueue(task)
        result: T = await asyncio.wrap_future(task.future)
        return result

    async def aclose(self) -> None:
        """End the thread after what it is doing; what still waits is cancelled."""
        with self._news:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            self._news.notify_all()
        for job in waiting:
            job.future.cancel()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _enqueue(self, job: _Question[Asked, Ready, Answer] | _Task) -> None:
        with self._news:
            if self._closed:
                raise ProviderError(f"{self._name} is closed.")
            self._waiting.append(job)
            if self._thread is None:
                # A daemon: Ctrl-C must not wait for a long generation.
                self._thread = threading.Thread(target=self._work, name=f"talm-sim {self._name}", daemon=True)
                self._thread.start()
            self._news.notify()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                first = self._waiting[0]
                if isinstance(first, _Task):
                    del self._waiting[0]
                    asked = []
                else:
                    asked = [job for job in self._waiting if isinstance(job, _Question)]
            if isinstance(first, _Task):
                self._run_task(first)
            else:
                self._score_or_fail(asked)

    def _run_task(self, task: _Task) -> None:
        if task.future.cancelled():
            return
        try:
            result = task.function(task.future.cancelled)
        except BaseException as err:
            _fail(task.future, self._in_words(err) if self._too_much(err) else err)
        else:
            _settle(task.future, result)

    def _score_or_fail(self, asked: list[_Question[Asked, Ready, Answer]]) -> None:
        try:
            self._score_some(asked)
        except BaseException as err:  # a bug of the engine's: whoever waits must hear of it, not wait for ever
            with self._news:
                self._waiting = [job for job in self._waiting if job not in asked]
            for question in asked:
                _fail(question.future, err)

    def _score_some(self, asked: list[_Question[Asked, Ready, Answer]]) -> None:
        ready: list[_Question[Asked, Ready, Answer]] = []
        done: set[int] = set()
        for question in asked:
            if question.future.cancelled():
                done.add(id(question))
                continue
            if question.ready is None:
                try:
                    question.ready, question.size = self._prepare(question.asked)
                except BaseException as err:
                    _fail(question.future, err)
                    done.add(id(question))
                    continue
            ready.append(question)
        if ready:
            ready.insert(0, ready.pop(self._first([one.ready for one in ready if one.ready is not None])))
        batch = [ready[index] for index in plan_batch([one.size for one in ready], self._batch_size, self._budget)]
        done.update(id(one) for one in batch)
        with self._news:
            self._waiting = [job for job in self._waiting if id(job) not in done]
        if batch:
            self._answer_halving(batch)

    def _answer_halving(self, batch: list[_Question[Asked, Ready, Answer]]) -> None:
        batch = [one for one in batch if not one.future.cancelled()]
        if not batch:
            return
        try:
            answers = self._answer([one.ready for one in batch if one.ready is not None])
        except BaseException as err:
            if not self._too_much(err):
                for one in batch:
                    _fail(one.future, err)
                return
            problem = self._in_words(err)
        else:
            for one, answer in zip(batch, answers, strict=True):
                _settle(one.future, answer)
            return
        # Outside the except clause: its traceback would keep the failed batch's memory alive.
        if len(batch) == 1:
            _fail(batch[0].future, problem)
            return
        middle = len(batch) // 2
        self._answer_halving(batch[:middle])
        self._answer_halving(batch[middle:])

    def _in_words(self, err: BaseException) -> ProviderError:
        first = next(iter(str(err).splitlines()), "")
        return ProviderError(f"{self._name}: not enough memory for one request ({first}); use a smaller -M dtype, or another -M device.")


def plan_batch(sizes: Sequence[int], batch_size: int, budget: int) -> list[int]:
    """Choose which of the waiting questions go together: the first, and those nearest to it in length, longest first.

    Args:
        sizes: Tokens of each question, in the order of their arrival.
        batch_size: Most questions.
        budget: Most tokens, each question counted as long as the longest; the first goes alone if it must.

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


def _settle(future: Future[Any], result: object) -> None:
    try:
        future.set_result(result)
    except InvalidStateError:
        return  # cancelled meanwhile


def _fail(future: Future[Any], err: BaseException) -> None:
    try:
        future.set_exception(err)
    except InvalidStateError:
        return  # cancelled meanwhile
