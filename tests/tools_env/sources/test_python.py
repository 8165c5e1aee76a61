"""Python tools that behave badly: each fails alone, and ends nothing but its call."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
from collections.abc import AsyncIterator, Iterator

import pytest

from talm_sim.tools_env.sources.python import PythonSource
from tests.warm import warm_python

NEVER = """
import asyncio, time
from talm_sim.tools_env.sources.python import PythonSource

def wait(n: int) -> int:
    "Wait for ever."
    time.sleep(100_000)

async def main():
    try:
        await PythonSource("x", [wait], timeout=0.1).call("wait", {"n": 1}, "")
    except TimeoutError:
        print("timed out")

asyncio.run(main())
"""


def test_a_function_that_never_returns_does_not_hold_the_process() -> None:
    ended = subprocess.run([warm_python(), "-c", NEVER], check=False, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "timed out\n", "")


KINDS = {kind.__name__: kind for kind in (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit, StopIteration, ValueError)}


def plain(kind: str) -> int:
    """Raise it."""
    raise KINDS[kind]("so")


async def on_the_loop(kind: str) -> int:
    """Raise it."""
    await asyncio.sleep(0)
    raise KINDS[kind]("so")


async def told(tool: str, kind: str) -> tuple[int, str]:
    response = await PythonSource("x", [plain, on_the_loop]).call(tool, {"kind": kind}, "")
    return response.status, json.loads(response.body)["detail"]


@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_a_plain_tool_raises_is_its_failure(kind: str) -> None:
    expected = "RuntimeError: StopIteration" if kind == "StopIteration" else f"{kind}: so"
    assert await told("plain", kind) == (500, expected)


@pytest.mark.parametrize("kind", ["CancelledError", "GeneratorExit", "SystemExit", "ValueError"])
def test_whatever_an_async_tool_raises_is_its_failure(kind: str) -> None:
    status, detail = asyncio.run(told("on_the_loop", kind))
    assert (status, detail.partition(":")[0]) == (500, kind)


def count(most: int) -> Iterator[int]:
    """Count, each number once it is wanted."""
    yield from range(most)


async def count_slowly(most: int) -> AsyncIterator[int]:
    """The same on the loop."""
    for n in range(most):
        yield n


def divide(most: int) -> dict[str, float]:
    """Give a number that JSON does not have."""
    return {"rate": math.inf * most, "NaN": 1.0}


@pytest.mark.parametrize("tool", ["count", "count_slowly"])
async def test_a_generator_gives_its_items_if_it_ends(tool: str) -> None:
    source = PythonSource("x", [count, count_slowly])
    assert json.loads((await source.call(tool, {"most": 3}, "")).body) == [0, 1, 2]
    endless = await source.call(tool, {"most": 10**12}, "")
    assert (endless.status, json.loads(endless.body)["detail"]) == (500, "ValueError: it gives more than 10,000 items")


async def test_a_number_that_json_does_not_have_is_a_failure() -> None:
    source = PythonSource("x", [divide])
    response = await source.call("divide", {"most": 1}, "")
    assert (response.status, json.loads(response.body)["detail"]) == (500, "ValueError: its result holds Infinity, which is no JSON value")


async def test_a_call_that_is_cancelled_is_no_failure_of_the_tool() -> None:
    begun = asyncio.Event()

    async def wait(n: int) -> int:
        """Wait for ever."""
        begun.set()
        await asyncio.Event().wait()
        return n

    task = asyncio.create_task(PythonSource("x", [wait]).call("wait", {"n": 1}, ""))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
