"""The text of a document: YAML's values as JSON has them, and any text within its measure."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources import openapi
from talm_sim.tools_env.sources.openapi import parse_document

_texts = partial(st.text, st.characters(codec="utf-8", exclude_characters="\x85"))  # PyYAML writes this one, and reads it as a line break
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False) | _texts(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40)
@given(_values)
def test_yaml_is_read_as_it_was_written(value: Any) -> None:
    import yaml  # type: ignore[import-untyped]

    assert parse_document(yaml.safe_dump({"x": value}, allow_unicode=True)) == {"x": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{200: 0x1F, yes: no, ~: 1_000, 1.5: .5, 2024-01-02: '5'}", {"200": 31, "true": False, "null": 1000, "1.5": 0.5, "2024-01-02": "5"}),
        ("a: !!str 5\nb: ! 6\nc: !!int '7'\nd: 2001-12-14T21:59:43Z", {"a": "5", "b": "6", "c": 7, "d": "2001-12-14T21:59:43Z"}),
        ("", None),
        ("# nothing", None),
        ("a: " + "9" * 5_000, {"a": "9" * 5_000}),
        ("a: 1" + ":1" * 50_000, {"a": "1" + ":1" * 50_000}),
    ],
)
def test_a_key_is_a_text_and_so_is_what_would_take_long_to_read(text: str, value: Any) -> None:
    assert parse_document(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: .nan", "contains NaN"),
        ("a: -.inf", "contains -Infinity"),
        ("a: &x 1\nb: *x", "it uses YAML aliases"),
        ("a: 1\n---\nb: 2", "it contains several YAML documents; give one"),
        ("? [a]\n: 1", "neither JSON nor YAML at line 1"),
        ("a: !!python/name:os.system ''", "neither JSON nor YAML at line 1"),
        ("a: !!set {b}", "neither JSON nor YAML at line 1"),
        ("a: !!int x", "neither JSON nor YAML"),
        ("[" * 300 + "x", "nested too deeply"),
    ],
)
def test_what_is_no_document_is_one_line(text: str, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        parse_document(text)
    assert "\n" not in str(caught.value)


PIECES = {
    "lists": "[],",
    "objects": "{},",
    "pairs": '{"a":0},',
    "numbers": "300,",
    "texts": '"\u00e9z",',
    "fractions": ".5,",
    "nested": "[[]],",
}
YAML = {"- item": "- a\n", "- object": "- {a: b}\n", "- number": "- 300\n", "- key": "- a: b\n", "- list": "- []\n"}


@pytest.mark.parametrize("kind", [*PIECES, *YAML])
def test_no_text_takes_more_memory_than_it_may(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1_000_000
    monkeypatch.setattr(openapi, "_MOST_MEMORY", most)
    monkeypatch.setattr(openapi, "_MOST_EVENTS", most // 220)
    refused = 0
    for size in (1_000, 5_000, 15_000, 100_000):
        text = (YAML[kind] * (size // len(YAML[kind]))) if kind in YAML else "[" + PIECES[kind].replace(".5", "0.5") * (size // 4) + "1]"
        tracemalloc.start()
        try:
            parse_document(text)
        except PrerequisiteError as err:
            assert str(err).endswith(("cut it down.", "write it as JSON."))
            refused += 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most
    assert 0 < refused < 4
