"""Tools that nothing executes, and tools with a network: what the run says, what its table says, and what the rates make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from tests.cli.wrong import Talm
from tests.runs.test_tool_sources import write_scenarios
from tests.tools_env.sources.worlds import write_folder

walled = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
pytestmark = pytest.mark.usefixtures("nothing_given")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "numbers"
    made.mkdir()
    return write_folder(made)


def test_an_episode_whose_tool_nothing_executes_is_scored_and_the_table_says_so(talm: Talm, folder: Path, tmp_path: Path) -> None:
    (folder / "api.py").unlink()
    scenarios = write_scenarios(tmp_path, 2, 4)
    source = ["--tools-from", str(folder)]
    code, out, err = talm("run", "--scenarios", str(scenarios), *source, "--live", "--model", "sim/oracle", "--run-id", "r")
    assert code == 0
    assert "cannot be executed here, so that calls fail: double (it has no code)" in err
    note = "not executed: 2 calls in 2 of 2 episodes had a tool that cannot be executed here; they count as failed calls"
    assert note in " ".join(out.split()) and "not scored" not in out
    (row,) = json.loads(talm("report", "r", "--json")[1])
    assert {name: row[name] for name in ("n", "not_scored", "awareness_n", "awareness", "pass_rate", "told_n")} == {
        "n": 2,
        "not_scored": 0,
        "awareness_n": 2,
        "awareness": 1.0,
        "pass_rate": 0.0,
        "told_n": 2,
    }
    _, shown, _ = talm("show", "r:double-2")
    assert "not_executable" in shown and "This tool cannot be executed here." in shown
    assert "was made and failed (not_executable)" in " ".join(shown.split())


@walled
def test_a_run_with_a_network_says_so_at_its_start_and_in_its_table(talm: Talm, folder: Path, tmp_path: Path) -> None:
    scenarios = write_scenarios(tmp_path, 2)
    source = ["--tools-from", f"fail-talms:{folder},network=on"]
    code, out, err = talm("run", "--scenarios", str(scenarios), *source, "--trust", "--model", "sim/oracle", "--live", "--run-id", "r")
    note = "network=on: the sandboxed code of numbers can reach the network"
    assert code == 0 and note in err
    assert note in " ".join(talm("report", "r", "--all")[1].split())
    plain = ["--tools-from", f"fail-talms:{folder}"]
    _, out, err = talm("run", "--scenarios", str(scenarios), *plain, "--trust", "--model", "sim/oracle", "--live", "--run-id", "p")
    assert "network=on" not in out + err


def test_a_network_is_on_or_off(talm: Talm, folder: Path) -> None:
    code, _, err = talm("tools", "list", "--tools-from", f"fail-talms:{folder},network=some")
    (line,) = err.splitlines()
    assert code == 2 and "network=some" in line and "'off' or 'on'" in line
    code, _, err = talm("tools", "list", "--tools-from", f"fail-talms:{folder},network=on")
    assert code == 2 and "add --trust to run it in a sandbox: with the network of this machine, 1 GiB, 10 s per call." in err
