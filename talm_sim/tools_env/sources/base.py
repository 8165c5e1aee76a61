"""The protocol of a source of tools: it says what its tools are, how their calls are recorded, and makes them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from pydantic import ValidationError

from talm_sim.common.typed_options import OptionsModel, fault_of
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.error_text import escape_control
from talm_sim.recordings import HttpResponse
from talm_sim.types import JsonObject, Route, ToolSpec

log = logging.getLogger(__name__)
MOST_BYTES = 4_000_000
"""Largest size in bytes of a tool's answer, both as sent and as decompressed."""


INJECTED: ContextVar[Mapping[str, Any]] = ContextVar("talm_sim_injected_arguments", default=MappingProxyType({}))
"""Arguments that the graph gives to the tool that it is calling, and the id of that call as `CALL_ID`."""
CALL_ID = "tool_call_id"


class NotTaken(NamedTuple):
    """A tool that could not be taken, and why."""

    tool: str
    reason: str


class NativeTool(NamedTuple):
    """A LangChain tool, the arguments that a graph injects into it, and whether it was made of a function and is shown as it is."""

    tool: Any
    injected: frozenset[str]
    made: bool
    same: bool = True


def tool_name(own: str, *, say: bool = True) -> str:
    """Return the name that models get for a tool: its own, where servers of models take that.

    >>> tool_name("get-forecast"), tool_name("weather/get forecast")
    ('get-forecast', 'weather_get_forecast')
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", own)[:64]
    if say and name != own:
        _say_changed(own, name)
    return name


@cache
def _say_changed(own: str, name: str) -> None:
    log.warning(
        "tool '%s' is called '%s' here: models take letters, digits, _ and - alone; scenarios may use either name", escape_control(own), name
    )


def tool_spec(fields: Mapping[str, object]) -> ToolSpec:
    """Describe a tool."""
    try:
        return ToolSpec.model_validate(fields)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise PrerequisiteError(f"{where + ': ' if where else ''}{fault_of(first)}") from None


class SourceOptions(OptionsModel):
    """Options of a kind of source, each written behind the place as `,NAME=VALUE`. A subclass adds them as fields."""

    place_has_commas: ClassVar[bool] = False
    """Whether `,NAME=VALUE` belongs to the place if there is no such option, as in a command. Otherwise it is refused."""


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A source that is to be opened.

    Attributes:
        name: Its name: part of its recordings, and of names that two sources share.
        place: Where it is: a module and an object, a file, a folder, an address, a command.
        options: Options of its kind: an object of the class that the kind was registered with.
        trusted: Whether the user said that code that came with data may run.
        person: Whether the run has a person, whom a tool may ask something while a call of it runs (`talm_sim.tools_env.asking_tools`).
    """

    name: str
    place: str
    options: Any = field(default_factory=SourceOptions)
    trusted: bool = False
    person: bool = False


class ToolSource(Protocol):
    """A source of tools, opened. What it has left open is closed by `aclose`. Its attributes are only read, so plain ones suffice.

    It may have `reading` besides: names of tools that are not reached with GET, and of which it says that they change nothing; `described`:
    the tools that nothing executes, each with the reason (their calls are answered with `routes.unexecuted_response`); `network`: whether
    the user gave its sandboxed code a network; `natives`: its tools of LangChain; `fault_in_start`: a function that says what is wrong with
    the `start` of a scenario, from which it starts the tools of an episode; `leave`: a method that is called with the name of an episode
    that has ended; and what a `StatefulSource` has.
    """

    @property
    def name(self) -> str:
        """Name of the source."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """Descriptions of its tools, by the names that the source has for them."""

    @property
    def routes(self) -> Mapping[str, Route]:
        """How each tool's calls are recorded; `routes.posted` makes the routes of a source without HTTP."""

    @property
    def responses(self) -> Mapping[str, JsonObject]:
        """JSON Schemas of the tools' answers, if the source gives them."""

    @property
    def not_taken(self) -> Sequence[NotTaken]:
        """Tools that could not be taken."""

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call whose arguments fit the tool's schema. A tool's own failure is an answer with a status of 400 or more.

        Raises:
            TimeoutError: No answer came in time.
            ProviderError: The source cannot be reached.
        """
        ...

    async def aclose(self) -> None:
        """End everything that was started for it."""
        ...


class EpisodeCalls(Protocol):
    """The tools of a source that one episode has of its own."""

    async def call(self, tool: str, arguments: Mapping[str, object]) -> HttpResponse:
        """Make a call; see `ToolSource.call`."""
        ...

    async def aclose(self) -> None:
        """End everything that was started for the episode."""
        ...


@runtime_checkable
class StatefulSource(Protocol):
    """A `ToolSource` whose episodes have their own tools: routes have a `state`, and one episode does not see another's changes."""

    def begin(self, start: Mapping[str, Any]) -> EpisodeCalls:
        """Start these tools for a new episode.

        Args:
            start: What they start from, if the source has `fault_in_start`; else empty.
        """
        ...
