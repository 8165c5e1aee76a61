"""The built-in tools: a service of our own beside this process."""

from __future__ import annotations

import asyncio

from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.http import HttpSource
from talm_sim.world.process import ToolService, read_tools, take_service


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

    def start() -> BuiltInTools:
        service = take_service()
        try:
            return BuiltInTools(service)
        except BaseException:
            service.stop()
            raise

    return await asyncio.to_thread(start)
