"""A stored run as its task reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from talm_sim.tasks.job import Job
from talm_sim.types import Episode, Measured, Scenario, ToolSpec, Verdict

__all__ = ["RunView"]


class RunView(Protocol):
    """A stored run. Every call reads anew, so that a run larger than the memory can be gone through."""

    @property
    def job(self) -> Job[Any]:
        """What was run, with the scoring options it was last judged with."""
        ...

    @property
    def imported(self) -> bool:
        """Whether the episodes are somebody else's published outputs."""
        ...

    @property
    def paired(self) -> RunView | None:
        """The other run it is compared with; None where none was named."""
        ...

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        """Finished episodes, of one group or all, in the order of the plan."""
        ...

    def scenarios(self) -> Iterator[Scenario]:
        """The scenarios in order."""
        ...

    def verdicts(self) -> Iterator[Verdict]:
        """Verdicts of the judges it was last judged with."""
        ...

    def tools(self) -> dict[str, ToolSpec]:
        """The tools the scenarios name, by name."""
        ...

    def measures(self) -> dict[str, Measured]:
        """What each of its judges measures, as declared when it judged."""
        ...
