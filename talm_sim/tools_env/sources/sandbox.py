"""Code that came with data, run in a sandbox of the kernel's: a process of its own for each call or each episode, behind namespaces and limits.

A network is the one wall that the user can take away. The other walls do not change then: the code still sees no file but those by which names
are resolved and certificates are checked.
"""

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

__all__ = [
    "MEMORY",
    "SECONDS",
    "SandboxSession",
    "call_in_sandbox",
    "check_sandbox",
    "explain_no_sandbox",
    "find_missing_modules",
    "network_files",
]

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
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
_NO_NETWORK = "--net"
_CHILD = Path(__file__).with_name("sandbox_child.py")
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_FOR_NAMES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols")
_CERTIFICATES = (
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ca-certificates/extracted",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
)
"""Where distributions keep the certificates of authorities; private keys are elsewhere."""
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


def network_files() -> list[str]:
    """Return the files here by which names are resolved and certificates are checked: code with a network sees them."""
    return [place for place in (*_FOR_NAMES, *_CERTIFICATES) if Path(place).exists()]


async def find_missing_modules(names: Iterable[str]) -> set[str]:
    """Return those of the modules that code in the sandbox could not import. Where that cannot be found out, the calls will say it.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    found = await call_in_sandbox(_CHILD, "missing_modules", {"names": sorted(names)})
    return set(json.loads(found.body)) if found.status == 200 else set()


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
        code: The file; the code sees only its folder and the Python installation, and nothing that it writes is kept.
        function: The function's name.
        arguments: The arguments, by name.
        seconds: How long it may take.
        network: Whether it reaches this machine's network; all other walls are the same.
        readable: Further folders that it sees.

    Raises:
        ProviderError: The sandbox could not be started.
    """
    followed = network_files() if network else []
    order = _order(readable, code=str(code), function=function, arguments=dict(arguments), seconds=seconds, followed=followed, stays=False)
    box = _Box()
    try:
        await box.start(network=network)
        said = await box.exchange(order, seconds + _TO_START_S)
    except OSError as err:
        raise ProviderError(f"{_NOT_STARTED}{err.strerror or err}") from None
    finally:
        await box.aclose()
    return _read(_behind_walls(said))


class SandboxSession:
    """Code in a sandbox that stays for several calls: what it keeps between them ends with it.

    The function of the file that is called first returns another one, which answers the calls.

    Args:
        code: The file; see `call_in_sandbox`.
        function: The function's name.
        arguments: Its arguments, by name.
        seconds: How long each call may take.
        readable: Further folders that the code sees.
    """

    def __init__(
        self, code: Path, function: str, arguments: Mapping[str, object], *, seconds: float = SECONDS, readable: Iterable[Path] = ()
    ) -> None:
        self._order = _order(readable, code=str(code), function=function, arguments=dict(arguments), seconds=seconds, followed=[], stays=True)
        self._seconds = seconds + _TO_START_S
        self._box = _Box()
        self._begun: HttpResponse | None = None

    async def call(self, arguments: Mapping[str, object]) -> HttpResponse:
        """Make a call, the first of which starts the sandbox; calls are made one after the other.

        Once a call was stopped, all later ones are failures.

        Raises:
            ProviderError: The sandbox could not be started.
        """
        if self._begun is None:
            try:
                await self._box.start()
            except OSError as err:
                raise ProviderError(f"{_NOT_STARTED}{err.strerror or err}") from None
            self._begun = _read(_behind_walls(await self._box.exchange(self._order, self._seconds, line=True)))
        if self._begun.status != 200:
            return self._begun
        said = await self._box.exchange(dict(arguments), self._seconds, line=True)
        if not said.endswith(b"\n"):
            self._begun = failure(500, "it was stopped by an earlier call")
        return _read(said)

    async def aclose(self) -> None:
        """End the sandbox."""
        await self._box.aclose()


def _behind_walls(said: bytes) -> bytes:
    """Return what was said once the walls stood.

    Raises:
        ProviderError: They do not stand.
    """
    why, stands, found = said.partition(_STANDS)
    if not stands:
        lines = why.decode(errors="replace").split("\n")
        raise ProviderError(_NOT_STARTED + (next((line[:200] for line in reversed(lines) if line.strip()), "") or "it gave no reason"))
    return found


def _order(further: Iterable[Path], **what: Any) -> dict[str, Any]:
    prefixes = {sys.base_prefix, sys.prefix, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))}
    outer = [place for place in prefixes | {os.path.realpath(one) for one in prefixes} if not place.startswith("/usr/")]
    outer += [place for place in map(str, further) if place not in outer and not place.startswith("/usr/")]
    readable = [*_READABLE, *(place for place in outer if not any(place != one and Path(place).is_relative_to(one) for one in outer))]
    limits = {"memory": MEMORY, "processor": SECONDS, "room": _ROOM, "files": _FILES, "processes": _PROCESSES}
    folder = os.path.dirname(what["code"])
    return {"folder": folder, "readable": [place for place in readable if Path(place).exists()], "answer": _MOST_ANSWER, **limits, **what}


def _command(*, network: bool) -> list[str]:
    walls = _UNSHARE[1:] if network else (*_UNSHARE[1:], _NO_NETWORK)
    return [str(shutil.which(_UNSHARE[0])), *walls, sys.executable, "-I", str(_CHILD)]


class _Box:
    """The process of a sandbox. Its input is a pipe that stays open, whose end tells the sandbox that this process has ended."""

    def __init__(self) -> None:
        self._opened = contextlib.ExitStack()
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, *, network: bool = False) -> None:
        hearing, saying = os.pipe()
        hears, self._reader = self._opened.enter_context(os.fdopen(hearing, "rb")), asyncio.StreamReader()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *_command(network=network),
                stdin=asyncio.subprocess.PIPE,
                stdout=saying,
                stderr=saying,
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        finally:
            os.close(saying)
        # Not a pipe of the process, which would be waited for until it ends.
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), hears)
        self._opened.callback(transport.close)

    async def exchange(self, order: Mapping[str, Any], seconds: float, *, line: bool = False) -> bytes:
        """Say something, and return what is answered until its end, or that of a line, or until the time is up."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        said = bytearray()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(said) <= 2 * _MOST_ANSWER and not (line and said.endswith(b"\n")) and (more := await self._reader.read(65_536)):
                    said += more
        return bytes(said)

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                # Not `process.kill()`, which takes the exit status of one that has just ended away from those who wait for it.
                os.kill(process.pid, signal.SIGKILL)
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
        self._opened.close()


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
