"""Comparisons on a screen 80 columns wide and in Markdown, with whatever names, labels and texts they have."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st
from rich.cells import cell_len

from talm_sim.cli.report.comparison import comparison_lines, comparison_markdown
from talm_sim.comparison.compare import Comparison, Difference, Flips
from talm_sim.types import Measure
from talm_sim.types.steps import Divergence, Step
from tests.cli.summaries import HOSTILE

PASS = Measure(name="pass_rate", head="PR", better="higher")


def difference(**more: Any) -> Difference:
    known: dict[str, Any] = {
        "group": "perfect",
        "measure": PASS,
        "pairs": 72,
        "first": 0.5,
        "second": 0.75,
        "difference": 0.25,
        "low": 0.125,
        "high": 0.38,
        "p": 0.0004,
        "corrected": 0.0312,
        "verdict": "improved",
    }
    return Difference(**{**known, **more})


def comparison(*differences: Difference, **more: Any) -> Comparison:
    known: dict[str, Any] = {"first": "before", "second": "after", "labels": ("a/b", "a/c"), "pairs": 72, "changed": {"seed": ("0", "1")}}
    return Comparison(**{**known, "differences": differences or (difference(),), **more})


def printed(one: Comparison, **more: Any) -> list[str]:
    return [line.plain for line in comparison_lines(one, **more)]


def test_a_table_has_values_difference_interval_and_both_p_values() -> None:
    lines = printed(
        comparison(
            difference(),
            difference(
                measure=Measure(name="t", head="Tokens", kind="number"), first=1234.5, second=1100, difference=-134.5, verdict="", p=1.0
            ),
            difference(group="unavailable", pairs=None, low=None, high=None, p=None, corrected=None, verdict="", difference=-0.001),
        ),
        explained=False,
    )
    assert lines == [
        "A  before: a/b",
        "B  after: a/c",
        "   72 pairs",
        "   seed: 0 (A), 1 (B)",
        "",
        "                pairs      A      B   B - A           95 %     p  Holm",
        "  perfect",
        "    PR             72    .50    .75    +.25     .12 to .38 <.001  .031 improved",
        "    Tokens         72  1,234  1,100    -134     .12 to .38 1.000  .031",
        "  unavailable",
        "    PR                   .50    .75     .00",
    ]


def test_what_is_left_out_flips_and_is_warned_of_is_said() -> None:
    flips = Flips(group="perfect", improved=tuple("abcdefg"), regressed=("x",), both_passed=("y",), both_failed=(), as_often=("z",))
    lines = printed(comparison(not_scored=2, first_only=("p", "q"), second_only=("r",), flips=(flips,), warnings=("beware",)))
    text = " ".join(" ".join(lines).split())
    assert "72 pairs, 2 of them not scored; left out: 2 scenarios in A alone, 1 scenarios in B alone" in text
    assert "improved: a, b, c, d, e, and 2 more" in text and "regressed: x" in text
    assert "perfect 7 1 1 0 1" in text
    assert "note: beware" in text and "improved, regressed, differs: below .05" in text


def test_flips_show_both_steps_around_the_place_where_they_differ() -> None:
    flips = Flips(group="perfect", improved=("a", "b"), regressed=(), both_passed=(), both_failed=(), as_often=())
    long = "x" * 200
    found = Divergence(number=3, first=Step(what="answer", text=long + "NO"), second=Step(what="answer", text=long + "YES"), at=200)
    lines = printed(
        comparison(flips=(flips,)), flips={"a": found, "b": Divergence(number=1, first=None, second=Step(what="end", text="limit"))}
    )
    shown = "\n".join(lines)
    assert "improved a" in shown and "NO" in shown and "YES" in shown and "A  ended before" in shown and "B  end: limit" in shown


def hostile(text: str) -> Comparison:
    flips = Flips(group=text, improved=(text,), regressed=(text,), both_passed=(), both_failed=(), as_often=())
    measure = PASS.model_copy(update={"head": text, "under": text})
    return comparison(
        difference(group=text, measure=measure),
        first=text,
        second=text,
        labels=(text, text),
        changed={text: (text, text)},
        flips=(flips,),
        warnings=(text,),
        first_only=(text,),
    )


@settings(max_examples=60)
@given(st.one_of(st.just(HOSTILE), st.text(max_size=120), st.text(alphabet="\x1b\x00\r\n\t\u2028\u202e[31m界e\u0301", max_size=60)))
def test_any_text_stays_in_80_columns_and_sends_nothing_to_the_terminal(text: str) -> None:
    step = Divergence(number=1, first=Step(what=text, text=text), second=None, at=len(text))
    for flips in (None, {text: step}):
        for line in printed(hostile(text), every=True, flips=flips):
            assert not any(char in line for char in "\x1b\x00\r\n\u2028\u202e\x9b")
            assert cell_len(line) <= 80, line


def test_markdown_has_a_table_of_differences_one_of_scenarios_and_the_notes() -> None:
    flips = Flips(group="perfect", improved=("a",), regressed=(), both_passed=(), both_failed=("b",), as_often=())
    assert comparison_markdown(comparison(flips=(flips,), warnings=("beware",))).splitlines() == [
        "### after against before",
        "",
        "- A: before: a/b",
        "- B: after: a/c",
        "- 72 pairs",
        "- seed: 0 (A), 1 (B)",
        "- beware",
        "",
        "| rates | measure | pairs | A | B | B - A | 95 % | p | Holm | verdict |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        "| perfect | PR | 72 | .50 | .75 | +.25 | .12 to .38 | &lt;.001 | .031 | improved |",
        "",
        "| scenarios | improved | regressed | both passed | both failed | as often |",
        "|---|---:|---:|---:|---:|---:|",
        "| perfect | 1 | 0 | 0 | 1 | 0 |",
    ]
