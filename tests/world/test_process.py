from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from talm_sim.errors import PrerequisiteError
from talm_sim.world import HEALTH_PATH, process
from talm_sim.world.process import ToolService, read_tools
from tests.warm import warm_python
from tests.world.quick import PATIENCE_S, QuickServices

pytestmark = pytest.mark.live


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QuickServices:
    return QuickServices(monkeypatch, tmp_path)


def _answers(base_url: str) -> bool:
    with requests.Session() as session:
        session.trust_env = False
        try:
            return session.get(base_url + HEALTH_PATH, timeout=PATIENCE_S).ok
        except requests.RequestException:  # refused, or cut off in the middle
            return False


def test_serves_within_the_block_and_not_after(services: QuickServices) -> None:
    with ToolService() as service:
        base_url, pid = service.base_url, services.pid(service)
        assert base_url.startswith("http://127.0.0.1:")
        assert _answers(base_url)
        assert len(read_tools(service.base_url).specs) >= 40
    assert not _answers(base_url)
    assert service.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_file_in_the_working_directory_stands_in_for_no_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "calendar.py").write_text("raise SystemExit('executed a file that merely lay there')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with ToolService() as service:
        assert _answers(service.base_url)


@pytest.mark.usefixtures("services")
def test_a_busy_port_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service = ToolService(port)
        with pytest.raises(PrerequisiteError) as caught:
            service.start()
    assert str(caught.value) == f"tool service: port {port} is busy: choose another one, or 0 for any free port."
    assert service.pid is None


def test_a_service_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_TIMEOUT_S", 0.2)
    with ToolService() as service:
        pid = service.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_service_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mute = tmp_path / "python"
    mute.write_text("#!/bin/sh\nexec sleep 60\n")
    mute.chmod(0o755)
    monkeypatch.setattr(process, "START_TIMEOUT_S", 0.3)
    monkeypatch.setattr(process, "STOP_TIMEOUT_S", 0.2)
    monkeypatch.setattr(process, "_COMMAND", [str(mute)])
    with pytest.raises(PrerequisiteError, match="did not start within"):
        ToolService().start()


def test_a_service_that_breaks_gives_its_own_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho Traceback >&2\necho 'ModuleNotFoundError: no pandas' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(process, "_COMMAND", [str(broken)])
    with pytest.raises(PrerequisiteError, match=r"^tool service: ModuleNotFoundError: no pandas$"):
        ToolService().start()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_the_service_dies_with_its_parent(sign: signal.Signals) -> None:
    code = (
        "import sys, time\n"
        "from talm_sim.world import process\n"
        "process._COMMAND = (sys.executable, *process._COMMAND[1:])\n"
        "service = process.ToolService().start()\n"
        "print(service.base_url, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([warm_python(), "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().strip()
        assert _answers(base_url)
        parent.send_signal(sign)
    while _answers(base_url):  # one that lives on answers until the test runs out of time
        time.sleep(0.02)


def test_alone_it_serves_until_interrupted_and_prints_its_address() -> None:
    command = [sys.executable, "-m", "talm_sim.world", "--port", "0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as alone:
        assert alone.stdout is not None and alone.stderr is not None
        base_url = alone.stdout.readline().strip()
        assert _answers(base_url)
        alone.send_signal(signal.SIGINT)
        assert alone.wait(PATIENCE_S) == 130
        assert alone.stderr.read() == ""


def test_more_connections_than_it_can_hold_are_one_line_and_it_answers_afterwards() -> None:
    few = "import resource, sys, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)); sys.argv[1:] = ['--port', '0']"
    command = [warm_python(), "-c", f"{few}; runpy.run_module('talm_sim.world', run_name='__main__')"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as full:
        assert full.stdout is not None and full.stderr is not None
        base_url = full.stdout.readline().strip()
        host, _, port = base_url.removeprefix("http://").partition(":")
        opened = [socket.create_connection((host, int(port)), timeout=PATIENCE_S) for _ in range(60)]
        assert full.stderr.readline() == "too many open connections: further ones wait until others are closed\n"
        for one in opened:
            one.close()
        assert _answers(base_url)
        full.send_signal(signal.SIGINT)
        assert full.stderr.read() == ""
