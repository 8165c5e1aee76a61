"""Turns are read whole or refused in a line; as chat messages they say what they said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import as_dicts, as_messages, as_text, is_said, request_text, with_answers
from talm_sim.scenarios.turns import fault_in_messages, fault_in_question, fault_in_user_turns
from talm_sim.tasks import find_task
from talm_sim.types import GoldCall, Scenario, Turn
from tests.tasks.when2call.choices import scenario as item

USER, ANSWER = {"role": "user", "content": "How high is HAN?"}, {"role": "assistant", "content": "16 m."}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "h", "name": "look", "arguments": {"code": "HAN"}}]}
RESULT = {"role": "tool", "content": "16", "tool_call_id": "h"}
TALM = {"id": "a", "group": "perfect", "target": {"type": "facts", "required": [{"name": "height", "value": 16}]}}


def turns(*messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"messages": list(one)} for one in messages]


def read(tmp_path: Path, task: str, line: dict[str, Any]) -> Scenario:
    file = tmp_path / "mine.jsonl"
    file.write_text(f"// mine\n{json.dumps(line)}\n")
    found = find_task(task)
    (scenario,) = found.read(found.splits["all"], file)
    return scenario


@pytest.mark.parametrize(
    "said",
    [
        turns([USER]),
        turns([USER, ANSWER], [USER]),
        turns([{"role": "system", "content": "Be brief."}, USER, CALL, RESULT, ANSWER], [USER, CALL, {**RESULT, "name": "look"}, ANSWER, USER]),
        turns([ANSWER, USER], [USER]),
    ],
)
def test_what_can_be_played_is_read_as_it_is(tmp_path: Path, said: list[dict[str, Any]]) -> None:
    assert [list(turn.messages) for turn in read(tmp_path, "talm", {**TALM, "turns": said}).turns] == [one["messages"] for one in said]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (
            turns([USER], [{**USER, "role": "developer"}]),
            "turns.1.messages.0.role: is 'developer'; write one of user, system, assistant, tool.",
        ),
        (
            turns([{**USER, "part": "example"}]),
            "turns.0.messages.0.part: is not a key of a message with role user, and would be ignored; leave it out.",
        ),
        (turns([{**USER, "tool_calls": []}]), "turns.0.messages.0.tool_calls: is not a key of a message with role user"),
        ([{"messages": [USER], "tools_added": ["look"]}], "turns.0.tools_added: 'look' is not one of the scenario's `tools`; add it there."),
        (turns([USER], []), "turns.1.messages: has no message; write what the user says, or leave out the turn."),
        (turns([USER], [USER, ANSWER]), "turns.1.messages.1.role: the last turn is answered already; end it with the user."),
        (turns([USER, CALL], [USER]), "turns.0.messages.1.tool_calls.0: call 'h' has no result; add a message of role tool"),
        (turns([USER, CALL]), "turns.0.messages.1.tool_calls.0: call 'h' has no result; add a message of role tool"),
        (turns([USER, CALL, RESULT]), "turns.0.messages.2.role: a turn ends with the tool; end it with the user"),
        (turns([USER, {"role": "system", "content": "x"}], [USER]), "turns.0.messages.1.role: a turn ends with the system; end it"),
        (turns([USER, CALL, USER]), "turns.0.messages.1.tool_calls.0: call 'h' has no result; add a message of role tool"),
        (
            turns([RESULT, USER]),
            "turns.0.messages.0.tool_call_id: 'h' is not a call of the preceding assistant message; write the `id` of one.",
        ),
        (turns([USER, CALL, RESULT, RESULT, USER]), "turns.0.messages.3.tool_call_id: 'h' is not a call"),
        (
            turns([USER, {**CALL, "tool_calls": CALL["tool_calls"] * 2}, RESULT, USER]),  # type: ignore[operator]
            "turns.0.messages.1.tool_calls.1.id: 'h' is used twice; give each call its own.",
        ),
        (
            [{"messages": [USER, ANSWER], "gold_calls": [{"name": "look"}]}, *turns([USER])],
            "turns.0.gold_calls: the turn is answered already, as it ends with the assistant; give them to a turn that is not.",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_with_file_line_and_key(tmp_path: Path, said: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(PrerequisiteError, match=rf"mine\.jsonl:2: {re.escape(fault)}") as caught:
        read(tmp_path, "talm", {**TALM, "turns": said})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (turns([USER], [USER]), "several turns"),
        (turns([{"role": "system", "content": "Be brief."}, USER]), "more than what the user asks"),
        (turns([USER, ANSWER, USER]), "more than what the user asks"),
        (turns([USER, USER]), "more than what the user asks"),
    ],
)
def test_when2call_asks_one_question_and_refuses_more(tmp_path: Path, said: list[dict[str, Any]], what: str) -> None:
    line = item("b", "cannot_answer").model_dump(mode="json")
    assert read(tmp_path, "when2call", line).query
    with pytest.raises(
        PrerequisiteError, match=rf"mine\.jsonl:2: turns: contains {what}, but this task asks the model a single question; keep one"
    ):
        read(tmp_path, "when2call", {**line, "turns": said})


MESSAGES = st.one_of(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "system", "assistant"]), st.text()),
    st.builds(
        lambda text, names, value: {
            "role": "assistant",
            "content": text,
            "tool_calls": [{"id": f"c{place}", "name": name, "arguments": {"x": value}} for place, name in enumerate(names)],
        },
        st.text(),
        st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), min_size=1, max_size=3),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.integers())),
    ),
    st.builds(lambda text: {"role": "tool", "content": text, "tool_call_id": "c0"}, st.text()),
)
TURNS = st.lists(st.lists(MESSAGES, max_size=4), min_size=1, max_size=5)


@given(TURNS)
def test_messages_are_the_same_after_a_way_through_chat_messages(said: list[list[dict[str, Any]]]) -> None:
    messages = [message for one in said for message in one]
    assert as_dicts(as_messages(messages)) == messages


@given(TURNS)
def test_rounds_hold_every_message_and_call_once_in_order(said: list[list[dict[str, Any]]]) -> None:
    made = tuple(Turn(messages=tuple(one), gold_calls=(GoldCall(name=f"t{place}"),)) for place, one in enumerate(said))
    scenario = Scenario(id="a", group="perfect", turns=made)
    user_turns = scenario.user_turns
    assert [message for one in user_turns for message in one.messages] == [message for one in said for message in one]
    assert tuple(call for one in user_turns for call in one.gold_calls) == scenario.gold_calls
    assert all(not one.messages or one.messages[-1]["role"] != "assistant" for one in user_turns[:-1])
    if not fault_in_messages(made) and not fault_in_user_turns([one.model_copy(update={"gold_calls": ()}) for one in made]):
        assert all(one.messages[-1]["role"] == "user" for one in user_turns)
    assert fault_in_question(scenario) == "" or len(with_answers(user_turns, {})) != 1 or with_answers(user_turns, {})[0]["role"] != "user"


@given(st.text())
def test_a_single_request_is_asked_about_to_the_letter(text: str) -> None:
    assert request_text([{"role": "user", "content": text}]) == text
    assert request_text([{"role": "system", "content": text}]) == as_text([{"role": "system", "content": text}])


def test_results_know_the_names_of_their_tools() -> None:
    """Some servers and templates show them."""
    assert [message.name for message in as_messages([USER, CALL, RESULT])] == [None, None, "look"]


def test_answers_stand_between_rounds_and_none_after_the_last() -> None:
    user_turns = (Turn(messages=(USER,)), Turn(messages=(USER,)))
    assert with_answers(user_turns, {0: "16 m.", 1: "never"}) == [USER, ANSWER, USER]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Take the last 20 lines.", True),
        (" take the last 20 lines", True),
        ("The last 20 lines, please.", False),
        ("", False),
        ("Take the last 2.", False),
    ],
)
def test_what_a_person_has_said_in_the_same_words_is_said(answer: str, said: bool) -> None:
    turn = Turn(messages=({"role": "user", "content": "Take the last 20 lines."},))
    assert is_said(turn, ["I do not know", answer]) is said
