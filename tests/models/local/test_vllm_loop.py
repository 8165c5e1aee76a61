"""The loop against an engine of toys: each request takes as many steps as it has tokens, and all that run share a step."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.local.vllm_loop import EngineRequest, Job, Loop


@dataclass(frozen=True)
class Output:
    request_id: str
    steps: int


@dataclass
class Toy:
    """Counts its steps; one begins when the test lets it, where `gate` is given."""

    gate: threading.Semaphore | None = None
    broken: str = ""
    unable: str = ""
    running: dict[str, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    """Requests in each step."""
    aborted: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    closed: bool = False

    def start(self) -> None:
        self.threads.add(threading.current_thread().name)
        if self.unable:
            raise PrerequisiteError(self.unable)

    def add(self, request_id: str, request: EngineRequest) -> None:
        if request.params == "refused":
            raise ProviderError("no such schema")
        self.running[request_id] = len(request.tokens)

    def abort(self, request_ids: Sequence[str]) -> None:
        self.aborted += request_ids
        for one in request_ids:
            self.running.pop(one, None)

    def step(self) -> Sequence[Output]:
        if self.gate is not None:
            self.gate.acquire()
        if self.broken:
            self.unable = self.broken
            raise ProviderError(self.broken)
        self.sizes.append(len(self.running))
        self.running = {one: left - 1 for one, left in self.running.items()}
        ended = [one for one, left in self.running.items() if left <= 0]
        for one in ended:
            del self.running[one]
        return [Output(one, len(self.sizes)) for one in reversed(ended)]

    def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def loop_over(engine: Toy) -> AsyncIterator[Loop]:
    loop = Loop(engine, "vllm/m")
    try:
        yield loop
    finally:
        if engine.gate is not None:
            engine.gate.release(100)
        await loop.aclose()
    assert engine.closed or not engine.threads


def job(*sizes: int, then: Sequence[int] = (), params: Any = None) -> Job[list[int]]:
    """Ask for requests of these sizes, and once they are answered for others; returns the step each ended in."""
    outputs = list((yield [EngineRequest([0] * size, None) for size in sizes]))
    if then or params:
        outputs += yield [EngineRequest([0] * size, params) for size in then or (1,)]
    return [output.steps for output in outputs]


async def until(holds: object) -> None:
    assert callable(holds)
    while not holds():
        await asyncio.sleep(0.005)


async def test_a_short_job_ends_first_and_a_late_one_joins_what_runs() -> None:
    engine = Toy(gate=threading.Semaphore(0))
    assert engine.gate is not None
    async with loop_over(engine) as loop:
        long = asyncio.create_task(loop.run(job(50)))
        engine.gate.release(5)
        await until(lambda: len(engine.sizes) == 5)
        short = asyncio.create_task(loop.run(job(2)))
        await asyncio.sleep(0)
        engine.gate.release(4)
        (ended,) = await short
        assert not long.done()
        assert 7 <= ended <= 9
        engine.gate.release(100)
        assert await long == [50]
    assert max(engine.sizes) == 2


async def test_an_engine_that_is_still_loading_is_not_waited_for() -> None:
    loads, begun = threading.Event(), threading.Event()

    class Slow(Toy):
        def start(self) -> None:
            begun.set()
            loads.wait(60)

    engine = Slow()
    loop = Loop(engine, "vllm/m")
    asked = asyncio.create_task(loop.run(job(1)))
    await until(begun.is_set)
    asked.cancel()
    await asyncio.wait_for(loop.aclose(), 50)
    assert not engine.closed
    loads.set()
    await until(lambda: engine.closed)


async def test_a_job_can_ask_again_with_what_it_learned() -> None:
    async with loop_over(Toy()) as loop:
        assert await loop.run(job(2, 1, then=[3])) == [2, 1, 5]


async def test_who_gives_up_has_its_requests_aborted() -> None:
    engine = Toy(gate=threading.Semaphore(0))
    assert engine.gate is not None
    async with loop_over(engine) as loop:
        impatient = asyncio.create_task(loop.run(job(50, 1)))
        patient = asyncio.create_task(loop.run(job(4)))
        engine.gate.release(2)
        await until(lambda: len(engine.sizes) == 2)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        engine.gate.release(100)
        assert len(await patient) == 1
    assert len(engine.aborted) == 1
    assert len(engine.sizes) < 50


async def test_what_cannot_be_asked_is_its_own_failure_alone() -> None:
    def wrong() -> Job[None]:
        raise ValueError("an option is empty")
        yield []

    engine = Toy()
    async with loop_over(engine) as loop:
        found = await asyncio.gather(loop.run(wrong()), loop.run(job(1, then=[5], params="refused")), loop.run(job(3)), return_exceptions=True)
    assert [str(one) for one in found[:2]] == ["an option is empty", "no such schema"]
    assert isinstance(found[2], list)
    assert engine.running == {}


async def test_an_engine_that_fails_fails_whoever_waits_and_whoever_comes() -> None:
    engine = Toy(broken="vLLM failed: out of memory")
    async with loop_over(engine) as loop:
        found = await asyncio.gather(loop.run(job(1)), loop.run(job(9)), return_exceptions=True)
        assert [str(one) for one in found] == ["vLLM failed: out of memory"] * 2
        with pytest.raises(PrerequisiteError, match="out of memory"):
            await loop.run(job(1))


async def test_closing_cancels_what_is_under_way_and_refuses_what_comes() -> None:
    engine = Toy(gate=threading.Semaphore(0))
    loop = Loop(engine, "vllm/m")
    waiting = asyncio.create_task(loop.run(job(50)))
    await until(lambda: engine.running)
    closing = asyncio.create_task(loop.aclose())
    await asyncio.sleep(0.05)
    assert engine.gate is not None
    engine.gate.release()
    await closing
    assert engine.closed
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(ProviderError, match="vllm/m is closed"):
        await loop.run(job(1))
    assert len(engine.sizes) == 1


async def test_a_loop_that_was_never_asked_starts_nothing() -> None:
    engine = Toy()
    async with loop_over(engine):
        pass
    assert not engine.threads
