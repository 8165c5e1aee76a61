"""Reasoning forms: what is read is what was labelled by hand, whatever is read is split without loss, and what is written is read back."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.reasoning import FIELDS, Decision, Value, begin_form, draw_form, find_form, read_form, write_form
from talm_sim.reasoning.fields import trim
from tests.growth import check_growth

HERE = Path(__file__).parent
LABELLED = {
    name: [json.loads(line) for line in (HERE / f"forms_{name}.jsonl").read_text(encoding="utf-8").splitlines()] for name in ("before", "after")
}
"""Written by hand: before there was a reader, and after it was finished."""
LISTS = ("relevant_tools_sorted", "blockers")


def fields_read(text: str) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in read_form(text).fields.items()}


def test_two_hundred_forms_are_labelled_a_third_of_them_before_the_reader() -> None:
    forms = [*LABELLED["before"], *LABELLED["after"]]
    assert len(LABELLED["before"]) >= 67
    assert len(forms) >= 200 and len({one["text"] for one in forms}) == len(forms)
    kinds = {kind for one in forms for kind in one["kinds"]}
    assert kinds >= {"plain", "fenced", "translated", "broken", "cut", "json", "markdown", "flat", "wrapped", "repeated", "misspelt", "none"}


@pytest.mark.parametrize("name", LABELLED)
def test_fields_are_read_as_labelled(name: str) -> None:
    wrong = [
        f"{one['id']}: {field}" for one in LABELLED[name] for field in FIELDS if fields_read(one["text"]).get(field) != one["fields"].get(field)
    ]
    assert len(wrong) <= 0.02 * len(LABELLED[name]) * len(FIELDS), wrong


@pytest.mark.parametrize("name", LABELLED)
def test_the_answer_begins_where_labelled(name: str) -> None:
    wrong = [one["id"] for one in LABELLED[name] if read_form(one["text"]).rest.strip() != one["answer"]]
    assert len(wrong) <= 0.02 * len(LABELLED[name]), wrong


LINES = sorted({line for one in LABELLED["before"] for line in one["text"].splitlines(keepends=True)})
PIECES = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(
        ["\n", "```", "{", "}", "[", "]", '"', "- ", "  ", "| ", "why:", "decision: ", "<think>", "</think>", "task_summary:", " : "]
    ),
    st.text(max_size=8),
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_nothing_is_lost_and_nothing_raised(text: str) -> None:
    form = read_form(text)
    assert form.text + form.rest == text
    assert set(form.fields) | set(form.missing) == set(FIELDS)
    assert form.fields or not form.text
    assert len(find_form(text).fields) >= len(form.fields)


FORMS = st.fixed_dictionaries(
    {"task_summary": PIECES}, optional={name: st.lists(PIECES, max_size=4).map(tuple) if name in LISTS else PIECES for name in FIELDS[1:]}
)


@given(FORMS, st.sampled_from(["", "\n\nIt is noon.", "\n\n[f(a=1)]"]))
def test_a_written_form_is_read_back(fields: dict[str, Value], answer: str) -> None:
    once = read_form(write_form(fields)).fields
    again = read_form(write_form(once) + answer)
    if "task_summary" in once:
        assert again.fields == once
        assert again.rest == answer.strip()


WORDS = st.text("abcdefghij vé", min_size=1).filter(lambda text: text == " ".join(text.split()) and text not in ("a", "n"))


@given(
    st.fixed_dictionaries({name: st.lists(WORDS, min_size=1).map(tuple) if name in LISTS else WORDS for name in FIELDS}),
    st.sampled_from(Decision),
)
def test_plain_values_come_back_as_they_were(fields: dict[str, Value], decision: Decision) -> None:
    known: dict[str, Value] = {
        **fields,
        "ambiguity_level": "low",
        "hallucination_risk": "high",
        "tool_needed": "false",
        "tool_sufficiency": "partial",
    }
    form = read_form(write_form({**known, "decision": decision.value}))
    assert form.fields == {**known, "decision": decision.value}
    assert (form.decision, form.missing, form.rest) == (decision, (), "")


@given(st.integers(), st.text(), st.lists(st.from_regex(r"[a-z]{3,8}_[a-z]{3,8}", fullmatch=True), unique=True))
def test_a_drawn_form_is_begun_and_read_back(seed: int, summary: str, tools: list[str]) -> None:
    drawn = draw_form(Random(seed), summary, tools)
    assert draw_form(Random(seed), summary, tools) == drawn
    begun = begin_form(drawn)
    assert begun.endswith("\nwhy:")
    form = read_form(f"{begun} nobody knows\n\nNo.")
    assert form.rest == "No." or not drawn["task_summary"]
    assert {name: form.fields[name] for name in ("decision", "relevant_tools_sorted")} == {
        name: drawn[name] for name in ("decision", "relevant_tools_sorted")
    }


@pytest.mark.parametrize("piece", ["task_summary: a\n\n", '{"why": [\n', "- a\n", "{\n\n\n\n"])
def test_the_time_is_linear(piece: str) -> None:
    for read in (read_form, find_form):
        check_growth(read, lambda size, piece=piece: piece * (size // len(piece)), 2**18)  # type: ignore[misc]


def test_a_fuller_form_inside_a_thought_is_found() -> None:
    thought = "Hm, why: nobody knows.\n\ntask_summary: time\ndecision: call\nwhy: clock\n\nSo I call it.\ntask_summary: time\ndecision: defer\n"
    found = find_form(thought)
    assert found.fields == {"task_summary": "time", "decision": "call", "why": "clock"}
    assert found.rest.startswith("So I call it.")


def test_quotation_marks_are_taken_from_a_field_only_if_they_hold_all_of_it() -> None:
    assert [trim("say \u201cno\u201d"), trim("\u201cno\u201d")] == ["say \u201cno\u201d", "no"]
