"""A run whose episodes each have tools of their own: none sees what another did, and all are closed when the run ends or is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.runs.events import RunStarted
from talm_sim.store.desk import answer
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Episode
from tests.warm import warm_python


class Hall:
    """A hall whose seats can each be booked once."""

    open_halls: int
    most_open: int

    def __init__(self) -> None:
        type(self).open_halls += 1
        type(self).most_open = max(type(self).most_open, type(self).open_halls)
        self.booked: list[str] = []

    def book(self, seat: str) -> dict[str, object]:
        """Book a seat."""
        if seat in self.booked:
            raise ValueError(f"seat {seat} is taken")
        self.booked.append(seat)
        return {"seat": seat, "number": len(self.booked)}

    def free(self) -> dict[str, int]:
        """Count the free seats."""
        return {"free": 100 - len(self.booked)}

    free.read_only = True  # type: ignore[attr-defined]

    async def aclose(self) -> None:
        type(self).open_halls -= 1


@pytest.fixture(autouse=True)
def _empty() -> None:
    Hall.open_halls = Hall.most_open = 0


def scenarios(directory: Path, number: int, **more: Any) -> Path:
    """Book seat A1 and count what is left: all ask for the same, which only the first could have of one hall."""
    file = directory / "scenarios.jsonl"
    rows = [
        {
            "id": f"s{n:02}",
            "group": "perfect",
            "turns": [
                {
                    "messages": [{"role": "user", "content": f"Request {n}: book seat A1 and count what is left."}],
                    "gold_calls": [{"name": "book", "arguments": {"seat": "A1"}}, {"name": "free", "arguments": {}}],
                }
            ],
            "tools": ["book", "free"],
            "target": {
                "type": "facts",
                "required": [
                    {"name": "number", "value": 1, "call": 0, "pointer": "/number"},
                    {"name": "free", "value": 99, "call": 1, "pointer": "/free"},
                ],
            },
            **more,
        }
        for n in range(number)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def passed(run: StoredRun) -> tuple[int, int]:
    (rate,) = [one for summary in run.summary() for one in summary.measures if one.name == "pass_rate"]
    return rate.k or 0, rate.n or 0


def told(notices: list[str]) -> Any:
    def hear(event: Any) -> None:
        if isinstance(event, RunStarted):
            notices.extend(event.notices)

    return hear


def test_64_episodes_at_once_each_find_the_hall_empty(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"scenarios": scenarios(tmp_path, 64), "model": "sim/oracle", "run_dir": tmp_path, "max_episodes": 64}
    notices: list[str] = []
    own = talm_sim.run(tools=Hall, on_event=told(notices), **shared)
    assert (passed(own), notices, Hall.open_halls) == ((64, 64), [], 0) and Hall.most_open > 1
    hall = Hall()
    one = talm_sim.run(tools=[hall.book, hall.free], on_event=told(notices), **shared)
    assert passed(one)[0] < 64, "this is what they see of each other in one hall"
    assert notices == ['book may change data, and all episodes share it: one may see what another did; see "State" in docs/tools.md']


def test_tools_that_one_episode_uses_alone_are_shared_with_nobody(tmp_path: Path) -> None:
    notices: list[str] = []
    hall = Hall()
    run: dict[str, Any] = {"tools": [hall.book, hall.free], "model": "sim/oracle", "run_dir": tmp_path, "on_event": told(notices)}
    talm_sim.run(scenarios=scenarios(tmp_path, 1), **run)
    assert notices == []
    talm_sim.run(scenarios=scenarios(tmp_path, 1), epochs=2, **run)
    assert len(notices) == 1


MISSING = {
    "group": "underspecified",
    "missing": {"kind": "argument", "name": "seat", "value": "A1", "removed_text": "seat A1", "human_answer": "Seat A1."},
}


def test_an_episode_that_waits_starts_again_with_new_tools_in_another_process(tmp_path: Path) -> None:
    notices: list[str] = []

    async def act(messages: Any, tools: Any) -> str:
        by_name = {tool.name: tool for tool in tools}
        await by_name["book"].ainvoke({"seat": "B7"})
        seat = await by_name["ask_human"].ainvoke({"question": "Which seat?"})
        return f"{await by_name['book'].ainvoke({'seat': seat})} {await by_name['free'].ainvoke({})}"

    world: dict[str, Any] = {"scenarios": scenarios(tmp_path, 1, **MISSING), "tools": Hall, "human": "terminal", "run_dir": tmp_path}
    stored = talm_sim.run(agent=act, on_event=told(notices), **world)
    assert stored.waiting == 1 and Hall.open_halls == 0, "what waits is closed with the command"
    (question,) = stored.pending()
    answer(stored.path, question.key, "A1")
    (episode,) = talm_sim.resume(stored, agent=act, tools=Hall).episodes()
    assert (episode.answer, episode.attempt) == ("{'seat': 'A1', 'number': 2} {'free': 98}", 2)
    assert Hall.open_halls == 0


@pytest.mark.parametrize("tools", [Hall, "shared"])
def test_our_agent_starts_again_only_where_its_tools_are_its_own(tmp_path: Path, tools: Any) -> None:
    notices: list[str] = []
    hall = Hall()
    given = [hall.book, hall.free] if tools == "shared" else tools
    world: dict[str, Any] = {
        "scenarios": scenarios(tmp_path, 1, **MISSING),
        "tools": given,
        "human": "terminal",
        "run_dir": tmp_path,
        "model": "sim/asker",
    }
    stored = talm_sim.run(on_event=told(notices), **world)
    (question,) = stored.pending()
    answer(stored.path, question.key, "Seat A1.")
    episode: Episode
    (episode,) = talm_sim.resume(stored, tools=given, on_event=told(notices)).episodes()
    assert episode.human_events[0].answer == "Seat A1."
    again = [line for line in notices if "restart on resume, with new tools; your answers are kept" in line]
    assert (episode.attempt, len(again)) == ((1, 0) if tools == "shared" else (2, 2))
    if tools == "shared":
        return
    assert [event.result for event in episode.tool_events] == ['{"seat":"A1","number":1}', '{"free":99}']


SLOW = """
from pathlib import Path

class Hall:
    def book(self, seat: str) -> str:
        "Book a seat."
        Path("closed").unlink()  # of the one that was looked at
        Path("booking").write_text(seat)
        __import__("time").sleep(600)

    def free(self) -> int:
        "Count the free seats."

    def close(self):
        Path("closed").write_text("yes")
"""


def test_they_are_closed_when_the_run_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    words = ["run", "--scenarios", str(scenarios(tmp_path, 1)), "--tools-from", "slow:Hall", "--model", "sim/oracle", "--run-id", "cut"]
    program = subprocess.Popen([warm_python(), "-m", "talm_sim", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "booking").is_file():
            assert program.poll() is None, program.stderr and program.stderr.read()
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=100)
    finally:
        program.kill()
    assert program.returncode == 130 and "talm-sim resume cut" in said and "Traceback" not in said
    assert (tmp_path / "closed").is_file()
