"""The plugin as pytest loads it: the example's tests pass offline, a failure prints the transcript, and what is live is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.recordings.model_server import ModelServer, model_server
from tests.warm import warm_python

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
ROOT = Path(__file__).parents[2]
BUGGY = """
def act(messages, tools):
    return "Ramadan 1414"

def test_it_asks(talm):
    talm.run(act, scenario="calendar-01.underspecified").asked_before_acting()

def test_it_has_a_recording(talm):
    from react_agent import build
    talm.run(build, scenario="calendar-01.underspecified", model="openai/gpt-4o")
"""

ON_A_LOOP = """
from plain_function import act

async def test_it_asks(talm):
    talm.run(act, scenario="calendar-01.underspecified").asked_before_acting()

def test_it_tells(talm):
    talm.run(act, scenario="calendar-01.underspecified", perturb="http-403").told_the_user_it_failed()
"""
SHOP = """
def price(item: str) -> dict[str, float]:
    \"""Price of an item.\"""
    return {"price": 4.5}
"""
JUDGED = """
from contextlib import suppress

def act(messages, tools):
    with suppress(Exception):
        {tool.name: tool for tool in tools}["convert_to_hijri"].invoke({"date": "1994-03-11"})
    return "Try another day."

def test_it_tells(talm):
    talm.run(act, scenario="calendar-01.underspecified", perturb="http-403").told_the_user_it_failed()

def test_it_notices(talm):
    talm.run(act, scenario="calendar-01.underspecified", perturb="empty-result").noticed_an_empty_answer()
"""
RECORDED = """
from react_agent import build
from shop import price

def test_it_looks_the_price_up(talm):
    model = "openai-api/stand/small"
    played = talm.run(build, scenarios="scenarios.jsonl", tools=[price], model=model, perturb="http-500:times=1")
    played.recovered_from("http-500")
    assert played.episodes[0].answer == 'It says {"price": 4.5}'
"""
LEAVES_A_POOL = """
import time
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(1)

def act(messages, tools):
    POOL.submit(time.sleep, 1000)
    return "done"

def test_it_leaves_a_pool(talm):
    assert talm.run(act, scenario="calendar-01.underspecified").passed()
"""
SCENARIO = {
    "id": "tea",
    "group": "perfect",
    "turns": [{"messages": [{"role": "user", "content": "What is tea?"}], "gold_calls": [{"name": "price", "arguments": {"item": "tea"}}]}],
    "tools": ["price"],
    "target": {"type": "facts", "required": [{"name": "price", "value": 4.5, "call": 0, "pointer": "/price"}]},
}


def saying(message: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """An answer of a chat model."""
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice], "usage": usage}
    return 200, {"content-type": "application/json"}, json.dumps(reply).encode()


def answer(server: ModelServer, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Call the tool until it answers, then say what it said."""
    server.asked.append(path)
    last = body["messages"][-1]
    message: dict[str, Any] = {"role": "assistant", "content": f"It says {last['content']}"}
    if last["role"] == "user" or "Error" in last["content"]:
        call = {"id": f"c{len(body['messages'])}", "type": "function", "function": {"name": "price", "arguments": '{"item": "tea"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return saying(message)


def pytest_in(directory: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user does whose environment holds the package; the entry point is named, should it not be installed."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{directory}", "PYTEST_ADDOPTS": "", "OPENAI_API_KEY": "", **more}
    command = [warm_python(), "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:talm_sim", "-p", "talm_sim.testing.plugin", "-q", *words]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_it_costs_those_who_do_not_use_it_nothing() -> None:
    program = "import sys, pytest; before = {*sys.modules}; import talm_sim.testing.plugin; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["talm_sim", "talm_sim.testing", "talm_sim.testing.plugin", "talm_sim.version"]


def test_it_can_be_left_out_by_its_name() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert declared == {"talm_sim": "talm_sim.testing.plugin"}  # pytest -p no:talm_sim


def test_what_an_agent_leaves_behind_does_not_hold_up_its_end(tmp_path: Path) -> None:
    (tmp_path / "test_leaving.py").write_text(LEAVES_A_POOL, encoding="utf-8")
    done = pytest_in(tmp_path)
    assert done.returncode == 1 and "1 failed" in done.stdout
    assert "your code was still running 5 s after the end and was stopped" in done.stderr


def test_beside_xdist_and_on_an_event_loop(tmp_path: Path) -> None:
    (tmp_path / "plain_function.py").write_text((EXAMPLES / "plain_function.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_on_a_loop.py").write_text(ON_A_LOOP, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    done = pytest_in(tmp_path, "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert "agent plain_function:act: if it calls a model itself, the call is live; only its tools are replayed" in done.stdout


def test_what_is_recorded_replays_with_the_server_and_the_tool_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "react_agent.py").write_text((EXAMPLES / "react_agent.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_recorded.py").write_text(RECORDED, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "scenarios.jsonl").write_text(json.dumps(SCENARIO) + "\n", encoding="utf-8")
    missing = pytest_in(tmp_path)
    assert missing.returncode == 1 and "Record what is missing with: pytest --talm-record" in missing.stdout, missing.stdout
    monkeypatch.setattr(ModelServer, "reply", answer)
    with model_server() as server:
        recorded = pytest_in(tmp_path, "--talm-record", STAND_BASE_URL=f"{server.url}/v1", STAND_API_KEY="sk-stand-0123456789abcdef")
        assert recorded.returncode == 0, recorded.stdout + recorded.stderr
        assert len(server.asked) == 3
    files = [path.read_text(encoding="utf-8") for path in (tmp_path / "talm_cassettes").rglob("*.json")]
    assert files and not any("sk-stand" in text for text in files)
    (tmp_path / "shop.py").write_text(SHOP.replace("4.5", "9.9"), encoding="utf-8")
    replayed = pytest_in(tmp_path)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "live" not in replayed.stdout


def test_a_judge_model_is_asked_where_the_words_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = "Yes"

    def judged(server: ModelServer, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        server.asked.append(body["messages"][-1]["content"])
        return saying({"role": "assistant", "content": says})

    (tmp_path / "test_judged.py").write_text(JUDGED, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntalm_judge_model = openai-api/stand/small\n", encoding="utf-8")
    monkeypatch.setattr(ModelServer, "reply", judged)
    with model_server() as server:
        done = pytest_in(tmp_path, STAND_BASE_URL=f"{server.url}/v1", STAND_API_KEY="sk-stand-0123456789abcdef")
    assert done.returncode == 0, done.stdout + done.stderr
    failed, empty = server.asked
    assert "HTTP 403" in failed and "Try another day." in failed
    assert "What came back empty: convert_to_hijri: {}\n" in empty and "Try another day." in empty
    says = "<think>Let me see"
    with model_server() as server:
        done = pytest_in(tmp_path, STAND_BASE_URL=f"{server.url}/v1", STAND_API_KEY="sk-stand-0123456789abcdef")
    assert done.returncode == 1 and "openai-api/stand/small answered neither Yes nor No, so nothing is decided" in done.stdout


def test_the_examples_tests_pass(tmp_path: Path) -> None:
    for name in ("plain_function.py", "test_plain_function.py", "react_agent.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_buggy.py").write_text(BUGGY, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = pytest_in(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 7 passed" in done.stdout
    assert "AssertionError: calendar-01.underspecified: the agent never asked a person" in done.stdout and "Ramadan 1414" in done.stdout
    assert "talm-sim: model 'openai/gpt-4o': there are no recordings of it" in done.stdout
    assert "agent plain_function:act: if it calls a model itself, the call is live; only its tools are replayed" in done.stdout
