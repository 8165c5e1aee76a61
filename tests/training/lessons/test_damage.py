from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.scenarios.item_tools import parameters_of, required_of
from talm_sim.training.lessons import damage
from talm_sim.training.lessons.damage import DamageKind, ValuePool, calls_in, damages
from tests.tables import labelled
from tests.tasks.when2call.choices import TOOL

SPECS: dict[str, Any] = {"book_table": TOOL}
QUESTION = "A table for 4 at Luna, please."


def _call(**arguments: Any) -> dict[str, Any]:
    return {"name": "book_table", "arguments": arguments}


def _all(*calls: dict[str, Any], question: str = QUESTION, specs: Any = None, pool: Any = (), seed: int = 0) -> list[tuple[DamageKind, Any]]:
    made = damages(calls, SPECS if specs is None else specs, question, ValuePool(pool), random.Random(seed))
    return [(damage.kind, damage.calls) for damage in made]


def _spec(schema: dict[str, Any], required: bool = True) -> dict[str, Any]:
    return {"f": {"name": "f", "parameters": {"type": "dict", "required": ["x"] if required else [], "properties": {"x": schema}}}}


def _changed(value: Any, schema: dict[str, Any], pool: Any = (), question: str = "", required: bool = True, seed: int = 0) -> list[Any]:
    found = _all({"name": "f", "arguments": {"x": value}}, question=question, specs=_spec(schema, required), pool=pool, seed=seed)
    return [calls[0]["arguments"]["x"] for kind, calls in found if kind is DamageKind.CHANGED]


def test_only_required_parameters_are_removed() -> None:
    removed = [calls[0]["arguments"] for kind, calls in _all(_call(place="Luna", guests=4, terrace=True)) if kind is DamageKind.REMOVED]
    assert sorted(map(str, removed)) == sorted(map(str, [{"guests": 4, "terrace": True}, {"place": "Luna", "terrace": True}]))
    assert not [1 for kind, _ in _all(_call(terrace=True)) if kind is DamageKind.REMOVED]
    assert not [1 for kind, _ in _all(_call(place="Luna"), specs={}) if kind is DamageKind.REMOVED], "of an unknown tool nothing is known"


def test_optional_arguments_are_changed_only_where_the_question_states_them() -> None:
    assert _changed("metric", {"type": "string", "enum": ["metric", "imperial"]}, required=False, question="How warm is it?") == []
    assert _changed("metric", {"enum": ["metric", "imperial"]}, required=False, question="How warm, Metric please?") == ["imperial"]
    assert _changed(4, {}, required=False, question="For 41 people") == []
    assert _changed(True, {}, required=False, question="true or false?") == [], "what stands for yes in a question is no `true`"


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        ("a", {"enum": ["a", "b"]}, {"b"}),
        (1, {"enum": ["1", 1, 2, True, 3.0]}, {2}),
        (True, {}, {False}),
        (1, {"minimum": 1, "maximum": 2}, {2}),
        (0, {"maximum": 0}, {-1, -2, -3}),
        (7, {}, {4, 5, 6, 8, 9, 10}),
        (2.5, {}, {0.5, 1.5, 3.5, 4.5, 5.5}),
        ("2023-03-13", {}, {f"2023-{month:02}-{day:02}" for month, days in ((3, range(15, 32)), (4, range(1, 11))) for day in days}),
        ("12", {}, {*(f"{n}2" for n in range(2, 10)), *(f"1{n}" for n in (1, 3, 4, 5, 6, 7, 8, 9))}),
        (["a", "b"], {"items": {"enum": ["a", "b", "c"]}}, {"['c', 'b']", "['a', 'c']", "['a']"}),
        (["x", "y"], {}, {"['x']"}),
    ],
)
def test_wrong_values_are_of_the_right_type(value: Any, schema: dict[str, Any], wrong: set[Any]) -> None:
    found = {str(made) if isinstance(made, list) else made for seed in range(60) for made in _changed(value, schema, seed=seed)}
    assert found <= wrong
    assert found
    assert all(type(made) is type(value) or isinstance(value, list) for made in found)


@labelled
def test_where_no_wrong_value_is_safe_none_is_made(value: Any, schema: dict[str, Any]) -> None:
    assert _changed(value, schema) == []


