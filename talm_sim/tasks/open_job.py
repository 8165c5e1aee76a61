"""An opened job, the questions to its recordings before it runs, and the result of exporting its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from talm_sim.config import DEFAULT_MODEL

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from talm_sim.agent.episode import Agent
    from talm_sim.recordings import CassetteLibrary
    from talm_sim.types import Scenario, ToolSpec


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        files: Path of each file below the folder that the user named, with `/` between its parts, to the file's text, or its bytes.
        notes: What the user should know, a line each: what was left out, how the files are read.
    """

    files: Mapping[str, str | bytes]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """Answers a job's questions about its recordings, before it runs.

    Attributes:
        library: The library of recordings.
        first: The first scenario of each group that has one; a recording of it is expected.
        known: Whether these scenarios can be in the library: a user's own file is not in the shipped recordings.
        without_tools: Groups whose scenarios name no tool, so that no tool traffic is expected.
        opened: Tools that the run opened, by name; empty before it has opened any.
    """

    library: CassetteLibrary
    first: Mapping[str, str]
    known: bool
    without_tools: frozenset[str] = frozenset()
    opened: Mapping[str, ToolSpec] = field(default_factory=dict)

    def model(self, model: str) -> bool:
        """Return whether `model` was recorded on all groups; the model of the shipped recording, which is not asked live by itself, on any."""
        enough = any if model == DEFAULT_MODEL else all
        return self.known and enough(self.library.has_model(model, [group]) for group in self.first)

    def conversation(self, model: str, key: str) -> bool:
        """Return whether there is a conversation of `model` with the settings whose digest is `key`."""
        return any(self.library.has_conversation(model, scenario, group, 1, key) for group, scenario in self.first.items())

    @property
    def holds_others(self) -> bool:
        """Return whether it is of tools that are not built in, so that nothing else here can answer their calls."""
        from talm_sim.recordings import CassetteLibrary, shipped_cassettes

        return not self.library.tool_specs().keys() <= CassetteLibrary(shipped_cassettes()).tool_specs().keys()

    @property
    def tools(self) -> bool:
        """Return whether tool traffic was recorded for every group that has any."""
        return self.known and self.library.has_tools([group for group in self.first if group not in self.without_tools])


JobT = TypeVar("JobT")


@dataclass(frozen=True, slots=True)
class Opened(Generic[JobT]):
    """An opened job, with all that it needs.

    Attributes:
        job: Final: nothing of it changes any more.
        agent: Makes what the episodes share, given where pauses are kept (None where nobody is asked); for the trial replay, then for the run.
        wording: The texts that were loaded, by what a message calls each; `resume` compares them.
        weights: Digests of the weights of a model with an adapter; `resume` compares them.
        in_flight: Episodes to have under way; None for as many as `max_episodes` says.
        human: Who answers, where anybody does; else `none`.
        waits: Whether a question may stay open, so that a paused episode must survive the process.
        starts_again: Whether an episode that waits cannot survive the process all the same: it starts again when the run goes on.
        check: Sees, before the run exists, that every scenario can be played; returns them with the names that their tools have in this run.
        tools_of: The tools some scenarios name, kept with the run.
        replaceable: What is kept of the tools that a person can replace: a `ReplaceableTool` by name.
        notes: What a reader of the run should know, by what a line about it begins with; kept with the run.
        notices: What else its user should know before the first episode, a line each.
        warnings: The same of the scenarios that are run.
    """

    job: JobT
    agent: Callable[[BaseCheckpointSaver[Any] | None], Agent]
    wording: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    in_flight: int | None = None
    human: str = "none"
    waits: bool = False
    starts_again: bool = False
    check: Callable[[Sequence[Scenario]], Sequence[Scenario]] = lambda scenarios: scenarios
    tools_of: Callable[[Sequence[Scenario]], list[ToolSpec]] = lambda scenarios: []
    replaceable: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    warnings: Callable[[Sequence[Scenario]], Sequence[str]] = lambda scenarios: ()
