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
    "pattern with a large repetition": ({"pattern": "([ab]?){4000}[ab]{4000}c"}, "ab" * 5_000),
    "pattern of a million characters": ({"pattern": "a?" * 500_000 + "b"}, "a" * 5_000),
    "patterns that are large once they are made": (
        {"properties": {f"p{n}": {"pattern": rf"^\p{{L}}{{80}}{n}$"} for n in range(500)}},
        {f"p{n}": "a" for n in range(500)},
    ),
    "large patterns, each for many texts": ({"items": {"allOf": [{"pattern": rf"^\p{{L}}{{9}}{n}$"} for n in range(40)]}}, ["a"] * 1_000),
    "pattern that ignores case": ({"pattern": "(?i)" + "[\x01-\U0010fffe]" * 100}, "a" * 50),
    "patternProperties": ({"patternProperties": {f"^(a+)+{n}$": {} for n in range(1_000)}}, {"a" * 30 + str(n): 1 for n in range(1_000)}),
    "additionalProperties beside patterns": (
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"a" * 40 + "!": 1, **{f"b{n}": 1 for n in range(3_000)}},
    ),
    "uniqueItems of objects": ({"uniqueItems": True}, _OBJECTS),
    "uniqueItems of colliding numbers": ({"uniqueItems": True}, [n * (2**61 - 1) for n in range(60_000)] + ["x"]),
    "contains": ({"allOf": [{"contains": {"const": n}} for n in range(2_000)]}, _OBJECTS),
    "parts with an identity of their own": (
        {
            "$defs": {f"d{n}": {"type": "string"} for n in range(3_000)},
            "items": {"$id": "https://example.org/b", "$ref": "#/$defs/z", "$defs": {"z": {"type": "integer"}}},
        },
        [1] * 500,
    ),
    "doublings of anyOf": (_doublings("anyOf", 30), "x"),
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
