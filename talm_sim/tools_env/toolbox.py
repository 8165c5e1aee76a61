"""The tools of a run: those of all its sources, distinguished by name, each call answered from its recording or by its source.

The answer of a tool with a state depends on the episode's earlier calls: its recording contains which of them changed something, so that
an answer is found again only after the same changes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.common.digests import canonical_json, digest
from talm_sim.errors import PrerequisiteError, ProviderError, format_names, suggest_nearest
from talm_sim.models.base import ASK_HUMAN
from talm_sim.recordings import HttpRequest, HttpResponse, Player
from talm_sim.schemas import unchecked_patterns
from talm_sim.tools_env.asking_tools import made_again
from talm_sim.tools_env.routes import build_request
from talm_sim.tools_env.sources.base import EpisodeCalls, NativeTool, NotTaken, StatefulSource, ToolSource
from talm_sim.tools_env.sources.registry import BUILT_IN, open_source
from talm_sim.types import JsonObject, Origin, Route, ToolSpec

_ASKS = "this name is reserved for asking the person (--human); rename the tool."


@dataclass(frozen=True, slots=True)
class _ToolPlace:
    """The source of a tool, and its name there."""

    source: ToolSource
    name: str


class Tools:
    """Every tool of a run.

    Args:
        recorded: Recordings of tools whose source is absent: they can only be replayed.
        person: Whether the run has a person, whom tools may ask: calls of such tools have recordings apart, as their answers may differ.
    """

    def __init__(
        self, sources: Sequence[ToolSource] = (), recorded: Mapping[str, tuple[ToolSpec, Route]] | None = None, *, person: bool = False
    ) -> None:
        self.sources = sources
        self._person = person
        self.specs: dict[str, ToolSpec] = {}
        self.routes: dict[str, Route] = {}
        self._reached: dict[str, _ToolPlace] = {}
        self.hide = Hider.from_environment(credentials_in_environment(), measured=True)
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
                    raise PrerequisiteError(f"--tools-from: the tool name '{name}' is used twice; give a source another name: NAME=KIND:PLACE.")
                self.specs[name] = spec if name == tool else spec.model_copy(update={"name": name})
                reads = tool in getattr(source, "reading", ())  # a recording keeps it, as its source is absent when it is replayed
                self.routes[name] = source.routes[tool].model_copy(update={"reads": True}) if reads else source.routes[tool]
                self._reached[name] = _ToolPlace(source, tool)

    @property
    def may_ask(self) -> bool:
        """Whether there is a person whom a tool may ask while a call of it runs; a recorded tool asks nobody."""
        return self._person and any(self.routes[tool].asks for tool in self._reached)

    def not_taken(self) -> dict[str, Sequence[NotTaken]]:
        """Return the tools that could not be taken, by source."""
        left = {
            source.name or BUILT_IN: [*source.not_taken, *(NotTaken(tool, _ASKS) for tool in source.specs if tool == ASK_HUMAN)]
            for source in self.sources
        }
        return {name: found for name, found in left.items() if found}

    def unchecked(self) -> Iterator[tuple[str, str, str]]:
        """Return the patterns that no argument, or no answer, is checked for: the tool, the pattern, and why."""
        for tool, spec in self.specs.items():
            for schema in (spec.parameters, self.response_schema(tool)):
                for pattern, why in unchecked_patterns(schema):
                    yield tool, pattern, why

    def explain_unknown(self, tool: str) -> str:
        """Explain an unknown tool name: that the tool could not be taken, or that several sources have it, if that is so."""
        for source, left in self.not_taken().items():
            for one in left:
                if one.tool == tool:
                    return f"tool '{tool}' of source '{source}' cannot be used: {one.reason}"
        if several := [name for name in self.specs if name.endswith(f"__{tool}")]:
            return f"several sources have a tool '{tool}': write {' or '.join(several)}."
        return f"no tool '{tool}'.{suggest_nearest(tool, [*self.specs]) or f' Known: {format_names([*self.specs], 8)}.'}"

    def find_source(self, tool: str) -> tuple[ToolSource, str]:
        """Return the source of a tool, and its name there.

        Raises:
            ProviderError: The source is absent.
        """
        if tool not in self._reached:
            raise ProviderError("No live tools: this run was started without their sources.")
        return self._reached[tool].source, self._reached[tool].name

    def native(self, tool: str) -> NativeTool | None:
        """Return the LangChain tool that a tool is in its source; None for any other."""
        reached = self._reached.get(tool)
        found: Mapping[str, NativeTool] = getattr(reached.source, "natives", {}) if reached else {}
        return found.get(reached.name) if reached else None

    def source_of(self, tool: str) -> str:
        """Return the name of the source that a tool comes from."""
        return (self._reached[tool].source.name or BUILT_IN) if tool in self._reached else ""

    def only_reads(self, tool: str) -> bool:
        """Return whether its source says that a call of it changes nothing."""
        route = self.routes[tool]
        return route.method == "GET" or route.state == "reads" or route.reads

    def response_schema(self, tool: str) -> JsonObject:
        """Return the JSON Schema of a tool's answer; empty if its source does not give one."""
        reached = self._reached.get(tool)
        return reached.source.responses.get(reached.name, {}) if reached else {}

    @property
    def keep_state(self) -> bool:
        """Whether an episode has tools of its own, whose state is gone when this process ends."""
        return any(self.routes[name].state for name in self._reached)

    def shared_tools(self) -> list[str]:
        """Return the tools that may change something, because nobody says they only read, and that all episodes share."""
        return [
            name
            for name, one in self._reached.items()
            if one.source.name and not self.explain_unexecuted(name) and not self.routes[name].state and not self.only_reads(name)
        ]

    def explain_unexecuted(self, tool: str) -> str:
        """Say why a tool is only described and its calls fail; empty if its source executes it, or is not there."""
        reached = self._reached.get(tool)
        return str(getattr(reached.source, "described", {}).get(reached.name, "")) if reached else ""

    def unexecuted(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return those of the named tools that are only described, by the reason."""
        found: dict[str, list[str]] = {}
        for name in names:
            if why := self.explain_unexecuted(name):
                found.setdefault(why, []).append(name)
        return found

    def networked(self) -> list[str]:
        """Return the sources whose code the user gave a network."""
        return [source.name for source in self.sources if getattr(source, "network", False)]

    def fault_in_start(self, start: Mapping[str, object]) -> str:
        """Return why the tools cannot start from what a scenario says; empty if they can, or if they are only replayed."""
        if not start or not self.sources:
            return ""
        checks = [check for source in self.sources if (check := getattr(source, "fault_in_start", None)) is not None]
        if not checks:
            return "the tools here start the same way in every episode; leave it out, or add --tools-from with those it was written for."
        return next(filter(None, (str(check(start)) for check in checks)), "")

    def open(self, episode: str = "", start: Mapping[str, object] | None = None) -> ToolSession:
        """Return the tools of one episode."""
        return ToolSession(self, episode, start or {})

    async def call(
        self, tool: str, arguments: Mapping[str, object], episode: str = "", player: Player | None = None
    ) -> tuple[HttpResponse, Origin]:
        """Answer a call from `player`, or live. A replayed answer is looked up inline, which costs less than a change of threads.

        Raises:
            CassetteMissError: In replay, the call was not recorded.
            ProviderError: The source is absent, or cannot be reached.
            TimeoutError: No answer came in time.
        """
        if self.routes[tool].state:  # outside of any episode: a state for this call alone
            session = self.open(episode)
            try:
                return await session.call(tool, arguments, player)
            finally:
                await session.aclose()
        request = self.request_of(tool, arguments)
        if player is not None and made_again.get() is None and (recorded := player.lookup(request)) is not None:
            return recorded, Origin.RECORDED
        source, name = self.find_source(tool)
        response = self.hide_credentials(await source.call(name, arguments, episode))
        if player is not None:
            player.record(request, response)
        return response, Origin.LIVE

    def request_of(self, tool: str, arguments: Mapping[str, object]) -> HttpRequest:
        """Return the request that a call is recorded as."""
        request = build_request(self.routes[tool], arguments)
        return replace(request, url=f"{request.url}?person") if self._person and self.routes[tool].asks else request

    def leave(self, episode: str) -> None:
        """Tell the sources that an episode has ended."""
        for source in self.sources:
            leave: Callable[[str], None] | None = getattr(source, "leave", None)
            if leave is not None:
                leave(episode)

    def hide_credentials(self, found: HttpResponse) -> HttpResponse:
        """Return an answer without this process' credentials."""
        headers = tuple((name, self.hide.text(value)) for name, value in found.headers)
        return replace(found, headers=headers, body=self.hide.body(found.body))

    async def aclose(self) -> None:
        """Close the sources."""
        await _close(self.sources)


class ToolSession:
    """The tools of a run as one episode has them. A source's part for that episode is started with its first live call.

    Attributes:
        changes: Digest of the calls so far that changed the episode's own tools; empty before the first.
    """

    def __init__(self, tools: Tools, episode: str, start: Mapping[str, object]) -> None:
        self.changes = ""
        self._tools = tools
        self._episode = episode
        self._start = start
        self._begun: dict[int, EpisodeCalls] = {}
        self._owed: list[tuple[str, Mapping[str, object]]] = []
        self._under_way: dict[asyncio.Future[None], bool] = {}
        self._closed = False

    async def call(self, tool: str, arguments: Mapping[str, object], player: Player | None = None) -> tuple[HttpResponse, Origin]:
        """Answer a call as `Tools.call` does; a tool with a state is the episode's own."""
        route = self._tools.routes[tool]
        if not route.state:
            return await self._tools.call(tool, arguments, self._episode, player)
        request = build_request(route, arguments)
        if self.changes:
            request = replace(request, url=f"{request.url}?after={self.changes}")
        if route.state == "writes":
            self.changes = digest([self.changes, request.url, self._tools.hide.text(canonical_json(arguments))])
        if player is not None and (recorded := player.lookup(request)) is not None:
            if route.state == "writes":
                self._owed.append((tool, arguments))
            return recorded, Origin.RECORDED
        # What the recording answered has not happened to the episode's own tools.
        owed, self._owed = self._owed, []
        async with self._in_turn(changes=bool(owed) or route.state == "writes"):
            for one in owed:
                await self._live(*one)
            response = await self._live(tool, arguments)
        if player is not None:
            player.record(request, response)
        return response, Origin.LIVE

    @asynccontextmanager
    async def _in_turn(self, *, changes: bool) -> AsyncIterator[None]:
        """Let a call that changes something wait for all calls before it, and others for those: calls of one turn start together."""
        before = [one for one, changing in self._under_way.items() if changes or changing]
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way[done] = changes
        try:
            if before:
                await asyncio.wait(before)
            yield
        finally:
            del self._under_way[done]
            done.set_result(None)

    async def _live(self, tool: str, arguments: Mapping[str, object]) -> HttpResponse:
        source, name = self._tools.find_source(tool)
        assert isinstance(source, StatefulSource)
        if id(source) not in self._begun:
            if self._closed:
                raise ProviderError("The episode has ended, and its tools are closed.")
            self._begun[id(source)] = source.begin(self._start if hasattr(source, "fault_in_start") else {})
        return self._tools.hide_credentials(await self._begun[id(source)].call(name, arguments))

    async def aclose(self) -> None:
        """End what the episode had of its own."""
        self._closed = True
        if self._episode:
            self._tools.leave(self._episode)
        await asyncio.gather(*(one.aclose() for one in self._begun.values()))


async def open_tools(texts: Iterable[str] = (), *, trusted: bool = False, person: bool = False) -> Tools:
    """Open sources as they are written on the command line; without any, the built-in tools."""
    sources: list[ToolSource] = []
    try:
        for text in [*texts] or [BUILT_IN]:
            sources.append(await open_source(text, trusted=trusted, person=person))
        return Tools(sources, person=person)
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
            raise PrerequisiteError(f"--tools-from: two sources are called '{name or BUILT_IN}'; give one another name: NAME=KIND:PLACE.")
