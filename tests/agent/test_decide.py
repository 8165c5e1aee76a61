from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.agent.decide import NOT_ASKED_FOR, decide_by_scenario, explain_misfit
from talm_sim.agent.humans import DONT_KNOW, SimulatedResponder
from talm_sim.types import Action, Approval, Decision, Form, GoldCall, Missing, MissingKind, Scenario, Turn

ALL: tuple[Action, ...] = ("approve", "edit", "reject", "respond")


def scenario(*gold: GoldCall, **more: Any) -> Scenario:
    return Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "?"},), gold_calls=gold),), **more)


BOOKING = scenario(
    GoldCall(name="airport_info", arguments={"iata": "HAN"}),
    GoldCall(name="book", arguments={"startDate": "2025-01-06", "nights": 3}),
)


@pytest.mark.parametrize(
    ("asked", "decided"),
    [
        (Approval(name="airport_info", arguments={"iata": " han"}), "approve"),
        (Approval(name="airport_info", arguments={"iata": "HAN", "limit": 5}), "approve"),
        (Approval(name="book", arguments={"startDate": "2025-01-06", "nights": 3.0}), "approve"),
        (Approval(name="book", arguments={"startDate": "2025-01-06", "nights": True}), 'edit: book({"startDate": "2025-01-06", "nights": 3})'),
        (Approval(name="airport_info", arguments={"limit": 5}), 'edit: airport_info({"limit": 5, "iata": "HAN"})'),
        (Approval(name="delete_all", arguments={"iata": "HAN"}), f"reject: {NOT_ASKED_FOR}"),
        (Approval(name="airport_info", arguments={"iata": "SGN"}, allowed=("approve", "reject")), "reject: The iata is HAN."),
        (Approval(name="airport_info", arguments={"iata": "SGN"}, allowed=("approve",)), "approve"),
        (Approval(name="airport_info", arguments={"iata": "HAN"}, allowed=("edit", "reject")), 'edit: airport_info({"iata": "HAN"})'),
        (Approval(name="airport_info", arguments={"iata": "HAN"}, allowed=("respond",)), "respond: Go ahead."),
        (Approval(name="delete_all", allowed=("respond",)), f"respond: {NOT_ASKED_FOR}"),
    ],
)
def test_a_call_is_approved_corrected_or_rejected_as_the_gold_calls_say(asked: Approval, decided: str) -> None:
    assert decide_by_scenario(asked, BOOKING).text == decided


def test_a_call_that_two_gold_calls_are_as_near_to_is_rejected_and_one_that_is_nearer_to_one_corrected() -> None:
    two = scenario(GoldCall(name="fly", arguments={"a": "HAN", "b": "SGN"}), GoldCall(name="fly", arguments={"a": "DAD", "b": "HUI"}))
    assert decide_by_scenario(Approval(name="fly", arguments={"a": "X", "b": "Y"}), two).action == "reject"
    assert decide_by_scenario(Approval(name="fly", arguments={"a": "DAD", "b": "Y"}), two).arguments == {"a": "DAD", "b": "HUI"}


def test_another_call_with_the_same_facts_is_right() -> None:
    with_other = BOOKING.model_copy(update={"alternatives": {"airport_info": (GoldCall(name="find_airport", arguments={"name": "Noi Bai"}),)}})
    assert decide_by_scenario(Approval(name="find_airport", arguments={"name": "noi bai"}), with_other).action == "approve"
    assert decide_by_scenario(Approval(name="find_airport", arguments={"name": "noi bai"}), BOOKING).action == "reject"


FIELDS = {
    "type": "object",
    "properties": {
        "start_date": {"type": "string", "format": "date"},
        "nights": {"type": "string", "enum": ["3", "7"]},
        "insured": {"type": "boolean", "default": False},
        "hotel": {"type": "string"},
    },
    "required": ["start_date", "insured"],
}


def test_a_form_is_filled_in_with_what_is_known_and_the_defaults_of_what_must_be_given() -> None:
    decision = decide_by_scenario(Form(message="Details, please.", fields=FIELDS), BOOKING)
    assert decision == Decision(action="accept", content={"start_date": "2025-01-06", "nights": "3", "insured": False})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"type": "object", "properties": {"hotel": {"type": "string"}}},
        {"type": "object", "properties": {"insured": {"type": "boolean", "default": True}}, "required": ["insured"]},
        {**FIELDS, "required": ["start_date", "hotel"]},
        {"type": "object", "properties": {"startDate": {"type": "integer"}}, "required": ["startDate"]},
        {"type": "object", "properties": {"startDate": []}},
    ],
)
def test_a_form_that_needs_what_nobody_knows_is_declined(fields: dict[str, Any]) -> None:
    assert decide_by_scenario(Form(message="m", fields=fields), BOOKING) == Decision(action="decline")


def test_a_name_with_two_values_is_not_known() -> None:
    two = scenario(GoldCall(name="a", arguments={"iata": "HAN"}), GoldCall(name="a", arguments={"iata": "SGN"}))
    assert decide_by_scenario(Form(message="m", fields={"type": "object", "properties": {"iata": {"type": "string"}}}), two).action == "decline"


