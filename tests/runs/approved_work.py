"""A run whose agent's calls a person approves, in a process that can be killed: `python approved_work.py FOLDER begin|resume`.

Each episode looks a flight up and pays for it. A payment is written down in `paid.txt`. As long as there is a file `stall`, no episode ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, after_agent

import talm_sim

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 2 else Path()
RUN = "approved"


def look_up(flight: str) -> dict[str, Any]:
    """Look a flight up."""
    return {"price": 100}


def pay(flight: str) -> dict[str, Any]:
    """Pay for a flight."""
    with (FOLDER / "paid.txt").open("a", encoding="utf-8") as file:
        file.write(f"{flight}\n")
    return {"paid": flight}


look_up.read_only = True  # type: ignore[attr-defined]


@after_agent
async def stall(state: Any, runtime: Any) -> None:
    """Hold the episode before its end."""
    while (FOLDER / "stall").exists():
        await asyncio.sleep(0.01)


def build(tools: Sequence[Any], model: Any) -> Any:
    gate = HumanInTheLoopMiddleware({"look_up": True, "pay": True})
    return create_agent(model, list(tools), middleware=[gate, stall])


async def main(command: str) -> None:
    options: dict[str, Any] = {"agent": build, "tools": [look_up, pay], "wait": True, "run_dir": FOLDER / "runs"}
    print(os.getpid(), flush=True)
    if command == "begin":
        more: dict[str, Any] = {"model": "sim/oracle", "human": "terminal", "scenarios": FOLDER / "flights.jsonl", "run_id": RUN}
        await talm_sim.run_async(**options, **more)
    else:
        await talm_sim.resume_async(FOLDER / "runs" / RUN, **options)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[2]))
