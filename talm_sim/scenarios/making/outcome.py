"""What goes into a making, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

__all__ = ["DroppedSource", "MakingSource", "Outcome", "count_sources"]


class MakingSource(Protocol):
    """What something is made of: a question, a scenario."""

    @property
    def id(self) -> str:
        """Names it."""

    @property
    def digest(self) -> str:
        """Equal sources have equal digests."""


@dataclass(frozen=True, slots=True)
class DroppedSource:
    """What gave no source, and why."""

    id: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one source: a line of the state file.

    Attributes:
        source: Its id.
        digest: Digest of the source.
        dropped: Why nothing was made of it; empty where something was tried.
        failed: What the model's provider failed with; empty where it answered. Such a source is tried again by the next call.
        rows: What was made: lines of `items.jsonl`.
        rejected: What was not good enough, and why: lines of `rejected.jsonl`.
    """

    source: str
    digest: str
    dropped: str = ""
    failed: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)

    @property
    def summary_text(self) -> str:
        """What was made, in a few words."""
        return self.dropped or f"{len(self.rows)} made, {len(self.rejected)} rejected"


OutcomeT = TypeVar("OutcomeT", bound=Outcome)


def count_sources(sources: Sequence[MakingSource], outcomes: Mapping[str, OutcomeT]) -> tuple[list[OutcomeT], dict[str, Any]]:
    """Return what became of the sources that did not fail, and how many were asked for, finished and failed.

    Args:
        sources: Those asked for.
        outcomes: What was finished, by source id, or failed; those of other sources are left out.
    """
    known = [outcomes[source.id] for source in sources if source.id in outcomes]
    done = [outcome for outcome in known if not outcome.failed]
    failed = [{"id": outcome.source, "reason": outcome.failed} for outcome in known if outcome.failed]
    return done, {"asked": len(sources), "finished": len(done), "failed": failed}
