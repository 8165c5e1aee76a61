"""Schemas that take a checker which counts nothing for ever, or any amount of memory, each with a value that does."""

from __future__ import annotations

from typing import Any


def nested(depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def _doublings(keyword: str, times: int) -> dict[str, Any]:
    """Each definition holds the next one twice."""
    steps = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(times)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{times}": {"type": "integer"}}}


_OBJECTS = [{"n": n, "m": [n]} for n in range(6_000)]
HOSTILE: dict[str, tuple[Any, Any]] = {
    "pattern that goes back": ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "!"),
    "pattern of alternatives": ({"type": "string", "pattern": "^(a|a|aa)*$"}, "a" * 60 + "!"),
    "pattern with a large repetition": ({"pattern": "([ab]?){4000}[ab]{4000}c"}, "ab" * 5_000),
    "pattern with repetitions of repetitions": ({"pattern": "((a{0,99}){0,99}){0,99}$"}, "a" * 5_000 + "!"),
    "pattern of a million characters": ({"pattern": "a?" * 500_000 + "b"}, "a" * 5_000),
    "pattern that ignores case": ({"pattern": "(?i)" + "[\x01-\U0010fffe]" * 100}, "a" * 50),
    "many patterns": ({"allOf": [{"pattern": f"([ab]*a){{9}}c{n}"} for n in range(5_000)]}, "ab" * 5_000),
    "patternProperties": ({"patternProperties": {f"^(a+)+{n}$": {} for n in range(1_000)}}, {"a" * 30 + str(n): 1 for n in range(1_000)}),
    "additionalProperties beside patterns": (
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"a" * 40 + "!": 1, **{f"b{n}": 1 for n in range(3_000)}},
    ),
    "propertyNames": ({"propertyNames": {"pattern": "^(\\w+\\s?)*$"}}, {"a" * 40 + "!": 1}),
    "uniqueItems of objects": ({"uniqueItems": True}, _OBJECTS),
    "uniqueItems of colliding numbers": ({"uniqueItems": True}, [n * (2**61 - 1) for n in range(60_000)] + ["x"]),
    "contains": ({"allOf": [{"contains": {"const": n}} for n in range(2_000)]}, _OBJECTS),
    "doublings of oneOf": (_doublings("oneOf", 30), "x"),
    "doublings of anyOf": (_doublings("anyOf", 30), "x"),
    "doublings of allOf": (_doublings("allOf", 30), 1),
    "recursion that doubles": ({"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["b"]}] * 3}, nested(60)),
    "a circle of references": ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, 1),
    "recursion without end": ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    "anchors in a large schema": (
        {"$defs": {f"d{n}": {"$anchor": f"x{n}"} for n in range(3_000)}, "items": {"$ref": "#x2999"}},
        list(range(1_000)),
    ),
    "anchors that move": (
        {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "$defs": {f"d{n}": {} for n in range(3_000)}},
        [[[1]] * 50] * 50,
    ),
    "a large enum": ({"items": {"enum": [[n, [n]] for n in range(5_000)]}}, [[n, [n]] for n in range(5_000)]),
    "enum that is told again and again": ({"items": {"enum": [str(n) for n in range(20_000)]}}, ["x"] * 5_000),
    "const that is nearly met": ({"items": {"const": list(range(5_000))}}, [[*range(4_999), 0]] * 500),
    "large numbers": ({"items": {"multipleOf": 1e-300}}, [10**4_000 + n for n in range(900)]),
    "a number that no float holds": ({"multipleOf": 0.5}, 10**4_000),
    "dependentSchemas": (
        {"dependentSchemas": {f"k{n}": {"allOf": [{"required": [f"k{n}", "z"]}] * 50} for n in range(2_000)}},
        {f"k{n}": 1 for n in range(2_000)},
    ),
    "faults that repeat a large value": ({"allOf": [{"minItems": 10**9}] * 3_000}, list(range(20_000))),
    "alternatives that repeat a large value": ({"anyOf": [{"type": "integer"}] * 3_000}, "x" * 100_000),
    "unevaluatedProperties": (
        {"anyOf": [{"patternProperties": {f"^(a+)+{n}$": {}}} for n in range(300)], "unevaluatedProperties": False},
        {"a" * 30 + str(n): 1 for n in range(3_000)},
    ),
    "unevaluatedItems": ({"allOf": [{"contains": {"const": n}} for n in range(500)], "unevaluatedItems": False}, list(range(3_000))),
    "another draft": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$", "items": {"$ref": "#"}},
        ["a" * 40 + "!"],
    ),
    "another draft in a part": (
        {"properties": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [{"pattern": "^(a+)+$"}]}}},
        {"a": "a" * 40 + "!"},
    ),
    "an identifier that is none": ({"properties": {"a": {"$id": "http://["}}}, {"a": 1}),
    "a long list of what is required": ({"required": [f"k{n}" for n in range(200_000)]}, {}),
    "a value that is deep": ({"properties": {"a": {"$ref": "#"}}}, nested(900)),
    "empty parts without number": ({"items": {"allOf": [True] * 1_000}}, [0] * 100_000),
    "names of a large object": ({"allOf": [{"additionalProperties": True}] * 2_000}, {f"k{n}": 1 for n in range(20_000)}),
}
