"""The tools of a run: those of all its sources, told apart by name, each call answered from its recording or by its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from talm_sim.credentials import Hider, credentials_in_environment
from talm_sim.errors import PrerequisiteError, ProviderError, listed, nearest
from talm_sim.models.base import ASK_HUMAN
from talm_sim.recordings import HttpResponse, Player
from talm_sim.tools_env.routes import build_request
from talm_sim.tools_env.sources.base import NotTaken, ToolSource
from talm_sim.tools_env.sources.registry import BUILT_IN, open_source
from talm_sim.types import JsonObject, Origin, Route, ToolSpec

__all__ = ["Tools", "open_tools"]

_ASKS = "by this name a model asks the person (--human); rename the tool."


@dataclass(frozen=True, slots=True)
class _Reached:
    """What reaches a tool, and what it is called there."""

    source: ToolSource
    name: str


class Tools:
    """Every tool of a run.

    Args:
        sources: Where they come from.
        recorded: What was recorded of tools whose source is not there: they can be replayed and nothing else.

    Raises:
        PrerequisiteError: Two sources have one name, or a tool's name is taken twice.
    """

    def __init__(self, sources: Sequence[ToolSource] = (), recorded: Mapping[str, tuple[ToolSpec, Route]] | None = None) -> None:
        self.sources = sources
        self.specs: dict[str, ToolSpec] = {}
        self.routes: dict[str, Route] = {}
        self._reached: dict[str, _Reached] = {}
        self._hide = Hider.knowing(credentials_in_environment())
        for name, (spec, route) in (recorded or {}).items():
            self.specs[name], self.routes[name] = spec, route
        _check_names(sources)
        times = Counter(tool for source in sources for tool in source.specs)
        for source in sources:
            for tool, spec in source.specs.items():
                if tool == ASK_HUMAN:
                    continue
                name = f"{source.name or 'built_in'}__{tool}" if times[tool] > 1 else tool
                if name in self.specs:
                    raise PrerequisiteError(f"--tools-from: the tool name '{name}' is taken twice; name a source otherwise: NAME=KIND:PLACE.")
                self.specs[name] = spec if name == tool else spec.model_copy(update={"name": name})
                self.routes[name] = source.routes[tool]
                self._reached[name] = _Reached(source, tool)

    def not_taken(self) -> dict[str, Sequence[NotTaken]]:
        """What could not be taken, by source."""
        left = {
            source.name or BUILT_IN: [*source.not_taken, *(NotTaken(tool, _ASKS) for tool in source.specs if tool == ASK_HUMAN)]
            for source in self.sources
        }
        return {name: found for name, found in left.items() if found}

    def unknown(self, tool: str) -> str:
        """What to say of a name that no tool has: that it could not be taken, or that several sources have it, where that is so."""
        for source, left in self.not_taken().items():
            for one in left:
                if one.tool == tool:
                    return f"tool '{tool}' of source '{source}' could not be taken: {one.reason}"
        several = [name for name in self.specs if name.endswith(f"__{tool}")]
        if several:
            return f"several sources have a tool '{tool}': write {' or '.join(several)}."
        return f"no tool '{tool}'.{nearest(tool, [*self.specs]) or f' Known: {listed([*self.specs], 8)}.'}"

    def source_of(self, tool: str) -> str:
        """Name of the source a tool comes from."""
        return (self._reached[tool].source.name or BUILT_IN) if tool in self._reached else ""

    def only_reads(self, tool: str) -> bool:
        """Whether its source says that a call of it changes nothing."""
        reached = self._reached.get(tool)
        return self.routes[tool].method == "GET" or (reached is not None and reached.name in getattr(reached.source, "reading", ()))

    def response_schema(self, tool: str) -> JsonObject:
        """JSON Schema of what a tool gives back; empty where its source does not say."""
        reached = self._reached.get(tool)
        return reached.source.responses.get(reached.name, {}) if reached else {}

    async def call(
        self, tool: str, arguments: Mapping[str, object], episode: str = "", player: Player | None = None
    ) -> tuple[HttpResponse, Origin]:
        """Answer a call from `player`, or live. A replayed answer is found inline: it costs less than a change of threads.

        Args:
            tool: Its name.
            arguments: They fit its schema.
            episode: `<scenario>@<epoch>`.
            player: The episode's recording; None for a purely live call.

        Raises:
            CassetteMissError: In replay, the call was not recorded.
            ProviderError: The source is not there, or cannot be reached.
            TimeoutError: No answer came in time.
        """
        request = build_request(self.routes[tool], arguments)
        if player is not None:
            recorded = player.lookup(request)
            if recorded is not None:
                return recorded, Origin.RECORDED
        if tool not in self._reached:
            raise ProviderError("No live tools: this run was started without their sources.")
        reached = self._reached[tool]
        found = await reached.source.call(reached.name, arguments, episode)
        response = HttpResponse(found.status, found.reason, found.headers, self._hide.body(found.body))
        if player is not None:
            player.record(request, response)
        return response, Origin.LIVE

    async def aclose(self) -> None:
        """Close the sources."""
        await _close(self.sources)


async def open_tools(texts: Iterable[str] = (), *, trusted: bool = False) -> Tools:
    """Open sources as they are written on the command line; without any, the built-in tools.

    Raises:
        PrerequisiteError: One cannot be read, reached or started; what was opened is closed again.
    """
    sources: list[ToolSource] = []
    try:
        for text in [*texts] or [BUILT_IN]:
            sources.append(await open_source(text, trusted=trusted))
        return Tools(sources)
    except BaseException:
        await _close(sources)
        raise


async def _close(sources: Sequence[ToolSource]) -> None:
    """Close the last one first; one that fails to does not keep the others from it."""
    async with AsyncExitStack() as stack:
        for source in sources:
            stack.push_async_callback(source.aclose)


def _check_names(sources: Sequence[ToolSource]) -> None:
    for name, times in Counter(source.name for source in sources).items():
        if times > 1:
            raise PrerequisiteError(f"--tools-from: two sources are called '{name or BUILT_IN}'; name one otherwise: NAME=KIND:PLACE.")
