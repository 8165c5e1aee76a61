from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from talm_sim.cli.report.effects import effect_lines
from talm_sim.runs.effects import CellCounts, Change, Effect
from talm_sim.types import Measure
from tests.cli.summaries import HOSTILE

ON, HARD = Change("human", "simulated", "none"), Change("perturb", "http-500", "")
PASSED = Measure(name="pass_rate", head="PR", note="passed", better="higher")
CELLS = (CellCounts("human=none", 60, 0, 0, 0), CellCounts("human=simulated", 57, 2, 1, 4))


def lines(effects: list[Effect], **how: Any) -> list[str]:
    found = [line.plain for line in effect_lines(effects, **how)]
    assert [line for line in found if cell_len(line) > 80] == []
    return found


def test_an_effect_is_printed_over_its_interval_and_what_is_missing_below() -> None:
    effects = [
        Effect("g", PASSED, (ON,), 0.25, 0.125, 0.375, 60, CELLS),
        Effect("g", PASSED, (HARD,), -1.0, -1.0, -0.88, 60, CELLS[:1]),
        Effect("g", PASSED, (ON, HARD), -0.001, -0.2, 0.2, 60, CELLS),
        Effect("g", Measure(name="turns", head="Turns", kind="number"), (ON,), 12.345, None, None, 60, CELLS[:1]),
        Effect("g", Measure(name="turns", head="Turns", kind="number"), (HARD,), 1234.5, 1000.0, 1500.0, 60, CELLS[:1]),
        Effect("g", Measure(name="turns", head="Turns", kind="number"), (ON, HARD), 0.0, -0.5, 0.5, 60, CELLS[:1]),
        Effect("g", Measure(name="f1", head="F1"), why="not a mean of the episodes' values"),
        Effect("g", Measure(name="gap", head="Gap"), why="not a mean of the episodes' values"),
    ]
    assert lines(effects)[:15] == [
        "effects, g: against human=none, perturb=none",
        "                                          PR       Turns",
        "                                     n 57–60        n 60",
        "  human=simulated                       +.25       +12.3",
        "                                     .12–.38",
        "  perturb=http-500                     -1.00         +1k",
        "                                  -1.00–-.88       1k–2k",
        "  human=simulated x perturb=http-500",
        "                                         .00         .00",
        "                                    -.20–.20    -.50–.50",
        "  not scored, by cell: human=simulated: 2",
        "  not finished, by cell: human=simulated: 4",
        "  scored without a value of PR, by cell: human=simulated: 1",
        "  no effects of F1, Gap: not a mean of the episodes' values",
        "",
    ]
    assert " ".join(" ".join(lines(effects)).split()).endswith("true effect; PR: passed, higher is better")
    assert len(lines(effects, explained=False)) == 14 and lines(effects, below=True)[0] == ""


def test_without_effects_nothing_is_printed() -> None:
    assert lines([]) == []


words = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from([HOSTILE, "語" * 40, "e\u0301" * 30])
figures = st.floats(-1e9, 1e9)


@st.composite
def found_effects(draw: st.DrawFn) -> list[Effect]:
    factors = [Change(draw(words), draw(words), draw(words)) for _ in range(draw(st.integers(1, 3)))]
    effects = []
    for number in range(draw(st.integers(1, 6))):
        measure = Measure(name=str(number), head=draw(words), note=draw(words), better=draw(st.sampled_from(["higher", "lower", "neither"])))
        low, high = sorted(draw(st.tuples(figures, figures)))
        cells = (CellCounts(draw(words), draw(st.integers(0, 9999)), draw(st.integers(0, 3)), draw(st.integers(0, 3)), 0),)
        effects += [Effect(draw(words), measure, why=draw(words) or "why")] if draw(st.booleans()) else []
        effects += [Effect("g", measure, (one,), draw(figures), low, high, 5, cells) for one in factors]
    return effects


@settings(max_examples=60, deadline=None)
@given(effects=found_effects())
def test_no_line_is_wider_than_the_screen_or_commands_it(effects: list[Effect]) -> None:
    for line in lines(effects):
        assert not {"\x1b", "\x00", "\u202e", "\n", "\r", "\x9b"} & set(line)
