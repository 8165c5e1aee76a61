"""Rows with several turns in the table: a column, a table of faults, and the overall score that they complete."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from talm_sim.tasks.refusal import measures
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, SUBSETS
from talm_sim.tasks.refusal.bfcl.subsets import rows_of
from talm_sim.types import Calls, Episode, ModelTurn, Scenario, Source, Summary, Termination, Turn, Verdict
from tests.tasks.views import View, job

FAILED = {"simple_java": 25, "irrelevance": 40, "live_simple": 58, "live_irrelevance": 100, "multi_turn_base": 50, "multi_turn_miss_func": 120}
"""How many rows of a subset fail; of the others, none."""


def played(left_out: int = 0) -> View:
    """All rows of v3, but the last ones, whose calls and turns were judged."""
    scenarios, verdicts = [], []
    for subset in SUBSETS.values():
        for number in range(rows_of(subset, "v3")):
            name, failed = f"{subset.name}_{number}", number < FAILED.get(subset.name, 0)
            turns = subset.name in MULTI_TURN
            expected: Any = subset.expected
            target: Any = {"type": "bfcl_turns", "gold": [[]]} if turns else Calls.model_construct(expected=expected)
            said = Turn.model_construct(messages=({"role": "user", "content": "Go on."},))
            scenarios.append(
                Scenario.model_construct(
                    id=name, task="refusal", group=subset.name, turns=(said,), target=target, language="en", source=Source(name="BFCL v3")
                )
            )
            label = "instance_state_mismatch" if failed and turns else ""
            verdicts += [
                Verdict(episode_id=name, judge=judge, judge_config_digest="", value=not failed, label=label)
                for judge in (("bfcl-turns",) if turns else ("calls", "intent"))
            ]
    kept = scenarios[: len(scenarios) - left_out]
    turn = ModelTurn(text="Done.", raw_text="Done.")
    made = [
        Episode(id=one.id, scenario_id=one.id, group=one.group, model="m", model_turns=(turn,), termination=Termination.ANSWERED)
        for one in kept
    ]
    return View(job("refusal", bfcl_version="v3"), made, scenarios, verdicts)


def overall(run: View) -> Summary:
    (found,) = (one for one in measures.summarize([*measures.rows(run)], run) if one.group == "all")
    return found


def scores(found: Summary) -> Iterator[tuple[str, float | None, str]]:
    return ((one.name, one.value, one.note) for one in found.measures if one.name.startswith("v3_"))


def test_the_overall_score_of_v3_is_the_mean_of_its_three_parts() -> None:
    found = overall(played())
    values = {name: value for name, value, _ in scores(found)}
    simple = (1 + Fraction(75, 100) + 1) / 3
    non_live = (simple + 1 + 1 + 1 + Fraction(200, 240)) / 5
    live = 1 - Fraction(158, 258 + 1053 + 16 + 24 + 882 + 18)
    turns = (Fraction(150, 200) + Fraction(80, 200) + 1 + 1) / 4
    assert values["v3_overall"] == pytest.approx(float((non_live + live + turns) / 3))
    assert values["v3_multi_turn"] == pytest.approx(float(turns))
    (column,) = (one for one in found.measures if one.name == "turns")
    assert (column.value, column.n) == ((800 - 170) / 800, 800)
    (matrix,) = (one for one in found.matrices if one.name == "turns")
    assert dict(zip(matrix.rows, matrix.counts, strict=True))["multi_turn_miss_func"] == (80, 0, 120, 0, 0)


def test_a_row_without_an_outcome_leaves_the_score_incomplete() -> None:
    notes = {name: (value, note) for name, value, note in scores(overall(played(left_out=1)))}
    assert notes["v3_overall"] == (None, "incomplete: 4,440 of 4,441 rows")
    assert notes["v3_multi_turn"] == (None, "incomplete: 799 of 800 rows")
