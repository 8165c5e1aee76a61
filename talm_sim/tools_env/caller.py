"""Make single tool calls outside any episode, to make and check scenarios."""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from talm_sim.errors import ProviderError, ToolError, did_you_mean
from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.routes import NOT_EXECUTABLE
from talm_sim.tools_env.toolbox import Tools, ToolSession, open_tools
from talm_sim.types import ToolSpec

_T = TypeVar("_T")


class ToolCaller:
    """Executes tools by name. Use it in a `with` block, which holds their sources open."""

    def __init__(self, sources: tuple[str, ...] = (), *, trusted: bool = False) -> None:
        self._sources = sources
        self._trusted = trusted
        self._session: ToolSession | None = None

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools, by name."""
        return self.tools.specs

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Execute one tool and return its parsed result."""
        if tool not in self.specs:
            raise ToolError(f"There is no tool '{tool}'.{did_you_mean(tool, self.specs)}", "unknown_tool")
        try:
            work = self.tools.call(tool, arguments) if self._session is None else self._session.call(tool, arguments)
            response, _ = self._runner.run(work)
        except (ProviderError, TimeoutError) as err:
            raise ToolError(f"{tool} did not answer: {str(err) or 'it took too long.'}", "no_answer") from None
        outcome = Outcome.of(response)
        if outcome.error:
            what = "it cannot be executed here" if outcome.error == NOT_EXECUTABLE else "its answer is larger than 4 MB"
            raise ToolError(f"{tool}: {what}.", outcome.error)
        text = outcome.body.decode(errors="replace")
        if not 200 <= response.status < 300:
            raise ToolError(f"{tool} answered HTTP {response.status}: {text[:300]}", f"http_{response.status}")
        try:
            return json.loads(text)
        except ValueError:
            raise ToolError(f"{tool} did not answer with JSON: {text[:300]}", "malformed_body") from None

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run work with the tools where they are open."""
        return self._runner.run(work)

    def start_episode(self, start: Mapping[str, Any]) -> None:
        """Make the following calls those of one episode: what earlier calls changed of its own tools is gone."""
        self._close_session()
        self._session = self.tools.open(start=start)

    def _close_session(self) -> None:
        if self._session is not None:
            self._runner.run(self._session.aclose())

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        try:
            self.tools: Tools = self._runner.run(open_tools(self._sources, trusted=self._trusted))
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close_session()
        self._runner.run(self.tools.aclose())
        self._runner.close()
