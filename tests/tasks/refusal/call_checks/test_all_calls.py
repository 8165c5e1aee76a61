from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks.refusal.call_checks import CallFault, check_calls
from talm_sim.tasks.refusal.call_checks.calls_judge import read_source_calls
from talm_sim.tasks.refusal.call_checks.java import JAVA_TYPES, java_value
from talm_sim.tasks.refusal.call_checks.javascript import JAVASCRIPT_TYPES, javascript_value
from talm_sim.tasks.refusal.call_checks.one_call import format_value
from talm_sim.types import AcceptedCall, Calls, ToolCall
from tests.growth import check_growth
from tests.tables import labelled

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
LONGEST = 2**16


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=arguments)


def tool(name: str = "f", required: tuple[str, ...] = (), **types: Any) -> dict[str, Any]:
    properties = {key: one if isinstance(one, dict) else {"type": one} for key, one in types.items()}
    return {"name": name, "parameters": {"type": "dict", "properties": properties, "required": [*required]}}


def right(name: str = "f", **accepted: Any) -> AcceptedCall:
    return AcceptedCall(name=name, arguments=accepted)


def calls(*accepted: AcceptedCall, syntax: str = "python") -> Calls:
    return Calls.model_validate({"expected": "calls", "accepted": accepted, "syntax": syntax})


def fault(value: Any, accepted: list[Any], declared: Any, syntax: str = "python") -> CallFault | None:
    """What is wrong with one value."""
    return check_calls([call("f", a=value)], calls(right(a=accepted), syntax=syntax), [tool(a=declared)]).error


OBJECT, STRINGS, OBJECTS = {"type": "dict"}, {"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "dict"}}


@labelled
def test_a_value_is_right_as_bfcl_has_it(value: Any, accepted: list[Any], declared: Any, wrong: str | None) -> None:
    assert fault(value, accepted, declared) == wrong


@labelled
def test_values_of_java_and_javascript_are_texts_of_source(
    value: Any, accepted: list[Any], declared: Any, syntax: str, wrong: str | None
) -> None:
    assert fault(value, accepted, declared, syntax) == wrong


def test_each_fault_has_its_class_and_says_what_it_is() -> None:
    shown = [tool("f", required=("a",), a="integer", b="string"), tool("g", a="integer")]
    target = calls(right("f", a=[1], b=["x", ""]))
    said = {
        "count": check_calls([], target, shown),
        "wrong_function": check_calls([call("g", a=1)], target, shown),
        "missing": check_calls([call("f", b="x")], target, shown),
        "unexpected": check_calls([call("f", a=1, c=2)], target, shown),
        "wrong_type": check_calls([call("f", a="1")], target, shown),
        "wrong_value": check_calls([call("f", a=1, b="y")], target, shown),
    }
    assert {name: checked.error for name, checked in said.items()} == {name: CallFault(name) for name in said}
    assert [checked.words for checked in said.values()] == [
        "0 calls (nothing) in place of 1",
        "'g' called, 'f' is right",
        "required argument 'a' is missing",
        "argument 'c' is not expected",
        "argument 'a' is '1', of type str; it takes integer",
        "argument 'b' is 'y'; right is ['x', '']",
    ]
    assert check_calls([call("f", a=1)], target, shown).outcome
    assert not check_calls([call("f", a=1)], calls(right("f", a=[1], b=["x"])), shown).outcome  # optional in the schema, demanded by the truth


def test_parallel_calls_may_come_in_any_order_and_each_counts_once() -> None:
    shown = [tool("f", a="integer"), tool("g", a="integer")]
    target = calls(right("f", a=[1]), right("f", a=[2]), right("g", a=[3]))
    assert check_calls([call("g", a=3), call("f", a=2), call("f", a=1)], target, shown).outcome
    twice = check_calls([call("f", a=1), call("f", a=1), call("g", a=3)], target, shown)
    assert (twice.outcome, twice.error) == (False, CallFault.VALUE)
    assert check_calls([call("f", a=1), call("g", a=2), call("g", a=3)], target, shown).error is CallFault.FUNCTION


def test_matching_is_greedy_as_bfcl_s_is() -> None:
    target = calls(right("f", a=[1, 2]), right("f", a=[1]))
    assert check_calls([call("f", a=2), call("f", a=1)], target, [tool("f", a="integer")]).outcome
    assert not check_calls([call("f", a=1), call("f", a=2)], target, [tool("f", a="integer")]).outcome


def test_relevance_asks_for_any_call_and_irrelevance_for_none() -> None:
    none, any_call = Calls(expected="none"), Calls(expected="any")
    assert check_calls([], none, []).outcome
    assert check_calls([call("x")], none, []) == (False, CallFault.COUNT, "'x' called, where no function fits")
    assert check_calls([call("x")], any_call, []).outcome
    assert check_calls([], any_call, []) == (False, CallFault.COUNT, "no call, where one is due")


def test_a_function_in_openai_s_form_is_found_and_one_not_shown_takes_nothing() -> None:
    target = calls(right("f", a=[1]))
    assert check_calls([call("f", a=1)], target, [{"type": "function", "function": tool("f", a="integer")}]).outcome
    assert check_calls([call("f", a=1)], target, []).error is CallFault.UNEXPECTED


@given(
    value=JSON,
    accepted=st.lists(JSON, max_size=3),
    declared=JSON,
    tools=st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=2), max_size=2),
)
def test_nothing_a_model_writes_or_a_file_holds_makes_it_raise(
    value: Any, accepted: list[Any], declared: Any, tools: list[dict[str, Any]]
) -> None:
    named = [tool(a=declared), tool(a="array"), tool(a=OBJECTS), tool(a=STRINGS), tool(a=OBJECT), *tools]
    for syntax in ("python", "java", "javascript"):
        for one in named:
            check_calls([call("f", a=value)], calls(right(a=accepted), syntax=syntax), [one])


