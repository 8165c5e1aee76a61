from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talm_sim.models.local.tool_text import read_tool_calls

CALL = '{"name": "get_fare", "arguments": {"to": "Bern", "seats": 2}}'
LLAMA = '{"name": "get_fare", "parameters": {"to": "Bern", "seats": 2}}'
ARGUMENTS = {"to": "Bern", "seats": 2}


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f"<tool_call>\n{CALL}\n</tool_call>", ""),
        (f"Let me look.\n<tool_call>{CALL}</tool_call>", "Let me look."),
        (f"<tool_call>{CALL}", ""),
        (f"<tool_call>[{CALL}]</tool_call>", ""),
        ('<tool_call><function=get_fare>{"to": "Bern", "seats": 2}</function></tool_call>', ""),
        ('<function=get_fare>{"to": "Bern", "seats": 2}</function>', ""),
        ('I see. <function=get_fare>{"to": "Bern", "seats": 2}', "I see."),
        (CALL, ""),
        (LLAMA, ""),
        (f"[{CALL}]", ""),
        (f"```json\n[{CALL}]\n```", ""),
        (f"<|python_tag|>{LLAMA}<|eom_id|>", ""),
        (f"[TOOL_CALLS] [{CALL}]</s>", ""),
        (f"<TOOLCALL>[{CALL}]</TOOLCALL>", ""),
        ('{"tool_calls": [' + CALL + "]}", ""),
        ('{"type": "function", "function": ' + CALL + "}", ""),
        ('{"name": "get_fare", "arguments": "{\\"to\\": \\"Bern\\", \\"seats\\": 2}"}', ""),
        ("[get_fare(to='Bern', seats=2)]", ""),
        ('<|python_tag|>[get_fare(to="Bern",seats=2)]', ""),
    ],
)
def test_every_familys_way_of_calling_is_read(written: str, text: str) -> None:
    rest, calls, broken = read_tool_calls(written, 3)
    assert [(call.id, call.name, call.arguments) for call in calls] == [("call-3-0", "get_fare", ARGUMENTS)]
    assert (rest, broken) == (text, ())


@pytest.mark.parametrize(
    "written",
    [
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{LLAMA}</tool_call>",
        f"{CALL}; {LLAMA}",
        f"{CALL}\n{LLAMA}",
        f"[{CALL}, {LLAMA}]",
        "[get_fare(to='Bern', seats=2), get_fare(seats=2, to='Bern')]",
    ],
)
def test_calls_in_parallel_have_ids_of_their_own(written: str) -> None:
    _, calls, broken = read_tool_calls(written, 0)
    assert [call.id for call in calls] == ["call-0-0", "call-0-1"]
    assert [call.arguments for call in calls] == [ARGUMENTS, ARGUMENTS]
    assert broken == ()


def test_a_dotted_name_and_a_call_without_arguments() -> None:
    _, calls, _ = read_tool_calls("[travel.rail.list_stations()]", 0)
    assert [(call.name, call.arguments) for call in calls] == [("travel.rail.list_stations", {})]
    _, calls, _ = read_tool_calls('<tool_call>{"name": "now"}</tool_call>', 0)
    assert [(call.name, call.arguments) for call in calls] == [("now", {})]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ('<tool_call>{"name": "get_fare", "arguments": {"to": </tool_call>', "get_fare"),
        ("<tool_call>get the fare</tool_call>", "unknown"),
        ('{"name": "get_fare", "arguments": {"to": "Be', "get_fare"),
        ('[{"name": "get_fare", "parameters": {"to": "Be', "get_fare"),
        ("[get_fare('Bern')]", "get_fare"),
        ("[get_fare(to=open('/etc/passwd').read())]", "get_fare"),
        ("[get_fare(to=", "get_fare"),
        ("[get_fare(n=0x" + "f" * 9000 + ")]", "get_fare"),
        ('<function=get_fare>{"to": NaN}</function>', "get_fare"),
        ('{"name": "get_fare", "arguments": [1]}', "get_fare"),
    ],
)
def test_what_was_meant_as_a_call_is_kept_as_a_broken_one(written: str, name: str) -> None:
    _, calls, broken = read_tool_calls(written, 1)
    assert calls == ()
    assert [(call.id, call.name) for call in broken] == [("call-1-0", name)]
    assert broken[0].raw in written
    assert broken[0].reason


@pytest.mark.parametrize(
    "written",
    [
        "The fare is 12 francs.",
        '{"name": "Bern"}',
        '{"fare": 12}',
        "[1, 2]",
        "[Bern](https://example.org) is nice.",
        "```json\n{}\n```",
        "",
        "[]",
        "Call get_fare(to='Bern').",
    ],
)
def test_anything_else_is_text(written: str) -> None:
    assert read_tool_calls(written, 0) == (written, (), ())


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
    text, calls, broken = read_tool_calls(written, 0)
    if not calls and not broken:
        assert text == written
    assert len({call.id for call in calls} | {call.id for call in broken}) == len(calls) + len(broken)
    shown = [call.model_dump() for call in calls] + [call.model_dump() for call in broken]
    json.dumps(shown, ensure_ascii=False).encode("utf-8")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(alphabet=st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="abc", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c_1"]), _VALUES, max_size=3))
def test_arguments_come_back_as_they_were_written(arguments: dict[str, Any]) -> None:
    written = json.dumps({"name": "f", "arguments": arguments})
    python = "[f({})]".format(", ".join(f"{key}={value!r}" for key, value in arguments.items()))
    for one in (written, f"[{written}]", python):
        _, calls, broken = read_tool_calls(one, 0)
        assert [call.arguments for call in calls] == [arguments], one
        assert broken == ()
