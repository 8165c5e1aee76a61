"""Ctrl-C several times in quick succession: the first is taken, and what it ends is ended in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

import pytest

from talm_sim.common import interrupts
from talm_sim.common.interrupts import debounce, interrupts_at_once, run_in_order


@pytest.fixture(autouse=True)
def _as_python_has_it() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_put_down_is_put_down_whole() -> None:
    done = []

    async def work() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.get_running_loop().create_future()
        finally:
            for step in range(3):
                signal.raise_signal(signal.SIGINT)
                await asyncio.sleep(0)
                done.append(step)

    with pytest.raises(KeyboardInterrupt):
        run_in_order(work())
    assert done == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_comes_later_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((100.0, 100.1, 100.0 + interrupts.PATIENCE_S, 101.0 + interrupts.PATIENCE_S))
    monkeypatch.setattr("talm_sim.common.interrupts.time.monotonic", lambda: next(times))
    taken: list[int] = []
    take = debounce(lambda number, frame: taken.append(number))
    for number in (1, 2, 3, 4):
        take(number, None)
    assert taken == [1, 4]


def test_without_an_interrupt_it_is_asyncio_run() -> None:
    async def work() -> int:
        return 7

    assert run_in_order(work()) == 7
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert run_in_order(work()) == 7
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("lost", [False, True])
def test_work_that_never_yields_is_ended_at_once_even_if_it_loses_the_interrupt(lost: bool) -> None:
    """A library's finalizer swallows what is raised in it."""
    reached = []

    async def load() -> None:
        with interrupts_at_once():
            with contextlib.suppress(KeyboardInterrupt) if lost else contextlib.nullcontext():
                signal.raise_signal(signal.SIGINT)
            reached.append("the end of the load")
        reached.append("what follows")

    with pytest.raises(KeyboardInterrupt):
        run_in_order(load())
    assert reached == (["the end of the load"] if lost else [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
