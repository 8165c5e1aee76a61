"""One running tool service for all tests of its categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import requests

from talm_sim.tools_env.routes import LOGICAL_HOST, build_request
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.types import ToolSpec
from talm_sim.world.process import ToolService, read_tools

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def service() -> Iterator[ToolService]:
    with ToolService() as running:
        yield running


@pytest.fixture(scope="session")
def tools(service: ToolService) -> HttpTools:
    return read_tools(service.base_url)


@pytest.fixture(scope="session")
def specs(tools: HttpTools) -> Mapping[str, ToolSpec]:
    return tools.specs


@pytest.fixture(scope="session")
def ask(service: ToolService, tools: HttpTools) -> Iterator[Ask]:
    """Call a tool over HTTP: `ask("get_plural", noun="ox")` gives its result, `status=404` the detail of that refusal."""
    with requests.Session() as session:
        session.trust_env = False

        def call(tool: str, /, status: int = 200, **arguments: Any) -> Any:
            request = build_request(tools.routes[tool], arguments)
            answer = session.get(request.url.replace(LOGICAL_HOST, service.base_url), timeout=30)
            assert answer.status_code == status, answer.text
            assert len(answer.content) < 1500
            return answer.json() if status == 200 else answer.json()["detail"]

        yield call
