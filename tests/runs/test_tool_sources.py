"""A run with tools of the user's own: recorded, and replayed to the byte when their source is gone; a server of theirs ends with the run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.resolve import configure
from talm_sim.runs.tool_sources import check_sources, resume_command
from talm_sim.store.stored_run import StoredRun
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.types import Origin
from tests.tools_env.sources.worlds import MCP_SERVER, source_of
from tests.warm import warm_python

needs_mcp = pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra mcp")
KINDS = [
    "python",
    "class",
    "given",
    "openapi",
    pytest.param("mcp", marks=needs_mcp),
    pytest.param("fail-talms", marks=pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")),
]


def write_scenarios(directory: Path, *numbers: int) -> Path:
    """Ask for the double of each number; 13 is refused by the tool."""
    file = directory / "scenarios.jsonl"
    rows = [
        {
            "id": f"double-{n}",
            "group": "perfect",
            "turns": [{"messages": [{"role": "user", "content": f"Double {n}."}], "gold_calls": [{"name": "double", "arguments": {"n": n}}]}],
            "tools": ["double"],
            "target": {"type": "facts", "required": [{"name": "twice", "value": 2 * n, "call": 0, "pointer": "/twice"}]},
        }
        for n in numbers
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def what_happened(run: StoredRun) -> list[Any]:
    """Everything of a run's episodes but where answers came from and how long they took."""
    unlike = {"elapsed_ms", "elapsed_s", "started_at", "origin", "tools"}

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in unlike}
        return [without(one) for one in value] if isinstance(value, list) else value

    return [without(episode.model_dump(mode="json")) for episode in run.episodes()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_tools_of_ones_own_is_replayed_without_them(kind: str, tmp_path: Path) -> None:
    shared: dict[str, Any] = {
        "scenarios": write_scenarios(tmp_path, 4, 13, 21, 34),
        "model": "sim/oracle",
        "cassettes": tmp_path / "recorded",
        "run_dir": tmp_path / "runs",
        "perturb": "http-503:p=0.5",
        "seed": 5,
    }
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    with source_of(kind, theirs) as source:
        live = talm_sim.run(tools_from=source, trust=True, tools="record", run_id="live", **shared)
    shutil.rmtree(theirs)
    again = talm_sim.run(tools="replay", run_id="again", **shared)
    assert what_happened(live) == what_happened(again)
    events = [[event for episode in run.episodes() for event in episode.tool_events] for run in (live, again)]
    assert [event.origin for event in events[0]] == [Origin.LIVE] * 2 + [Origin.PERTURBED] * 2
    assert [event.origin for event in events[1]] == [Origin.RECORDED] * 2 + [Origin.PERTURBED] * 2
    assert "13 is not a number to double" in events[1][1].result


@pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
def test_a_sandbox_that_cannot_be_started_is_no_failure_of_the_tool_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("bwrap")
    (tmp_path / "bin").mkdir()
    (tmp_path / "theirs").mkdir()
    program = tmp_path / "bin" / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ $1 = --help ] || mkdir {tmp_path}/first || {{ echo No space left on device >&2; exit 1; }}\nexec {real} "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    scenarios = write_scenarios(tmp_path, 4, 21, 34)
    with source_of("fail-talms", tmp_path / "theirs") as source:
        shared: dict[str, Any] = {"tools_from": (source,), "trust": True}
        run = talm_sim.run(scenarios=scenarios, model="sim/oracle", tools="live", run_dir=tmp_path / "runs", run_id="r", **shared)
        ends = sorted((str(episode.termination), episode.error) for episode in run.episodes())
        assert ends[0] == ("answered", "")
        assert ends[1:] == [("infrastructure_error", "The sandbox could not be started: No space left on device")] * 2
        program.unlink()
        with pytest.raises(PrerequisiteError, match=r"contains code \(api\.py\); add trust to run it"):
            talm_sim.resume(tmp_path / "runs" / "r", tools_from=(source,))
        assert resume_command(run.job, "r").endswith(" --trust")
        run = talm_sim.resume(tmp_path / "runs" / "r", **shared)
    assert [(str(episode.termination), len(episode.tool_events)) for episode in run.episodes()] == [("answered", 1)] * 3


