"""No schema holds up the process that checks values against it, and what cannot be checked is not said to be wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import pytest

from talm_sim.schemas import NotChecked, Schema, fault_of_schema, limit_work, unchecked_patterns
from talm_sim.schemas.work import STEPS
from tests.schemas.hostile import HOSTILE

MOST_SECONDS = 3
"""A checker that does not count takes minutes or years; one that does takes less than 0.1 s for a tenth of its steps on a quiet machine."""


def seconds(check: Callable[[], object]) -> float:
    """What a check takes of the processor: the least of a few tries, as whoever shares the machine can make one longer."""
    least = inf
    for _ in range(3):
        began = time.thread_time()
        with suppress(NotChecked), limit_work(STEPS / 10):
            check()
        least = min(least, time.thread_time() - began)
        if least < MOST_SECONDS:
            break
    return least


@pytest.mark.parametrize("name", HOSTILE)
def test_a_check_is_over_within_seconds(name: str) -> None:
    schema, value = HOSTILE[name]
    assert seconds(lambda: fault_of_schema(schema)) < MOST_SECONDS
    assert seconds(lambda: Schema(schema).fault(value)) < MOST_SECONDS


def test_only_so_many_large_patterns_are_made() -> None:
    patterns = [rf"^\p{{L}}{{80}}{n}$" for n in range(1_000)]
    began = time.thread_time()
    assert len(unchecked_patterns({"allOf": [{"pattern": one} for one in patterns]})) > 900
    assert time.thread_time() - began < MOST_SECONDS


def test_a_part_with_an_identity_of_its_own_is_checked() -> None:
    schema = {"items": {"$id": "https://example.org/b", "$ref": "#/$defs/z", "$defs": {"z": {"type": "integer"}}}}
    assert [Schema(schema).fits(value) for value in ([1, 2], [1, "x"])] == [True, False]


def test_what_is_wrong_is_found_before_the_work_is_spent() -> None:
    schema = {"required": ["b"], "properties": {"a": {"uniqueItems": True, "items": {"anyOf": [{"const": n} for n in range(1_000)]}}}}
    fault = Schema(schema).fault({"a": [-1] * 10_000})
    assert fault is not None and fault.message == "'b' is a required property"


UNCHECKED: list[tuple[dict[str, Any], Any, bool | None]] = [
    ({"pattern": "^(?=a)b"}, "x", None),
    ({"pattern": "^(?=a)b", "maxLength": 0}, "x", False),
    ({"pattern": "^a*$"}, "a" * 10_000, True),
    ({"pattern": "^a*$"}, "a" * 10_001, None),
    ({"pattern": "a" * 10_001}, "x", None),
    ({"not": {"pattern": "(?=a)"}}, "x", None),
    ({"not": {"not": {"pattern": "(?=a)"}}}, "x", None),
    ({"oneOf": [{"pattern": "(?=a)"}, {"type": "string"}]}, "x", None),
    ({"anyOf": [{"pattern": "(?=a)"}, {"type": "integer"}]}, "x", None),
    ({"anyOf": [{"pattern": "(?=a)"}, {"type": "integer"}]}, 1, True),
    ({"if": {"pattern": "(?=a)"}, "then": False, "else": False}, "x", None),
    ({"contains": {"pattern": "(?=a)"}, "maxContains": 0}, ["x"], None),
    ({"patternProperties": {"(?=a)": False}}, {"x": 1}, None),
    ({"patternProperties": {"(?=a)": False}, "additionalProperties": False}, {"x": 1}, None),
    ({"$ref": "#/$defs/nowhere"}, 1, None),
    ({"$ref": "https://example.org/elsewhere"}, 1, None),
    ({"type": 5}, 1, None),
]


def test_what_cannot_be_checked_is_neither_right_nor_wrong() -> None:
    assert [(schema, value) for schema, value, fits in UNCHECKED if Schema(schema).fits(value) is not fits] == []


def test_patterns_that_are_not_checked_are_named() -> None:
    schema = {
        "properties": {"a": {"pattern": "a(?=b)"}, "pattern": {"type": "string", "pattern": "fine"}},
        "patternProperties": {r"(.)\1": {"items": {"pattern": "(?!a)"}}},
        "default": {"pattern": "(?=b)"},
    }
    assert {pattern for pattern, _ in unchecked_patterns(schema)} == {"a(?=b)", r"(.)\1", "(?!a)"}