SOURCE = st.text(alphabet="new ArayListHshMpju<>(){}[],:;\"'\\ \n0123456789.-+eEfFlLntrue", max_size=80) | st.text(max_size=40)


@given(text=SOURCE, item=st.sampled_from(["any", "String", "integer", "char", "array", "dict", "?"]))
def test_no_source_text_makes_a_reader_raise(text: str, item: str) -> None:
    for declared in [*JAVA_TYPES, "any", "Stack"]:
        java_value(text, declared, item)
    for declared in [*JAVASCRIPT_TYPES, "any", "Set"]:
        javascript_value(text, declared, item)
    read_source_calls(text)
    read_source_calls(f"[f(a={text})]")


def java(text: str) -> None:
    for declared in ("Array", "ArrayList", "HashMap", "double"):
        java_value(text, declared, "integer")
    java_value(f"new HashMap<>() {{{{{text}}}}}", "HashMap")


def javascript(text: str) -> None:
    for declared in ("array", "dict"):
        javascript_value(text, declared, "integer")
        javascript_value(f"[[{text}]]", declared, "integer")


@pytest.mark.parametrize(
    ("read", "piece"),
    [
        *((java, piece) for piece in ("new ArrayList<>(Arrays.asList(1\n", 'new HashMap<>() {{ put("a", ')),
        *((javascript, piece) for piece in ("[[1]\n,", "{a: 1, ")),
        *((read_source_calls, piece) for piece in ("[f(a=", "f(a=[1], ")),
    ],
)
def test_the_longest_hostile_source_takes_linear_time(read: Callable[[str], object], piece: str) -> None:
    check_growth(read, lambda size: piece * (size // len(piece)), LONGEST)


def test_a_number_that_python_does_not_print_is_shown_all_the_same() -> None:
    assert format_value(int("f" * 6_000, 16)) == "(a value that is too long to print)"