HANGING = """
import os, sys, time
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("hanging", log_level="ERROR")

@server.tool()
async def double(n: int) -> int:
    \"\"\"Double a number.\"\"\"
    Path(__file__).with_name("pid").write_text(str(os.getpid()))
    time.sleep(600)
    return 0

server.run()
"""


@needs_mcp
def test_a_server_is_ended_with_the_run_that_ctrl_c_ends(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(HANGING, encoding="utf-8")
    words = ["run", "--scenarios", str(write_scenarios(tmp_path, 4)), "--model", "sim/oracle", "--live"]
    words += ["--tools-from", f"mcp:{sys.executable} {tmp_path / 'server.py'}", "--run-id", "hangs"]
    program = subprocess.Popen([warm_python(), "-m", "talm_sim", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        pid = tmp_path / "pid"
        while not (pid.is_file() and pid.read_text()):
            assert program.poll() is None, program.stderr and program.stderr.read()
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=100)
    finally:
        program.kill()
    assert program.returncode == 130 and "talm-sim resume hangs" in said and "Traceback" not in said
    while _lives(int(pid.read_text())):
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_a_run_that_goes_on_is_told_its_sources_again() -> None:
    text = "numbers=python:numbers_of_mine:double"
    job = configure(None, {"tools_from": text, "tools": "live", "model": "sim/oracle"})
    for named in (None, (), ("python:os:system",), (text, text)):
        with pytest.raises(PrerequisiteError) as caught:
            check_sources(job, named, "runs/a")
        fix = "and talm-sim does not start what a stored run names; add --tools-from numbers=python:numbers_of_mine:double."
        assert str(caught.value) == f"runs/a: was run with other tools, {fix}"
    check_sources(job, (text,), "runs/a")
    check_sources(configure(None, {"tools_from": text, "tools": "replay", "model": "sim/oracle"}), None, "runs/a")
    with pytest.raises(PrerequisiteError, match=r"leave out --tools-from\.$"):
        check_sources(configure(None, {"model": "sim/oracle"}), (text,), "runs/a")


@needs_mcp
def test_a_dry_run_opens_its_sources_as_the_run_would_and_calls_no_tool(tmp_path: Path) -> None:
    server = textwrap.dedent(MCP_SERVER).replace("if n == 13:", f"open({str(tmp_path / 'called')!r}, 'w')\n    if n == 13:")
    (tmp_path / "server.py").write_text(f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n{server}", encoding="utf-8")
    words = ["run", "--dry-run", "--scenarios", str(write_scenarios(tmp_path, 4)), "--model", "openai/any", "--live", "--tools-from"]

    def dry_run(source: str) -> subprocess.CompletedProcess[str]:
        command = [warm_python(), "-m", "talm_sim", *words, source]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)

    done = dry_run(f"mcp:{sys.executable} server.py")
    assert done.returncode == 0 and "1 episode" in done.stdout, done
    assert not (tmp_path / "called").exists() and not (tmp_path / "runs").exists()
    assert not _lives(int((tmp_path / "pid").read_text()))
    refused = dry_run(f"mcp:{sys.executable} -c 0")
    assert refused.returncode == 2 and "could not be asked for its tools" in refused.stderr and "Traceback" not in refused.stderr


def test_the_command_that_goes_on_names_what_the_user_brought() -> None:
    options = {"agent": "math:sqrt", "tools_from": ("a=openapi:my api.json", "t:TOOLS")}
    plain = configure(None, {})
    assert resume_command(plain, "my run") == "talm-sim resume 'my run'"
    brought = replace(plain, options=plain.options.model_copy(update=options))
    words = "talm-sim resume r --agent math:sqrt --tools-from 'a=openapi:my api.json' --tools-from t:TOOLS --failed agent_error"
    assert resume_command(brought, "r", "--failed", "agent_error") == words
