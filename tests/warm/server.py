"""The process behind a warm Python: it holds the modules, and forks for each call. It has one thread, as whoever forks should."""

from __future__ import annotations

import array
import ast
import atexit
import contextlib
import gc
import importlib
import io
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import talm_sim
from talm_sim.foreign import plugins
from talm_sim.tasks.registry import TASKS, find_task
from talm_sim.world import app as world_app, process
from talm_sim.world.described import built_in_tools

_BESIDE = (
    "anthropic",
    "encodings.ascii",
    "encodings.cp437",
    "encodings.unicode_escape",
    "jinja2.sandbox",
    "langchain_core.tracers.context",
    "langchain_core.tracers.stdout",
    "langgraph.checkpoint.sqlite.aio",
    "langgraph.prebuilt",
    "openai",
    "pytest",
    "rich.panel",
    "rich.progress",
    "uvicorn",
    "vcr",
)
_NOT_LOADED = (
    "talm_sim.__main__",
    "talm_sim.models.local",
    "talm_sim.retrieval",
    "talm_sim.runs.engines.local",
    "talm_sim.testing",
    "talm_sim.world.__main__",
)
"""Modules that run something when they are imported, or that few tests need."""


class Request(NamedTuple):
    """What a caller handed over."""

    words: list[str]
    directory: str
    files: dict[int, int]
    ignored: list[int]
    environ: dict[str, str]


class Server:
    """Forks until its standard input closes.

    Args:
        program: The client's path; its children take it for their Python.
    """

    def __init__(self, program: Path) -> None:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(program.with_name("socket")))
        self._listening.listen(64)
        self._callers: dict[int, socket.socket] = {}
        self._ends, self._woken = os.pipe()
        for end in (self._ends, self._woken):
            os.set_blocking(end, False)
        self._ready = selectors.DefaultSelector()
        for file in (self._listening, self._ends, 0):
            self._ready.register(file, selectors.EVENT_READ)

    def fork(self) -> Request:
        """Serve; return in each child, with what it is to do."""
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who runs the tests
        os.write(1, b"ready\n")
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is self._listening:
                    request = self._accept()
                    if request:
                        return request
                elif key.fileobj == self._ends:
                    os.read(self._ends, 4096)
                    self._report()
                elif key.fileobj == 0:
                    for pid in self._callers:
                        os.kill(pid, signal.SIGKILL)
                    os._exit(0)
                else:
                    self._forward(key.data)

    def _accept(self) -> Request | None:
        """Fork for one caller; None in this process."""
        caller, _ = self._listening.accept()
        try:
            request = _receive(caller)
        except (OSError, ValueError):  # it was killed before it had asked
            caller.close()
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._ready.close()
            for connection in (self._listening, caller, *self._callers.values()):
                connection.close()
            os.close(self._ends)
            os.close(self._woken)
            return request
        for number in request.files.values():
            os.close(number)
        self._callers[pid] = caller
        self._ready.register(caller, selectors.EVENT_READ, pid)
        return None

    def _report(self) -> None:
        """Tell callers how their children ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                caller = self._callers.pop(pid, None)
                if caller is not None:
                    self._ready.unregister(caller)
                    with contextlib.suppress(OSError):
                        caller.sendall(status.to_bytes(4, "big"))
                    caller.close()

    def _forward(self, pid: int) -> None:
        """Send a child the signals that its caller got; where that was killed, kill the child."""
        caller = self._callers.get(pid)
        if caller is None:
            return
        try:
            numbers = caller.recv(64)
        except OSError:
            numbers = b""
        for number in numbers or bytes([signal.SIGKILL]):
            os.kill(pid, number)
        if not numbers:
            self._ready.unregister(caller)
            self._callers.pop(pid).close()


def _receive(caller: socket.socket) -> Request:
    head, ancillary, *_ = caller.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    if len(head) < 8:
        raise ValueError("cut off")
    size, body = int.from_bytes(head, "big"), b""
    while len(body) < size:
        more = caller.recv(size - len(body))
        if not more:
            raise ValueError("cut off")
        body += more
    words, directory, numbers, ignored, environ = ast.literal_eval(body.decode("utf-8", "surrogateescape"))
    return Request(words, directory, dict(zip(numbers, files, strict=True)), ignored, environ)


def _become(request: Request, program: Path) -> None:
    """Take the caller's files, directory, environment, path and ignored signals."""
    os.setpgid(0, 0)
    for number in (0, 1, 2):
        if number in request.files:
            os.dup2(request.files[number], number)
            os.close(request.files[number])
        else:
            os.close(number)
    for ignored in request.ignored:
        signal.signal(ignored, signal.SIG_IGN)
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environ)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        stream = _stream(number) if number in request.files else None
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    plugins._entry_points.cache_clear()  # a child may have other packages
    sys.executable = str(program)
    process._COMMAND = (sys.executable, *process._COMMAND[1:])


def _stream(number: int) -> io.TextIOWrapper:
    """Standard stream as Python opens it, in UTF-8."""
    if number == 0:
        return io.TextIOWrapper(open(0, "rb", closefd=False), "utf-8")
    errors = "strict" if number == 1 else "backslashreplace"
    through = number == 2 or bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = open(number, "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=number == 2 or raw.isatty(), write_through=through)


def _run(words: list[str], plain: list[str]) -> None:
    """Do what Python does of `[-P] -m MODULE ...`, `-c CODE ...` or `FILE ...`; `plain` is the path without the directory of this file."""
    safe = False
    while words[0] in {"-P", "-u"}:
        safe = words.pop(0) == "-P" or safe
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    first = {"-m": os.getcwd(), "-c": ""}.get(words[0], os.path.dirname(words[0]))
    sys.path[:] = [*([] if safe else [first]), *given, *plain]
    if words[0] == "-m":
        sys.argv[:] = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv[:] = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv[:] = words
        runpy.run_path(words[0], run_name="__main__")


def main() -> None:
    """Import, serve, and in each child run what was asked."""
    program = Path(sys.argv[1])
    own = os.environ.get("PYTHONPATH", "")
    for name in (*_modules(), *_BESIDE):
        with contextlib.suppress(ImportError):  # an extra that is not installed here
            importlib.import_module(name)
    _prepare()
    plain = [entry for entry in sys.path if entry and entry != own]
    gc.freeze()
    request = Server(program).fork()
    _become(request, program)
    code: object = 0
    try:
        _run(request.words, plain)
    except SystemExit as end:
        code = end.code
    _leave(code)


def _prepare() -> None:
    """Do for all children what a process does once: read what is packaged, and describe the tools of the service."""
    for task in map(find_task, TASKS.names()):
        task.read(task.groups("all"))
    built_in_tools()
    app = world_app.create_app()
    app.openapi()
    world_app.create_app = lambda: app


def _modules() -> Iterator[str]:
    """Most modules of talm_sim."""
    for found in pkgutil.walk_packages(talm_sim.__path__, "talm_sim."):
        if not found.name.startswith(_NOT_LOADED):
            yield found.name


def _leave(code: object) -> None:
    """End as Python does, but for taking three thousand modules apart, which is most of a short command."""
    if code is None or isinstance(code, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
