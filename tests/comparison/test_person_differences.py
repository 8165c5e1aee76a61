"""How people answer beside simulated ones: the figures of a comparison, from rows counted by hand."""

from __future__ import annotations

import pytest

from talm_sim.comparison.compare import compare_sides
from talm_sim.comparison.compared_rows import Side
from talm_sim.comparison.person_differences import PeopleDifference
from talm_sim.types import Row


def row(number: int, passed: bool, answers: int = 0, **counts: int) -> Row:
    values: dict[str, bool | float | None] = {"pass_rate": passed}
    if answers:
        values |= {"person_answers": answers, "person_words": 0, "person_told": 0, "person_at_once": 0, "person_pushed_back": 0, **counts}
    if "person_faulty" in counts:
        values["person_fault"] = bool(counts["person_faulty"])
    return Row(episode=f"e{number}", scenario=f"e{number}", base=f"e{number}", epoch=1, group="underspecified", values=values)


def side(name: str, *rows: Row) -> Side:
    texts = {one.scenario: "same" for one in rows}
    known = {"label": "m", "task": "talm", "judges": {}, "judged": {}, "scoring": {}, "settings": {}, "version": "1", "columns": ()}
    return Side(**known, name=name, texts=texts, rows=rows)


PEOPLE = side(
    "people",
    row(1, True, 1, person_words=3),
    row(2, True, 3, person_words=9, person_at_once=1, person_pushed_back=1),
    row(3, False),
    row(4, True),
)
SIMULATED = side(
    "simulated",
    row(1, True, 2, person_words=30, person_faulty=1, person_at_once=1),
    row(2, False, 2, person_words=10, person_faulty=1),
    row(3, False),
    row(4, False),
)


def figures(found: PeopleDifference | None) -> dict[str, tuple[float | None, float | None]]:
    assert found is not None
    return {one.name: (one.first, one.second) for one in found.figures}


def test_figures_are_those_that_are_counted_by_hand() -> None:
    found = compare_sides(PEOPLE, SIMULATED).people
    assert found is not None and (found.first, found.second) == ("people", "simulated")
    assert figures(found) == {
        "pass_rate": (0.75, 0.25),
        "questions": (1.0, 1.0),
        "words": (3.0, 10.0),
        "at_once": (0.25, 0.25),
        "pushed_back": (0.25, 0.0),
        "faulty": (None, 0.5),
    }
    assert figures(compare_sides(SIMULATED, PEOPLE).people)["words"] == (10.0, 3.0)


@pytest.mark.parametrize("other", [PEOPLE, side("none", *(row(number, True) for number in range(1, 5)))])
def test_other_runs_have_no_people_to_tell_apart(other: Side) -> None:
    assert compare_sides(PEOPLE, other.model_copy(update={"name": "other"})).people is None
