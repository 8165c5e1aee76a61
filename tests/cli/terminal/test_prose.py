"""Long texts on the screen: whole, within its width, in no time, and by pages where a person looks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, Group

from talm_sim.cli.terminal.prose import indent, prose
from talm_sim.types import ModelTurn
from tests.cli.conftest import episode, scenario
from tests.cli.wrong import Talm
from tests.growth import TIMES, check_growth
from tests.runs.stored import store

LONG = 25_000


def shown(text: str, width: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(Group(indent(indent(prose(text, "dim")))), crop=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    "line", ["x\n", "some words of an answer, and more of them than fit a line\n", "solid", "北京 naïve 🇫🇷\n", "a\tb\n\n", " deep\n"]
)
def test_a_long_text_is_shown_whole_within_the_width(line: str) -> None:
    text = line * (LONG // len(line) + 1)
    found = shown(text)
    assert "".join(found.split()) == "".join(text.split())
    assert all(cell_len(one) <= 40 and one.startswith("    ") for one in found.splitlines() if one)
    if line.count("\n") == 1 and len(line) < 30:
        assert len(found.splitlines()) == text.count("\n") + 1


def long_run(directory: Path, text: str) -> None:
    asked = scenario("long", "perfect")
    kept = episode(asked, answer=text, model_turns=(ModelTurn(text=text),))
    config: dict[str, Any] = {"split": "all", "model": "openai/some", "models": "replay", "tools": "replay", "options": {"human": "none"}}
    store(directory / "runs", "a-run", [asked], [kept], **config)


def test_an_answer_of_many_lines_is_shown_in_a_time_in_step_with_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talm: Talm
) -> None:
    lines = 96_000
    for number in (lines // TIMES, lines):
        long_run(tmp_path / str(number), "x\n" * number)

    def show(number: int) -> None:
        monkeypatch.chdir(tmp_path / str(number))
        code, out, _ = talm("show", "a-run:long")
        assert (code, out.count("  x\n")) == (0, number)

    check_growth(show, lambda number: number, lines)
