"""Two people at the desk of one run, who begin at different ends."""

from __future__ import annotations

import asyncio
import io
import os
from contextlib import closing
from pathlib import Path

from rich.console import Console

from talm_sim.cli.lines import LineReader
from talm_sim.cli.sitting import Sitting
from talm_sim.runs.batch import run_batch
from talm_sim.runs.load import load_run
from talm_sim.runs.store import RunStore
from tests.runs.scripted import ScriptedRunner, new_run

WAITING = 12


async def sit(run: Path, who: str, both: asyncio.Barrier, *, last_first: bool) -> int:
    """Answer with one's name until nothing is open; how many were."""
    source, sink = os.pipe()
    os.write(sink, f"{who}\n".encode() * WAITING)
    os.close(sink)
    console = Console(file=io.StringIO(), width=80)
    begun = False
    with closing(LineReader(console, source)) as lines, closing(Sitting(run, console, lines, who, last_first=last_first)) as sitting:
        while await sitting.put_next() == "put":
            if sitting.answered and not begun:
                begun = True
                await both.wait()  # else one might be done before the other has begun
    os.close(source)
    return sitting.answered


async def test_two_begin_at_different_ends_and_meet(tmp_path: Path) -> None:
    run = new_run(tmp_path, WAITING, asks=WAITING)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner())
    both = asyncio.Barrier(2)
    answered = await asyncio.gather(sit(run, "first", both, last_first=False), sit(run, "last", both, last_first=True))
    assert sum(answered) == WAITING and min(answered) > 0
    assert sorted(file.name for file in run.iterdir() if file.name.startswith("run.db")) == ["run.db"], "whole in its file"
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner())
    given = [episode.answer.removeprefix("done ") for episode in load_run(run).episodes()]
    assert given == ["first"] * answered[0] + ["last"] * answered[1]
