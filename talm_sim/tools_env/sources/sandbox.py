"""Run code that came with data in a sandbox: a process of its own for each call or each episode, which bubblewrap shuts in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure
from talm_sim.tools_env.sources.sandbox_walls import NUMBERS, PROGRAM, SITES, system_call_filter, wall_arguments
from talm_sim.tools_env.sources.tool_code import imported_anywhere

SECONDS = 10
_LIMITS = {"AS": 1 << 30, "CPU": SECONDS, "FSIZE": 64 << 20, "NOFILE": 64, "MSGQUEUE": 0, "SIGPENDING": 64, "CORE": 0}
_MOST_FILES, _MOST_THREADS, _MOST_ANSWER, _LONGEST_MESSAGE = 1_000, 256, 1 << 20, 500
_TO_START_S, _LOOK_S = 30, 0.1
_CHILD = Path(__file__).with_name("sandbox_child.py")
_NOT_STARTED = "The sandbox could not be started: "


def check_sandbox(folders: Iterable[Path]) -> None:
    """Check that the code in folders can be sandboxed here.

    Raises:
        PrerequisiteError: It cannot; nothing is run without a sandbox.
    """
    for folder in folders:
        if str(folder) in ("/", "/tmp", *SITES):
            raise PrerequisiteError(f"its code is in {folder} itself and cannot be sandboxed there; move the tools to a folder of their own.")
    if why := explain_no_sandbox():
        raise PrerequisiteError(f"its code cannot be sandboxed here ({why}) and is not run without a sandbox; replay a recording instead.")


@lru_cache(maxsize=1)
def explain_no_sandbox() -> str:
    """Say why code cannot be sandboxed here; empty if it can. The walls are put up once to find out."""
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return "it needs Linux and bubblewrap: apt install bubblewrap"
    if os.uname().machine not in NUMBERS:
        return f"no system call filter is known for {os.uname().machine}"
    with ThreadPoolExecutor(1) as apart:  # from the event loop of the caller
        try:
            tried = apart.submit(asyncio.run, call_in_sandbox(_CHILD, "_text_of", {"err": ""})).result()
        except ProviderError as err:
            return f"{str(err).removeprefix(_NOT_STARTED)}; bubblewrap needs user namespaces"
    return "" if tried.status == 200 else tried.body.decode()


async def call_in_sandbox(code: Path, function: str, arguments: Mapping[str, object], **options: Any) -> HttpResponse:
    """Call a function once; the arguments are those of a session. Whatever goes wrong within is the tool's failure.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    session = SandboxSession(code, function, arguments, **options, stays=False)
    try:
        return await session.begin()
    finally:
        await session.aclose()


