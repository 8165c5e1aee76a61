"""Compute scores of a confusion matrix: precision, recall and F1 per class, and the macro F1 with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import NormalDist

from talm_sim.reasoning import Decision
from talm_sim.types import Behaviour, FrozenModel

BEHAVIOURS = tuple(Behaviour)
"""The four classes, in the order of a matrix's rows and columns."""

DECISIONS = {
    Behaviour.TOOL_CALL: Decision.CALL,
    Behaviour.CANNOT_ANSWER: Decision.DEFER,
    Behaviour.REQUEST_FOR_INFO: Decision.CLARIFY,
    Behaviour.DIRECT: Decision.ANSWER,
}
"""What a reasoning form decides that is carried out by each behaviour."""

Counts = tuple[tuple[int, ...], ...]
"""One row per gold class and one column per predicted one, both in the order of `BEHAVIOURS`; a fifth column is for the unparsed."""

Cells = Sequence[tuple[int, int]]
"""Cells of a matrix, each by its row and column."""


class ClassScores(FrozenModel):
    """How one class was found: shares without a denominator are None, but F1 is 0, as the macro average needs four terms."""

    precision: float | None
    """Share of the answers labelled as this class that was right."""
    recall: float | None
    """Share of the rows of this class that was found."""
    f1: float
    support: int
    """Scored rows whose gold class this is."""


def confusion(golds: Sequence[Behaviour], predicted: Sequence[Behaviour | str], *, with_unparsed: bool = False) -> Counts:
    """Count gold against predicted behaviours; see `Counts`.

    Raises:
        ValueError: The two differ in length, or a label is not a behaviour and there is no column for it.
    """
    counts = Counter(zip(golds, (BEHAVIOURS.index(one) if one in BEHAVIOURS else len(BEHAVIOURS) for one in predicted), strict=True))
    if not with_unparsed and any(column == len(BEHAVIOURS) for _, column in counts):
        raise ValueError("a predicted label is not a behaviour; give the matrix a column for unparsed answers.")
    return tuple(tuple(counts[gold, column] for column in range(len(BEHAVIOURS) + with_unparsed)) for gold in BEHAVIOURS)


def class_scores(matrix: Counts) -> dict[Behaviour, ClassScores]:
    """Return precision, recall and F1 of each class. An unparsed answer lowers the recall of its gold class and no precision."""
    found = {}
    for place, behaviour in enumerate(BEHAVIOURS):
        right, support, taken = matrix[place][place], sum(matrix[place]), sum(row[place] for row in matrix)
        found[behaviour] = ClassScores(
            precision=right / taken if taken else None,
            recall=right / support if support else None,
            f1=2 * right / (support + taken) if support + taken else 0.0,
            support=support,
        )
    return found


def macro_f1(matrix: Counts) -> float | None:
    """Return the plain mean of the F1 of all four classes, a class without rows and choices counting as 0; None for an empty matrix."""
    if not any(map(sum, matrix)):
        return None
    return sum(scores.f1 for scores in class_scores(matrix).values()) / len(BEHAVIOURS)


def macro_f1_interval(matrix: Counts, repeats: Iterable[Cells] = ()) -> tuple[float, float] | None:
    """Return a 95 % interval for the macro F1 by the delta method over the matrix as one multinomial draw (Takahashi et al. 2022).

    Epochs of a scenario are alike, so where there are several, a scenario's cells are one draw. If the method has no spread (nothing right,
    everything right, no rows) there is no interval: one of no width would look like proof.

    Args:
        matrix: Counts.
        repeats: The cells in which each scenario's epochs are counted.
    """
    n = sum(map(sum, matrix))
    if (value := macro_f1(matrix)) is None:
        return None
    changes = _changes(matrix)
    first = sum(cell / n * change for counts, row in zip(matrix, changes, strict=True) for cell, change in zip(counts, row, strict=True))
    drawn = list(repeats)
    if any(len(cells) > 1 for cells in drawn):
        second = sum((sum(changes[i][j] - first for i, j in cells)) ** 2 for cells in drawn) / n
        variance = second / n
    else:
        second = sum(
            cell / n * change**2 for counts, row in zip(matrix, changes, strict=True) for cell, change in zip(counts, row, strict=True)
        )
        variance = (second - first * first) / n
    if variance <= 1e-15:
        return None
    half = NormalDist().inv_cdf(0.975) * sqrt(variance)
    return max(0.0, value - half), min(1.0, value + half)


def _changes(matrix: Counts) -> list[list[float]]:
    """Return how much one more row in each cell changes the macro F1, times the number of rows."""
    n, classes = sum(map(sum, matrix)), len(BEHAVIOURS)
    scores = list(class_scores(matrix).values())
    sizes = [sum(matrix[k]) + sum(row[k] for row in matrix) for k in range(classes)]
    # A class's F1 is 2 right / size.
    slope = [one.f1 * n / size if size else 0.0 for one, size in zip(scores, sizes, strict=True)]
    found = []
    for i, row in enumerate(matrix):
        own = []
        for j in range(len(row)):
            change = -slope[i] - (slope[j] if j < classes else 0.0)
            if i == j:
                change = 2 * n / sizes[i] - 2 * slope[i] if sizes[i] else 0.0
            own.append(change / classes)
        found.append(own)
    return found
