"""Silent faults over tools that are functions here: what they change, what they leave, and that they never break an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, Perturbation, ReadAnswer, open_perturbations
from talm_sim.types import JsonObject, ToolSpec

SILENT = [name for name in PERTURBATIONS.names() if PERTURBATIONS.get(name).family == "silent"]
Tool = Callable[[Mapping[str, Any]], Any]


def make(text: str) -> Perturbation:
    (perturbation,) = open_perturbations((text,), seed=0, episode="s@1")
    return perturbation


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns that waits for nothing; it needs no loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def strike(
    text: str,
    tool: Tool,
    arguments: Mapping[str, Any],
    properties: Mapping[str, Any] | None = None,
    *,
    required: Sequence[str] | None = None,
    response: JsonObject | None = None,
    others: Sequence[Mapping[str, Any]] = (),
    earlier: Sequence[ReadAnswer] = (),
) -> Any:
    """Return what a fault makes of a tool's answer; None where it is not applicable."""
    properties = {name: {} for name in arguments} if properties is None else properties
    spec = ToolSpec(
        name="t", parameters={"type": "object", "properties": dict(properties), "required": list(properties if required is None else required)}
    )

    async def send(sent: Mapping[str, Any]) -> Outcome:
        answer = tool(sent)
        return answer if isinstance(answer, Outcome) else Outcome(200, json.dumps(answer).encode())

    call = Call(spec, arguments, 1, {}, VirtualClock(), "s@1", response=response or {}, others=others, earlier=earlier, send=send)
    perturbation = make(text)
    if perturbation.lacks(spec, call.response, others):
        return None
    outcome = finish(perturbation.after(call, finish(send(arguments))))
    if outcome is None:
        return None
    assert (outcome.status, outcome.error) == (200, "")
    return json.loads(outcome.body)


DATE = {"type": "string", "format": "date"}
YEAR = {"type": "integer", "minimum": 1990}


def test_stale_moves_days_back_and_asks_for_them_in_the_past() -> None:
    asked: list[Mapping[str, Any]] = []

    def tool(sent: Mapping[str, Any]) -> Any:
        asked.append(sent)
        return {"from": sent["start"], "next": sent["start"][:8] + "28", "price": int(sent["start"][:4])}

    found = strike("stale:days=366", tool, {"start": "2025-03-01", "city": "x"}, {"start": DATE, "city": {"type": "string"}})
    assert asked[-1] == {"start": "2024-02-29", "city": "x"}
    assert found == {"from": "2025-03-01", "next": "2025-02-28", "price": 2024}, "28 February 2024 and 366 days"


def test_stale_reads_a_time_of_day_and_a_year_and_keeps_the_weekday_right() -> None:
    at: JsonObject = {"at": {"type": "string", "description": "When, as YYYY-MM-DDTHH:MM."}}
    found = strike("stale:days=7", lambda sent: {"at": sent["at"], "weekday": "Friday", "n": sent["at"][8:10]}, {"at": "2024-03-08T10:30"}, at)
    assert found == {"at": "2024-03-08T10:30", "weekday": "Friday", "n": "01"}
    yearly = strike("stale:days=800", lambda sent: {"day": f"{sent['tax_year']}-02-01"}, {"tax_year": 2024}, {"tax_year": YEAR})
    assert yearly is None, "a day that is the same each year is not stale"


def test_stale_is_not_applicable_before_the_first_year_of_the_schema() -> None:
    assert strike("stale", lambda sent: sent["year"], {"year": 1990}, {"year": YEAR}) is None
    assert strike("stale", lambda sent: {"v": sent["year"]}, {"year": 1991}, {"year": YEAR}) is None, "the answer only repeats the year"
    assert strike("stale", lambda sent: {"v": sent["year"] * 3}, {"year": 1991}, {"year": YEAR}) == {"v": 5970}
    assert strike("stale", lambda sent: {"v": sent["year"] * 3}, {"year": 1991}, {"year": {"type": "string"}}) is None


