"""Engine `local`: its processes die, or the command does; nothing finished is lost or played twice, and no process is left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.events import RunEvent, ShardsProgress
from talm_sim.store.stored_run import StoredRun, load_run
from tests.runs.engines.test_engines import content
from tests.runs.killed import until
from tests.runs.recorded_world import make_world
from tests.warm import warm_python

PYTHON = sys.executable
PATIENCE_S = 100.0
"""Only what hangs takes so long."""


@pytest.fixture(autouse=True)
def _processes_start_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", warm_python())


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of 32 episodes that take a while."""
    slow = {"model_options": {"latency": "0.05"}, "epochs": 4, "max_episodes": 2}
    return {**make_world(tmp_path), **slow, "split": "all", "human": "none", "tools": "replay"}


def same(run: StoredRun, alone: StoredRun) -> None:
    """See that two runs have the same episodes, verdicts and rows, but for times and attempts."""
    once = [[{**one, "attempt": 1} for one in content(played)] for played in (run, alone)]
    assert once[0] == once[1]
    verdicts = [sorted(verdict.model_dump_json() for verdict in played.verdicts()) for played in (run, alone)]
    assert verdicts[0] == verdicts[1] and verdicts[0]
    times = {"run", "elapsed_s", "seconds", "seconds_each", "waited_seconds"}
    rows = [[{key: value for key, value in one.record().items() if key not in times} for one in played.summary()] for played in (run, alone)]
    assert rows[0] == rows[1]


def begin(folder: Path, world: dict[str, Any]) -> subprocess.Popen[str]:
    """Start the command in a process of its own number, and let it start others that are warm."""
    text = "--replay --human none --split all --epochs 4 -M latency=.2 --run-id r --on local:2 --model sim/oracle"
    words = ["run", *text.split(), "--scenarios", str(world["scenarios"]), "--cassettes", str(world["cassettes"])]
    text = f"import sys; sys.executable = {warm_python()!r}; from talm_sim.cli import main; sys.exit(main({words!r}))"
    environ = {**os.environ, "TALM_SIM_MAX_EPISODES": "2"}
    return subprocess.Popen([PYTHON, "-c", text], cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def shards_of(place: Path) -> list[StoredRun]:
    """Wait until some episodes of each shard are finished, and return the shards."""
    until(lambda: len(found := [*place.glob("shard-*-of-2")]) == 2 and all(StoredRun(one).finished >= 2 for one in found))
    return [StoredRun(one) for one in place.glob("shard-*-of-2")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_is_resumed_and_is_that_of_one_process(tmp_path: Path, world: dict[str, Any], number: signal.Signals) -> None:
    with begin(tmp_path, world) as child:
        shards = shards_of(tmp_path / "runs" / ".r.shards")
        child.send_signal(number)
        _, err = child.communicate(timeout=PATIENCE_S)
        until(lambda: not [one for one in shards if one.owner])
    if number is signal.SIGINT:
        said = r"interrupted: \d+ of 32 episodes finished; everything is kept\.\nContinue with: talm-sim resume runs/r\n"
        assert re.search(said, err) and (child.returncode, "Traceback" in err) == (130, False), err
    kept = {episode.id: episode.started_at for one in shards for episode in one.episodes()}
    assert 4 <= len(kept) < 32
    run = talm_sim.resume("r", run_dir=tmp_path / "runs", progress=False)
    assert kept.items() <= {episode.id: episode.started_at for episode in run.episodes()}.items(), "nothing finished is played twice"
    same(run, talm_sim.run(**world, run_id="alone", progress=False))
    assert len(run.shards) == 2 and not [path for path in run.path.parent.iterdir() if path.name.startswith(".")]


def test_a_process_that_is_killed_is_replaced(tmp_path: Path, world: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    killed: list[int] = []

    def kill_at_first(event: RunEvent) -> None:
        if isinstance(event, ShardsProgress) and not killed and (shards := shards_of(tmp_path / "runs" / ".r.shards")):
            owner = shards[0].owner
            assert owner is not None
            killed.append(owner.pid)
            os.kill(owner.pid, signal.SIGKILL)

    run = talm_sim.run(**world, on="local:2", run_id="r", on_event=kill_at_first)
    same(run, talm_sim.run(**world, run_id="alone", progress=False))
    assert [message.partition(": ")[2] for message in caplog.messages if "killed" in message] == [
        "its process was killed by SIGKILL; another one continues"
    ]
    assert killed and {episode.attempt for episode in run.episodes()} == {1, 2}


def test_code_of_the_users_that_ends_its_process_ends_its_shard_in_a_line(
    tmp_path: Path, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = ["import os", "async def agent(messages, tools):", "    print('an agent prints this')", "    if 'rome' in messages[0].text:"]
    (tmp_path / "fatal.py").write_text("\n".join([*lines, "        os._exit(7)", "    return 'Yes'"]), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    options = {**world, "model_options": {}, "split": "perfect", "epochs": 1, "agent": "fatal:agent", "progress": False}
    del options["model"]
    with pytest.raises(PrerequisiteError) as failed:
        talm_sim.run(**options, on="local:2", run_id="r")
    died = r"1 of 2 shards failed, for example ./2: its process died 4 times, the last time gone with exit code 7; find out why, .*\. "
    again = f"talm-sim resume {tmp_path / 'runs' / 'r'} --agent fatal:agent"
    assert re.fullmatch(f"{died}The others are kept. Continue with: {again}", str(failed.value))
    assert (told := capfd.readouterr()).out == "" and "an agent prints this" in told.err


def test_earlier_versions_wrote_how_many_processes_played(tmp_path: Path, world: dict[str, Any]) -> None:
    run = talm_sim.run(**{**world, "epochs": 1, "model_options": {}}, progress=False, budget="minutes=0.00001")
    manifest = run.path / "run.json"
    text = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**text, "config": {**text["config"], "workers": 2}}), encoding="utf-8")
    assert load_run(run.path).manifest == run.manifest
