"""The built-in tools: a service of our own beside this process."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Thread

from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.http import HttpSource
from talm_sim.world.process import ToolService, read_tools

_ahead: list[Future[ToolService]] = []
"""A service that was started ahead and that nothing has opened yet."""


class BuiltInTools(HttpSource):
    """The tools of a service of our own.

    Args:
        service: The service, running; it is stopped when this is closed.
    """

    def __init__(self, service: ToolService) -> None:
        super().__init__(service.base_url, read_tools(service.base_url), recover=service.recover)
        self._service = service

    async def aclose(self) -> None:
        """Stop the service, too."""
        await super().aclose()
        await asyncio.to_thread(self._service.stop)


async def open_built_in(request: SourceRequest) -> BuiltInTools:
    """Start the service.

    Raises:
        PrerequisiteError: It does not start, or does not answer.
    """
    service = ToolService()

    def start() -> BuiltInTools:
        nonlocal service
        try:
            service = _ahead.pop().result() if _ahead else service.start()
            return BuiltInTools(service)
        except BaseException:
            service.stop()
            raise

    return await asyncio.to_thread(start)


def start_ahead() -> None:
    """Start the service in a thread, for whoever opens it first: a command that imports much has it by then."""
    started: Future[ToolService] = Future()

    def start() -> None:
        try:
            started.set_result(ToolService().start())
        except BaseException as err:
            started.set_exception(err)

    _ahead.append(started)
    Thread(target=start, daemon=True).start()
