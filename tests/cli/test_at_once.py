"""A command makes its run's job once, and opens the database as rarely as it can."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.runs import resolve
from talm_sim.runs import stored_run as load
from talm_sim.runs.files.database import DATABASE
from talm_sim.tasks import job_of
from tests.cli.wrong import Talm


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """How many jobs were made, and how often a run's database was opened."""
    counts = {"jobs": 0, "openings": 0}
    connect = sqlite3.connect

    def connecting(database: Any, *words: Any, **named: Any) -> sqlite3.Connection:
        counts["openings"] += DATABASE in str(database)
        found: sqlite3.Connection = connect(database, *words, **named)
        return found

    def making(*words: Any) -> Any:
        counts["jobs"] += 1
        return job_of(*words)

    monkeypatch.setattr(sqlite3, "connect", connecting)
    for module in (load, resolve):
        monkeypatch.setattr(module, "job_of", making)
    yield counts


def test_a_run_and_what_reads_it(talm: Talm, counted: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = {}
    for words in ("run --model sim/oracle --replay --limit 1 --display none", "report", "report --rows --csv", "show latest"):
        counted.update(jobs=0, openings=0)
        assert talm(*words.split())[0] == 0
        seen[words.split(maxsplit=1)[0]] = dict(counted)
    assert seen["run"]["jobs"] <= 2 and seen["run"]["openings"] <= 4
    for command in ("report", "show"):
        assert seen[command] == {"jobs": 1, "openings": 1}, command
