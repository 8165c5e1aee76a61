"""Shared fixtures: no test may leave the machine, and benchmark data is found by its environment variable."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
import socketserver
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from talm_sim.world import process
from tests.draws import few_draws as few_draws
from tests.processor_time import ProcessorTime
from tests.warm import warm_python

# Nothing depends on the terminal that the tests are started at; a test about terminals, colours or languages sets what it needs.
for _name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "LANGUAGE", "LC_ALL", "LC_CTYPE"):
    os.environ.pop(_name, None)
os.environ |= {"TERM": "xterm-256color", "LANG": "C.UTF-8"}

# As many connections may wait at a test's server as a run opens at once: what finds no place waits a second, or is turned away.
socketserver.TCPServer.request_queue_size = 64

# How long an example takes is the machine's affair. The tests of a change draw the same examples each time; `make ci-full` draws others.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("TALM_TEST_EXAMPLES") or "repeatable")
REAL_SERVICE = tuple(process._COMMAND)


def pytest_configure(config: pytest.Config) -> None:
    """Measure the tests' processor time."""
    config.pluginmanager.register(ProcessorTime(), "processor-time")


def pytest_collection_finish() -> None:
    """Look for garbage rarely, and not among what stays: modules, tests and fixtures are two million objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail the test, even one that swallows exceptions, when anything connects beyond loopback."""
    attempts: list[str] = []

    def guard(name: str) -> None:
        real = getattr(socket.socket, name)

        def connect(self: socket.socket, address: Any) -> Any:
            if not _is_local(address):
                attempts.append(str(address))
                raise OSError(f"network use in a test: {address}")
            return real(self, address)

        monkeypatch.setattr(socket.socket, name, connect)

    guard("connect")
    guard("connect_ex")
    real_lookup = socket.getaddrinfo

    def lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (None, "", "localhost") and not _is_local((name,)):
            attempts.append(str(name))
            raise socket.gaierror(f"network use in a test: {name}")
        return real_lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    yield
    assert not attempts, f"the test used the network: {attempts}"


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Let child processes hear Ctrl-C and a hang-up: shells start background jobs without the one, `nohup` anything without the other."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


class _WarmService:
    """The command of the tool service, from a Python that holds its modules."""

    def __iter__(self) -> Iterator[str]:
        yield from (warm_python(), *REAL_SERVICE[1:])


@pytest.fixture(autouse=True)
def _tool_service_starts_warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare tests the second that the tool service takes to import its data; its own tests start it as it is."""
    if request.path.parent.name != "service":
        monkeypatch.setattr(process, "_COMMAND", _WarmService())


@pytest.fixture
def bench_data() -> Path:
    """Directory of real benchmark data; the test is skipped where it is absent."""
    folder = os.environ.get("TALM_SIM_BENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TALM_SIM_BENCH_DATA names no directory")
    return Path(folder)


@pytest.fixture(scope="session")
def bfcl_v4() -> Path:
    """Folder into which BFCL's data of version 4 were installed: TALM_TEST_BFCL_V4, or the package; skipped where neither is."""
    return _bfcl("TALM_TEST_BFCL_V4")


@pytest.fixture(scope="session")
def bfcl_v3() -> Path:
    """Folder into which BFCL's data of version 3 (bfcl-eval==2025.6.16) were installed: TALM_TEST_BFCL_V3; skipped where it is not set."""
    return _bfcl("TALM_TEST_BFCL_V3")


def _bfcl(name: str) -> Path:
    found = find_spec("bfcl_eval") if name.endswith("V4") else None
    folder = os.environ.get(name) or (str(Path(found.origin).parent.parent) if found and found.origin else "")
    if not folder or not Path(folder, "bfcl_eval", "data").is_dir():
        pytest.skip(f"{name} names no folder that bfcl-eval was installed into (pip install --no-deps --target FOLDER bfcl-eval)")
    return Path(folder)
