"""Code that came with data, run in a sandbox: a process of its own for each call or each episode, which bubblewrap shuts in.

A network is the one wall that the user can take away. The other walls do not change then: the code still sees no file but those by which names
are resolved and certificates are checked.
"""

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
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure
from talm_sim.tools_env.sources.sandbox_walls import NUMBERS, PROGRAM, SITES, system_call_filter, wall_arguments
from talm_sim.tools_env.sources.tool_code import imported_anywhere

__all__ = ["SECONDS", "SandboxSession", "call_in_sandbox", "check_sandbox", "explain_no_sandbox"]

SECONDS = 10
_LIMITS = {"AS": 1 << 30, "CPU": SECONDS, "FSIZE": 64 << 20, "NOFILE": 64, "MSGQUEUE": 0, "CORE": 0}
_MOST_FILES, _MOST_THREADS, _MOST_ANSWER, _LONGEST_MESSAGE = 1_000, 256, 1 << 20, 500
_TO_START_S, _LOOK_S = 30, 0.1
_CHILD = Path(__file__).with_name("sandbox_child.py")
_NOT_STARTED = "The sandbox could not be started: "


def check_sandbox(folders: Iterable[Path]) -> None:
    """Check that code can be sandboxed here.

    Args:
        folders: Those of the code.

    Raises:
        PrerequisiteError: It cannot, for the reason given, or a folder cannot be shown by itself; nothing is run without a sandbox.
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
            tried = apart.submit(asyncio.run, call_in_sandbox(_CHILD, "_write", {"said": ""})).result()
        except ProviderError as err:
            return f"{str(err).removeprefix(_NOT_STARTED)}; bubblewrap needs user namespaces"
    return "" if tried.status == 200 else tried.body.decode()


async def call_in_sandbox(
    code: Path,
    function: str,
    arguments: Mapping[str, object],
    *,
    seconds: float = SECONDS,
    network: bool = False,
    readable: Iterable[Path] = (),
) -> HttpResponse:
    """Call a function of a file, shut in. What it raises, which wall it ran into, and what is no answer, is the tool's failure.

    Args:
        code: The file; the code sees only its folder, the Python installation and the packages it imports, and nothing that it writes is kept.
        function: The function's name.
        arguments: The arguments, by name.
        seconds: How long it may take.
        network: Whether it reaches this machine's network; all other walls are the same.
        readable: Further folders that it sees.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    session = SandboxSession(code, function, arguments, seconds=seconds, network=network, readable=readable, stays=False)
    try:
        return await session.begin()
    finally:
        await session.aclose()


class SandboxSession:
    """Code in a sandbox that stays for several calls: what it keeps between them ends with it.

    The function of the file that is called first returns another one, which answers the calls. Arguments are those of `call_in_sandbox`.
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
        """Make a call, the first of which starts the sandbox; calls are made one after the other.

        Once a call was stopped, all later ones are failures.

        Raises:
            ProviderError: The sandbox could not be started.
        """
        if self._process is None:
            self._begun = await self.begin()
        if self._begun.status != 200:
            return self._begun
        self._say(arguments)
        return await self._answer()

    async def begin(self) -> HttpResponse:
        """Start the sandbox, and return what the function answers.

        Raises:
            ProviderError: It could not be started.
        """
        try:
            modules = imported_anywhere(self._code)  # not in a thread: Python 3.11 parses one text at a time
            await self._start(await asyncio.to_thread(self._walls, modules))
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

    def _walls(self, modules: Collection[str]) -> bytes:
        return "\0".join(wall_arguments(self._code, modules, self._readable, network=self._network)).encode()

    async def _start(self, walls: bytes) -> None:
        hearing, saying = os.pipe()
        hears, self._reader = self._opened.enter_context(os.fdopen(hearing, "rb")), asyncio.StreamReader()
        inherited = [saying, *map(_memory_file, (system_call_filter(), walls))]
        fds = [word for pair in zip(("--info-fd", "--seccomp", "--args"), map(str, inherited), strict=True) for word in pair]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(str(shutil.which("bwrap")), *fds, "--", PROGRAM, "-I", str(_CHILD)),
                stdin=asyncio.subprocess.PIPE,
                stdout=saying,
                stderr=saying,
                pass_fds=inherited,
                env={},
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
        ends, looked = time.monotonic() + seconds, time.monotonic()
        while end not in self._heard:
            now = time.monotonic()
            if now > looked + _LOOK_S:
                looked = now
                self._look()
            more = b""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0, min(ends - now, _LOOK_S))):
                    more = await self._reader.read(1 << 16)
            self._heard += more
            if len(self._heard) > _MOST_ANSWER:
                raise _StoppedError(f"its answer is longer than {_MOST_ANSWER >> 10:,} KiB")
            if self._reader.at_eof():
                break
            if not more and now > ends:
                raise _StoppedError(f"it ran longer than {seconds:g} s")
        said, found, self._heard = self._heard.partition(end)
        return bytes(said + found)

    def _look(self) -> None:
        """Look at what no limit holds for root.

        Raises:
            _StoppedError: It is too much.
        """
        with contextlib.suppress(OSError):
            tmp = os.statvfs(f"/proc/{self._init}/root/tmp")
            if tmp.f_files - tmp.f_ffree > _MOST_FILES:
                raise _StoppedError(f"it made more than {_MOST_FILES:,} files in /tmp")
            for process in Path(f"/proc/{self._init}/task/{self._init}/children").read_text(encoding="ascii").split():
                if len(os.listdir(f"/proc/{process}/task")) > _MOST_THREADS:
                    raise _StoppedError(f"it started more than {_MOST_THREADS} threads")

    async def _answer(self) -> HttpResponse:
        try:
            said = await self._hear(b"\n", self._seconds)
            why = "" if said else "it ran into a limit of memory, time or processes, or ended itself"
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
        found = json.loads(said)
        if isinstance(found, dict) and isinstance(found.get("error"), str):
            error = found["error"]
        elif isinstance(found, dict) and "value" in found:
            try:
                return answer(found["value"])
            except (ValueError, RecursionError) as err:
                error = f"{type(err).__name__}: {err}"
    return failure(500, error[:_LONGEST_MESSAGE].encode(errors="backslashreplace").decode())
