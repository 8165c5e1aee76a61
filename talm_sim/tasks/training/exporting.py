"""From what is given to rows: lengths are looked at first, so that what is too long changes neither balance nor ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.training.examples import TrainingSet
from talm_sim.tasks.training.writing import WrittenRows
from talm_sim.types import Scenario

__all__ = ["fit_examples", "fit_scenarios"]

Write = Callable[[TrainingSet], WrittenRows]
"""Writes a set; notes in it what cannot be trained on."""


def fit_scenarios(scenarios: Sequence[Scenario], make: Callable[[Sequence[Scenario]], TrainingSet], write: Write) -> TrainingSet:
    """Make a set in which every example can be written; what cannot is left out before classes are balanced.

    Args:
        scenarios: The scenarios.
        make: Makes a set of some of them.
        write: Writes a set.

    Raises:
        PrerequisiteError: Nothing is left, or as `make` says.
    """
    left: dict[str, list[str]] = {}
    rest = list(scenarios)
    while True:
        made = make(rest)
        of = {one.id: one.scenario.id for one in made.examples}
        tried = TrainingSet(made.kind, [*made.examples])
        write(tried)
        gone = {reason: sorted({of[one] for one in ids}) for reason, ids in tried.left_out.items()}
        if not gone:
            for reason, ids in left.items():
                made.leave_out(reason, *sorted(ids))
            return made
        for reason, ids in gone.items():
            left.setdefault(reason, []).extend(ids)
        dropped = {one for ids in gone.values() for one in ids}
        rest = [one for one in rest if one.id not in dropped]
        if not rest:
            raise PrerequisiteError(f"no row can be made from {len(scenarios):,} scenarios: {'; '.join(left)}.")


def fit_examples(made: TrainingSet, write: Write) -> TrainingSet:
    """Keep the examples of a set that can be written.

    Raises:
        PrerequisiteError: None can.
    """
    total = len(made.examples)
    made.examples = write(made).examples
    made.refuse_empty(f"{total:,} answers")
    return made
