"""What a job may ask of the recordings before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talm_sim.recordings import CassetteLibrary
    from talm_sim.types import ToolSpec

__all__ = ["Recorded"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a job may ask of the recordings before it runs.

    Attributes:
        library: Where they lie.
        first: The first scenario of each group that has one, of which a recording is expected.
        known: Whether these scenarios can be in it: a file of the user's own is not in the shipped recordings.
        without_tools: Groups whose scenarios name no tool, so that no tool traffic is expected.
        opened: Tools that the run opened, by name; empty before it has opened any.
    """

    library: CassetteLibrary
    first: Mapping[str, str]
    known: bool
    without_tools: frozenset[str] = frozenset()
    opened: Mapping[str, ToolSpec] = field(default_factory=dict)

    def model(self, model: str) -> bool:
        """Whether `model` was recorded on all groups."""
        return self.known and self.library.has_model(model, self.first)

    def conversation(self, model: str, key: str) -> bool:
        """Whether a conversation of `model` is there with the settings that `key` is the digest of."""
        return any(self.library.has_conversation(model, scenario, group, 1, key) for group, scenario in self.first.items())

    @property
    def holds_others(self) -> bool:
        """Whether it is of tools that are not built in, so that nothing else here can answer their calls."""
        from talm_sim.recordings import CassetteLibrary, shipped_cassettes

        return not self.library.tool_specs().keys() <= CassetteLibrary(shipped_cassettes()).tool_specs().keys()

    @property
    def tools(self) -> bool:
        """Whether tool traffic was recorded of every group that has any."""
        return self.known and self.library.has_tools([group for group in self.first if group not in self.without_tools])
