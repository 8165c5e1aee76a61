from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from talm_sim.common.processes import hidden_name, sweep
from talm_sim.recordings.shared_files import write_atomically
from talm_sim.store.listing import list_runs
from tests.runs.scripted import new_run

MAKE = """
import sys
from pathlib import Path
from talm_sim.common.processes import hidden_name
path = Path(sys.argv[1]) / hidden_name("x", ".tmp")
path.touch()
print(path.name, flush=True)
input()
"""


def test_what_dead_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", MAKE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    theirs, mine = tmp_path / child.stdout.readline().strip(), tmp_path / hidden_name("y")
    mine.mkdir()
    (tmp_path / ".keep").touch()
    sweep(tmp_path)
    assert theirs.exists(), "its process lives"
    child.kill()
    child.communicate()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([".keep", mine.name])


@pytest.mark.parametrize(("hours", "stays"), [(23, True), (25, False)])
def test_what_nobody_here_can_tell_of_goes_when_it_is_old(tmp_path: Path, hours: int, stays: bool) -> None:
    left = tmp_path / ".run.17-00000000-00000000.0123abcd"
    left.mkdir()
    (left / "run.db").touch()
    then = time.time() - 3600 * hours
    os.utime(left, (then, then))
    sweep(tmp_path)
    assert left.exists() is stays


def test_a_new_run_and_a_saved_recording_sweep_their_folders(tmp_path: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", MAKE, str(tmp_path)], input="\n", capture_output=True, text=True, check=True).stdout.strip()
    new_run(tmp_path)
    assert [info.id for info in list_runs(tmp_path)] == ["a-run"]
    assert os.listdir(tmp_path) == ["a-run"]
    (tmp_path / "a-run" / dead).touch()
    write_atomically(tmp_path / "a-run" / "x.json", b"{}")
    assert sorted(os.listdir(tmp_path / "a-run")) == ["run.db", "run.json", "x.json"]


@pytest.mark.parametrize(("forsaken", "ended"), [(True, "out 7"), (False, "out after 0")])
def test_a_process_ends_with_its_code_though_a_thread_of_a_library_runs_on(forsaken: bool, ended: str) -> None:
    code = f"""
import atexit, threading, time
from talm_sim.common.processes import stop_waiting_for, leave
print("out", end=" ")
thread = threading.Thread(target=time.sleep, args=(60 if {forsaken} else 0,), daemon=True)
thread.start()
if {forsaken}:
    stop_waiting_for(thread)
atexit.register(print, "after", end=" ")
leave(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert f"{done.stdout}{done.returncode}" == ended
