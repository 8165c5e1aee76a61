"""Checks find what jsonschema itself finds, in the same words."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry

from talm_sim.schemas import Schema, fault_of_schema

CASES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"type": "integer"}, [1, 1.0, 1.5, True, "1", None, 10**30]),
    ({"type": ["string", "null"]}, ["", None, 0, [], {}]),
    ({"enum": [1, "a", None, [1, 2], {"a": True}]}, [1, 1.0, True, "a", None, [1, 2], [1, True], {"a": True}, {"a": 1}, []]),
    ({"const": {"a": [1, False]}}, [{"a": [1, False]}, {"a": [1, 0]}, {"a": [1.0, False]}, {}]),
    ({"multipleOf": 0.01}, [0.03, 4.5, 1e308, 0.005, 10**400, "x"]),
    ({"multipleOf": 3}, [9, 10, 9.0, 9.5, 10**400]),
    ({"minimum": 1, "exclusiveMaximum": 5}, [1, 5, 4.9, 0, "3", True]),
    ({"minLength": 2, "maxLength": 3}, ["a", "ab", "abc", "abcd", "\U0001f600", 5]),
    ({"minItems": 1, "maxItems": 2, "uniqueItems": True}, [[], [1], [1, 1.0], [1, True], [1, 2, 3], [{"a": 1}, {"a": 1}], "ab"]),
    (
        {"uniqueItems": True},
        [[[1, 2], [2, 1]], [[1], [True]], ["1", 1], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [None, None], [0, -0.0, False], ["a"]],
    ),
    ({"items": {"type": "string"}, "prefixItems": [{"type": "integer"}]}, [[], [1], [1, "a"], ["a"], [1, 2, "c"], {}]),
    ({"items": False, "prefixItems": [True]}, [[], [1], [1, 2], [1, 2, 3]]),
    ({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}, [[], [1], [1, "a", 2], [1, 2, 3, 4], "a"]),
    ({"contains": True}, [[], [1]]),
    (
        {"properties": {"a": {"type": "integer"}, "b": False}, "required": ["a", "c"], "additionalProperties": False},
        [{}, {"a": 1, "c": 2}, {"a": "x", "b": 1}, {"c": 1, "z": 1, "y": 2}, []],
    ),
    ({"properties": {"a": True}, "additionalProperties": {"type": "string"}}, [{"a": 1}, {"b": 1, "c": "x"}]),
    (
        {"patternProperties": {"^x_": {"type": "integer"}, "_y$": {"minimum": 3}}, "additionalProperties": False},
        [{"x_y": 2}, {"x_": "a"}, {"z": 1}, {"z": 1, "w": 2}, {"a_y": 5}],
    ),
    ({"propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3}}, [{"abc": 1}, {"Abc": 1}, {"abcd": 1, "1": 2}, 4]),
    ({"minProperties": 1, "maxProperties": 2}, [{}, {"a": 1}, {"a": 1, "b": 2, "c": 3}]),
    (
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        [{"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1, "d": 1}],
    ),
    ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, [0, 2, 4]),
    ({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]}, [1, "a", "ab", None]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}, {"type": "string"}]}, [1, 2, 2.5, 1.5, "x", None]),
    ({"not": {"type": "integer"}}, [1, "a"]),
    (
        {"if": {"properties": {"k": {"const": 1}}}, "then": {"required": ["a"]}, "else": {"required": ["b"]}},
        [{"k": 1}, {"k": 2}, {"k": 1, "a": 0}, {}, 7],
    ),
    (
        {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}}}, "$ref": "#/$defs/node"},
        [{"next": {"next": {"value": "x"}}}, {"next": {"value": 1}}, {"value": None}],
    ),
    ({"$defs": {"a": {"$anchor": "here", "type": "integer"}}, "properties": {"x": {"$ref": "#here"}}}, [{"x": 1}, {"x": "1"}]),
    ({"$id": "https://example.org/s", "$defs": {"a": {"$id": "/a", "type": "string"}}, "items": {"$ref": "/a"}}, [["a"], [1]]),
    ({"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}, "required": ["v"]}, [{"v": 1}, {"v": 1, "c": {}}]),
    ({"pattern": "b+"}, ["abc", "ac", 4, ""]),
    ({"format": "date", "type": "string"}, ["no date", 3]),
    (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"$ref": "#"}}, "type": "object"},
        [{"a": {"a": 1}}, {"a": {}}],
    ),
]


def told(errors: Any) -> Any:
    """What a list of errors says; one that names properties names them in any order."""
    return sorted((json.dumps([*one.absolute_path]), str(one.validator), _sorted(one.message), told(one.context)) for one in errors)


def _sorted(message: str) -> str:
    return "".join(sorted(message))


def same(schema: Any, value: Any) -> None:
    plain = Draft202012Validator(schema, registry=Registry())
    theirs, ours = list(plain.iter_errors(value)), Schema(schema).faults(value)
    assert told(theirs) == told(ours)
    assert Schema(schema).fits(value) == plain.is_valid(value)
    best, found = best_match(theirs), Schema(schema).fault(value)
    assert (best is None) == (found is None)
    if len(theirs) == 1 and best is not None and found is not None:
        assert best.message == found.message


def test_one_keyword_after_the_other() -> None:
    wrong = []
    for schema, value in ((schema, value) for schema, values in CASES for value in values):
        try:
            same(schema, value)
        except OverflowError:
            continue  # a number that no float holds
        except AssertionError as err:
            wrong.append((schema, value, str(err)))
    assert wrong == []


NAMES = st.sampled_from(["a", "b", "ab", "x_1"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 6), st.sampled_from([0.5, 1.0, 2.5, -0.0]), st.sampled_from(["", "a", "ab", "x_1", "b9"])
)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=8)
PATTERNS = st.sampled_from(["a", "^a", "b$", "^[a-z]+$", "x_[0-9]{1,2}", "^(a|b)*$", "a.b?"])
COUNTS = st.integers(0, 3)


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    one: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(st.sampled_from(["integer", "string", "object", "array", "number"]), st.just(["null", "boolean"])),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minimum": COUNTS,
        "maxLength": COUNTS,
        "pattern": PATTERNS,
        "minItems": COUNTS,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": parts,
        "contains": inner,
        "maxContains": COUNTS,
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "propertyNames": inner,
        "dependentSchemas": named,
        "allOf": parts,
        "anyOf": parts,
        "oneOf": parts,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.just("#/$defs/d"),
    }
    return st.fixed_dictionaries({}, optional=one).map(lambda found: dict(list(found.items())[:5])) | st.sampled_from([True, False])


def _few(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(_keywords(inner), min_size=1, max_size=1).map(lambda one: one[0])


SCHEMAS = st.recursive(st.sampled_from([{}, {"type": "string"}, {"type": "integer"}, {"minimum": 1}, True, False]), _few, max_leaves=6)


@settings(max_examples=60)
@given(SCHEMAS, st.sampled_from([{}, {"type": "integer"}, {"properties": {"a": True}}]), st.lists(VALUES, min_size=1, max_size=4))
def test_keywords_together(schema: Any, shared: dict[str, Any], values: list[Any]) -> None:
    whole = {**schema, "$defs": {"d": shared}} if isinstance(schema, dict) else schema
    assert fault_of_schema(whole) is None
    for value in values:
        same(whole, value)


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from([*"abc", "type", "minimum", "required", "properties", "items", "pattern", "enum", "anyOf", "$ref"]), VALUES, max_size=4
    )
)
def test_what_is_no_schema(schema: dict[str, Any]) -> None:
    kind = Draft202012Validator
    theirs = {one.message for one in kind(kind.META_SCHEMA, format_checker=kind.FORMAT_CHECKER).iter_errors(schema)}
    ours = fault_of_schema(schema)
    assert ours.message in theirs if ours else not theirs
