"""Python tools that behave badly: each fails alone, and ends nothing but its call."""

from __future__ import annotations

import subprocess
import sys

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
    ended = subprocess.run([sys.executable, "-c", NEVER], check=False, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "timed out\n", "")
