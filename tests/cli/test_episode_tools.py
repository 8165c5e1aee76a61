"""Commands over tools that each episode has of its own: listed, called by what they declare, drafted and proved."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.wrong import Talm

TOOLS = '''
from talm_sim import tool_factory

class Hall:
    def __init__(self):
        self.booked = []

    def book(self, seat: str) -> dict[str, object]:
        """Book a seat, such as '12A'."""
        if seat in self.booked:
            raise ValueError(f"seat {seat} is taken")
        self.booked.append(seat)
        return {"seat": seat, "code": f"QX-{seat}-7"}

    def find(self, seat: str) -> dict[str, object]:
        """Find out about a seat, such as '12A'."""
        return {"seat": seat, "state": "booked by us" if seat in self.booked else "free to book"}

    find.read_only = True

    def tidy(self):
        self.booked.clear()

@tool_factory
async def make():
    return Hall()

class Wants:
    def __init__(self, path):
        pass

hall = Hall()
shared = [hall.book, hall.find]
'''


@pytest.fixture(autouse=True)
def hall(tmp_path: Path, nothing_given: None) -> Iterator[None]:
    (tmp_path / "hall.py").write_text(TOOLS, encoding="utf-8")
    yield
    sys.modules.pop("hall", None)


def scenario(name: str) -> str:
    """One that books, and then asks about what it has booked: it holds of nobody's hall but its own."""
    calls = [{"name": tool, "arguments": {"seat": "3C"}} for tool in ("find", "book", "find")]
    facts = [(0, "free to book", "before"), (1, "QX-3C-7", "code"), (2, "booked by us", "after")]
    keys = {"before": "state", "code": "code", "after": "state"}
    required = [{"name": fact, "value": value, "call": call, "pointer": f"/{keys[fact]}"} for call, value, fact in facts]
    messages = [{"role": "user", "content": f"{name}: book seat 3C, and say how it is before and after, and the code."}]
    turns = [{"messages": messages, "gold_calls": calls}]
    target = {"type": "facts", "required": required}
    return json.dumps({"id": name, "group": "perfect", "turns": turns, "tools": ["book", "find"], "target": target})


@pytest.mark.parametrize("place", ["hall:Hall", "hall:make"])
def test_they_are_listed_and_called_each_time_anew(place: str, talm: Talm) -> None:
    code, listed, said = talm("tools", "list", "--tools-from", place, "--json")
    assert (code, [one["name"] for one in json.loads(listed)]) == (0, ["book", "find"])
    assert f"hall: skipped: {'Hall' if 'Hall' in place else 'make'}.tidy: has no docstring" in said
    code, checked, _ = talm("tools", "check", "--tools-from", place, "--writing", "--json")
    assert (code, [(one["tool"], one["up"], one["failed"]) for one in json.loads(checked)]) == (0, [("book", True, 0), ("find", True, 0)])
    assert talm("tools", "check", "--tools-from", "hall:shared", "--writing")[0] == 1, "of one hall the seat is taken the second time"


def test_without_writing_only_what_is_declared_read_only_is_called(talm: Talm) -> None:
    code, out, said = talm("scenarios", "init", "--tools-from", "hall:Hall", "--out", "made.jsonl", "--json")
    drafted = {one["tool"]: one["why_none"] for one in json.loads(out)}
    assert code == 0 and drafted == {"find": "", "book": "not called: may change data"}, said
    code, out, _ = talm("scenarios", "init", "--tools-from", "hall:Hall", "--writing", "--out", "made.jsonl", "--force", "--json")
    assert code == 0 and all(one["scenarios"] for one in json.loads(out)), "a tool that can be used once is called twice"


@pytest.mark.parametrize("place", ["hall:Hall", "hall:make"])
def test_the_calls_of_a_scenario_are_proved_in_a_state_of_its_own(place: str, talm: Talm) -> None:
    Path("two.jsonl").write_text(f"{scenario('One')}\n{scenario('Two')}\n", encoding="utf-8")
    code, out, said = talm("scenarios", "check", "--scenarios", "two.jsonl", "--tools-from", place)
    assert (code, out) == (0, "") and "2 scenarios checked: all sound" in said
    code, out, _ = talm("scenarios", "check", "--scenarios", "two.jsonl", "--tools-from", "hall:shared")
    assert code == 1 and "fact" in out, "of one hall they do not hold"


def test_a_class_that_wants_arguments_is_one_line(talm: Talm) -> None:
    code, out, said = talm("tools", "list", "--tools-from", "hall:Wants")
    told = "Wants: takes 'path', but is called without arguments; pass a function marked @talm_sim.tool_factory that creates it."
    assert (code, out, said) == (2, "", f"talm-sim: error: --tools-from hall:Wants: {told}\n")
