from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talm_sim.pointer import resolve_pointer

RFC_6901 = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_6901),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_rfc_6901(pointer: str, value: Any) -> None:
    assert resolve_pointer(RFC_6901, pointer) == value


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/+1", "/foo/\u0660", "/foo/0/x", "/nothing", "/a/b"])
def test_what_is_not_there_is_a_lookup_error(pointer: str) -> None:
    with pytest.raises(LookupError):
        resolve_pointer(RFC_6901, pointer)


@pytest.mark.parametrize("pointer", ["foo", "/m~n", "/m~", "/~2"])
def test_a_malformed_pointer_is_a_value_error(pointer: str) -> None:
    with pytest.raises(ValueError, match="JSON pointer"):
        resolve_pointer(RFC_6901, pointer)


def _places(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    yield pointer, value
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _places(part, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


@given(json_values)
def test_every_place_of_a_document_is_found_again(document: Any) -> None:
    for pointer, value in _places(document):
        assert resolve_pointer(document, pointer) is value


@given(json_values, st.text(max_size=8))
def test_any_text_gives_a_place_of_the_document_or_one_of_the_two_errors(document: Any, pointer: str) -> None:
    known = dict(_places(document))
    try:
        found = resolve_pointer(document, pointer)
    except (LookupError, ValueError):
        assert pointer not in known
    else:
        assert found is known[pointer]
