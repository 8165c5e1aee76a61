"""Agents that catch whatever they are told to end with: limits hold, and the process ends. In real processes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from talm_sim.store.stored_run import load_run
from tests.warm import warm_python

ROOT = Path(__file__).parents[3]
RUN = ["run", "--scenario", "calendar-01.underspecified", "--human", "simulated", "--display", "plain", "--run-id", "r"]
STUBBORN = """
import asyncio
import atexit
import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

async def calls(messages, tools):
    while True:
        try:
            await tools[0].ainvoke({})
        except BaseException:
            pass

async def calls_twice_at_once(messages, tools):
    await asyncio.gather(calls(messages, tools), calls(messages, tools))

def calls_from_a_thread(messages, tools):
    while True:
        try:
            tools[0].invoke({})
        except BaseException:
            pass

async def waits(messages, tools):
    while True:
        try:
            await asyncio.sleep(0.2)
        except BaseException:
            pass

async def blocks(messages, tools):
    time.sleep(1000)

def blocks_a_pool(messages, tools):
    with ThreadPoolExecutor(1) as pool:  # its threads are joined at the end of a process
        return pool.submit(time.sleep, 1000).result()

POOL = ThreadPoolExecutor(1)

async def waits_for_a_pool(messages, tools):
    await asyncio.get_running_loop().run_in_executor(POOL, time.sleep, 1000)

def leaves_a_pool(messages, tools):
    POOL.submit(time.sleep, 1000)
    return "done"

def leaves_a_child(messages, tools):
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,)).start()
    return "done"

def registers_what_blocks(messages, tools):
    atexit.register(time.sleep, 1000)
    return "done"

def takes_the_streams(messages, tools):
    sys.stdout = sys.stderr = None
    return "done"

def moves(messages, tools):
    os.chdir("/")
    return "done"
"""


def started(directory: Path, agent: str, **more: str) -> subprocess.Popen[str]:
    (directory / "stubborn_agents.py").write_text(STUBBORN, encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")}
    kept |= {f"TALM_SIM_{name.upper()}": value for name, value in more.items()}
    return subprocess.Popen(
        [warm_python(), "-m", "talm_sim", *RUN, "--agent", f"stubborn_agents:{agent}"],
        cwd=directory,
        env={**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{directory}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


LEFT = "your code was still running 5 s after the end and was stopped"
ENDS: dict[str, tuple[int, str]] = {
    "calls_twice_at_once": (0, "turn_limit 1"),
    "calls_from_a_thread": (0, "turn_limit 1"),
    "waits": (1, "agent_error 1"),
    "blocks_a_pool": (1, "agent_error 1"),
    "waits_for_a_pool": (1, LEFT),
    "leaves_a_pool": (0, LEFT),
    "leaves_a_child": (0, LEFT),
    "registers_what_blocks": (0, LEFT),
    "takes_the_streams": (0, "every table "),
    "moves": (0, "every table      talm-sim report r --all"),
}


@pytest.mark.parametrize("agents", [*([agent] for agent in [*ENDS][:4]), [*ENDS][4:]], ids=[*[*ENDS][:4], "left behind"])
def test_limits_hold_and_nothing_holds_up_the_table_or_the_end_of_the_process(tmp_path: Path, agents: list[str]) -> None:
    started_at_once = {}
    for agent in agents:
        code = ENDS[agent][0]
        (tmp_path / agent).mkdir()
        started_at_once[agent] = started(tmp_path / agent, agent, turn_limit="5", agent_timeout="0.5" if code else "600")
    for agent, process in started_at_once.items():
        with process:
            try:
                told, _ = process.communicate(timeout=120)
            finally:
                process.kill()
        code, said = ENDS[agent]
        assert (process.returncode, "Ask-and-Help (simulated human)" in " ".join(told.split())) == (code, True), (agent, told)
        assert said in told, (agent, told)
        assert "Traceback" not in told and "destroyed" not in told and "Exception ignored" not in told, (agent, told)
        if said == LEFT or said.startswith("every table"):
            assert (LEFT in told) == (said == LEFT), (agent, told)
            assert load_run(tmp_path / agent / "runs" / "r").finished == 1


@pytest.mark.parametrize(
    ("agent", "sign", "code"),
    [("waits", signal.SIGTERM, 143), ("blocks", signal.SIGHUP, 129), ("waits_for_a_pool", signal.SIGINT, 130)],
)
def test_a_signal_ends_it(tmp_path: Path, agent: str, sign: signal.Signals, code: int) -> None:
    with started(tmp_path, agent) as process:
        try:
            assert process.stdout is not None
            assert any("1 episode; agent/" in line for line in process.stdout)
            process.send_signal(sign)
            told, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == code, told
    assert "Continue with: talm-sim resume r" in told and "Traceback" not in told
