"""Two people at the desk of one run, who begin at different ends."""

from __future__ import annotations

import asyncio
import io
import os
from collections import Counter
from contextlib import closing
from pathlib import Path

from rich.console import Console

from talm_sim.cli.person.sitting import Sitting
from talm_sim.cli.person.typed_lines import LineReader
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import Desk
from talm_sim.store.files.store import RunStore
from talm_sim.store.questions import answered_episodes
from talm_sim.store.stored_run import load_run
from tests.cli.person.typist import Typist
from tests.runs.scripted import ScriptedRunner, new_run

WAITING = 12


async def sit(run: Path, who: str, both: asyncio.Barrier) -> int:
    """Answer with one's name until nothing is open; how many were."""
    source, sink = os.pipe()
    os.write(sink, f"{who}\n".encode() * WAITING)
    os.close(sink)
    console = Console(file=io.StringIO(), width=80)
    begun = False
    with (
        closing(LineReader(console, source)) as lines,
        closing(Desk(run)) as desk,
        closing(Sitting(desk, console, lines, who)) as sitting,
    ):
        while await sitting.put_next() == "put":
            if sitting.answered and not begun:
                begun = True
                await both.wait()  # else one might be done before the other has begun
    os.close(source)
    return sitting.answered


async def test_the_last_answer_goes_at_once(tmp_path: Path) -> None:
    run = new_run(tmp_path, 1, asks=1)
    lines, console = Typist("Rome", "u", "Paris", "1"), Console(file=io.StringIO(), width=80)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
        with closing(Sitting(store.desk, console, lines, "me")) as sitting:
            assert await sitting.put_next() == "put"
            assert answered_episodes(store.reader) == ["ask-000"]
        given = store.desk.answer_to(("ask-000", 1, "ask-000#1-1"))
    assert given is not None and given.text == "Paris", "what is typed wrong is changed before it is sent"


async def test_two_share_the_questions(tmp_path: Path) -> None:
    run = new_run(tmp_path, WAITING, asks=WAITING)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    both = asyncio.Barrier(2)
    answered = await asyncio.gather(sit(run, "first", both), sit(run, "last", both))
    assert sum(answered) == WAITING and min(answered) > 0
    assert sorted(file.name for file in run.iterdir() if file.name.startswith("run.db")) == ["run.db"], "whole in its file"
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    given = [episode.answer.removeprefix("done ") for episode in load_run(run).episodes()]
    assert Counter(given) == {"first": answered[0], "last": answered[1]}
