from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.store.forms import actions_of, form_fields, parse_object
from talm_sim.types import Approval, Form

FIELDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name", "description": "As on the card.", "minLength": 2},
        "age": {"type": "integer", "minimum": 18},
        "weight": {"type": "number", "default": 70.5},
        "vegan": {"type": "boolean"},
        "size": {"type": "string", "enum": ["S", "M", "10"], "enumNames": ["small", "middle", "ten"]},
        "room": {"type": "string", "oneOf": [{"const": "k", "title": "King"}, {"const": "q", "title": "Queen"}]},
        "extras": {"type": "array", "items": {"anyOf": [{"const": "wifi", "title": "Wi-Fi"}, {"const": "tv", "title": "TV"}]}},
        "rest": {"type": "object"},
    },
    "required": ["name", "age"],
}
FORM = Form(message="Who are you?", fields=FIELDS)
FIELD = {field.name: field for field in form_fields(FORM)}


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("name", "Ada", "Ada"),
        ("name", "12", "12"),
        ("age", "18", 18),
        ("weight", "70", 70),
        ("weight", "1e2", 100.0),
        ("vegan", "Y", True),
        ("vegan", "false", False),
        ("size", "middle", "M"),
        ("size", "S", "S"),
        ("size", "10", "10"),
        ("size", "2", "M"),
        ("room", "Queen", "q"),
        ("room", "1", "k"),
        ("extras", "TV, wifi", ["tv", "wifi"]),
        ("extras", "", []),
        ("rest", '{"a": [1]}', {"a": [1]}),
    ],
)
def test_what_is_typed_becomes_a_value(name: str, typed: str, value: Any) -> None:
    found = FIELD[name].parse(typed)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "typed", "fault"),
    [
        ("name", "A", "name: 'A' is too short"),
        ("age", "17", "age: 17 is less than the minimum of 18"),
        ("age", "old", "age: 'old' is not a whole number"),
        ("age", "true", "age: 'true' is not a whole number"),
        ("age", "18.5", "age: '18.5' is not a whole number"),
        ("weight", "NaN", "weight: 'NaN' is not a number"),
        ("vegan", "perhaps", "vegan: 'perhaps' is not y or n"),
        ("size", "4", "size: '4' is not one of small, middle, ten"),
        ("room", "0", "room: '0' is not one of King, Queen"),
        ("extras", "tv, pool", "extras: 'pool' is not one of Wi-Fi, TV"),
        ("rest", "{", "rest: '{' is not JSON"),
        ("rest", "[1]", "rest: [1] is not of type 'object'"),
    ],
)
def test_what_is_no_value_of_the_field_is_refused(name: str, typed: str, fault: str) -> None:
    with pytest.raises(PrerequisiteError) as told:
        FIELD[name].parse(typed)
    assert str(told.value) == f"{fault}."


@given(st.text(max_size=40))
def test_no_text_breaks_a_field(text: str) -> None:
    for field in FIELD.values():
        try:
            value = field.parse(text)
        except PrerequisiteError as err:
            assert str(err).startswith(f"{field.name}: ")
        else:
            json.dumps(value, allow_nan=False)


def test_a_request_says_what_can_be_decided() -> None:
    assert actions_of(Approval(name="pay")) == ("approve", "edit", "reject", "respond")
    assert actions_of(Approval(name="pay", allowed=("approve",))) == ("approve",)
    assert actions_of(FORM) == ("accept", "decline", "cancel")
    assert list(form_fields(Form(message="Go on?"))) == []


def test_a_typed_object_is_json() -> None:
    assert parse_object('{"a": 1}', "--edit") == {"a": 1}
    for text, fault in (
        ("{", "--edit: not JSON"),
        ("[]", "--edit: not a JSON object"),
        ('{"a": NaN}', "--edit: not JSON (NaN is not a JSON value)"),
    ):
        with pytest.raises(PrerequisiteError) as told:
            parse_object(text, "--edit")
        assert str(told.value).startswith(fault)
