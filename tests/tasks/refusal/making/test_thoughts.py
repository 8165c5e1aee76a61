from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, strategies as st

from talm_sim.reasoning import FIELDS, read_form
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.maker import (
    action_words,
    drawn_form,
    read_form_thought,
    read_free_thought,
    right_decision,
    rule_form,
)
from talm_sim.types import AcceptedCall, Calls, Scenario, Turn

CLOCK = {"name": "clock", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
FITS = Calls(expected="calls", accepted=(AcceptedCall(name="clock", arguments={"city": ("Hue",)}),))
NOTHING = Calls(expected="none")
FORM = """task_summary: time in Hue
task_type: lookup
ambiguity_level: low
relevant_tools_sorted: [clock]
tool_needed: true
tool_sufficiency: yes
blockers: []
decision: call
hallucination_risk: low
why: the clock knows the time of every city"""
REFUSING = FORM.replace("[clock]", "[]").replace("sufficiency: yes", "sufficiency: no").replace("decision: call", "decision: defer")


def _scenario(target: Calls) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "What time is it in Hue?"},))
    return Scenario(id="a", task="refusal", group="fitting", turns=(turn,), shown_tools=(json.dumps(CLOCK),), target=target)


def _fault(text: str, target: Calls) -> str:
    return read_form_thought(text, _scenario(target), target).fault


def test_a_form_that_leads_to_the_right_action_is_kept() -> None:
    for text in (FORM, f"```\n{FORM}\n```", f"Here is the form:\n{FORM}\n\n[clock(city='Hue')]", f"<think>{FORM}</think>"):
        found = read_form_thought(text, _scenario(FITS), FITS)
        assert (found.text, found.decision, found.fault) == (f"{FORM}\n\n", "call", "")
    assert read_form_thought(REFUSING, _scenario(NOTHING), NOTHING).text == f"{REFUSING}\n\n"


@pytest.mark.parametrize(
    ("text", "target", "fault"),
    [
        (FORM, NOTHING, "it decides on call, and defer is right"),
        (REFUSING, FITS, "it decides on defer, and call is right"),
        (FORM.replace("decision: call", "decision: clarify"), FITS, "it decides on clarify, and call is right"),
        (FORM.replace("decision: call", "decision: maybe"), FITS, "its decision cannot be read"),
        (FORM.replace("why: the clock knows the time of every city", ""), FITS, "its form lacks why"),
        ("decision: call\n\nclock", FITS, "no form can be read in it"),
        ("", FITS, "no form can be read in it"),
        (FORM.replace("[clock]", "[clock, calendar]"), FITS, "it names a tool that is not shown: calendar"),
        (FORM.replace("[clock]", "[]"), FITS, "it does not name clock as relevant, which is called"),
        (FORM.replace("tool_needed: true", "tool_needed: false"), FITS, "it says that no tool is needed, and a call is right"),
        (
            FORM.replace("the clock knows", "the right action is to call it, as it knows"),
            FITS,
            "it speaks of what it was told ('right action')",
        ),
    ],
)
def test_a_form_that_contradicts_the_right_action_is_rejected(text: str, target: Calls, fault: str) -> None:
    assert _fault(text, target) == fault


def test_a_free_thought_ends_with_its_decision() -> None:
    found = read_free_thought("<think>The clock can do it.</think>\n\n**Decision**: call", FITS)
    assert (found.text, found.decision, found.fault) == ("<think>\nThe clock can do it.\n</think>\n\n", "call", "")
    for text, fault in (
        ("The clock can do it.", "it ends without a line that says its decision"),
        ("Decision: call", "it contains no thought"),
        ("No tool.\nDecision: defer", "it decides on defer, and call is right"),
        ("I was told to call.\nDecision: call", "it speaks of what it was told ('was told')"),
    ):
        assert read_free_thought(text, FITS).fault == fault


@given(st.text(max_size=200) | st.lists(st.sampled_from(FORM.splitlines()), max_size=12).map("\n".join))
def test_whatever_a_teacher_writes_is_kept_or_rejected(text: str) -> None:
    for target in (FITS, NOTHING):
        for found in (read_form_thought(text, _scenario(target), target), read_free_thought(text, target)):
            assert bool(found.text) != bool(found.fault)
            assert found.fault or found.decision == right_decision(target)


@pytest.mark.parametrize("target", [FITS, NOTHING])
def test_a_form_by_rule_passes_the_same_checks(target: Calls) -> None:
    made = rule_form(_scenario(target), target)
    assert _fault(made.text, target) == "" and set(read_form(made.text).fields) == set(FIELDS)
    assert find_attempt(made.text) is None
    assert ("decision: call" if target is FITS else "decision: defer") in action_words(_scenario(target), target)


def test_a_drawn_form_decides_whatever_is_drawn() -> None:
    made = [drawn_form(_scenario(FITS), Random(seed)) for seed in range(200)]
    assert all(not read_form(one.text).missing for one in made)
    agreeing = sum(one.decision == "call" for one in made)
    assert 30 <= agreeing <= 70, "one of four decisions"
    assert drawn_form(_scenario(FITS), Random(1)) == made[1]
