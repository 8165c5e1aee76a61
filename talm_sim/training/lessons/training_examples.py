"""The content of a training row, before it has a form."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.types import Scenario

Kind = Literal["sft", "preference"]
Answer = str | tuple[CallToWrite, ...]
"""A response: words, or tool calls."""


@dataclass(frozen=True, slots=True)
class Example:
    """The content of a training row.

    Attributes:
        id: Names the row.
        rejected: A wrong answer; None in an SFT row.
        rejected_action: Its class.
        fault: What is wrong with a rejected call that is right but for one place; empty otherwise.
        thought: What precedes the right answer: the text of the reasoning, with its marks.
        rejected_thought: The same of the wrong one.
    """

    id: str
    scenario: Scenario
    action: str
    chosen: Answer
    source: str
    rejected: Answer | None = None
    rejected_action: str = ""
    fault: str = ""
    thought: str = ""
    rejected_thought: str = ""


@dataclass(slots=True)
class TrainingSet:
    """Examples, and what was left out."""

    kind: Kind
    examples: list[Example] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, *ids: str) -> None:
        """Note what is left out, and why."""
        if ids:
            self.left_out.setdefault(reason, []).extend(ids)

    def shuffle(self, seed: int) -> None:
        """Bring the examples into an order that depends on the seed alone."""
        random.Random(derive_seed("order", seed)).shuffle(self.examples)

    def counts(self) -> dict[str, dict[str, int]]:
        """Count the rows by class of the right answer, and by class or fault of the rejected one."""
        found = {"right": _count(one.action for one in self.examples)}
        if self.kind == "preference":
            found["rejected"] = _count(one.fault or one.rejected_action for one in self.examples)
        return found

    def refuse_empty(self, given: str) -> None:
        """Check that there is an example."""
        if not self.examples:
            why = "; ".join(f"{len(ids):,}: {reason}" for reason, ids in self.left_out.items())
            raise PrerequisiteError(f"no row can be made from {given} ({why or 'none given'}).")


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
