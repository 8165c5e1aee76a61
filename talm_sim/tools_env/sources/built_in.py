"""The built-in tools: a service of our own beside this process."""

from __future__ import annotations

import asyncio

from talm_sim.tools_env.service.process import ToolService
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.tools_env.sources.http import HttpSource

__all__ = ["open_built_in"]


class _BuiltIn(HttpSource):
    def __init__(self, service: ToolService) -> None:
        super().__init__(service.base_url, service.tools(), recover=service.recover)
        self.service = service

    async def aclose(self) -> None:
        await super().aclose()
        await asyncio.to_thread(self.service.stop)


async def open_built_in(request: SourceRequest) -> HttpSource:
    """Start the service.

    Raises:
        PrerequisiteError: It does not start.
    """
    service = ToolService()

    def start() -> _BuiltIn:
        try:
            return _BuiltIn(service.start())
        except BaseException:
            service.stop()
            raise

    return await asyncio.to_thread(start)
