"""The server's life: started, healthy, ended with all it started, however its parent goes. A small fake stands in for vLLM."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.local.vllm_model import ServedChat
from talm_sim.models.local.vllm_server import VllmServer, telling_line
from talm_sim.models.request import ModelRequest

FAKE = str(Path(__file__).with_name("fake_server.py"))
PATIENCE_S = 40.0
KEY = "a-key-of-ours"


def fake(folder: Path, mode: str, *, timeout: float = PATIENCE_S, grace: float = 5.0) -> VllmServer:
    return VllmServer(
        "vllm/m",
        lambda port: ["--host", "127.0.0.1", "--port", str(port)],
        {**os.environ, "VLLM_API_KEY": KEY},
        KEY,
        folder / "logs" / "server.log",
        timeout=timeout,
        program=(sys.executable, FAKE, mode, str(folder / "pids")),
        grace=grace,
    )


@contextmanager
def started(server: VllmServer) -> Iterator[VllmServer]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


def pids(folder: Path) -> list[int]:
    """The fake's process and its child's."""
    eventually((folder / "pids").exists)
    return [int(word) for word in (folder / "pids").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def eventually(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


def gone(folder: Path) -> bool:
    return not any(is_alive(pid) for pid in pids(folder))


def test_a_server_lives_from_start_to_stop(tmp_path: Path) -> None:
    server = fake(tmp_path, "serve")
    assert server.url == ""
    with started(server):
        assert server.url.startswith("http://127.0.0.1:")
        assert server.pid is not None
        assert server.why_it_ended() is None
        assert all(is_alive(pid) for pid in pids(tmp_path))
    assert server.url == ""
    eventually(lambda: gone(tmp_path))
    assert not (tmp_path / "logs" / "server.log").exists()
    server.stop()


def test_a_server_that_does_not_listen_is_ended_all_the_same(tmp_path: Path) -> None:
    with started(fake(tmp_path, "deaf", grace=0.2)):
        assert pids(tmp_path)
        assert all(is_alive(pid) for pid in pids(tmp_path))
    eventually(lambda: gone(tmp_path))
    assert not any(is_alive(pid) for pid in pids(tmp_path))


def test_a_crash_while_starting_gives_its_reason_and_log(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="ended while it started: ValueError: no room for the cache ") as caught:
        fake(tmp_path, "crash").start()
    assert "\n" not in str(caught.value)
    log = tmp_path / "logs" / "server.log"
    assert str(log) in str(caught.value)
    assert log.exists()
    eventually(lambda: gone(tmp_path))


@pytest.mark.parametrize("mode", ["hang", "other"])
def test_a_server_that_never_answers_us_is_given_up(tmp_path: Path, mode: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"did not answer within 1.5 s .*-M start_timeout=SECONDS"):
        fake(tmp_path, mode, timeout=1.5).start()
    if (tmp_path / "pids").exists():
        eventually(lambda: gone(tmp_path))


def test_stopping_ends_a_start_in_another_thread(tmp_path: Path) -> None:
    server = fake(tmp_path, "hang")
    said: list[str] = []

    def start() -> None:
        try:
            server.start()
        except PrerequisiteError as err:
            said.append(str(err))

    thread = threading.Thread(target=start)
    thread.start()
    pids(tmp_path)
    server.stop()
    thread.join(PATIENCE_S)
    assert said == ["vllm/m: stopped before its server had started."]
    eventually(lambda: gone(tmp_path))


def test_the_server_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_vllm_server import fake
fake(Path({str(tmp_path)!r}), "serve").start()
print("ready", flush=True)
time.sleep(600)
"""
    root = Path(__file__).parents[3]
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    assert all(is_alive(pid) for pid in pids(tmp_path))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    eventually(lambda: gone(tmp_path))


def chat(server: VllmServer | None) -> ServedChat:
    return ServedChat(ModelRequest("vllm/m", "m", max_retries=0), "served", {"top_p": 0.5}, server, KEY)


async def test_the_first_request_starts_the_server_and_all_share_it(tmp_path: Path) -> None:
    model = chat(fake(tmp_path, "serve"))
    assert not (tmp_path / "pids").exists()
    try:
        turns = await asyncio.gather(*(model.generate([HumanMessage("Hi")], (), GenerationSettings()) for _ in range(3)))
    finally:
        await model.aclose()
    assert [turn.text for turn in turns] == ["served 0.5"] * 3
    assert turns[0].usage.input_tokens == 3
    eventually(lambda: gone(tmp_path))


async def test_an_episode_that_gives_up_leaves_the_server_to_the_others(tmp_path: Path) -> None:
    model = chat(fake(tmp_path, "serve"))
    try:
        impatient = asyncio.create_task(model.generate([HumanMessage("Hi")], (), GenerationSettings()))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        turn = await model.generate([HumanMessage("Hi")], (), GenerationSettings())
    finally:
        await model.aclose()
    assert turn.text == "served 0.5"


async def test_a_server_that_died_is_the_reason_given(tmp_path: Path) -> None:
    model = chat(fake(tmp_path, "die"))
    try:
        with pytest.raises(ProviderError, match=r"its server ended: RuntimeError: the engine is gone \(log: "):
            await model.generate([HumanMessage("Hi")], (), GenerationSettings())
    finally:
        await model.aclose()
    assert (tmp_path / "logs" / "server.log").exists()


async def test_a_start_that_failed_fails_alike_for_all(tmp_path: Path) -> None:
    model = chat(fake(tmp_path, "crash"))
    try:
        for _ in range(2):
            with pytest.raises(PrerequisiteError, match="no room for the cache"):
                await model.generate([HumanMessage("Hi")], (), GenerationSettings())
    finally:
        await model.aclose()


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", ""),
        ("INFO 11-21 10:00:00 [a.py:1] loading\n\n", "loading"),
        ("OSError: [Errno 98] Address already in use\nbye", "OSError: [Errno 98] Address already in use"),
        (
            "api_server.py: error: unrecognized arguments: --x\nthe server ended with status 2",
            "api_server.py: error: unrecognized arguments: --x",
        ),
        ("x" * 500, "x" * 237 + "..."),
    ],
)
def test_the_line_that_tells_most_is_found(log: str, said: str) -> None:
    assert telling_line(log) == said
