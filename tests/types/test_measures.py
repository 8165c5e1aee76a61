from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.stats import wilson
from talm_sim.types import Episode, Line, Matrix, Measure, Row, Scenario, Section, Source, Summary, Termination, Turn

EPISODE = Episode(id="s@2", scenario_id="s", group="g", epoch=2, model="m/m", termination=Termination.ANSWERED)
SCENARIO = Scenario(id="s", group="g", turns=(Turn(messages=({"role": "user", "content": "?"},)),), source=Source(base="b"))
MATRIX = Matrix(name="confusion", rows=("yes", "no"), columns=("yes", "no", "unparsed"), counts=((1, 2, 3), (4, 5, 6)))


def test_a_record_has_the_keys_of_its_kind_in_their_order() -> None:
    summary = Summary(
        group="g",
        n=3,
        total=6,
        not_scored={"cancelled": 1, "replay_miss": 2},
        facts={"unparsed": 0, "judge": None},
        measures=(
            Measure.of(wilson(1, 3), "accuracy", "Acc"),
            Measure(name="macro_f1", head="F1", kind="score", value=0.5, low=0.4, high=0.6),
            Measure(name="support", head="n", kind="number", place="hidden", value=3),
            Measure.of(None, "norm", "Norm", note="by byte"),
        ),
        matrices=(MATRIX,),
        notes=("a note is no data",),
    )
    low, high = wilson(1, 3).low, wilson(1, 3).high
    assert list(summary.record().items()) == [
        *{"group": "g", "total": 6, "n": 3, "not_scored": 3, "unparsed": 0, "judge": None}.items(),
        *{"accuracy": 1 / 3, "accuracy_low": low, "accuracy_high": high, "accuracy_k": 1, "accuracy_n": 3}.items(),
        *{"macro_f1": 0.5, "macro_f1_low": 0.4, "macro_f1_high": 0.6}.items(),
        ("support", 3),
        *{"norm": None, "norm_low": None, "norm_high": None, "norm_k": None, "norm_n": None}.items(),
        *{"yes_as_yes": 1, "yes_as_no": 2, "yes_as_unparsed": 3, "no_as_yes": 4, "no_as_no": 5, "no_as_unparsed": 6}.items(),
    ]
    assert json.loads(json.dumps(summary.record())) == summary.record()
    assert Summary.model_validate_json(summary.model_dump_json()) == summary
    assert summary.measure("support") is summary.measures[2] and summary.measure("none") is None


def test_a_count_stays_an_integer_through_its_json() -> None:
    for value in (3, 0, 1):
        measure = Measure.model_validate_json(Measure(name="support", head="n", kind="number", value=value).model_dump_json())
        assert (measure.value, type(measure.value)) == (value, int)


def test_a_rate_that_could_not_be_had_keeps_its_place() -> None:
    measure = Measure.of(None, "pass_rate", "PR", by="no judge")
    assert (measure.kind, measure.place, measure.value, measure.k, measure.n, measure.by) == ("rate", "column", None, None, None, "no judge")
    assert (measure.rate().k, measure.rate().n, measure.rate().value) == (0, 0, None)


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_measure_gives_back_its_rate(k: int, more: int) -> None:
    rate = wilson(k, k + more)
    assert Measure.of(rate, "a", "A").rate() == rate


def test_the_row_of_an_episode() -> None:
    row = Row.of(EPISODE, SCENARIO, values={"a": True, "b": 2, "c": 0.5, "d": None}, labels={"gold": "x"})
    assert (row.episode, row.scenario, row.base, row.epoch, row.group, row.not_scored, row.scored) == ("s@2", "s", "b", 2, "g", "", True)
    again = Row.model_validate_json(row.model_dump_json())
    assert again == row
    assert [type(value) for value in again.values.values()] == [bool, int, float, type(None)]
    assert Row.of(EPISODE, None).base == "s"
    assert Row.of(EPISODE, SCENARIO, group="all", not_scored="not judged").model_dump(include={"group", "not_scored"}) == {
        "group": "all",
        "not_scored": "not judged",
    }


@pytest.mark.parametrize("end", list(Termination))
def test_an_episode_that_our_machinery_ended_is_not_scored(end: Termination) -> None:
    row = Row.of(EPISODE.model_copy(update={"termination": end}), SCENARIO)
    assert (row.not_scored, row.scored) == (("", True) if end.completed else (end.value, False))


def test_a_summary_counts_its_rows() -> None:
    rows = [Row(episode=str(number), scenario="s", base="s", group="g", not_scored=why) for number, why in enumerate(["", "z", "", "a", "z"])]
    summary = Summary.of("g", rows, facts={"judge": "x"})
    assert (summary.group, summary.n, summary.total, summary.facts) == ("g", 2, 5, {"judge": "x"})
    assert list(summary.not_scored.items()) == [("a", 1), ("z", 2)]
    assert (Summary.of("g", []).n, Summary.of("g", []).total) == (0, 0)


def test_a_section_of_plain_lines() -> None:
    assert Section.of("Title", ["a", "b"]) == Section(title="Title", lines=((Line(text="a"),), (Line(text="b"),)))
