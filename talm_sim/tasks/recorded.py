"""Questions of a job about its recordings, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talm_sim.config import DEFAULT_MODEL

if TYPE_CHECKING:
    from talm_sim.recordings import CassetteLibrary
    from talm_sim.types import ToolSpec

__all__ = ["Recorded"]


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