@pytest.mark.parametrize(
    ("schema", "filled"),
    [
        ({"type": "integer"}, 3),
        ({"type": "number", "minimum": 1}, 3),
        ({"type": "string"}, "3"),
        ({"type": "string", "oneOf": [{"const": "three", "title": "3"}, {"const": "four", "title": "4"}]}, None),
        ({"oneOf": [{"const": "n-3", "title": 3}, {"const": "n-4", "title": 4}]}, "n-3"),
        ({"type": "array", "items": {"type": "integer"}}, [3]),
        ({"type": "integer", "maximum": 2}, None),
    ],
)
def test_a_value_is_written_as_its_field_takes_it(schema: dict[str, Any], filled: Any) -> None:
    decision = decide_by_scenario(Form(message="m", fields={"type": "object", "properties": {"nights": schema}}), BOOKING)
    assert decision == (Decision(action="decline") if filled is None else Decision(action="accept", content={"nights": filled}))


@pytest.mark.parametrize(
    ("asked", "decision", "why"),
    [
        (Approval(name="t", allowed=("approve", "reject")), Decision(action="edit"), "'edit' is not allowed here; allowed: approve, reject"),
        (Approval(name="t"), Decision(action="accept"), "'accept' is not allowed here; allowed: approve, edit, reject, respond"),
        (Approval(name="t"), Decision(action="edit"), "an edited call needs its arguments, a JSON object"),
        (Approval(name="t"), Decision(action="respond", message=" "), "a response needs its text"),
        (Approval(name="t", same_tool=True), Decision(action="edit", name="u", arguments={}), "the call must remain one of t"),
        (Approval(name="t"), Decision(action="edit", name="u", arguments={}), ""),
        (
            Approval(name="t", parameters={"type": "object", "properties": {"n": {"type": "integer"}}}),
            Decision(action="edit", arguments={"n": "x"}),
            "n: 'x' is not of type 'integer'",
        ),
        (Form(message="m", fields=FIELDS), Decision(action="approve"), "'approve' is not allowed here; allowed: accept, decline, cancel"),
        (Form(message="m", fields=FIELDS), Decision(action="decline", content={}), "only an accepted form has values"),
        (Form(message="m", fields=FIELDS), Decision(action="accept"), "'start_date' is a required property"),
        (Form(message="m", fields=FIELDS), Decision(action="accept", content={"colour": "red"}), "the form has no field 'colour'"),
    ],
)
def test_a_decision_that_was_not_asked_for_is_explained(asked: Approval | Form, decision: Decision, why: str) -> None:
    assert explain_misfit(asked, decision) == why


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
SCHEMAS = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["string", "integer", "boolean", "array"]), "default": VALUES, "enum": VALUES}
)


@given(
    st.sampled_from(["airport_info", "book", "other"]),
    st.dictionaries(st.sampled_from(["iata", "nights", "startDate", "x"]), VALUES, max_size=3),
    st.lists(st.sampled_from(ALL), min_size=1, unique=True),
    st.booleans(),
)
def test_a_decision_about_a_call_is_one_that_whoever_asks_can_take(
    name: str, arguments: dict[str, Any], allowed: list[Action], same: bool
) -> None:
    asked = Approval(name=name, arguments=arguments, allowed=tuple(allowed), same_tool=same)
    assert explain_misfit(asked, decide_by_scenario(asked, BOOKING)) == ""


@given(
    st.dictionaries(st.sampled_from(["iata", "nights", "start date", "x"]), SCHEMAS, max_size=3),
    st.lists(st.sampled_from(["iata", "nights", "y"]), max_size=2, unique=True),
)
def test_a_form_that_is_accepted_fits_its_schema(properties: dict[str, Any], required: list[str]) -> None:
    form = Form(message="m", fields={"type": "object", "properties": properties, "required": required})
    assert explain_misfit(form, decide_by_scenario(form, BOOKING)) == ""


async def test_the_simulated_person_decides_by_the_rule_and_answers_in_words_what_can_only_be_answered_so() -> None:
    missing = Missing(kind=MissingKind.ARGUMENT, name="iata", value="HAN", human_answer="It is HAN.")
    person = SimulatedResponder(BOOKING.model_copy(update={"missing": (missing,)}), {})
    reply = await person.decide(Approval(name="airport_info", arguments={"iata": "SGN"}), 1)
    assert (reply.answer, reply.responder, reply.decision) == (
        'edit: airport_info({"iata": "HAN"})',
        "simulated",
        Decision(action="edit", name="airport_info", arguments={"iata": "HAN"}),
    )
    told = await person.decide(Approval(name="ask_user", arguments={"question": "Which iata code?"}, allowed=("respond",)), 2)
    assert told.decision == Decision(action="respond", message="It is HAN.")
    told = await person.decide(Approval(name="ask_user", arguments={"question": "Which hotel?"}, allowed=("respond",)), 3)
    assert told.decision == Decision(action="respond", message=DONT_KNOW)
