"""Run code that came with data in a sandbox: a process of its own for each call or each episode, which bubblewrap shuts in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure
from talm_sim.tools_env.sources.sandbox_walls import NUMBERS, PROGRAM, SITES, system_call_filter, wall_arguments
from talm_sim.tools_env.sources.tool_code import imported_anywhere

SECONDS = 10
_TO_START_S, _LOOK_S, _MOST_FILES, _MOST_ANSWER, _LONGEST_MESSAGE = 30, 0.1, 1_000, 1 << 20, 500
_CHILD = Path(__file__).with_name("sandbox_child.py")
_NOT_STARTED = "The sandbox could not be started: "


def check_sandbox(folders: Iterable[Path]) -> None:
    """Check that the code in folders can be sandboxed here."""
    for folder in folders:
        if str(folder) in ("/", "/tmp", sys.base_prefix, *SITES):
            raise PrerequisiteError(f"its code is in {folder} itself and cannot be sandboxed there; move the tools to a folder of their own.")
    if why := explain_no_sandbox():
        raise PrerequisiteError(f"its code cannot be sandboxed here ({why}) and is not run without a sandbox; replay a recording instead.")


@lru_cache(maxsize=1)
def explain_no_sandbox() -> str:
    """Say why code cannot be sandboxed here; empty if it can. The walls are put up once to find out."""
    if sys.platform != "linux" or os.uname().machine not in NUMBERS or shutil.which("bwrap") is None:
        return "it needs Linux on x86-64 or ARM, and bubblewrap: apt install bubblewrap"
    command = ("bwrap", *wall_arguments(_CHILD, (), (), network=False), PROGRAM, "-I", "-c", "")
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    last = tried.stderr.strip().rpartition("\n")[2][:200]
    return f"{last}; bubblewrap needs user namespaces" if tried.returncode else ""


async def call_in_sandbox(code: Path, function: str, arguments: Mapping[str, object], **options: Any) -> HttpResponse:
    """Call a function once; the arguments are those of a session. Whatever goes wrong within is the tool's failure.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    session = SandboxSession(code, function, arguments, **options)
    try:
        return await session._begin()
    finally:
        await session.aclose()


@dataclass
class SandboxSession:
    """Code in a sandbox that stays for several calls: what it keeps between them ends with it.

    Attributes:
        code: The file; it sees only its folder, the Python installation and the packages it imports, and nothing that it writes is kept.
        function: What is called first; it returns the function that answers the calls.
        arguments: Its arguments, by name.
        seconds: How long each call may take.
        network: Whether it reaches this machine's network; all other walls are the same.
        readable: Further folders that it sees.
    """

    code: Path
    function: str
    arguments: Mapping[str, object]
    seconds: float = SECONDS
    network: bool = False
    readable: Iterable[Path] = ()
    _process: Process | None = field(default=None, init=False)
    _watch: asyncio.Task[None] | None = field(default=None, init=False)
    _begun: HttpResponse = field(default_factory=lambda: failure(500, "it was stopped by an earlier call"), init=False)

    async def call(self, arguments: Mapping[str, object]) -> HttpResponse:
        """Make a call, one after the other; the first starts the sandbox, and all after one that was stopped are failures."""
        if self._process is None:
            self._begun = await self._begin("stays")
        return await self._ask(arguments) if self._begun.status == 200 else self._begun

    async def aclose(self) -> None:
        """End the sandbox."""
        if self._watch is not None:
            self._watch.cancel()
        if self._process is not None and self._process.returncode is None:
            # Not `kill()` of asyncio, which takes the exit status of one that has just ended away from those who wait for it.
            _end(self._process.pid)
            await self._process.communicate()

    async def _begin(self, stays: str = "") -> HttpResponse:
        try:
            modules = imported_anywhere(self.code)  # not in a thread: Python 3.11 parses one text at a time
            walls = await asyncio.to_thread(wall_arguments, self.code, modules, (_CHILD, *self.readable), network=self.network)
            with os.fdopen(os.memfd_create("filter"), "wb", 0) as file:
                file.write(system_call_filter())
                file.seek(0)
                command = (str(shutil.which("bwrap")), "--seccomp", str(file.fileno()), *walls, PROGRAM, "-I", str(_CHILD), stays, *SITES)
                self._process = await asyncio.create_subprocess_exec(
                    *command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, pass_fds=[file.fileno()], env={}, limit=_MOST_ANSWER
                )
            self._watch = asyncio.create_task(_end_flood(self._process.pid))
        except (OSError, RecursionError) as err:  # folders may be nested deeply
            raise ProviderError(f"{_NOT_STARTED}{getattr(err, 'strerror', '') or err}") from None
        said, why = await self._hear(b"\0", _TO_START_S)
        if not said.endswith(b"\0"):
            last = said.strip().rpartition(b"\n")[2][:200].decode(errors="replace")
            raise ProviderError(f"{_NOT_STARTED}{why or last}")
        return await self._ask({"code": str(self.code), "function": self.function, "arguments": dict(self.arguments)})

    async def _hear(self, end: bytes, seconds: float) -> tuple[bytes, str]:
        """Return what is said until it ends so, or at all; and why it was stopped, if it was."""
        assert self._process is not None and self._process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                return await self._process.stdout.readuntil(end), ""
        except asyncio.IncompleteReadError as err:
            ended = "it ran into a limit of memory, time, files or processes, made a forbidden call, or ended itself"
            return err.partial, "" if err.partial else ended
        except asyncio.LimitOverrunError:
            return b"", f"its answer is longer than {_MOST_ANSWER >> 10:,} KiB"
        except TimeoutError:
            return b"", f"it ran longer than {seconds:g} s"

    async def _ask(self, what: Mapping[str, object]) -> HttpResponse:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        said, why = await self._hear(b"\n", self.seconds)
        if not said.endswith(b"\n"):
            self._begun = failure(500, "it was stopped by an earlier call")
        if why:
            return failure(500, f"it was stopped: {why}")
        with contextlib.suppress(ValueError, RecursionError):
            match json.loads(said):
                case {"value": value}:
                    return answer(value)
                case {"error": str(error)}:
                    return failure(500, error[:_LONGEST_MESSAGE])
        return failure(500, "its answer cannot be read")


def _end(process: int) -> None:
    """Kill a sandbox and what it has begun, which dies with it only from a certain moment on; stopped, it begins nothing more."""
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGSTOP)
        inside = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        for one in (*map(int, inside), process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)


async def _end_flood(process: int) -> None:
    """End a sandbox whose code makes very many files in `/tmp`: an empty one takes memory of the kernel, which no limit holds."""
    while True:
        await asyncio.sleep(_LOOK_S)
        with contextlib.suppress(OSError, IndexError):
            inside = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()[0]
            tmp = os.statvfs(f"/proc/{inside}/root/tmp")
            if tmp.f_files - tmp.f_ffree > _MOST_FILES:
                _end(process)
