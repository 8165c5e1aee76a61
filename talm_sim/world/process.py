"""The tool service as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import requests

from talm_sim.errors import PrerequisiteError, ToolsGoneError
from talm_sim.tools_env.restarts import Recovered
from talm_sim.world import HEALTH_PATH

if TYPE_CHECKING:
    from talm_sim.tools_env.sources.http import HttpTools

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
DEATH_S = 5.0
"""Seconds between the first connection that breaks and the end of the process: one that is told to end closes its doors first."""
_COMMAND = (sys.executable, "-P", "-m", "talm_sim.world")
"""-P: a file in the working directory must not stand in for a module."""
_ahead: list[Future[ToolService]] = []
"""A service that was started ahead and that nothing has taken yet."""


class ToolService:
    """Runs the tool service beside this process, for as long as a `with` or `async with` block lasts.

    The child's standard input is a pipe held here: when this process dies, however it dies, the pipe closes and the child stops. A child that
    died is started again by `recover`, once.

    Args:
        port: Port on loopback; 0 takes a free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self._base_url = ""
        self._lock = threading.RLock()
        """Held while the child is exchanged: calls that broke ask for a new one in several threads."""
        self._deaths = 0

    @property
    def base_url(self) -> str:
        """Address of the running service, without a final slash.

        Raises:
            RuntimeError: The service is not running.
        """
        if not self._base_url:
            raise RuntimeError("the tool service is not running: use it within a with block")
        return self._base_url

    @property
    def pid(self) -> int | None:
        """Process id of the running service; None when it is stopped."""
        return self._process.pid if self._process else None

    def start(self) -> Self:
        """Start the service and wait until it answers.

        Raises:
            PrerequisiteError: The port is busy, or the service does not start; the message holds its own reason.
        """
        with self._lock:
            self._deaths = 0
            self._spawn()
        return self

    def recover(self, address: str) -> Recovered:
        """Say where to send a call again whose connection to `address` broke. A service whose process died is started again, once.

        One that lives, be it slow or stopped, is left alone.

        Raises:
            ToolsGoneError: It died for the second time, or does not start again.
        """
        process = self._process
        if process is not None and address == self._base_url:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(DEATH_S)
        with self._lock:
            if self._process is None:
                raise ToolsGoneError("the tool service was stopped.")
            if address != self._base_url or self._process.poll() is None:
                return Recovered(self._base_url)
            self._deaths += 1
            how = _describe_exit(self._process.returncode)
            if self._deaths > 1:
                raise ToolsGoneError(f"the tool service died twice, the second time {how}: find out why, for example whether memory ran out.")
            self._stop()
            try:
                self._spawn()
            except PrerequisiteError as err:
                raise ToolsGoneError(f"the tool service died ({how}) and cannot be restarted: {err}") from None
            return Recovered(self._base_url, how)

    def _spawn(self) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed by stop()
        self._process = subprocess.Popen(
            [*_COMMAND, "--port", str(self._port), "--until-stdin-closes"],
            # What this process can import, the child can, too.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # Ctrl-C in a terminal is for the run, which still needs its tools while it winds up.
            start_new_session=True,
        )
        try:
            self._base_url = self._await_address(self._process)
            self._check_health()
        except BaseException:
            self._stop()
            raise

    def stop(self) -> None:
        """Stop the service; a service that is not running is left as it is."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        process, self._process, self._base_url = self._process, None, ""
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            # A child that is dead already has closed the other end.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _await_address(self, process: subprocess.Popen[str]) -> str:
        """Read the one line the child prints when it takes calls."""
        assert process.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=lambda out: lines.put(out.readline()), args=(process.stdout,), daemon=True).start()
        try:
            address = lines.get(timeout=START_TIMEOUT_S).strip()
        except queue.Empty:
            raise PrerequisiteError(f"the tool service did not start within {START_TIMEOUT_S:g} s: is this machine overloaded?") from None
        if not address:
            process.wait(STOP_TIMEOUT_S)
            raise PrerequisiteError(f"tool service: {self._last_error()}")
        return address

    def _last_error(self) -> str:
        assert self._errors is not None
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        return lines[-1] if lines else "it ended without a message; try `python -m talm_sim.world`"

    def _check_health(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                with requests.Session() as session:
                    session.trust_env = False
                    session.get(self._base_url + HEALTH_PATH, timeout=STOP_TIMEOUT_S).raise_for_status()
                    return
            except requests.RequestException as err:
                assert self._process is not None
                if self._process.poll() is not None:
                    raise PrerequisiteError(f"tool service: {self._last_error()}") from None
                if time.monotonic() > deadline:
                    raise PrerequisiteError(
                        f"the tool service started, but does not answer at {self._base_url}: {type(err).__name__}."
                    ) from None
                time.sleep(0.05)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.stop)


def start_ahead() -> None:
    """Start a service in a thread, for whoever takes it first: a command that imports much has it by then."""
    started: Future[ToolService] = Future()

    def start() -> None:
        try:
            started.set_result(ToolService().start())
        except BaseException as err:
            started.set_exception(err)

    _ahead.append(started)
    threading.Thread(target=start, daemon=True).start()


def take_service() -> ToolService:
    """Return a service that runs: the one that was started ahead, if there is one.

    Raises:
        PrerequisiteError: It does not start.
    """
    return _ahead.pop().result() if _ahead else ToolService().start()


def read_tools(base_url: str) -> HttpTools:
    """Return every tool of a running service, read from its OpenAPI document.

    Raises:
        PrerequisiteError: It does not answer.
    """
    from talm_sim.tools_env.sources.openapi_document import tools_from_openapi  # not at the top: a service is started before all else

    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(f"{base_url}/openapi.json", timeout=START_TIMEOUT_S)
            answer.raise_for_status()
            return tools_from_openapi(answer.json())
    except requests.RequestException as err:
        raise PrerequisiteError(f"the tool service started, but then did not answer: {type(err).__name__}; try again.") from None


def _describe_exit(code: int) -> str:
    """How a process ended, by its return code.

    >>> _describe_exit(-9), _describe_exit(1)
    ('killed by SIGKILL', 'with exit code 1')
    """
    return f"with exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
