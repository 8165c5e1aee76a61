"""How far it is from the command to the model, and from the command to a metric: the distinct files on the way, found by running it."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import talm_sim
from talm_sim.cli import main
from talm_sim.runs.api import run_async
from talm_sim.tasks.acting.agent_controls import AgentPolicy
from talm_sim.tasks.talm import measures
from talm_sim.tasks.talm.task import TalmTask

PACKAGE = Path(talm_sim.__file__).parent
MOST_STOPS = 136
ENTRANCE = {"cli/__init__.py", "cli/parsing/options.py", "cli/parsing/field_options.py", "cli/parsing/lazy.py", "cli/root.py", "__main__.py"}
"""How a command line finds its command: the same for every one, and not on the way of the data."""


def test_six_files_from_the_command_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "1")
    seen: list[str] = []
    real = AgentPolicy.generate

    async def generate(self: Any, *args: Any) -> Any:
        if not seen:
            seen.extend(_files(_on_the_way()))
        return await real(self, *args)

    monkeypatch.setattr(AgentPolicy, "generate", generate)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--split", "perfect", "--limit", "1", "--model", "sim/oracle", "--display", "none"]) == 0
    capsys.readouterr()
    print("from command to model:", " > ".join(seen))
    assert seen[0] == "cli/commands/run.py" and "agent/graph.py" in seen
    assert len(seen) <= 6, seen


def test_four_files_from_the_command_to_a_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def summarize(rows: Sequence[Any], run: Any) -> Any:
        seen[:] = _files(iter([frame for frame, _ in traceback.walk_stack(sys._getframe())][::-1]))
        return measures.summarize(rows, run)

    monkeypatch.setattr(TalmTask, "summarize", staticmethod(summarize))
    monkeypatch.chdir(tmp_path)
    for words, first in (
        # What a run prints is computed as its judging ends, in a thread.
        (["run", "--split", "perfect", "--limit", "1", "--model", "sim/oracle", "--display", "none", "--run-id", "r"], "store/stored_run.py"),
        (["report", "r"], "cli/commands/report.py"),
    ):
        assert main(words) == 0
        capsys.readouterr()
        way = [*dict.fromkeys(seen), "tasks/talm/measures.py"]
        print("from command to metric:", " > ".join(way))
        assert way[0] == first
        assert len(way) <= 4, way


def _on_the_way() -> Iterator[FrameType]:
    """What started the loop, then the tasks in the order in which they were made: each but the last waits for a later one."""
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe())][::-1]
    loop = next(place for place, frame in enumerate(frames) if frame.f_code.co_name == "run_forever")
    yield from frames[:loop]
    for task in sorted(asyncio.all_tasks(), key=lambda task: int(task.get_name().rpartition("-")[2])):
        waiting: Any = task.get_coro()
        while waiting is not None and getattr(waiting, "cr_frame", None) is not None:
            yield waiting.cr_frame
            waiting = waiting.cr_await
    yield from frames[loop:]


def _files(frames: Iterator[FrameType]) -> list[str]:
    """Files of the package in the order of the way, those of the entrance left out."""
    found: dict[str, None] = {}
    for frame in frames:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE) and str(path.relative_to(PACKAGE)) not in ENTRANCE:
            found.setdefault(str(path.relative_to(PACKAGE)))
    return list(found)


async def test_the_way_of_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `run_async` to the model's first turn: the files entered, in order, one counted again when it is returned to.

    A function that another one calls again and again is entered once, and what lies below the rooms of runs and tasks is left out.
    """
    stops: list[str] = []
    seen: set[tuple[CodeType, CodeType]] = set()
    ended = False
    real = AgentPolicy.generate

    def watch(frame: FrameType, event: str, _: object) -> None:
        caller = _caller_of(frame) if event == "call" and not ended and _is_stop(frame) else None
        if caller is None or (caller.f_code, frame.f_code) in seen or caller.f_code.co_filename == frame.f_code.co_filename:
            return
        seen.add((caller.f_code, frame.f_code))
        here, there = (str(Path(one.f_code.co_filename).relative_to(PACKAGE)) for one in (caller, frame))
        stops.extend([there] if stops[-1:] == [here] else [here, there])

    async def generate(self: Any, *args: Any) -> Any:
        nonlocal ended
        ended = True
        return await real(self, *args)

    monkeypatch.chdir(tmp_path)
    # It imports what a first run imports; elsewhere, as a second run within the same second gets a name that is looked for.
    await run_async(split="perfect", limit="1", model="sim/oracle", run_dir="before")
    monkeypatch.setattr(AgentPolicy, "generate", generate)
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        await run_async(split="perfect", limit="1", model="sim/oracle")
    finally:
        sys.setprofile(before)
    print("set-up:", len(stops), "files entered:", " > ".join(stops))
    assert stops[0] == "runs/api.py" and ended
    assert len(stops) <= MOST_STOPS, "the set-up goes to and fro more than it did"


def _is_stop(frame: FrameType) -> bool:
    path = Path(frame.f_code.co_filename)
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] in {"runs", "store", "comparison", "tasks"}


def _caller_of(frame: FrameType) -> FrameType | None:
    """The nearest function below that lies in the rooms that are looked at."""
    below = frame.f_back
    while below is not None and not _is_stop(below):
        below = below.f_back
    return below