class SandboxSession:
    """Code in a sandbox that stays for several calls: what it keeps between them ends with it.

    Args:
        code: The file; it sees only its folder, the Python installation and the packages it imports, and nothing that it writes is kept.
        function: What is called first; it returns the function that answers the calls.
        arguments: Its arguments, by name.
        seconds: How long each call may take.
        network: Whether it reaches this machine's network; all other walls are the same.
        readable: Further folders that it sees.
        stays: Whether there are calls after the first.
    """

    def __init__(
        self,
        code: Path,
        function: str,
        arguments: Mapping[str, object],
        *,
        seconds: float = SECONDS,
        network: bool = False,
        readable: Iterable[Path] = (),
        stays: bool = True,
    ) -> None:
        self._order = {"code": str(code), "function": function, "arguments": dict(arguments), "stays": stays, "limits": _LIMITS, "sites": SITES}
        self._code, self._seconds, self._network, self._readable = code, seconds, network, (_CHILD, *readable)
        self._opened = contextlib.ExitStack()
        self._process: asyncio.subprocess.Process | None = None
        self._heard, self._init, self._begun = bytearray(), "", failure(500, "it was not begun")

    async def call(self, arguments: Mapping[str, object]) -> HttpResponse:
        """Make a call, one after the other; the first starts the sandbox, and all after one that was stopped are failures.

        Raises:
            ProviderError: The sandbox could not be started.
        """
        if self._process is None:
            self._begun = await self.begin()
        return await self._answer(arguments) if self._begun.status == 200 else self._begun

    async def begin(self) -> HttpResponse:
        """Start the sandbox, and return what the function answers.

        Raises:
            ProviderError: It could not be started.
        """
        try:
            modules = imported_anywhere(self._code)  # not in a thread: Python 3.11 parses one text at a time
            walls = await asyncio.to_thread(wall_arguments, self._code, modules, self._readable, network=self._network)
            await self._start(os.fsencode("\0".join(walls)))
            self._say(self._order)
            why = await self._hear(b"\0", _TO_START_S)
        except (OSError, _StoppedError) as err:
            raise ProviderError(f"{_NOT_STARTED}{getattr(err, 'strerror', '') or err}") from None
        if not why.endswith(b"\0"):
            lines = [line for line in why.decode(errors="replace").split("\n") if line[:1] not in ("", " ", "{", "}")]
            raise ProviderError(f"{_NOT_STARTED}{lines[-1][:200] if lines else 'it gave no reason'}")
        self._init = "".join(re.findall(r'"child-pid": (\d+)', why.decode(errors="replace")))
        return await self._answer()

    async def aclose(self) -> None:
        """End the sandbox."""
        process = self._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                # Not `process.kill()`, which takes the exit status of one that has just ended away from those who wait for it.
                os.kill(process.pid, signal.SIGKILL)
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
        self._opened.close()

    async def _start(self, walls: bytes) -> None:
        hearing, saying = os.pipe()
        hears, self._reader = self._opened.enter_context(os.fdopen(hearing, "rb")), asyncio.StreamReader()
        inherited = [saying, *map(_memory_file, (system_call_filter(), walls))]
        fds = [word for pair in zip(("--info-fd", "--seccomp", "--args"), map(str, inherited), strict=True) for word in pair]
        command = (str(shutil.which("bwrap")), *fds, "--", PROGRAM, "-I", str(_CHILD))
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=saying, stderr=saying, pass_fds=inherited, env={}
            )
        finally:
            for one in inherited:
                os.close(one)
        # Not a pipe of the process, which would be waited for until it ends.
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), hears)
        self._opened.callback(transport.close)

    def _say(self, what: Mapping[str, object]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")

    async def _hear(self, end: bytes, seconds: float) -> bytes:
        """Return what is said until it ends so, or at all.

        Raises:
            _StoppedError: It takes too long or too much.
        """
        ends = time.monotonic() + seconds
        while end not in self._heard and not self._reader.at_eof():
            self._look()
            now, more = time.monotonic(), b""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0, min(ends - now, _LOOK_S))):
                    more = await self._reader.read(1 << 16)
            self._heard += more
            if len(self._heard) > _MOST_ANSWER:
                raise _StoppedError(f"its answer is longer than {_MOST_ANSWER >> 10:,} KiB")
            if now > ends and not more and not self._reader.at_eof():
                raise _StoppedError(f"it ran longer than {seconds:g} s")
        said, found, self._heard = self._heard.partition(end)
        return bytes(said + found)

    def _look(self) -> None:
        """Look at what no limit holds for root."""
        with contextlib.suppress(OSError):
            tmp = os.statvfs(f"/proc/{self._init}/root/tmp")
            if tmp.f_files - tmp.f_ffree > _MOST_FILES:
                raise _StoppedError(f"it made more than {_MOST_FILES:,} files in /tmp")
            for process in Path(f"/proc/{self._init}/task/{self._init}/children").read_text(encoding="ascii").split():
                if len(os.listdir(f"/proc/{process}/task")) > _MOST_THREADS:
                    raise _StoppedError(f"it started more than {_MOST_THREADS} threads")

    async def _answer(self, arguments: Mapping[str, object] | None = None) -> HttpResponse:
        if arguments is not None:
            self._say(arguments)
        try:
            said = await self._hear(b"\n", self._seconds)
            why = "" if said else "it ran into a limit of memory, time or processes, made a forbidden call, or ended itself"
        except _StoppedError as err:
            said, why = b"", str(err)
        if not said.endswith(b"\n"):
            self._begun = failure(500, "it was stopped by an earlier call")
        return failure(500, f"it was stopped: {why}") if why else _read(said)


class _StoppedError(Exception):
    """Why a call was stopped."""


def _memory_file(content: bytes) -> int:
    found = os.memfd_create("sandbox")
    os.write(found, content)
    os.lseek(found, 0, os.SEEK_SET)
    return found


def _read(said: bytes) -> HttpResponse:
    error = "its answer cannot be read"
    with contextlib.suppress(ValueError, RecursionError):
        match json.loads(said):
            case {"error": str(why)}:
                error = why
            case {"value": value}:
                try:
                    return answer(value)
                except (ValueError, RecursionError) as err:
                    error = f"{type(err).__name__}: {err}"
    return failure(500, error[:_LONGEST_MESSAGE].encode(errors="backslashreplace").decode())
