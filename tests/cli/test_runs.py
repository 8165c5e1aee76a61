"""`runs list|delete|rename`: what a directory of runs looks like, and what becomes of a run."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from talm_sim import run
from talm_sim.cli import main
from talm_sim.store.files.store import RunStore
from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import load_run
from tests.runs.crafting import changed
from tests.warm import warm_python


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a real model's recording, a control beside it, one compared with it, and one that waits for a person."""
    directory = tmp_path_factory.mktemp("played")
    shared: dict[str, Any] = {"limit": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        run(**shared, run_id="20260102-030405-smollm2-135m-all")
        run(**shared, model="sim/oracle", run_id="20260102-030405-smollm2-135m-all.sim-oracle")
        run(**shared, split="no-tools", model="sim/oracle", run_id="compared", paired_run=Path("20260102"))
        run(**shared, split="underspecified", model="sim/asker", human="terminal", run_id="a-name-that-is-very-long-indeed")
    return directory / "runs"


@pytest.fixture
def runs(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of those runs, in `runs/` of the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(played, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("width", "heads", "first"),
    [
        (120, "Run When Task Model Split Human Done Result", r"\d+ (?:s|min) +talm smollm2-135m all +recorded +5/5 +Passed \.00$"),
        (80, "Run When Model Split Done Result", r"\d+ (?:s|min) +smollm2-135m all +5/5 +Passed \.00$"),
        (60, "Run When Model Done Result", r"\d+ (?:s|min) +smollm2-135m 5/5 +Passed \.00$"),
    ],
)
def test_a_narrow_list_has_fewer_columns_and_breaks_no_word(
    width: int, heads: str, first: str, runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talm_sim.cli.terminal.console._PLAIN_WIDTH", width)
    assert main(["runs", "list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == heads.split() and not any("…" in line for line in lines)
    assert max(map(len, lines)) <= width
    assert re.match(f"20260102-030405 +{first}", lines[0])
    assert lines[1].startswith("  .sim-oracle   ")
    waiting = next(number for number, line in enumerate(lines) if line.startswith("a-name-that-is-"))
    assert " 0/1 " in lines[waiting]
    assert "1 waiting" in " ".join(lines[waiting:])
    for name in (line.split()[0] for line in lines if line[0] != " "):
        assert load_run(name, runs).path.parent == runs  # what is shown can be typed


def test_a_run_whose_model_had_no_room_says_so(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with changed(runs / "compared") as conn:
        conn.execute("UPDATE episodes SET termination = 'context_overflow'")
        conn.execute("UPDATE meta SET value = json_set(value, '$.value', NULL, '$.k', 0, '$.n', 0) WHERE key = 'first_measure'")
    assert main(["runs", "list"]) == 0
    assert re.search(r"compared .* 1/1 +1 not scored$", capsys.readouterr().out, re.MULTILINE)


def test_a_run_has_no_rate_until_it_is_judged(runs: Path) -> None:
    with changed(runs / "compared") as conn:
        conn.execute("DELETE FROM meta WHERE key = 'first_measure'")
    info = next(info for info in list_runs(runs) if info.id == "compared")
    assert (info.rate, info.finished) == (None, 1)
    assert main(["judge", "compared"]) == 0
    assert load_run("compared").first_measure is not None


def test_runs_are_listed_without_a_look_at_their_episodes(runs: Path) -> None:
    """The rate is stored, and one connection reads it all: no episode is looked at."""
    load_run("compared")
    with changed(runs / "compared") as conn:
        conn.execute("UPDATE episodes SET body = x'00'")
    assert [info.problem for info in list_runs(runs)] == [""] * 4


def test_a_run_is_deleted_with_its_controls_once_it_is_said_twice(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["runs", "delete", "2026"]) == 2
    err = capsys.readouterr().err
    assert "compared is compared with it, and will lose its pairs" in err
    assert (
        "delete 2 runs (20260102-030405-smollm2-135m-all, 20260102-030405-smollm2-135m-all.sim-oracle)? "
        "There is no terminal to ask at; add --yes." in err
    )
    assert len(list_runs(runs)) == 4
    assert main(["runs", "delete", "2026", "latest", "--yes"]) == 0
    assert [info.id for info in list_runs(runs)] == ["compared"]
    assert sorted(path.name for path in runs.iterdir()) == ["compared"]
    assert main(["runs", "delete", "nosuch", "--yes"]) == 2


def test_a_run_keeps_its_controls_when_it_is_renamed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "rename", "2026", "mine"]) == 0
    out, err = capsys.readouterr()
    assert out == "runs/mine\n"
    assert err == "compared is compared with it by its old name; give it the new one with: talm-sim judge compared --paired-run mine\n"
    assert {info.id for info in list_runs(runs)} == {"mine", "mine.sim-oracle", "compared", "a-name-that-is-very-long-indeed"}
    assert load_run("mine").id == "mine"
    assert main(["judge", "compared", "--paired-run", "mine"]) == 0
    assert main(["resume", "mine"]) == 0
    capsys.readouterr()
    for name, said in (("compared", "exists; choose another name"), ("latest", "always means the newest run"), ("a/b", "is not a run name")):
        assert main(["runs", "rename", "mine", name]) == 2
        assert said in capsys.readouterr().err


async def test_a_run_in_the_hands_of_a_process_is_left_alone(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with RunStore.open(runs / "compared"):
        for line in (["delete", "compared", "--yes"], ["rename", "compared", "other"]):
            assert main(["runs", *line]) == 2
            assert "is being run by process" in capsys.readouterr().err
    assert main(["runs", "delete", "compared", "--yes"]) == 0


@pytest.mark.parametrize(("typed", "left"), [("n", 4), ("y", 3)])
def test_a_person_at_a_terminal_is_asked(runs: Path, typed: str, left: int) -> None:
    ours, theirs = pty.openpty()
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    line = [warm_python(), "-m", "talm_sim", "runs", "delete", "compared"]
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=runs.parent) as process:
        os.close(theirs)
        said = b""
        while b"[y/N]:" not in said:
            said += os.read(ours, 1000)
        os.write(ours, f"{typed}\n".encode())
        assert process.wait(30) == (0 if typed == "y" else 130)
    os.close(ours)
    assert b"delete compared?" in said
    assert len(list_runs(runs)) == left
