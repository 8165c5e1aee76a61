"""Rows in Thai and Vietnamese on a terminal: marks above and below a letter take no column, and stay with their letter."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Literal

import pytest
from rich.cells import cell_len

from talm_sim.cli import main
from talm_sim.cli.terminal.screen import wrap
from talm_sim.tasks import find_task
from tests.tasks.views import job

QUERIES = [one.query for one in find_task("refusal").load(job("refusal", language="th,vi"))]


def columns(line: str) -> int:
    """Columns of a terminal, by Unicode's own classes of characters."""
    return sum(unicodedata.category(sign) not in {"Mn", "Me", "Cf"} for sign in line)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("width", [20, 33, 77])
def test_no_line_is_too_wide_and_none_begins_with_a_mark(width: int, form: Literal["NFC", "NFD"]) -> None:
    for query in QUERIES:
        text = unicodedata.normalize(form, query)
        lines = list(wrap(text, width, "  ", "    "))
        assert all(columns(line) == cell_len(line) <= width for line in lines)
        assert not any(unicodedata.category(line.lstrip()[0]) == "Mn" for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split()), "nothing is lost"


def test_a_thai_episode_is_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = ["run", "--task", "refusal", "--model", "sim/oracle", "--language", "th", "--split", "removed", "--limit", "1", "-q"]
    assert main([*run, "--run-dir", str(tmp_path), "--run-id", "r"]) == 0
    scenario = next(one for one in find_task("refusal").load(job("refusal", language="th", split="removed", limit=1)))
    capsys.readouterr()
    assert main(["show", f"{tmp_path / 'r'}:{scenario.id}"]) == 0
    page = capsys.readouterr().out
    wide = [line for line in page.splitlines() if columns(line) > 80]
    assert not wide
    assert "".join(scenario.query.split()) in "".join(page.split())
    assert not any(unicodedata.category(line.lstrip()[:1] or " ") == "Mn" for line in page.splitlines())
