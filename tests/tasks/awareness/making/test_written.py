"""A conversation as a model reads it, and the model's answer read back as what it is: untrusted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.making.prompts import load_writer_prompts
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import complete_scenario
from talm_sim.tasks.awareness.making.written import conversation_text, read_object, read_removal, replace_user_words
from talm_sim.types import GoldCall, Scenario, Source, YesNo
from tests.growth import check_growth
from tests.tables import labelled

TOKEN = {"id": "c1", "name": "GetToken", "arguments": {"user": "mira"}}
SAID = "Yes, 320 euros to savings."


def scenario(said: str = SAID) -> Scenario:
    tools = [
        {"name": name, "description": "", "parameters": {"type": "object", "properties": {}, "required": required}}
        for name, required in (("GetToken", ["user"]), ("MoveMoney", ["amount", "to"]))
    ]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "I'm mira. Put money aside.\nIt is for a boat."},
        {"role": "assistant", "content": "Gladly.", "tool_calls": [TOKEN]},
        {"role": "tool", "content": '{"token": "k7"}', "tool_call_id": "c1"},
        {"role": "user", "content": said},
    ]
    calls = [GoldCall(name="MoveMoney", arguments={"amount": 320, "to": "savings"})]
    return complete_scenario("bank-1", messages, tools, ["MoveMoney"], Source(name="toy", licence="CC0-1.0"), calls)


def answer(text: str, before: str = "", after: str = "") -> str:
    return before + json.dumps({"thought": "amount", "answer": text}) + after


def changed(said: str) -> str:
    return conversation_text(scenario(said))


def removed(text: str) -> Scenario:
    found = read_removal(text, scenario(), "openai/x")
    assert isinstance(found, Scenario), found
    return found


def test_what_was_said_and_called_stands_a_line_each() -> None:
    assert changed(SAID).split("\n") == [
        "User: I'm mira. Put money aside.",
        "It is for a boat.",
        "AI: Gladly.",
        'API call: {"name": "GetToken", "arguments": {"user": "mira"}}',
        'API result: {"token": "k7"}',
        "User: Yes, 320 euros to savings.",
    ]


@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("Sure! Here it is:\n```json\n", "\n```"), ('Note {"a": 1} and {this}: ', " Is that all right?")]
)
def test_the_answer_is_found_wherever_it_stands(before: str, after: str) -> None:
    made = removed(answer(changed("Yes, some euros to savings."), before, after))
    assert (made.id, made.group, made.query) == ("bank-1.removed", "removed", "Yes, some euros to savings.")
    assert [(one.name, one.value, one.removed_text) for one in made.missing] == [("amount", 320, "320")]
    assert isinstance(made.target, YesNo) and (made.target.gold, made.target.made_by) == ("no", "openai/x")
    assert made.turns[0] == scenario().turns[0], "what was not changed stays to the letter"
    assert made.source.base == "bank-1" and made.source.licence == "CC0-1.0"
    assert not [one for one in check_manipulated(scenario(), made) if not one.review]


@labelled
def test_an_answer_that_is_none_says_why(text: str, why: str) -> None:
    found = read_removal(text, scenario(), "openai/x")
    assert isinstance(found, str) and why in found


@given(st.text(alphabet='UserAI:\n {}"\\,', max_size=60))
def test_whatever_a_model_writes_is_read_or_refused(text: str) -> None:
    for written in (text, answer(text), answer("User: " + text)):
        assert isinstance(read_removal(written, scenario(), "m"), str | Scenario)


def test_the_worked_examples_are_answers_of_the_form_that_is_asked_for() -> None:
    texts = load_writer_prompts("talm_sim.tasks.awareness.making").texts
    examples = [part for name, part in texts.items() if name.startswith("removal_example_")]
    assert len(examples) == 5
    for example in examples:
        found = read_object(example["assistant"], "answer")
        assert found is not None and set(found) == {"thought", "answer"}
        before = example["user"].split("Conversation:\n")[1].split("\n")
        after = found["answer"].split("\n")
        assert [line.split(":")[0] for line in before] == [line.split(":")[0] for line in after]
        changed_lines = [old for old, new in zip(before, after, strict=True) if old != new]
        assert changed_lines and all(line.startswith("User:") for line in changed_lines)


@pytest.mark.parametrize("piece", ['{"a": ', '{"a": {"b": 1}, '])
def test_an_object_is_looked_for_in_step_with_the_answers_length(piece: str) -> None:
    check_growth(lambda text: read_object(text, "answer"), lambda size: piece * (size // len(piece)), 2**16)


@pytest.mark.parametrize("piece", ["a ", "book it "])
def test_what_was_taken_out_of_a_long_text_is_found_in_step_with_its_length(piece: str) -> None:
    def read(said: str) -> None:
        read_removal(answer(changed(f"x {said} y")), scenario(f"{said} it"), "m")

    check_growth(read, lambda size: piece * (size // len(piece)), 2**12)


def test_of_a_long_text_all_between_the_first_and_the_last_change_was_taken_out() -> None:
    words = [f"w{number}" for number in range(1000)]
    for gone, removed_text in (((5,), "w5"), ((5, 900), " ".join(words[5:901]))):
        said = " ".join(word for place, word in enumerate(words) if place not in gone)
        found = replace_user_words(scenario(" ".join(words)), ["I'm mira. Put money aside.\nIt is for a boat.", said], "m")
        assert [one.removed_text for one in found.missing] == [removed_text]
