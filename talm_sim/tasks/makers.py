"""Makers of a task's scenarios; each is imported when it is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from talm_sim.tasks.bounds import Bound

if TYPE_CHECKING:
    from talm_sim.models.base import Model
    from talm_sim.scenarios.making.options import MakingOptions
    from talm_sim.scenarios.making.outcome import DroppedSource, Made, MakingSource
    from talm_sim.scenarios.making.review import Reviewer
    from talm_sim.scenarios.making.state import FixedSettings

Listing = tuple[Sequence[Mapping[str, str]], Mapping[str, str]]
"""A table: its rows, and key in the rows to head of the column."""


class OpenModel(Protocol):
    """Opens the model that writes."""

    def __call__(self, *, constrained: bool = False) -> Model:
        """Open it, `constrained` if it should keep to given labels."""
        ...


OptionsT = TypeVar("OptionsT", bound="MakingOptions")
SourceT = TypeVar("SourceT", bound="MakingSource")
OutcomeT = TypeVar("OutcomeT", bound="Made")


class Maker(ABC, Generic[OptionsT, SourceT, OutcomeT]):
    """A maker of a task's scenarios: its sources, and how one is made; one object per call.

    Args:
        options: The options of the making.

    Raises:
        PrerequisiteError: Options do not go together.
    """

    options_model: ClassVar[type[MakingOptions]]
    """Model of the options of `talm-sim scenarios generate --task T`."""
    outcome: ClassVar[type[Made]]
    """Class of a source's outcome."""
    rules: ClassVar[int]
    """Version of the rules by which scenarios are made and judged: a folder that was started keeps to one version."""
    noun: ClassVar[str] = "scenario"
    """What messages call a source."""
    reviewer: ClassVar[Reviewer | None] = None
    """Reviewer of what was made; None if nothing is reviewed."""
    wording: str = ""
    """Digest of a model's wording; empty if no model writes."""

    def __init__(self, options: OptionsT) -> None:
        self.options = options
        self.dropped: Sequence[DroppedSource] = ()
        """Parts found by `load` that are not a source."""

    @abstractmethod
    def load(self) -> Sequence[SourceT]:
        """Read the sources in order; anything that cannot be one is left out, and the report says why.

        Raises:
            PrerequisiteError: It cannot be read.
        """

    def open(self, sources: Sequence[SourceT], open_model: OpenModel) -> None:
        """Prepare to make scenarios of these sources.

        Raises:
            PrerequisiteError: The model, or something else that it needs, is missing.
        """
        return

    @abstractmethod
    async def make(self, source: SourceT) -> OutcomeT:
        """Make all scenarios of one source."""

    def bound(self, source: SourceT) -> Bound:
        """Return what a source may cost the writing model."""
        return Bound()

    def report(self, sources: Sequence[SourceT], outcomes: Mapping[str, OutcomeT], begun: FixedSettings) -> dict[str, Any]:
        """Count what was made. `sources` has `asked`, `finished` and `failed`; the last is a list of `id` and `reason`."""
        from talm_sim.scenarios.making.outcome import count_sources

        done, counts = count_sources(sources, outcomes)
        return {
            "sources": {
                **counts,
                "dropped": [{"id": outcome.source, "reason": outcome.dropped} for outcome in done if outcome.dropped],
            },
            "rows": {"total": sum(len(outcome.rows) for outcome in done)},
            "rejected": {"total": sum(len(outcome.rejected) for outcome in done)},
            "provenance": {"command": begun.command, "rules": begun.rules, **begun.settings},
        }

    def listings(self, report: Mapping[str, Any]) -> list[Listing]:
        """Return the report as tables."""
        made = {"rows": f"{report['rows']['total']:,}", "rejected": f"{report['rejected']['total']:,}"}
        return [([made], {"rows": "Scenarios", "rejected": "Rejected"})]

    def notes(self, report: Mapping[str, Any]) -> list[str]:
        """Return further notes, one per line."""
        return [f"dropped {one['id']}: {one['reason']}" for one in report["sources"].get("dropped", ())]

    async def aclose(self) -> None:
        """Close everything that `open` opened."""
        return


class WritingMaker(Maker[OptionsT, SourceT, OutcomeT]):
    """A maker with one model that writes."""

    def __init__(self, options: OptionsT) -> None:
        super().__init__(options)
        self._model: Model | None = None

    def open(self, sources: Sequence[SourceT], open_model: OpenModel) -> None:
        """Open the model."""
        self._model = open_model()

    async def aclose(self) -> None:
        """Close the model."""
        if self._model is not None:
            await self._model.aclose()