def test_wrong_record_takes_the_first_other_answer_that_differs() -> None:
    answers = {"a": {"q": "a", "v": 1}, "b": {"q": "b", "v": 1}, "c": {"q": "c", "v": 3}, "d": {"q": "d", "v": 4}}
    others = [{"q": one} for one in "abcd"]
    assert strike("wrong-record", lambda sent: answers[sent["q"]], {"q": "a"}, others=others) == {"q": "a", "v": 3}
    assert strike("wrong-record", lambda sent: answers[sent["q"]], {"q": "a"}, others=others[:2]) is None
    gone = Outcome(404, b'{"detail": "no"}')
    assert strike("wrong-record", lambda sent: answers["a"] if sent["q"] == "a" else gone, {"q": "a"}, others=others) is None
    assert strike("wrong-record", lambda sent: answers[sent["q"]], {"q": "a"}, {"q": {"enum": ["a", "d"]}}, others=others) == {"q": "a", "v": 4}


def test_a_repeated_argument_is_put_back_in_the_form_of_the_true_answer() -> None:
    def tool(sent: Mapping[str, Any]) -> Any:
        return {"city": sent["city"].title(), "tags": " ".join(sent["tags"]), "code": sent["city"][:2].upper(), "size": len(sent["city"])}

    found = strike("wrong-record", tool, {"city": "new york", "tags": ["a", "b"]}, others=[{"city": "rome", "tags": ["c"]}])
    assert found == {"city": "New York", "tags": "a b", "code": "RO", "size": 4}


UNITS: list[tuple[JsonObject, JsonObject | None, JsonObject | None]] = [
    ({"distance_km": 100.0}, None, {"distance_km": 62.14}),
    ({"distanceKm": 100}, None, {"distanceKm": 62}),
    ({"legs": [{"length_m": 1000}, {"length_m": 20}]}, None, {"legs": [{"length_m": 3281}, {"length_m": 66}]}),
    ({"temperature_c": 20.0, "n": 3}, None, {"temperature_c": 68.0, "n": 3}),
    ({"speed_km_per_h": 100.0}, None, {"speed_km_per_h": 62.14}),
    ({"value": 5.0, "unit": "kg"}, None, {"value": 11.02, "unit": "kg"}),
    ({"height": 2, "height_unit": "feet", "price": 7}, None, {"height": 2, "height_unit": "feet", "price": 7}),
    ({"depth": 20}, {"depth": {"type": "integer", "description": "Depth in metres."}}, {"depth": 66}),
    ({"depth": 20}, {"depth": {"type": "integer", "description": "Depth of the lake (m)."}}, {"depth": 66}),
    ({"depth": 20}, {"depth": {"type": "integer", "description": "Depth (ft)."}}, {"depth": 6}),
    ({"count": 3, "share_percent": 5.0, "vitamin_k": 3.0, "working_days": 40, "min": 2, "ok_m": True}, None, None),
    ({"price_usd": 5.0}, None, None),
    ({"day": 7}, None, None),
]


@pytest.mark.parametrize(("answer", "fields", "changed"), UNITS)
def test_a_unit_is_wrong_where_one_is_stated(answer: JsonObject, fields: JsonObject | None, changed: JsonObject | None) -> None:
    response = {"type": "object", "properties": fields} if fields else {}
    found = strike("wrong-unit", lambda sent: answer, {"q": "x"}, response=response)
    assert found == (None if changed == answer else changed)


