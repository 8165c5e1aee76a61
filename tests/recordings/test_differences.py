"""The first difference of two JSON values: it differs, and all before it is the same; an excerpt is redacted and escaped."""

from __future__ import annotations

import json
import time
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from talm_sim.recordings import Redactor
from talm_sim.recordings.tape import ABSENT, Difference, first_difference

_KEYS = st.text("abc", max_size=2)
_LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 1.5]) | st.text("xy\n", max_size=4)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12)


def _written(value: Any) -> str:
    return "absent" if value is ABSENT else json.dumps(value, sort_keys=True)


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        inside = step in value if isinstance(value, dict) else isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not inside:
            return ABSENT
        value = value[step]
    return value


def _earlier(asked: Any, recorded: Any, path: tuple[str | int, ...]) -> list[tuple[Any, Any]]:
    """Return the pairs of values that come before a place, level by level."""
    found = []
    for step in path:
        if isinstance(asked, dict):
            keys = [*asked, *(key for key in recorded if key not in asked)]
            found += [(asked.get(key, ABSENT), recorded.get(key, ABSENT)) for key in keys[: keys.index(step)]]
        else:
            found += list(zip_longest(asked, recorded, fillvalue=ABSENT))[: int(step)]
        asked, recorded = _at(asked, (step,)), _at(recorded, (step,))
    return found


@given(_VALUES, _VALUES)
@example({"a": 1}, {"a": True})
@example({"a": 1}, {"a": 1.0})
@example([0.0], [-0.0])
@example({"b": 1, "a": 2}, {"a": 2, "b": 1})
@example({"a": None}, {})
@example([[1], [2, 3]], [[1], [2]])
def test_the_place_that_is_found_differs_and_all_before_it_is_the_same(asked: Any, recorded: Any) -> None:
    found = first_difference(asked, recorded)
    assert (found is None) == (_written(asked) == _written(recorded))
    if found is None:
        return
    assert _written(found.asked) == _written(_at(asked, found.path))
    assert _written(found.recorded) == _written(_at(recorded, found.path))
    assert _written(found.asked) != _written(found.recorded)
    assert all(_written(one) == _written(other) for one, other in _earlier(asked, recorded, found.path))
    # It is the innermost place: neither two objects nor two lists can be told apart further in.
    assert not any(isinstance(found.asked, kind) and isinstance(found.recorded, kind) for kind in (dict, list))


@given(st.text("ab\x1b\u202e'", max_size=80), st.text("ab\x1b\u202e'", max_size=80))
def test_the_character_that_is_named_is_the_first_that_differs(asked: str, recorded: str) -> None:
    found = first_difference([asked], [recorded])
    if found is None:
        assert asked == recorded
        return
    text = found.text(str)
    place = int(text.removeprefix("in [0], at character ").partition(":")[0]) - 1
    assert asked[:place] == recorded[:place]
    assert asked[place : place + 1] != recorded[place : place + 1]
    assert text.isprintable()


@pytest.mark.parametrize(
    ("asked", "recorded", "text"),
    [
        ({"m": [{"c": "a"}, {"c": "wet"}]}, {"m": [{"c": "a"}, {"c": "web"}]}, "in m[1].c, at character 3: 'wet' against recorded 'web'"),
        ({"a": "x y"}, {"a": "x  y"}, "in a, at character 3: 'x y' against recorded 'x  y'"),
        ({"a": "x\n"}, {"a": "x\t"}, r"in a, at character 2: 'x\n' against recorded 'x\t'"),
        ({"a": "1"}, {"a": 1}, 'in a: "1" against recorded 1'),
        ({"a": [1]}, {"a": {"b": 1}}, 'in a: [1] against recorded {"b": 1}'),
        ([1, 2], [1], "in [1]: 2 against recorded nothing"),
        ([1], [1, "x"], 'in [1]: nothing against recorded "x"'),
        ({"a": None}, {}, "in a: null against recorded nothing"),
        ({"odd key": 1, "\x1b[31m": 0}, {"odd key": 1}, r"in ['\x1b[31m']: 0 against recorded nothing"),
        ([1], {"a": 1}, 'as a whole: [1] against recorded {"a": 1}'),
        ("wet", "web", "at character 3: 'wet' against recorded 'web'"),
        ({"k" * 90: 1}, {"k" * 90: 2}, f"in ['{'k' * 40}…']: 1 against recorded 2"),
        ({"a": "w" * 30 + "x" + "y" * 60}, {"a": "w" * 30}, f"in a, at character 31: '…{'w' * 20}x{'y' * 39}…' against recorded '…{'w' * 20}'"),
    ],
)
def test_a_difference_is_said_in_one_line(asked: Any, recorded: Any, text: str) -> None:
    found = first_difference(asked, recorded)
    assert found is not None
    assert found.text(str) == text


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_an_excerpt_holds_no_piece_of_a_secret(place: int) -> None:
    secret = "sk-abcdefghij0123456789abcdefghij0123456789"
    hide = Redactor(["hunter2-hunter2"]).text
    for word in (secret, "hunter2-hunter2"):
        asked = {"a": f"{'x' * place}{word} and more", word: 1}
        text = Difference(("a",), asked["a"], f"{'x' * place} or less").text(hide)
        assert "REDACTED" in text
        assert not any(word[start : start + 6] in text for start in range(len(word) - 6))
        assert word[:6] not in Difference((word,), 1, 2).text(hide)


def test_texts_that_differ_in_a_secret_alone_are_said_to() -> None:
    hide = Redactor(["hunter2-hunter2", "hunter3-hunter3"]).text
    text = Difference(("a",), "hunter2-hunter2", "hunter3-hunter3").text(hide)
    assert text == "in a, at character 9: only what is hidden as a secret differs"


def test_a_redacted_value_is_no_difference() -> None:
    asked, recorded = {"key": "abc", "b": 1}, {"key": "REDACTED", "b": 2}
    found = first_difference(asked, recorded)
    assert found is not None
    assert found.path == ("b",)
    assert first_difference({"key": "abc"}, {"key": "REDACTED"}) is None
    assert first_difference({"key": "a b"}, {"key": "REDACTED"}) is not None


def test_many_redacted_values_are_compared_quickly() -> None:
    started = time.process_time()
    assert first_difference("x" * 200_000, "REDACTED" * 20_000) is None
    assert first_difference("x" * 200_000 + " ", "REDACTED" * 20_000) is not None
    assert time.process_time() - started < 2  # 0.1 s; what is quadratic takes a minute
