"""The thread that owns a vLLM engine: requests join at every step and leave as they end, so that none waits for the slowest of a batch.

A *job* is a generator that yields the requests it needs, gets their outputs, and returns its answer. Running jobs share every step,
whether they score options or write an agent's turn. When nobody waits for a job any more (a cancelled future), its requests are aborted.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from talm_sim.common.processes import stop_waiting_for
from talm_sim.errors import ProviderError
from talm_sim.models.local.batching import settle

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """A prompt for vLLM: in tokens, with its sampling parameters and the salt of the cache it shares."""

    tokens: Sequence[int]
    params: Any
    salt: str = ""


Job = Generator[Sequence[EngineRequest], Sequence[Any], T]


class Stepped(Protocol):
    """An engine that works in steps. Every method is called by the loop's thread."""

    def start(self) -> None:
        """Make the engine ready; what this raises is every job's own failure."""
        ...

    def add(self, request_id: str, request: EngineRequest) -> None:
        """Add a request."""
        ...

    def abort(self, request_ids: Sequence[str]) -> None:
        """Drop requests; unknown ones are ignored."""
        ...

    def step(self) -> Sequence[Any]:
        """Compute once; returns the outputs of the requests that ended."""
        ...

    def close(self) -> None:
        """Free what the engine holds."""
        ...


@dataclass(slots=True, eq=False)
class _Running:
    job: Job[Any]
    future: Future[Any] = field(default_factory=Future)
    outputs: dict[str, Any] = field(default_factory=dict)
    """By request, in the order they were asked for; None until it ends."""


class Loop:
    """Runs jobs on an engine until it is closed.

    Args:
        engine: Owned by the loop's thread, which starts it with the first job and closes it at the end.
    """

    def __init__(self, engine: Stepped, name: str) -> None:
        self._engine, self._name = engine, name
        self._arrived: list[_Running] = []
        self._running: dict[str, _Running] = {}
        self._ids = itertools.count()
        self._news = threading.Condition()
        self._closed = self._loading = False
        self._thread: threading.Thread | None = None

    async def run(self, job: Job[T]) -> T:
        """Run a job on the loop's thread, once the engine has started."""
        running = _Running(job)
        with self._news:
            if self._closed:
                raise ProviderError(f"{self._name} is closed.")
            self._arrived.append(running)
            if self._thread is None:
                # A daemon: a process that ends must not wait for a model that loads.
                self._thread = threading.Thread(target=self._run_loop, name=f"talm-sim {self._name}", daemon=True)
                self._thread.start()
            self._news.notify()
        answer: T = await asyncio.wrap_future(running.future)
        return answer

    async def aclose(self) -> None:
        """End the thread after its current step; unfinished jobs are cancelled. An engine that is still loading is not waited for."""
        with self._news:
            self._closed = True
            self._news.notify()
        if self._thread is not None and self._loading:
            stop_waiting_for(self._thread)
        elif self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _run_loop(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._arrived or self._running or self._closed)
                arrived, self._arrived = self._arrived, []
                if self._closed:
                    break
            for running in arrived:
                self._start_job(running)
            try:
                self._step()
            except BaseException as err:  # those who wait must hear of it, not wait forever
                failed, self._running = self._running, {}
                for running in failed.values():
                    settle(running.future, err)
        for running in [*arrived, *self._running.values()]:
            running.future.cancel()
        self._engine.close()

    def _start_job(self, running: _Running) -> None:
        if running.future.cancelled():
            return
        self._loading, failure = True, None
        try:
            self._engine.start()
        except BaseException as err:
            failure = err
        self._loading = False  # before anybody hears of it: whoever then closes the loop waits for its end
        if failure is None:
            self._advance_job(running, None)
        else:
            settle(running.future, failure)

    def _step(self) -> None:
        left = [request_id for request_id, running in self._running.items() if running.future.cancelled()]
        if left:
            self._drop(left)
        if not self._running:
            return
        for output in self._engine.step():
            running = self._running.pop(output.request_id)
            running.outputs[output.request_id] = output
            if all(one is not None for one in running.outputs.values()):
                self._advance_job(running, list(running.outputs.values()))

    def _advance_job(self, running: _Running, outputs: Sequence[Any] | None) -> None:
        """Pass a job the outputs it waited for, and take its next requests."""
        running.outputs = {}
        try:
            requests = next(running.job) if outputs is None else running.job.send(outputs)
            for request in requests:
                request_id = str(next(self._ids))
                self._engine.add(request_id, request)
                running.outputs[request_id] = None
                self._running[request_id] = running
        except StopIteration as end:
            settle(running.future, end.value)
        except BaseException as err:
            self._drop(list(running.outputs))
            settle(running.future, err)

    def _drop(self, request_ids: Sequence[str]) -> None:
        self._engine.abort(request_ids)
        for request_id in request_ids:
            del self._running[request_id]
