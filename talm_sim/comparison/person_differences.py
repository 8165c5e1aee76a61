"""Compare how people answer in one run with how simulated people answer in another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from talm_sim.comparison.differences import Paired
from talm_sim.tasks import find_task
from talm_sim.types import FrozenModel, Row

Who = Literal["people", "simulated"]


class PeopleFigure(FrozenModel):
    """One figure of how people answer, on both sides."""

    name: str
    about: str
    first: float | None
    """None where nothing was answered, or of a fault where people answered, whom nothing binds to the scenario."""
    second: float | None


class PeopleDifference(FrozenModel):
    """How the people of the two runs of a comparison differ; over all epochs of the pairs."""

    first: Who
    second: Who
    figures: tuple[PeopleFigure, ...]


_FIGURES = {
    "pass_rate": "episodes that passed",
    "questions": "answers per episode",
    "words": "words per answer",
    "at_once": "answers that give two missing facts, or one unasked",
    "pushed_back": "answers that ask why, or refuse",
    "faulty": "answers with a fault of the person",
}


def compare_people(paired: Paired) -> PeopleDifference | None:
    """Return how the people of both sides answer; None unless people answered one side, and simulated ones the other."""
    scored = [pair for pair in paired.pairs if pair.scored]
    sides = [[row for pair in scored for row in pair.first if row.scored], [row for pair in scored for row in pair.second if row.scored]]
    who = [_who(rows) for rows in sides]
    if {*who} != {"people", "simulated"}:
        return None
    first, second = (_figures(paired.first.task, rows) for rows in sides)
    figures = tuple(PeopleFigure(name=name, about=about, first=first[name], second=second[name]) for name, about in _FIGURES.items())
    return PeopleDifference(first=who[0], second=who[1], figures=figures)


def _who(rows: Iterable[Row]) -> Who | None:
    """Return who answered; None if nobody did, or both did."""
    found: set[Who] = {"simulated" if "person_fault" in row.values else "people" for row in rows if row.values.get("person_answers")}
    return found.pop() if len(found) == 1 else None


def _figures(task: str, rows: Sequence[Row]) -> dict[str, float | None]:
    passed = [one for row in rows if (one := find_task(task).succeeded(row)) is not None]
    answers = _total(rows, "person_answers")
    faulty = [row for row in rows if "person_faulty" in row.values]
    return {
        "pass_rate": _share(sum(passed), len(passed)),
        "questions": _share(answers, len(rows)),
        "words": _share(_total(rows, "person_words"), answers),
        "at_once": _share(_total(rows, "person_at_once"), answers),
        "pushed_back": _share(_total(rows, "person_pushed_back"), answers),
        "faulty": _share(_total(faulty, "person_faulty"), _total(faulty, "person_answers")),
    }


def _total(rows: Iterable[Row], name: str) -> float:
    return sum(row.values.get(name) or 0 for row in rows)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