def test_off_by_one_leaves_what_was_asked_and_what_is_no_whole_number() -> None:
    answer = {"n": 4, "rank": 2, "ok": True, "share": 1.0, "day": "2024-02-28", "weekday": "Wednesday", "at": "2024-12-31T23:00", "code": "007"}
    assert strike("off-by-one", lambda sent: answer, {"rank": 2}) == {
        "n": 5, "rank": 2, "ok": True, "share": 1.0, "day": "2024-02-29", "weekday": "Thursday", "at": "2025-01-01T23:00", "code": "007",
    }  # fmt: skip
    assert strike("off-by-one", lambda sent: [1, [9999], "9999-12-31"], {}) == [2, [10000], "9999-12-31"]
    assert strike("off-by-one", lambda sent: {"rank": 2, "name": "x"}, {"rank": 2}) is None


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        (4, 5), (0, 1), (312140, 343354), (-40, -36), (7.18, 7.9), (0.0, 1.0), (True, False), ("2024-02-29", "2024-03-01"),
        ("23:15", "00:15"), ("14 h", None), ("Paris", None), (None, None), (["x"], None),
    ],
)  # fmt: skip
def test_a_contradiction_states_another_value_of_an_earlier_answer(value: Any, changed: Any) -> None:
    earlier = [ReadAnswer("u", {"city": "rome", "v": value}, {"city": "Rome"})]
    found = strike("contradiction", lambda sent: {"w": 1}, {"q": "x"}, earlier=earlier)
    assert found == (None if changed is None else {"w": 1, "u": {"city": "rome", "v": changed}})


def test_a_contradiction_is_of_the_last_answer_that_has_something_to_contradict() -> None:
    earlier = [ReadAnswer("a", {"v": 1, "w": 2}), ReadAnswer("b", [{"x": {"v": 10}}]), ReadAnswer("c", "text")]
    assert strike("contradiction", lambda sent: {}, {}, earlier=earlier) == {"b": {"v": 11}}
    assert strike("contradiction:field=w", lambda sent: {}, {}, earlier=earlier) == {"a": {"v": 1, "w": 3}}
    assert strike("contradiction", lambda sent: [1], {}, earlier=earlier) is None
    assert strike("contradiction", lambda sent: {}, {}) is None


def test_a_contradiction_names_the_record_that_it_is_about() -> None:
    rows = [{"name": "Elbrus", "m": 5642, "climbed": "1829-07-22", "weekday": "Wednesday", "in": {"x": 1}}, {"name": "Kazbek", "m": 5047}]
    earlier = [ReadAnswer("list", {"rows": rows}, {"limit": 2})]
    assert strike("contradiction", lambda sent: {}, {}, earlier=earlier)["list"] == {
        "limit": 2, "name": "Elbrus", "m": 6206, "climbed": "1829-07-22", "weekday": "Wednesday",
    }  # fmt: skip
    assert strike("contradiction:field=climbed", lambda sent: {}, {}, earlier=earlier)["list"] == {
        "limit": 2, "name": "Elbrus", "m": 5642, "climbed": "1829-07-23", "weekday": "Thursday",
    }  # fmt: skip


def test_an_ignored_argument_is_left_out_or_replaced_by_the_example_of_its_schema() -> None:
    properties: JsonObject = {
        "q": {"type": "string", "examples": ["z"]},
        "deep": {"type": "boolean"},
        "n": {"type": "integer", "examples": [9]},
    }

    def tool(sent: Mapping[str, Any]) -> Any:
        return {**sent, "made": len(sent) + sent["n"]}

    asked = {"q": "a", "deep": True, "n": 2}
    assert strike("ignored-argument", tool, asked, properties, required=["q", "n"]) == {"q": "a", "n": 2, "made": 4}
    assert strike("ignored-argument:argument=n", tool, asked, properties, required=["q", "n"]) == {**asked, "made": 12}
    assert strike("ignored-argument:argument=deep", tool, {"q": "a", "n": 2}, properties, required=["q", "n"]) is None
    assert strike("ignored-argument", lambda sent: {"v": 1}, asked, properties, required=["q", "n"]) is None, "it has no effect"


