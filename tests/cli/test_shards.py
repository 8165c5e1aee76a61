"""`run --shard` and `runs merge`: what a person types and reads, and what a job array makes of the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from tests.runs.recorded_world import make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    made = make_world(tmp_path)
    shared = ["--scenarios", str(made["scenarios"]), "--cassettes", str(made["cassettes"]), "--model", "sim/oracle"]
    return ["run", *shared, "--split", "perfect,underspecified", "-q"]


def test_shards_with_controls_print_the_table_of_one_process(world: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*world, "--controls", "--run-id", "one"]) == 0
    for part in ("1", "2"):
        assert main([*world, "--controls", "--run-id", f"part-{part}", "--shard", f"{part}/2"]) == 0
    capsys.readouterr()
    assert main(["runs", "merge", "all", "part-2", "part-1"]) == 0
    out, err = capsys.readouterr()
    controls = sorted(path.name.removeprefix("one.") for path in Path("runs").glob("one.*"))
    assert controls
    assert out.split() == ["runs/all", *(f"runs/all.{name}" for name in controls)]
    assert err == "2 shards merged: 8 episodes\nprint its table: talm-sim report all\n"
    for more in ("", *(f".{name}" for name in controls)):
        tables = []
        for name in ("one", "all"):
            assert main(["report", f"{name}{more}", "--json"]) == 0
            tables.append([{**group, "run": ""} for group in json.loads(capsys.readouterr().out)])
        assert tables[0] == tables[1]
    assert main(["runs", "list", "--json"]) == 0
    listed: dict[str, Any] = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert [one["part"] for one in listed["all"]["shards"]] == ["1/2", "2/2"]
    assert listed["one"]["shards"] == []
    assert listed["all"]["rate"] == listed["one"]["rate"]
    assert main(["report", "all", "--html", "page.html"]) == 0
    assert re.search(r"merged from 2: part-1 \(1/2, \d episodes\), part-2 \(2/2, \d episodes\)", Path("page.html").read_text())
    assert main(["report", "part-1", "--html", "page.html"]) == 0
    assert "shard 1/2" in Path("page.html").read_text()


def test_a_shard_without_scenarios_does_not_fail_a_job_array(world: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--dry-run",)):
        assert main([*world, "--shard", "1/100", *more]) == 0
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("talm-sim: shard 1/100 has none of the 8 scenarios; nothing")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--shard", "3/2"], r"--shard: there is no shard 3/2: write I/N, with I from 1 to N\."),
        (["--shard", "1/2", "--gate", "pass_rate>=0.5"], r"--gate: .*"),
    ],
)
def test_a_wrong_shard_is_one_line(world: list[str], capsys: pytest.CaptureFixture[str], line: list[str], said: str) -> None:
    assert main([*world, *line]) == 2
    assert re.fullmatch(f"talm-sim: error: {said}\n", capsys.readouterr().err)


def test_shards_that_do_not_fit_are_one_line(world: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*world, "--run-id", "part-1", "--shard", "1/2"]) == 0
    assert main([*world, "--run-id", "other", "--shard", "2/2", "--temperature", "1"]) == 0
    capsys.readouterr()
    for shards, said in (
        (["part-1"], r"\d of 8 scenarios are missing: give shard 2/2 as well\."),
        (["part-1", "other"], r"runs/other: --temperature is '1.0', and in runs/part-1 none; only shards of one run can be merged\."),
        (["nosuch"], r"nosuch: no such run\..*"),
    ):
        assert main(["runs", "merge", "all", *shards]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert re.fullmatch(f"talm-sim: error: {said}\n", err)
    assert not Path("runs/all").exists()
