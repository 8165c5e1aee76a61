"""Serve an application on loopback in this process; the tool service is one."""

import asyncio
import errno
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from talm_sim.errors import PrerequisiteError

HOST = "127.0.0.1"
"""What is served answers on loopback only."""


class _Server(uvicorn.Server):
    """A uvicorn server that says when it takes calls."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[str], None], base_url: str) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._base_url = base_url
        self._full = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._explain)
        await super().startup(sockets)
        if self.started:
            self._on_ready(self._base_url)

    def _explain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say once, in one line, that no more connections can be taken: asyncio tries again every second, and prints a stack each time."""
        if self._full and self.should_exit:  # it tries once more when the listener is closed
            return
        if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif not self._full:
            self._full = True
            print("too many open connections: further ones wait until others are closed", file=sys.stderr, flush=True)


def serve(port: int, *, on_ready: Callable[[str], None], until_stdin_closes: bool = False) -> None:
    """Serve the tools until interrupted; arguments and errors are those of `serve_app`."""
    from talm_sim.world.app import create_app  # not at the top: other applications do without the tools

    serve_app(lambda _: create_app(), port, on_ready=on_ready, until_stdin_closes=until_stdin_closes)


def serve_app(
    make_app: Callable[[str], Callable[..., Any]], port: int, *, on_ready: Callable[[str], None], until_stdin_closes: bool = False
) -> None:
    """Serve an application until interrupted.

    Args:
        make_app: Makes the ASGI application, given its base address.
        port: Port on loopback; 0 takes a free one.
        on_ready: Called once with the base address when requests are taken.
        until_stdin_closes: End the process when standard input ends, which happens when the process that holds its other end dies.

    Raises:
        PrerequisiteError: The port cannot be had.
    """
    with _bind(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}"
        config = uvicorn.Config(make_app(address), log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1)
        server = _Server(config, on_ready, address)
        if until_stdin_closes:
            threading.Thread(target=_end_with_stdin, daemon=True).start()
        asyncio.run(server.serve(sockets=[listener]))


def _bind(port: int) -> socket.socket:
    # Only a socket that names its protocol is spared by asyncio the kernel's wait for a full packet: 40 ms of every call.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Without it a port stays taken for a minute after the service that used it was stopped.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except (OSError, OverflowError) as err:
        listener.close()
        busy = isinstance(err, OSError) and err.errno == errno.EADDRINUSE
        reason = "is busy" if busy else f"cannot be used ({err})"
        raise PrerequisiteError(f"port {port} {reason}: choose another one, or 0 for any free port.") from None
    return listener


def _end_with_stdin() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # whoever calls has gone: a server that closes its doors and tidies up takes half a second
