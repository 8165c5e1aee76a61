"""The built-in tools: a service of our own beside this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from talm_sim.tools_env.restarts import Recovered
from talm_sim.tools_env.service.process import ToolService, read_tools
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.http import HttpSource

__all__ = ["BuiltInTools", "RunningService", "open_built_in", "running_service"]


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that another process has started."""

    base_url: str
    recover: Callable[[str], Recovered]
    """As of `ToolService`; it may be called in any thread."""


running_service: ContextVar[RunningService | None] = ContextVar("talm_sim_running_service", default=None)
"""The service that is used in place of a new one; None to start one."""


class BuiltInTools(HttpSource):
    """The tools of a service of our own.

    Args:
        service: The service, running; it is stopped when this is closed.
    """

    def __init__(self, service: ToolService) -> None:
        super().__init__(service.base_url, read_tools(service.base_url), recover=service.recover)
        self.service = service

    async def aclose(self) -> None:
        """Stop the service, too."""
        await super().aclose()
        await asyncio.to_thread(self.service.stop)


async def open_built_in(request: SourceRequest) -> HttpSource:
    """Start the service, or take the one that runs already.

    Raises:
        PrerequisiteError: It does not start, or does not answer.
    """
    running = running_service.get()
    if running is not None:
        tools = await asyncio.to_thread(read_tools, running.base_url)
        return HttpSource(running.base_url, tools, recover=running.recover)
    service = ToolService()

    def start() -> BuiltInTools:
        try:
            return BuiltInTools(service.start())
        except BaseException:
            service.stop()
            raise

    return await asyncio.to_thread(start)