def test_values_are_taken_from_the_same_parameter_of_other_calls() -> None:
    pool = [_c for city in ("Chicago", "chicago, IL", "Oslo", 5) for _c in [{"name": "g", "arguments": {"x": city}}]]
    assert {made for seed in range(20) for made in _changed("Chicago", {}, pool, seed=seed)} == {"Oslo"}, "a spelling of the same is not wrong"
    assert _changed(5, {"maximum": 4}, [{"name": "g", "arguments": {"x": 9}}]) != [9]


def test_a_call_is_dropped_only_of_several_different_ones() -> None:
    one, other = _call(place="Luna", guests=4), _call(place="Oslo", guests=2)
    assert [calls for kind, calls in _all(one, other) if kind is DamageKind.DROPPED] in ([(one,), (other,)], [(other,), (one,)])
    assert not [1 for kind, _ in _all(one) if kind is DamageKind.DROPPED]
    assert not [1 for kind, _ in _all(one, one) if kind is DamageKind.DROPPED]


_VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=8),
    st.lists(st.integers() | st.text(max_size=4), max_size=3),
    st.none(),
)
_NAMES = st.sampled_from(["place", "guests", "terrace", "budget", "days", "extra"])
_CALLS = st.lists(st.dictionaries(_NAMES, _VALUES, max_size=5).map(lambda arguments: _call(**arguments)), min_size=1, max_size=3)


@given(_CALLS, _CALLS, st.text(max_size=20), st.integers(0, 9))
def test_every_damage_is_one_and_really_wrong(calls: list[dict[str, Any]], others: list[dict[str, Any]], question: str, seed: int) -> None:
    made = damages(calls, SPECS, question, ValuePool(others), random.Random(seed))
    assert len({json.dumps(damage.calls) for damage in made}) == len(made)
    for one in made:
        wrong = list(one.calls)
        assert wrong != calls
        if one.kind is DamageKind.DROPPED:
            assert any([*calls[:place], *calls[place + 1 :]] == wrong for place in range(len(calls))) and len(calls) > 1
            assert any(call not in wrong for call in calls)
            continue
        places = [place for place in range(len(calls)) if json.dumps(calls[place]) != json.dumps(wrong[place])]
        assert len(wrong) == len(calls) and len(places) == 1
        before, after = calls[places[0]]["arguments"], wrong[places[0]]["arguments"]
        if one.kind is DamageKind.REMOVED:
            (gone,) = before.keys() - after.keys()
            assert gone in ("place", "guests") and after == {name: value for name, value in before.items() if name != gone}
        else:
            assert before.keys() == after.keys()
            (name,) = [name for name in before if json.dumps(before[name]) != json.dumps(after[name])]
            assert type(before[name]) is type(after[name])
            if isinstance(before[name], str):
                assert before[name].casefold() != after[name].casefold()


@pytest.mark.parametrize(
    "text", ["book it", "{}", "[]", "3", '{"name": "f"}', '{"name": 1, "arguments": {}}', '[{"name": "f", "arguments": []}]']
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert calls_in(text) is None


def test_required_parameters_stand_in_the_schema_or_beside_it() -> None:
    assert required_of(TOOL) == ("place", "guests")
    assert required_of({"parameters": {"properties": {}}, "required": ["a", 3]}) == ("a",)
    assert required_of({"parameters": {"required": []}, "required": ["a"]}) == ()
    assert required_of({"parameters": 3}) == required_of({"required": "a"}) == ()
    assert parameters_of({"parameters": []}) == parameters_of({}) == {}


def test_the_values_of_many_calls_are_drawn_without_looking_at_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counting(one: Any, other: Any) -> bool:
        nonlocal looked
        looked += 1
        return differ(one, other)

    differ = damage._differ
    monkeypatch.setattr(damage, "_differ", counting)
    many: list[dict[str, Any]] = [{"name": "f", "arguments": {"who": f"person {number:04}"}} for number in range(1_000)]
    pool = ValuePool(reversed(many))
    drawn = [pool.draw("f", "who", call["arguments"]["who"], {}, random.Random(number)) for number, call in enumerate(many)]
    assert looked < 2_000
    assert len(set(drawn)) > 500
    same = ValuePool(many)
    assert drawn == [same.draw("f", "who", call["arguments"]["who"], {}, random.Random(number)) for number, call in enumerate(many)]
