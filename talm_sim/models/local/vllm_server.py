"""A server of vLLM on loopback, as a child process for as long as a model is open."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import requests

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local import vllm_guard

__all__ = ["MODULE", "VllmServer", "telling_line"]

MODULE = "vllm.entrypoints.openai.api_server"
"""The `vllm` command looks its version up under another package's name on CPU and crashes, hence the module."""
GRACE_S = 10.0
"""Between asking the server to end and ending it."""
POLL_S = 0.25
ANSWER_TIMEOUT_S = 5.0
MAX_LINE_CHARS = 240
_PREFIX = re.compile(r"^(?:\((?:[^()]*\bpid=\d+)\)\s*)?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+[\d-]+\s+[\d:]+\s+\[[^\]]*\]\s*)?")
_REASON = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?::\s*\S|$)|error: |address already in use|out of memory", re.IGNORECASE)
_RED_HERRING = re.compile(r"Engine core initialization failed|See root cause above|the server ended with status", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class VllmServer:
    """Starts a server, waits until it answers, and stops it with all it started.

    A guard process holds it: when this process dies, however it dies, a pipe closes and the guard ends the server. Both live in a session of
    their own, so that Ctrl-C in a terminal is for the run, which still needs its model while it winds up.

    Args:
        name: The model's `provider/name`, for messages.
        arguments: Command line of the server for a port, after its program.
        environment: All of the server's variables.
        key: What requests must bear.
        log: What the server says goes here; removed after a clean stop.
        timeout: Seconds the server may take until it answers.
        program: The server's program.
    """

    def __init__(
        self,
        name: str,
        arguments: Callable[[int], Sequence[str]],
        environment: Mapping[str, str],
        key: str,
        log: Path,
        *,
        timeout: float,
        program: Sequence[str] = (sys.executable, "-P", "-m", MODULE),
        grace: float = GRACE_S,
    ) -> None:
        self._name, self._arguments, self._environment, self._key = name, arguments, dict(environment), key
        self._log, self._timeout, self._program, self._grace = log, timeout, tuple(program), grace
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._port = 0

    @property
    def url(self) -> str:
        """Address of the protocol, for a client; empty where the server does not run."""
        return f"http://127.0.0.1:{self._port}/v1" if self._port else ""

    @property
    def pid(self) -> int | None:
        """Process id of the guard, which leads the server's process group; None when it is stopped."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            PrerequisiteError: It ended or took too long; the message holds its own reason and the name of its log.
        """
        port = _free_port()
        with self._lock:
            if self._stopping.is_set():
                raise PrerequisiteError(f"{self._name}: stopped before its server had started.")
            self._process = self._launch([*self._program, *self._arguments(port)])
        try:
            self._await_answer(port)
        except BaseException:
            self._end(keep_log=True)
            raise
        self._port = port

    def stop(self) -> None:
        """Stop the server; a start in another thread gives up. A server that does not run is left as it is."""
        self._stopping.set()
        self._end(keep_log=False)

    def why_it_ended(self) -> str | None:
        """One line on why a server that was started no longer runs; None while it runs or where it was stopped."""
        process, port = self._process, self._port
        if process is None or self._answers(port):
            return None
        try:
            # The line to a server breaks a moment before its guard has seen it end.
            process.wait(self._grace)
        except subprocess.TimeoutExpired:
            return None
        return None if self._stopping.is_set() else self._failure("ended")

    def _launch(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        # By path, and -P: neither a file of the working directory nor one beside the guard must stand in for a module.
        guard = [sys.executable, "-P", str(Path(vllm_guard.__file__)), str(self._grace)]
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("wb") as log:
                return subprocess.Popen(
                    [*guard, *command], env=self._environment, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                )
        except OSError as err:
            raise PrerequisiteError(f"{self._name}: its server cannot be started: {err}.") from None

    def _await_answer(self, port: int) -> None:
        deadline = time.monotonic() + self._timeout
        process = self._process
        while not self._stopping.is_set():
            if process is None or process.poll() is not None:
                raise PrerequisiteError(self._failure("ended while it started"))
            if self._answers(port):
                return
            if time.monotonic() > deadline:
                raise PrerequisiteError(
                    self._failure(f"did not answer within {self._timeout:g} s (give a large model longer: -M start_timeout=SECONDS)")
                )
            self._stopping.wait(POLL_S)
        raise PrerequisiteError(f"{self._name}: stopped before its server had started.")

    def _answers(self, port: int) -> bool:
        """Whether the server is healthy, and ours: another one on this port would not take our key."""
        with requests.Session() as session:
            session.trust_env = False
            try:
                session.get(f"http://127.0.0.1:{port}/health", timeout=ANSWER_TIMEOUT_S).raise_for_status()
                headers = {"Authorization": f"Bearer {self._key}"}
                session.get(f"http://127.0.0.1:{port}/v1/models", headers=headers, timeout=ANSWER_TIMEOUT_S).raise_for_status()
            except requests.RequestException:
                return False
        return True

    def _failure(self, what: str) -> str:
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        return f"{self._name}: its server {what}: {telling_line(text) or 'it said nothing'} (log: {self._log})."

    def _end(self, *, keep_log: bool) -> None:
        with self._lock:
            process, self._process, self._port = self._process, None, 0
        if process is None:
            return
        assert process.stdin is not None
        clean = process.poll() is None
        # A guard that is gone has closed the other end.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(self._grace + 5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if clean and not keep_log:
            self._log.unlink(missing_ok=True)


def telling_line(log: str) -> str:
    r"""The line of a server's log that says most about why it failed: the last that names an error, else the last.

    >>> telling_line("(APIServer pid=7) ERROR 11-21 10:00:00 [core.py:12] ValueError: no room\nthe server ended with status 1")
    'ValueError: no room'
    """
    lines = [_PREFIX.sub("", _UNPRINTABLE.sub("", line).strip()).strip() for line in log.splitlines()]
    lines = [line for line in lines if line]
    reasons = [line for line in lines if _REASON.search(line) and not _RED_HERRING.search(line)]
    found = " ".join((reasons or lines or [""])[-1].split())
    return found if len(found) <= MAX_LINE_CHARS else found[: MAX_LINE_CHARS - 3] + "..."


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
