"""Single tool calls over HTTP, outside any episode: for building and checking scenarios."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import requests

from talm_sim.errors import ToolError, did_you_mean
from talm_sim.tools_env.client import LOGICAL_HOST, build_request
from talm_sim.types import ToolSpec

__all__ = ["ToolCaller"]

TIMEOUT_S = 30.0


class ToolCaller:
    """Executes tools by name. Use it in a `with` block; it holds one connection open.

    Args:
        base_url: Address of the running tools.
        specs: The tools, by name.
    """

    def __init__(self, base_url: str, specs: Mapping[str, ToolSpec]) -> None:
        self._base_url = base_url.rstrip("/")
        self._specs = specs
        self._session = requests.Session()
        self._session.trust_env = False

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Execute one tool and return its parsed result.

        Raises:
            ToolError: There is no such tool, or it does not answer with JSON and a 2xx status.
        """
        if tool not in self._specs:
            raise ToolError(f"There is no tool '{tool}'.{did_you_mean(tool, self._specs)}", "unknown_tool")
        request = build_request(self._specs[tool], arguments)
        url = self._base_url + request.url.removeprefix(LOGICAL_HOST)
        try:
            answer = self._session.request(request.method, url, data=request.body, headers=dict(request.headers), timeout=TIMEOUT_S)
            if not answer.ok:
                raise ToolError(f"{tool} answered HTTP {answer.status_code}: {answer.text[:300]}", f"http_{answer.status_code}")
            return answer.json()
        except requests.RequestException as err:
            raise ToolError(f"{tool} did not answer: {type(err).__name__}.", "no_answer") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._session.close()
