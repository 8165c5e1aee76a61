"""What the tools' descriptions give away: found wherever a model can read it, and not where it stands in another word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.tasks.talm.making.giveaways import choices_of, find_giveaway, guessing_odds
from talm_sim.types import Missing, MissingKind, Scenario, ToolSpec, Turn
from tests.tables import labelled
from tests.tasks.talm.making.toy import SPECS, call_toy


def tool(description: str = "", name: str = "cancel", **properties: Any) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={"type": "object", "properties": properties, "required": list(properties)})


def place(value: Any, spec: ToolSpec, *, anywhere: bool = False) -> str:
    return find_giveaway(value, "reference", [spec], [spec], anywhere=anywhere)


NESTED = {"type": "object", "properties": {"by": {"anyOf": [{"type": "null"}, {"type": "string", "description": "e.g. QX7K2P"}]}}}


@pytest.mark.parametrize(
    ("value", "spec", "found"),
    [
        ("QX7K2P", tool("Cancel a booking (e.g. qx7k2p)."), "the description of cancel"),
        ("QX7K2P", tool(name="cancel_qx7k2p"), "the name of cancel_qx7k2p"),
        ("qx7k2p", tool(name="cancelQX7K2P"), ""),
        ("Hanoi", tool(name="cancelHanoi"), "the name of cancelHanoi"),
        ("QX7K2P", tool(reference={"type": "string", "examples": ["A", "QX7K2P"]}), "the examples of reference of cancel"),
        ("QX7K2P", tool(reference={"type": "string", "default": "QX7K2P"}), "the default of reference of cancel"),
        ("QX7K2P", tool(other={"const": "QX7K2P"}), "the const of other of cancel"),
        ("QX7K2P", tool(other={"enum": ["QX7K2P", "A"]}), "the values of other of cancel"),
        ("QX7K2P", tool(other=NESTED), "the description of by of cancel"),
        ("QX7K2P", tool(other={"type": "array", "items": NESTED}), "the description of by of cancel"),
        ("QX7K2P", tool(other={"$defs": {"x": {"title": "QX7K2P"}}}), "the title of x of cancel"),
        ("lunar new year", tool(other={"example": {"name": "Lunar  New Year"}}), "the example of other of cancel"),
        ("São Paulo", tool("Weather of Sao Paulo"), "the description of cancel"),
        ("full_moon", tool("The next full moon."), "the description of cancel"),
        ("2024-03-05", tool("Such as 5 March 2024."), "the description of cancel"),
        (1000, tool("Up to 1,000 of them."), "the description of cancel"),
        (2.5, tool(other={"default": 2.5}), "the default of other of cancel"),
        (3, tool("On 2024-03-05."), ""),
        (3, tool("Two-letter code, 13 of them, 3.5 each."), ""),
        ("QX7K2", tool("e.g. QX7K2P"), ""),
        ("13", tool("about 13.5"), ""),
        ("C", tool("such as C8H10"), ""),
        (["D", "F"], tool(reference={"examples": [["D", "F"]]}), "the examples of reference of cancel"),
        (["D", "F"], tool(reference={"examples": [["D", "A"], "F"]}), ""),
        ("x", tool(reference={"type": "string", "enum": ["x", "y"]}), "the only 2 values of reference of cancel"),
        ("x", tool(reference={"const": "x"}), "the only value of reference of cancel"),
        (True, tool(reference={"type": ["boolean", "null"]}), "the only 2 values of reference of cancel"),
        ("x", tool(reference={"type": "string", "enum": ["x", "y", "z"]}), ""),
        (True, tool("It is true."), ""),
        (None, tool("None"), ""),
    ],
)
def test_the_place_is_named(value: Any, spec: ToolSpec, found: str) -> None:
    assert place(value, spec) == found


def test_bounds_formats_and_long_lists_count_only_anywhere() -> None:
    spec = tool(other={"type": "integer", "minimum": 7}, more={"enum": ["red", "green", "blue"]})
    assert [place(value, spec) for value in (7, "green", "integer")] == ["", "", ""]
    assert [place(value, spec, anywhere=True) for value in (7, "green", "integer")] == [
        "the minimum of other of cancel",
        "the values of more of cancel",
        "the type of other of cancel",
    ]


@labelled
def test_choices(schema: Any, choices: int | None) -> None:
    defs = {"colour": {"enum": [1, 2, 3, 4]}, "loop": {"$ref": "#/$defs/loop"}}
    spec = ToolSpec(name="t", parameters={"type": "object", "properties": {"a": schema}, "$defs": defs})
    assert choices_of(spec, "a") == choices
    assert choices_of(spec, "b") is None


words = st.text("abcXYZ019", min_size=1, max_size=6)
plain_values = words | st.integers(0, 10**6)


@given(plain_values, st.lists(words, max_size=3), st.lists(words, max_size=3), st.sampled_from(["description", "examples", "default", "title"]))
def test_a_value_that_is_written_somewhere_is_found(value: str | int, before: list[str], after: list[str], key: str) -> None:
    text = " ".join([*before, str(value).swapcase(), *after])
    said: Any = [text] if key == "examples" else text
    deep = {"type": "object", "properties": {"inner": {"anyOf": [{"type": "string", key: said}]}}}
    assert place(value, tool(outer=deep)) == f"the {key} of inner of cancel"
    assert place(value, tool(text)) == "the description of cancel"


@given(st.from_regex(r"[A-Z]{2}[0-9]{2}[A-Z]", fullmatch=True), st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True))
def test_a_part_of_a_longer_word_is_not(value: str, more: str) -> None:
    assert place(value, tool(f"such as {value}{more} or {more}{value}")) == ""


keys = st.text(max_size=12) | st.sampled_from(["properties", "enum", "anyOf", "$ref", "type"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["properties", "enum", "$defs", "anyOf", "x"]), json_values), json_values)
def test_no_schema_breaks_it(parameters: dict[str, Any], value: Any) -> None:
    spec = ToolSpec(name="t", parameters=parameters)
    assert isinstance(find_giveaway(value, "a", [spec], [spec], anywhere=True), str)


MINE = Scenario(
    id="mine",
    group="underspecified",
    turns=(Turn(messages=({"role": "user", "content": "How high is it?"},)),),
    tools=("get_height",),
    missing=Missing(kind=MissingKind.ARGUMENT, name="code", value="LPB", removed_text="LPB", human_answer="LPB"),
)


def test_a_value_in_a_description_is_a_problem() -> None:
    specs = {**SPECS, "get_height": SPECS["get_height"].model_copy(update={"description": "How high an airport lies, e.g. LPB."})}
    (found,) = [one for one in check_scenarios([MINE], specs, call_toy) if "give the removed value away" in one.what]
    assert str(found).startswith("mine: the tools give the removed value away ('LPB' in the description of get_height); ")
    assert not [one for one in check_scenarios([MINE], SPECS, call_toy) if "give the removed value away" in one.what]
    assert guessing_odds(MINE, SPECS) == {}
