from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.models.formats import read_calls
from talm_sim.types import JsonObject, ToolCall, UnparsableCall
from tests.growth import check_growth
from tests.tables import labelled


def parts(written: str, turn: int) -> tuple[str, tuple[ToolCall, ...], tuple[UnparsableCall, ...]]:
    read = read_calls(written, (), turn)
    return read.text, read.calls, read.unparsable


CALL = '{"name": "get_fare", "arguments": {"to": "Bern", "seats": 2}}'
LLAMA = '{"name": "get_fare", "parameters": {"to": "Bern", "seats": 2}}'
ARGUMENTS = {"to": "Bern", "seats": 2}


@labelled
def test_every_familys_way_of_calling_is_read(written: str, text: str) -> None:
    rest, calls, broken = parts(written, 3)
    assert [(call.id, call.name, call.arguments) for call in calls] == [("call-3-0", "get_fare", ARGUMENTS)]
    assert (rest, broken) == (text, ())


@labelled
def test_calls_in_parallel_have_ids_of_their_own(written: str) -> None:
    _, calls, broken = parts(written, 0)
    assert [call.id for call in calls] == ["call-0-0", "call-0-1"]
    assert [call.arguments for call in calls] == [ARGUMENTS, ARGUMENTS]
    assert broken == ()


def test_a_dotted_name_and_a_call_without_arguments() -> None:
    _, calls, _ = parts("[travel.rail.list_stations()]", 0)
    assert [(call.name, call.arguments) for call in calls] == [("travel.rail.list_stations", {})]
    _, calls, _ = parts('<tool_call>{"name": "now"}</tool_call>', 0)
    assert [(call.name, call.arguments) for call in calls] == [("now", {})]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ('<tool_call>{"name": "get_fare", "arguments": {"to": </tool_call>', "get_fare"),
        ("<tool_call>get the fare</tool_call>", "unknown"),
        ('{"name": "get_fare", "arguments": {"to": "Be', "get_fare"),
        ('[{"name": "get_fare", "parameters": {"to": "Be', "get_fare"),
        ("[get_fare('Bern')]", "get_fare"),
        ('>>>get_fare\n{"to": "Be', "get_fare"),
        ("[get_fare(to=", "get_fare"),
        ("[get_fare(n=" + "9" * 9000, "get_fare"),
        ("get_weather(city='Michigan'", "get_weather"),
        ("```json\n{'name': 'get_fare', 'arguments': {'to': 'Be", "get_fare"),
        ("<tool_call>get_fare\n<arg_key>to</arg_key>\n<arg_value>Be", "get_fare"),
        ("<tool_call>\n<function=get_fare>\n<parameter=to>\nBe", "get_fare"),
        ('[TOOL_CALLS]get_fare[ARGS]{"to": "Be', "get_fare"),
        ("<|tool_call_start|>[get_fare(to='Be<|tool_call_end|>", "get_fare"),
        ("```tool_code\nget_fare(to=", "get_fare"),
        ('<tool_call>{"name": "get_fare", "arguments": {"to": "Bern"}}}</tool_call>', "get_fare"),
        ('<function=get_fare>{"to": NaN}</function>', "get_fare"),
        ('{"name": "get_fare", "arguments": [1]}', "get_fare"),
    ],
)
def test_what_was_meant_as_a_call_is_kept_as_a_broken_one(written: str, name: str) -> None:
    _, calls, broken = parts(written, 1)
    assert calls == ()
    assert [(call.id, call.name) for call in broken] == [("call-1-0", name)]
    assert broken[0].raw in written
    assert broken[0].reason


@labelled
def test_anything_else_is_text(written: str) -> None:
    assert parts(written, 0) == (written, (), ())


_PIECES = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "<function=f>",
        "</function>",
        "[",
        "]",
        "{",
        "}",
        '"name"',
        ":",
        '"arguments"',
        '"f"',
        "f(",
        "a=1",
        ")",
        ",",
        "\ud800",
        "\x00",
        "```",
        "\n",
        "<|python_tag|>",
        CALL,
        "[f(a='x')]",
        "\\",
    ]
)