@pytest.mark.parametrize(
    ("given_", "cut"),
    [
        (2.75, 2), (3.0, None), (3, None), ("New York", "New"), ("rome", None), ("Rome", "rome"), ("c-d", "c"), (["a", "b"], ["a"]),
        (["a"], None), ("2024-05-17", "2024-05-01"), ("2024-05-01", None), ("2024-05-01T10:30", "2024-05-01T00:00"), (True, None), ("", None),
    ],
)  # fmt: skip
def test_a_coerced_argument_is_cut(given_: Any, cut: Any) -> None:
    found = strike("coerced-argument", lambda sent: {"digest": [json.dumps(sent["v"])]}, {"v": given_})
    assert found == (None if cut is None or json.dumps(cut) == json.dumps(given_).lower() else {"digest": [json.dumps(cut)]})


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        ({"type": "number", "default": 440.0, "minimum": 390}, 440.0),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "number", "minimum": -1e12}, None),
        ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": None}, 3),
        ({"type": "string"}, None),
    ],
)
def test_an_implicit_default_is_what_the_schema_says(schema: JsonObject, default: Any) -> None:
    asked = "b" if "enum" in schema else 415
    found = strike("implicit-default", lambda sent: {"made": f"from {sent['v']}"}, {"v": asked}, {"v": schema})
    assert found == (None if default is None else {"made": f"from {default}"})


def test_a_fault_gives_up_after_eight_calls() -> None:
    sent: list[Any] = []

    def tool(one: Mapping[str, Any]) -> Any:
        sent.append(one)
        return {}

    assert strike("wrong-record", tool, {"q": -1}, others=[{"q": n} for n in range(50)]) is None
    assert len(sent) == 1 + 8


async def _late(sent: Mapping[str, Any]) -> Outcome:
    raise TimeoutError


async def test_a_call_that_is_made_again_and_does_not_answer_leaves_the_answer_alone() -> None:
    call = Call(ToolSpec(name="t"), {"q": "a"}, 1, {}, VirtualClock(), "s@1", others=[{"q": "b"}], send=_late)
    assert await make("wrong-record").after(call, Outcome(200, b"{}")) is None


@pytest.mark.parametrize("kind", SILENT)
def test_an_answer_that_is_nested_deeply_ends_nothing(kind: str) -> None:
    for depth in (300, 900, 5000, 200_000):
        deep = Outcome(200, b'{"v": 1, "w":' + b"[" * depth + b"2" + b"]" * depth + b"}")

        async def send(sent: Mapping[str, Any], deep: Outcome = deep) -> Outcome:
            return replace(deep, body=deep.body.replace(b"2", b"3"))

        call = Call(ToolSpec(name="t"), {}, 1, {}, VirtualClock(), "s@1", others=[{"q": 1}], earlier=[ReadAnswer("u", deep.value)], send=send)
        outcome = finish(make(kind).after(call, deep))
        assert outcome is None or (outcome.status, outcome.error) == (200, "")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["2024-02-29", "0001-01-01", "9999-12-31T23:59", "2024-13-01", "10:30", "km", "Monday", "x y", ""])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["v", "a_km", "unit", "year", "day", "t_c", "weekday"]), inner, max_size=4)
    ),
    max_leaves=8,
)
_ARGUMENTS = st.dictionaries(st.sampled_from(["v", "year", "day", "a_km"]), _JSON, max_size=3)
_SCHEMAS: st.SearchStrategy[JsonObject] = st.dictionaries(
    st.sampled_from(["type", "format", "default", "enum", "examples", "minimum", "anyOf", "description"]),
    st.sampled_from(["string", "integer", "date", 3, -1.5, ["x"], [{"type": "string"}], "in km", None, {}]),
    max_size=3,
)


@pytest.mark.parametrize("kind", SILENT)
@given(data=st.data())
def test_whatever_a_tool_answers_stays_a_readable_success_that_differs(kind: str, data: st.DataObject) -> None:
    arguments, clean = data.draw(_ARGUMENTS), data.draw(_JSON)
    other, earlier = data.draw(_JSON), [ReadAnswer("u", data.draw(_JSON), data.draw(_ARGUMENTS))]
    properties = {name: data.draw(_SCHEMAS) for name in arguments}
    found = strike(
        kind,
        lambda sent: clean if sent == arguments else other,
        arguments,
        properties,
        required=(),
        response={"properties": data.draw(_SCHEMAS), "$ref": "#/nowhere"},
        others=[data.draw(_ARGUMENTS)],
        earlier=earlier,
    )
    assert found is None or json.dumps(found, sort_keys=True) != json.dumps(clean, sort_keys=True)
