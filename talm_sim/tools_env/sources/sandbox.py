"""Run code that came with data in a kernel sandbox: a separate process for each call, behind namespaces and limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure

__all__ = ["MEMORY", "SECONDS", "call_in_sandbox", "check_sandbox", "explain_no_sandbox"]

SECONDS = 10
MEMORY = 1 << 30
_ROOM, _FILES, _PROCESSES = 64 << 20, 1_000, 32
_MOST_ANSWER = 1 << 20
_LONGEST_MESSAGE = 500
_TO_START_S = 30
"""Seconds that a call is waited for beyond its own limit: the first process in the sandbox keeps the time, and this applies if it fails to."""
_STANDS = b"\0"
"""Byte that is sent once the walls are up; what precedes it says why they are not, what follows it is the answer."""
_NOT_STARTED = "The sandbox could not be started: "
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
_CHILD = Path(__file__).with_name("sandbox_child.py")
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp", "TMPDIR": "/tmp"}
_NOWHERE = (Path("/"), Path("/tmp"))
"""Folders that cannot be shown by themselves: the root of the sandbox, and its only writable place."""


def check_sandbox(folders: Iterable[Path]) -> None:
    """Check that the kernel can sandbox code here.

    Args:
        folders: Those of the code.

    Raises:
        PrerequisiteError: It cannot, for the reason given, or a folder cannot be shown by itself; nothing is run without a sandbox.
    """
    for folder in folders:
        if folder in _NOWHERE:
            raise PrerequisiteError(f"its code is in {folder} itself and cannot be sandboxed there; move the tools to a folder of their own.")
    why = explain_no_sandbox()
    if why:
        raise PrerequisiteError(f"its code cannot be sandboxed here ({why}) and is not run without a sandbox; replay a recording instead.")


@lru_cache(maxsize=1)
def explain_no_sandbox() -> str:
    """Say why code cannot be sandboxed here; empty if it can. The walls are put up once to find out."""
    if sys.platform != "linux" or shutil.which(_UNSHARE[0]) is None:
        return "it needs Linux and the program `unshare`"
    with ThreadPoolExecutor(1) as apart:  # from the event loop of the caller
        try:
            tried = apart.submit(asyncio.run, call_in_sandbox(_CHILD, "works", {})).result()
        except ProviderError as err:
            return str(err).removeprefix(_NOT_STARTED)
    return "" if tried.status == 200 else tried.body.decode()


async def call_in_sandbox(code: Path, function: str, arguments: Mapping[str, object], *, seconds: float = SECONDS) -> HttpResponse:
    """Call a function of a file in the sandbox.

    Args:
        code: The file; the code sees only its folder and the Python installation, and nothing that it writes is kept.
        function: The function's name.
        arguments: The arguments, by name.
        seconds: How long it may take.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    order = _order(code=str(code), function=function, arguments=dict(arguments), seconds=seconds)
    try:
        said = await _exchange(json.dumps(order).encode() + b"\n", seconds + _TO_START_S)
    except OSError as err:
        raise ProviderError(f"{_NOT_STARTED}{err.strerror or err}") from None
    why, stands, found = said.partition(_STANDS)
    if not stands:
        lines = why.decode(errors="replace").split("\n")
        raise ProviderError(_NOT_STARTED + (next((line[:200] for line in reversed(lines) if line.strip()), "") or "it gave no reason"))
    return _read(found)


def _order(**what: Any) -> dict[str, Any]:
    prefixes = {sys.base_prefix, sys.prefix, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))}
    outer = [place for place in prefixes | {os.path.realpath(one) for one in prefixes} if not place.startswith("/usr/")]
    readable = [*_READABLE, *(place for place in outer if not any(place != one and Path(place).is_relative_to(one) for one in outer))]
    limits = {"memory": MEMORY, "processor": SECONDS, "room": _ROOM, "files": _FILES, "processes": _PROCESSES}
    folder = os.path.dirname(what["code"])
    return {"folder": folder, "readable": [place for place in readable if Path(place).exists()], "answer": _MOST_ANSWER, **limits, **what}


def _command() -> list[str]:
    return [str(shutil.which(_UNSHARE[0])), *_UNSHARE[1:], sys.executable, "-I", str(_CHILD)]


async def _exchange(order: bytes, seconds: float) -> bytes:
    """Start the sandbox, and return its output until it ends, or until the time is up.

    Its input is a pipe that stays open, whose end tells the sandbox that this process has ended.
    """
    hearing, saying = os.pipe()
    with contextlib.ExitStack() as opened:
        hears = opened.enter_context(os.fdopen(hearing, "rb"))
        try:
            process = await asyncio.create_subprocess_exec(
                *_command(), stdin=asyncio.subprocess.PIPE, stdout=saying, stderr=saying, env=_ENVIRONMENT, start_new_session=True
            )
        finally:
            os.close(saying)
        assert process.stdin is not None
        said = bytearray()
        try:
            reader = asyncio.StreamReader()
            # Not a pipe of `process`, which would be waited for until it ends.
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), hears)
            opened.callback(transport.close)
            process.stdin.write(order)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while len(said) <= 2 * _MOST_ANSWER and (more := await reader.read(65_536)):
                        said += more
        finally:
            with contextlib.suppress(ProcessLookupError):
                # Not `process.kill()`, which takes the exit status of one that has just ended away from those who wait for it.
                os.kill(process.pid, signal.SIGKILL)
            process.stdin.close()
            await process.wait()
    return bytes(said)


def _read(said: bytes) -> HttpResponse:
    if not said:
        return failure(500, "it was stopped: it ran into a limit of memory, time or processes, or ended itself")
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
