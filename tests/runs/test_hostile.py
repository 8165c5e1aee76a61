"""A run directory may come from anyone: whatever lies in it, each command says one line and ends."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.runs.api import run
from tests.runs.crafting import HOSTILE, INSIDE, changed
from tests.runs.recorded_world import make_world

VERBS = (["report", "RUN", "--json"], ["show", "RUN"], ["resume", "RUN"], ["judge", "RUN"], ["answer", "RUN", "--list"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run that waits for four answers, and a sound one beside it."""
    world = make_world(tmp_path_factory.mktemp("world"))
    run(**world, run_id="good")
    return run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"}, run_id="bad").path.parent


@pytest.fixture
def bad(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run that waits, in a copy of its folder that the test may spoil."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs" / "bad"


@pytest.mark.parametrize("case", HOSTILE)
def test_every_command_says_one_line_and_ends(bad: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    make, message = HOSTILE[case]
    make(bad)
    inside = case in INSIDE
    for words in VERBS:
        began = time.monotonic()
        code = main([str(bad) if word == "RUN" else word for word in words])
        err = capsys.readouterr().err
        if inside and words[0] in ("report", "judge") and code != 2:
            continue
        assert code == 2, (words, err)
        assert err.count("\n") == 1, err
        assert re.search(message, err), err
        assert time.monotonic() - began < 60
    assert main(["runs", "list", "--json"]) == 0
    listed = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed["good"]["finished"] == 4
    assert inside or "bad" not in listed or listed["bad"]["problem"]
    assert not Path("written-through").exists()


def test_a_heart_that_beats_in_the_future_keeps_nobody_out(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with changed(bad) as conn:
        conn.execute("INSERT INTO lease VALUES (1, 't', 99999999999999, 'elsewhere', 'x', ?)", (time.time() + 1e9,))
    assert main(["resume", str(bad), "-q"]) == 1
    assert "question" in capsys.readouterr().err


def test_the_folder_of_runs_and_a_run_may_be_links(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("elsewhere").symlink_to(bad.parent)
    Path("one").symlink_to(bad)
    assert main(["report", "one", "--json"]) == main(["report", "good", "--run-dir", "elsewhere", "--json"]) == 0
