"""The built-in tools without their service: the application is asked in this process, and for equal calls once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx2

from talm_sim.common.digests import canonical_json
from talm_sim.errors import ToolError
from talm_sim.tools_env.routes import LOGICAL_HOST, build_request
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.types import ToolSpec
from talm_sim.world.app import create_app


class DirectCaller:
    """Does what a `ToolCaller` does, for the built-in tools: the data behind them are read once for all tests of a process."""

    def __init__(self) -> None:
        app = create_app()
        self._transport = httpx2.ASGITransport(app=app)
        self.document = app.openapi()
        """What the application says of its tools."""
        self._tools = tools_from_openapi(self.document)
        self._answers: dict[str, tuple[int, str]] = {}

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        return self._tools.specs

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Execute one tool and return its parsed result.

        Raises:
            ToolError: It does not answer with a 2xx status.
        """
        status, text = asyncio.run(self.ask(tool, arguments))
        if not 200 <= status < 300:
            raise ToolError(f"{tool} answered HTTP {status}: {text[:300]}", f"http_{status}")
        return json.loads(text)

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> tuple[int, str]:
        """Return the status and the body of a tool's answer."""
        key = canonical_json([tool, arguments])
        if key not in self._answers:
            self._answers[key] = await self._ask(tool, arguments)
        return self._answers[key]

    async def _ask(self, tool: str, arguments: Mapping[str, Any]) -> tuple[int, str]:
        request = build_request(self._tools.routes[tool], arguments)
        async with httpx2.AsyncClient(transport=self._transport, base_url="http://service") as client:
            answer = await client.request(request.method, request.url.replace(LOGICAL_HOST, "http://service"))
        return answer.status_code, answer.text


@cache
def direct_caller() -> DirectCaller:
    """One for all tests of a process."""
    return DirectCaller()
