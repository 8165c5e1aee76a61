from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.local.batching import Worker, plan_batch


class _Engine:
    """Doubles numbers; the size of a question is the number itself."""

    def __init__(self, fits: int = 100) -> None:
        self.batches: list[list[int]] = []
        self.fits = fits
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def prepare(self, asked: int) -> tuple[int, int]:
        if asked < 0:
            raise ContextOverflowError("too long")
        return asked, asked

    def answer(self, ready: Sequence[int]) -> list[int]:
        self.threads.add(threading.current_thread().name)
        self.entered.set()
        assert self.gate.wait(100)
        self.batches.append(list(ready))
        if len(ready) > self.fits:
            raise MemoryError("CUDA out of memory\nand so on")
        return [2 * one for one in ready]


def _worker(engine: _Engine, batch_size: int = 3, budget: int = 1000) -> Worker:
    def too_much(err: BaseException) -> bool:
        return isinstance(err, MemoryError)

    return Worker(engine.prepare, engine.answer, batch_size=batch_size, budget=budget, too_much=too_much, name="hf/m")


async def _ask_while_busy(engine: _Engine, worker: Worker, numbers: Sequence[int]) -> list[asyncio.Future[int]]:
    """Put questions into the queue while the thread is held in an earlier one."""
    engine.gate.clear()
    first = asyncio.ensure_future(worker.ask(1))
    await asyncio.to_thread(engine.entered.wait, 100)
    others = [asyncio.ensure_future(worker.ask(number)) for number in numbers]
    await asyncio.sleep(0.01)
    return [first, *others]


async def test_a_batch_is_the_oldest_question_and_its_nearest_longest_first() -> None:
    engine = _Engine()
    worker = _worker(engine)
    asked = await _ask_while_busy(engine, worker, [5, 50, 6, 51, 7])
    engine.gate.set()
    await asyncio.gather(*asked)
    await worker.aclose()
    assert engine.batches == [[1], [7, 6, 5], [51, 50]]


async def test_the_engine_may_say_which_question_comes_next() -> None:
    engine = _Engine()
    worker = Worker(engine.prepare, engine.answer, batch_size=1, budget=1000, first=lambda ready: ready.index(max(ready)))
    asked = await _ask_while_busy(engine, worker, [5, 50, 6])
    engine.gate.set()
    assert await asyncio.gather(*asked) == [2, 10, 100, 12]
    await worker.aclose()
    assert engine.batches == [[1], [50], [6], [5]]


async def test_a_question_that_cannot_be_asked_fails_alone_and_a_cancelled_one_is_skipped() -> None:
    engine = _Engine()
    worker = _worker(engine)
    asked = await _ask_while_busy(engine, worker, [5, -1, 6])
    asked[1].cancel()
    await asyncio.sleep(0.01)
    engine.gate.set()
    results = await asyncio.gather(*asked, return_exceptions=True)
    await worker.aclose()
    assert isinstance(results[1], asyncio.CancelledError)
    assert isinstance(results[2], ContextOverflowError)
    assert (results[0], results[3]) == (2, 12)
    assert engine.batches == [[1], [6]]


async def test_a_batch_that_does_not_fit_is_halved() -> None:
    engine = _Engine(fits=1)
    worker = _worker(engine, batch_size=8)
    asked = await _ask_while_busy(engine, worker, [5, 6, 7])
    engine.gate.set()
    assert await asyncio.gather(*asked) == [2, 10, 12, 14]
    assert engine.batches == [[1], [7, 6, 5], [7], [6, 5], [6], [5]]
    engine.entered.clear()
    again = await _ask_while_busy(engine, worker, [8, 9])
    engine.gate.set()
    assert await asyncio.gather(*again) == [2, 16, 18]
    await worker.aclose()
    assert engine.batches[6:] == [[1], [8], [9]], "the smaller batch stays"


async def test_a_single_question_that_does_not_fit_is_one_line() -> None:
    worker = _worker(_Engine(fits=0))
    with pytest.raises(ProviderError, match=r"^hf/m: not enough memory for one request \(CUDA out of memory\)") as failure:
        await worker.ask(1)
    assert "\n" not in str(failure.value)

    def burst(_: Callable[[], bool]) -> None:
        raise MemoryError("CUDA out of memory")

    with pytest.raises(ProviderError, match="not enough memory"):
        await worker.run(burst)
    await worker.aclose()


async def test_other_failures_are_passed_on_to_all_who_asked() -> None:
    def fail(ready: Sequence[int]) -> list[int]:
        raise LookupError("a bug")

    worker: Worker = Worker(_Engine().prepare, fail, batch_size=2, budget=100)
    results = await asyncio.gather(worker.ask(1), worker.ask(2), return_exceptions=True)
    await worker.aclose()
    assert [type(result) for result in results] == [LookupError, LookupError]


async def test_a_task_sees_that_nobody_waits_and_the_thread_goes_on() -> None:
    worker = _worker(_Engine())
    started, seen = threading.Event(), threading.Event()

    def long(cancelled: Callable[[], bool]) -> None:
        started.set()
        while not cancelled():
            pass
        seen.set()

    task = asyncio.ensure_future(worker.run(long))
    await asyncio.to_thread(started.wait, 100)
    task.cancel()
    assert await worker.run(lambda _: "next") == "next"
    assert seen.is_set()
    await worker.aclose()


async def test_closing_cancels_who_waits_and_refuses_who_comes_later() -> None:
    engine = _Engine()
    worker = _worker(engine)
    asked = await _ask_while_busy(engine, worker, [5])
    closing = asyncio.ensure_future(worker.aclose())
    await asyncio.sleep(0.01)
    engine.gate.set()
    await closing
    assert asked[0].done() or await asked[0] == 2
    with pytest.raises(asyncio.CancelledError):
        await asked[1]
    with pytest.raises(ProviderError, match="is closed"):
        await worker.ask(1)


@given(st.lists(st.integers(1, 100), max_size=20), st.integers(1, 8), st.integers(1, 500))
def test_a_plan_keeps_its_bounds_and_never_leaves_the_oldest_out(sizes: list[int], batch_size: int, budget: int) -> None:
    chosen = plan_batch(sizes, batch_size, budget)
    assert len(chosen) == len(set(chosen)) <= batch_size
    assert (0 in chosen) == bool(sizes)
    if len(chosen) > 1:
        assert max(sizes[index] for index in chosen) * len(chosen) <= budget
    assert [sizes[index] for index in chosen] == sorted((sizes[index] for index in chosen), reverse=True)


@pytest.mark.parametrize("flaw", ["answer", "first"])
async def test_an_engine_with_a_bug_leaves_nobody_waiting(flaw: str) -> None:
    def first(ready: Sequence[int]) -> int:
        return 7 if flaw == "first" and ready[0] > 1 else 0

    def answer(ready: Sequence[int]) -> list[int]:
        return [] if flaw == "answer" and ready[0] > 1 else [2 * one for one in ready]

    worker: Worker = Worker(lambda asked: (asked, asked), answer, batch_size=3, budget=1000, first=first)
    for number in (5, 6):
        with pytest.raises((ValueError, IndexError)):
            await asyncio.wait_for(worker.ask(number), 100)
    assert await worker.ask(1) == 2, "the thread goes on"
    await worker.aclose()