@settings(deadline=None)
@given(st.lists(_PIECES | st.text(max_size=5), max_size=12).map("".join))
def test_nothing_a_model_writes_makes_it_raise(written: str) -> None:
    text, calls, broken = parts(written, 0)
    if not calls and not broken:
        assert text == written
    assert len({call.id for call in calls} | {call.id for call in broken}) == len(calls) + len(broken)
    shown = [call.model_dump() for call in calls] + [call.model_dump() for call in broken]
    json.dumps(shown, ensure_ascii=False).encode("utf-8")


@labelled
def test_in_python_what_is_no_literal_is_its_own_text(written: str, value: object) -> None:
    _, calls, broken = parts(f"[f(a={written}, b=2)]", 0)
    assert [call.arguments for call in calls] == [{"a": value, "b": 2}]
    assert broken == ()


def test_a_call_inside_a_call_is_its_arguments_value() -> None:
    _, calls, _ = parts('{"name": "f", "arguments": {"a": {"name": "g", "arguments": {"b": 1}}}}', 0)
    assert [(call.name, call.arguments) for call in calls] == [("f", {"a": {"name": "g", "arguments": {"b": 1}}})]


F = {"name": "f", "parameters": {"properties": {"a": {}}}}


@labelled
def test_what_was_read_wrongly_is_read_as_it_was_meant(written: str, arguments: list[dict[str, object]]) -> None:
    read = read_calls(written, [F])
    assert [(call.name, call.arguments) for call in read.calls] == [("f", one) for one in arguments] and not read.unparsable


@pytest.mark.parametrize(
    ("written", "raw"),
    [("[f(a=>1)]", "[f(a=>1)]"), ("[f(a=1)] [f(a=2", "[f(a=2"), ("[f(a=NaN)]", '{"a": NaN}'), ("<tool_call>\nnull\n</tool_call>", "null")],
)
def test_what_is_no_call_is_told(written: str, raw: str) -> None:
    assert [one.raw for one in read_calls(written, [F]).unparsable] == [raw]


def test_a_shown_tools_own_name_is_kept() -> None:
    shown: list[JsonObject] = [{"name": name, "parameters": {}} for name in ("phone", "phone.call", "default_api.f")]
    assert [call.name for call in read_calls("[phone.call(a=1), default_api.f(a=1), g.call(a=1)]", shown).calls] == [
        "phone.call",
        "default_api.f",
        "g.call",
    ]


def test_texts_one_behind_the_other_are_one_in_python_alone() -> None:
    assert not read_calls('{"name": "f", "arguments": {"a": ["x" "y"]}}', [F]).calls


def test_a_specification_in_bfcls_spelling_is_no_call() -> None:
    specification = {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "string"}}, "required": []}}
    assert not read_calls(json.dumps(specification), [F]).calls


@pytest.mark.parametrize("unit", ["<|x|> ", "\u3000"])
def test_what_stands_around_calls_is_taken_off_in_step_with_its_length(unit: str) -> None:
    call = '{"name": "f", "arguments": {}}'
    check_growth(lambda text: read_calls(text, [F]), lambda size: f"{call}{unit * (size // len(unit))}x", 2**15)
    check_growth(lambda text: read_calls(text, [F]), lambda size: f"{call}x{unit * (size // len(unit))}", 2**15)


@pytest.mark.parametrize(
    ("behind", "text"), [("<|im_end|>", ""), (" <|x|>\n</s> ", ""), ("<|x|> a", "<|x|> a"), ("a <|x|></s>", "a"), ("<|x|> a </s>", "<|x|> a")]
)
def test_special_tokens_are_taken_off_the_end_alone(behind: str, text: str) -> None:
    read = read_calls(f'{{"name": "f", "arguments": {{}}}}{behind}', [F])
    assert (len(read.calls), read.text) == (1, text)
