"""What the tools' descriptions give away: found wherever a model can read it, and not where it stands in another word."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from talm_sim.tasks.talm.making.giveaways import choices_of, find_giveaway
from talm_sim.types import ToolSpec
from tests.tables import labelled


def tool(description: str = "", name: str = "cancel", **properties: Any) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={"type": "object", "properties": properties, "required": list(properties)})


def place(value: Any, spec: ToolSpec, *, anywhere: bool = False) -> str:
    return find_giveaway(value, "reference", [spec], [spec], anywhere=anywhere)


@labelled
def test_the_place_is_named(value: Any, description: str, name: str, parameters: dict[str, Any], found: str) -> None:
    assert place(value, tool(description, name, **parameters)) == found


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
