"""The sources and the outcomes of a making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar


class MakingSource(Protocol):
    """A source of something to be made: a question, a scenario."""

    @property
    def id(self) -> str:
        """Names it."""

    @property
    def digest(self) -> str:
        """Equal sources have equal digests."""


@dataclass(frozen=True, slots=True)
class DroppedSource:
    """A part of the data that gave no source, and why."""

    id: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Made:
    """The result of one source: a line of the state file.

    Attributes:
        source: Its id.
        digest: Digest of the source.
        dropped: Why nothing was made of it; empty if something was tried.
        failed: The failure of the model's provider; empty if it answered. Such a source is tried again by the next call.
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
        """Summarize what was made, in a few words."""
        return self.dropped or f"{len(self.rows)} made, {len(self.rejected)} rejected"


OutcomeT = TypeVar("OutcomeT", bound=Made)


def count_sources(sources: Sequence[MakingSource], outcomes: Mapping[str, OutcomeT]) -> tuple[list[OutcomeT], dict[str, Any]]:
    """Return the outcomes of the sources that did not fail, and how many sources were asked for, finished and failed.

    Args:
        sources: Those asked for.
        outcomes: What was finished, by source id, or failed; those of other sources are left out.
    """
    known = [outcomes[source.id] for source in sources if source.id in outcomes]
    done = [outcome for outcome in known if not outcome.failed]
    failed = [{"id": outcome.source, "reason": outcome.failed} for outcome in known if outcome.failed]
    return done, {"asked": len(sources), "finished": len(done), "failed": failed}
