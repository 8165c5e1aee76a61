"""Code that came with data, run in a sandbox of the kernel's: a process of its own for each call, behind namespaces and limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.routes import answer, failure

__all__ = ["MEMORY", "SECONDS", "call_in_sandbox", "check_sandbox", "why_no_sandbox"]

SECONDS = 10
MEMORY = 1 << 30
_FILE, _PROCESSES = 64 << 20, 32
_MOST_ANSWER = 1 << 20
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
_CHILD = Path(__file__).with_name("sandbox_child.py")
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def check_sandbox() -> None:
    """See that the kernel can shut code in here.

    Raises:
        PrerequisiteError: It cannot, and says why; nothing is run without it.
    """
    why = why_no_sandbox()
    if why:
        raise PrerequisiteError(f"its code cannot be shut in here ({why}), and is not run without that; replay a recording instead.")


@lru_cache(maxsize=1)
def why_no_sandbox() -> str:
    """Why code cannot be shut in here; empty where it can. The walls are put up once to see."""
    if sys.platform != "linux" or shutil.which(_UNSHARE[0]) is None:
        return "it takes Linux and the program `unshare`"
    with tempfile.TemporaryDirectory(prefix="talm-sim-root-") as root, tempfile.TemporaryDirectory(prefix="talm-sim-try-") as folder:
        code = Path(folder, "api.py")
        code.write_text("def works():\n    return True\n", encoding="utf-8")
        order = _order(root, Path(folder), code=str(code), function="works", arguments={})
        try:
            done = subprocess.run(_command(), input=json.dumps(order).encode(), capture_output=True, env=_ENVIRONMENT, timeout=60, check=False)
            found = json.loads(done.stdout or b"{}")
        except (OSError, ValueError, subprocess.TimeoutExpired) as err:
            return type(err).__name__
    if found.get("value") is True:
        return ""
    return str(found.get("walls") or found.get("error") or done.stderr.decode(errors="replace").strip()[:200] or "no namespaces")


async def call_in_sandbox(
    code: Path, folder: Path, function: str, arguments: Mapping[str, object], *, seconds: float = SECONDS
) -> HttpResponse:
    """Call a function of a file, shut in. What it raises, and which wall it ran into, is the tool's failure.

    Args:
        code: The file.
        folder: The one folder it may write to; the file lies in it.
        function: The function's name.
        arguments: By name.
        seconds: How long it may take.
    """
    with tempfile.TemporaryDirectory(prefix="talm-sim-root-") as root:
        order = _order(root, folder, code=str(code), function=function, arguments=dict(arguments))
        process = await asyncio.create_subprocess_exec(
            *_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                said = await _exchange(process, json.dumps(order).encode())
        except TimeoutError:
            return failure(500, f"it was stopped: it ran longer than {seconds:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError):
                # Not `process.kill()`, which takes the exit status of one that has just ended away from whoever waits for it.
                os.kill(process.pid, signal.SIGKILL)
            assert process.stdout is not None
            await process.stdout.read()  # a pipe that is not read to its end would be waited for without end
            await process.wait()
    return _read(said)


def _order(root: str, folder: Path, **what: Any) -> dict[str, Any]:
    prefixes = {sys.base_prefix, sys.prefix, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))}
    outer = [place for place in prefixes if not place.startswith("/usr/")]
    readable = [*_READABLE, *(place for place in outer if not any(place != one and Path(place).is_relative_to(one) for one in outer))]
    limits = {"memory": MEMORY, "seconds": SECONDS, "file": _FILE, "processes": _PROCESSES}
    return {"root": root, "folder": str(folder), "readable": [place for place in readable if Path(place).exists()], **limits, **what}


def _command() -> list[str]:
    return [str(shutil.which(_UNSHARE[0])), *_UNSHARE[1:], sys.executable, "-I", str(_CHILD)]


async def _exchange(process: asyncio.subprocess.Process, order: bytes) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(order)
        await process.stdin.drain()
    process.stdin.close()
    said = b""
    while len(said) <= _MOST_ANSWER and (more := await process.stdout.read(65_536)):
        said += more
    return said


def _read(said: bytes) -> HttpResponse:
    if len(said) > _MOST_ANSWER:
        return failure(500, f"it was stopped: its answer is longer than {_MOST_ANSWER >> 10:,} KiB")
    try:
        found = json.loads(said)
    except ValueError:
        return failure(500, "it was stopped: it ran into a limit of memory, time or processes, or ended itself")
    if "walls" in found:
        return failure(500, f"its code could not be shut in: {found['walls']}")
    return answer(found["value"]) if "value" in found else failure(500, str(found["error"]))
