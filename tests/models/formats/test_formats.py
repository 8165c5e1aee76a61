"""What is written in a format is read back as it was; the tools that were shown decide types where the format drops them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.models.formats import FORMATS, CallToWrite, format_of_template, read_calls
from talm_sim.types import JsonObject

UNTYPED = ("qwen3-coder", "glm", "anthropic-xml", "minimax-m2", "step3")
"""Formats that write a text without quotes."""
TAGS = ("</parameter>", "</arg_value>", "<parameter=", "<arg_key>", "</function>", "</tool_call>")
TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    [
        "12",
        "true",
        "null",
        "None",
        "[1]",
        '"',
        "'",
        "\\",
        "\\n",
        "\n",
        " \n x\t",
        "</tool_call>",
        "g(b=1)",
        "ĐàNẵng กรุงเทพ 🙂",
        "```",
        "{'a': 1}",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,7}([.-][a-z0-9]{1,4}){0,2}", fullmatch=True)
CALLS = st.builds(
    CallToWrite,
    NAMES,
    st.dictionaries(st.sampled_from(["a", "in", "from", "class", "c_1", "Ort", "größe", "user-id"]), VALUES, max_size=4),
    st.just(""),
)
JSON_TYPES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def tool_of(call: CallToWrite, types: Callable[[Any], Any]) -> JsonObject:
    properties = {name: {"type": types(value)} for name, value in call.arguments.items()}
    return {"type": "function", "function": {"name": call.name, "parameters": {"type": "object", "properties": properties}}}


def by_value(value: Any) -> str:
    return JSON_TYPES[type(value)]


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(FORMATS)), st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call.name))
def test_what_a_format_writes_is_read_back_as_it_was(name: str, calls: list[CallToWrite]) -> None:
    written = FORMATS[name].write(calls)
    if name in UNTYPED and any(tag in str(call.arguments) for call in calls for tag in TAGS):
        return  # these formats have no way to write their own tags in a text
    read = read_calls(written, [tool_of(call, by_value) for call in calls])
    assert [(call.name, call.arguments) for call in read.calls] == [(call.name, call.arguments) for call in calls], written
    assert (read.text, read.unparsable) == ("", ())


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_reader_says_which_format_it_found(name: str) -> None:
    calls = [CallToWrite("get_fare", {"to": "Bern"}), CallToWrite("list_stations", {"near": "Bern"})]
    assert read_calls(FORMATS[name].write(calls)).form == name


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("cut", [0.5, 0.7])
def test_a_call_that_is_cut_off_is_one_that_cannot_be_read(name: str, cut: float) -> None:
    written = FORMATS[name].write([CallToWrite("get_fare", {"to": "Bern or thereabouts, perhaps further on", "seats": 2})])
    read = read_calls(written[: int(len(written) * cut)])
    assert read.calls == ()
    assert [call.name for call in read.unparsable] == ["get_fare"], read


@pytest.mark.parametrize(
    ("kind", "value"), [("string", "12"), ("integer", 12), ("number", 12), (["string", "null"], "12"), ("any", 12), ("dict", "12")]
)
@pytest.mark.parametrize("name", UNTYPED)
def test_the_schema_decides_a_type_that_the_format_drops(name: str, kind: Any, value: Any) -> None:
    call = CallToWrite("f", {"a": "12"})
    (read,) = read_calls(FORMATS[name].write([call]), [tool_of(call, lambda _: kind)]).calls
    assert read.arguments == {"a": value}
    assert type(read.arguments["a"]) is type(value)


@pytest.mark.parametrize(
    ("written", "value"), [("True", True), ("None", None), ("1.5", 1.5), ("Bern", "Bern"), ('"x"', '"x"'), ("{'a': 1}", {"a": 1})]
)
def test_without_a_schema_a_bare_value_is_what_it_looks_like(written: str, value: Any) -> None:
    (read,) = read_calls(f"<tool_call>\n<function=f>\n<parameter=a>\n{written}\n</parameter>\n</function>\n</tool_call>").calls
    assert read.arguments == {"a": value}


def test_a_template_is_known_by_its_first_mark() -> None:
    marked = {name: one.mark for name, one in FORMATS.items() if one.mark}
    for name, mark in marked.items():
        found = format_of_template(f"{{{{ tools }}}} {mark}")
        assert found is not None
        assert found.name == name
    assert format_of_template("{{ messages }}") is None
