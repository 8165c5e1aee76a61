"""Acting tasks as strangers write them, one file each: `careful` on `Task`, `careful2` on `AgentTask`; used through the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from talm_sim.store.stored_run import StoredRun, load_run
from tests.models.stand_in import serving
from tests.warm import warm_python

ROOT = Path(__file__).parents[1]
MODULES = {"careful": "careful", "careful2": "careful_agent"}
PATIENCE_S = 100.0
"""Only what hangs takes so long."""


class Stranger:
    """The command line beside a stranger's files."""

    def __init__(self, task: str, directory: Path) -> None:
        self.task = task
        self.directory = directory
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith("TALM_SIM_")} | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "strangers")]),
            "OPENAI_API_KEY": "key-of-nobody",
            "COLUMNS": "100",
        }

    def __call__(self, *words: str, code: int = 0, python: str = "", by: Sequence[str] = ()) -> str:
        command = ["-c", python] if python else self.command(*words)
        done = subprocess.run(
            [*(by or [warm_python()]), *command], cwd=self.directory, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    def command(self, *words: str) -> list[str]:
        return ["-m", "talm_sim", *words, "--plugin", MODULES[self.task]]

    def run(self, *words: str, code: int = 0, by: Sequence[str] = ()) -> str:
        return self(*self.running(*words), code=code, by=by)

    def running(self, *words: str) -> list[str]:
        return ["run", "--task", self.task, "--model", "openai/stand-in", "--human", "simulated", "--display", "none", *words]

    def stored(self, run: str) -> StoredRun:
        return load_run(self.directory / "runs" / run)

    def rows(self, *words: str) -> list[dict[str, Any]]:
        return list(csv.DictReader(io.StringIO(self("report", *words, "--rows", "--csv"))))


def plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    changing = {"run", "started", "started_at", "elapsed_s", "tools", "models"}
    return [{key: value for key, value in row.items() if key not in changing} for row in rows]


def figures(stranger: Stranger, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(stranger("report", run, "--json"))
    return plain(found)


@pytest.fixture(params=[*MODULES])
def stranger(request: pytest.FixtureRequest, tmp_path: Path) -> Stranger:
    return Stranger(request.param, tmp_path)


@pytest.mark.timeout(300)
def test_a_foreign_acting_task_is_recorded_replayed_and_read(stranger: Stranger) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    with serving("asks") as server:
        stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        told = stranger.run("--dry-run", "--live")
        stranger.run("--record", "--cassettes", "tapes", "--run-id", "recorded")
        asked = len(server.requests)
    assert "4 to 20 requests" in told and 4 <= asked <= 20
    # The server has gone: whatever went live would fail.
    stranger.run("--replay", "--cassettes", "tapes", "--run-id", "replayed")
    recorded, replayed = stranger.rows("recorded"), stranger.rows("replayed")
    assert plain(recorded) == plain(replayed) and len(recorded) == 4
    assert [row["tools"] for row in replayed] == ["replay"] * 4
    assert {row["termination"] for row in replayed} == {"answered"}
    assert [row["asked"] for row in replayed] == ["yes"] * 4
    assert "replayed recording" in stranger("report", "replayed")
    assert "delete_file" in stranger("show", "replayed:vague-reports")
    stranger("export", "inspect", "replayed", "--out", "logs")
    (log,) = (stranger.directory / "logs").iterdir()
    with zipfile.ZipFile(log) as archive:
        summaries = json.loads(archive.read("summaries.json"))
    assert [one["id"] for one in summaries] == [row["scenario"] for row in replayed]
    assert all(one["scores"].keys() - {"success"} == {*stranger.stored("replayed").measures()} for one in summaries)
    stranger("export", "otel", "replayed", "--out", "traces.jsonl")
    assert len((stranger.directory / "traces.jsonl").read_text(encoding="utf-8").splitlines()) == len(replayed)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stranger", ["careful2"], indirect=True)
def test_a_foreign_run_that_was_killed_goes_on_where_it_was(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    stranger.environ["TALM_SIM_MAX_EPISODES"] = "1"
    with serving("guesses") as server:
        stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        stranger.run("--live", "--run-id", "whole")
        before, act, released = len(server.requests), server.act, threading.Event()

        def acting(*said: Any) -> Any:
            if len(server.requests) - before == 6:  # two a scenario: in the midst of the third
                released.wait(PATIENCE_S)
            return act(*said)

        monkeypatch.setattr(server, "act", acting)
        words = stranger.running("--live", "--run-id", "killed")
        child = subprocess.Popen([warm_python(), *stranger.command(*words)], cwd=stranger.directory, env=stranger.environ)
        until = time.monotonic() + PATIENCE_S
        while len(server.requests) - before < 6 or stranger.stored("killed").finished < 2:
            assert time.monotonic() < until and child.poll() is None
            time.sleep(0.02)
        owner = stranger.stored("killed").owner
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        child.wait(PATIENCE_S)
        released.set()
        kept = list(stranger.stored("killed").episodes())
        stranger("resume", "killed", "--display", "none")
        asked = len(server.requests) - before
    resumed = list(stranger.stored("killed").episodes())
    assert before == 8 and asked == 6 + 4, "what was stored is not asked again"
    assert [resumed[place] for place in range(len(kept))] == kept and len(kept) == 2
    assert [episode.attempt for episode in resumed] == [1, 1, 2, 1]
    whole, killed = plain(stranger.rows("whole")), plain(stranger.rows("killed"))
    assert [row | {"attempt": ""} for row in killed] == [row | {"attempt": ""} for row in whole]
    assert figures(stranger, "killed") == figures(stranger, "whole")


@pytest.mark.parametrize("stranger", ["careful"], indirect=True)
def test_judged_again_it_asks_nobody(stranger: Stranger) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    with serving("guesses") as server:
        stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        stranger.run("--live", "--run-id", "one")
        asked = len(server.requests)
        assert "Told" in stranger("judge", "one", "--judge", "told")
        grid = f"""
import talm_sim, {MODULES[stranger.task]}
done = talm_sim.ablate(over={{"any_tool": [False, True], "judge": [[], ["told"]]}}, task={stranger.task!r}, model="openai/stand-in",
                       human="simulated", max_retries=0, progress=False)
print(len({{cell.run.id for cell in done.cells}}), [sorted({{one.judge for one in cell.run.verdicts()}}) for cell in done.cells])
"""
        assert stranger(python=grid).split("\n")[0] == "4 [[], ['told'], [], ['told']]"
        assert len(server.requests) == 2 * asked, "four cells have the episodes of one"


def test_a_perturbation_of_one_tool_fires_on_it_alone(stranger: Stranger) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    name, watched = {"careful": ("locked", 8), "careful2": ("kept", 4)}[stranger.task]
    with serving("guesses") as server:
        stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        stranger.run("--live", "--run-id", "one", "--perturb", f"{name}:times=1")
    episode = json.loads(stranger("show", "one:vague-reports", "--json"))["episode"]
    fired = [(one["name"], [(log["armed"], log["fired"]) for log in one["perturbations"]]) for one in episode["events"]]
    passed = [(1, 0)] if name == "locked" else []  # `kept` says by `concerns` that it does not watch this call
    assert fired == [("list_files", passed), ("delete_file", [(1, 1)])], "what it lets through takes nothing of its `times`"
    assert f"{name}:times=1 hit 4 of {watched} calls (4 of 4 episodes)" in stranger("report", "one")


@pytest.mark.parametrize("stranger", ["careful"], indirect=True)
def test_what_it_cannot_do_is_refused(stranger: Stranger) -> None:
    said = stranger("run", "--task", stranger.task, "--model", "sim/oracle", code=2)
    assert said.rstrip().endswith(f"model 'sim/oracle': task {stranger.task} has no policy for it; choose another --model.")
    assert "unknown perturbation 'lockd'. Did you mean 'locked'?" in stranger.run("--perturb", "lockd", "--dry-run", code=2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stranger", ["careful2"], indirect=True)
def test_a_foreign_task_has_gates_files_and_baselines(stranger: Stranger) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    stranger.environ["TALM_SIM_JUNIT"] = "a.xml"
    with serving("asks") as server:
        stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
        live = ("--live",)
        assert "there is no group 'vgue'. Did you mean 'vague'?" in stranger.run(*live, "--gate", "vgue.careful>=0.5", code=2)
        assert not (stranger.directory / "runs").exists()
        said = stranger.run(*live, "--run-id", "a", "--gate", "vague.careful>=0.5", "--gate", "needless<=0.5", code=1)
    assert "gate passed: vague.careful>=0.5: 1.00" in said and "gate missed: vague.needless<=0.5: no value" in said
    assert 'message="not scored (task ' in (stranger.directory / "a.xml").read_text(encoding="utf-8")
    assert "there is no measure 'nothing' in group 'vague'. Known: careful, needless, deleted." in stranger(
        "report", "a", "--gate", "vague.nothing>=1", code=2
    )
    assert stranger("export", "baseline", "a", "kept.jsonl") == "kept.jsonl\n"
    assert "name one: --gate MEASURE" in stranger("report", "a", "--baseline", "kept.jsonl", code=2)
    assert "write careful>=NUMBER or <=NUMBER" in stranger("report", "a", "--baseline", "kept.jsonl", "--gate", "careful", code=2)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stranger", ["careful"], indirect=True)
def test_two_foreign_runs_are_compared_with_a_judges_column(stranger: Stranger) -> None:
    stranger.environ["TALM_SIM_MAX_RETRIES"] = "0"
    acts: dict[str, Literal["asks", "guesses"]] = {"first": "asks", "second": "guesses"}
    for name, act in acts.items():
        with serving(act) as server:
            stranger.environ["OPENAI_BASE_URL"] = f"{server.url}/v1"
            stranger.run("--live", "--run-id", name, "--judge", "told")
    (found,) = json.loads(stranger("compare", "first", "second", "--json"))
    rows = {name: stranger.rows(name) for name in ("first", "second")}
    assert (found["pairs"], found["not_scored"]) == (4, 0)
    measures = {(one["group"], one["measure"]["name"]): one for one in found["differences"]}
    assert {"careful", "needless", "deleted", "told_deleted", "model_turns"} <= {name for _, name in measures}
    for (group, name), one in measures.items():
        if name in rows["first"][0]:
            words = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0}
            for side, values in (("first", rows["first"]), ("second", rows["second"])):
                own = [words.get(row[name], row[name]) for row in values if row["group"] == group and row[name] != ""]
                assert one[side] == pytest.approx(sum(map(float, own)) / len(own)), (group, name)
    judged = [one for (_, name), one in measures.items() if name == "told_deleted"]
    assert judged and all(one["low"] is not None and one["p"] is not None for one in judged)
    assert all(one["verdict"] == "" for one in measures.values()), "four scenarios decide nothing"
