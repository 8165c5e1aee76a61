"""Patterns mean what ECMA-262 says, and are searched for in linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.schemas import limit_work
from talm_sim.schemas.patterns import NoPattern, NotMatched, Pattern, check_pattern, pattern_of


def read(pattern: str) -> Pattern:
    with limit_work():
        check_pattern(pattern)
        return pattern_of(pattern)


FINDS: list[tuple[str, list[str], list[str]]] = [
    ("b", ["abc"], ["", "ac"]),
    ("^b$", ["b"], ["ab", "b\n", "a\nb"]),
    ("", ["", "x"], []),
    (r"^\d+$", ["0123456789"], ["٣", "1a"]),
    (r"^\w+$", ["aZ_9"], ["ü", "a-b"]),
    (r"^\W\D$", ["üü"], ["ab", "-1"]),
    (r"^\s$", [" ", "\t", "\u00a0", "\ufeff", "\u2028"], ["\u0085", "a", ""]),
    (r"^\S$", ["\u0085", "a"], [" ", "\ufeff"]),
    (r"^.$", ["a", "ü", "\u0085"], ["\n", "\r", "\u2028", "\u2029", ""]),
    (r"\bab\b", ["ab", "x ab.", "üab"], ["abc", "_ab"]),
    (r"a\Bb", ["ab"], ["a b"]),
    (r"^[\-\]\\\/]$", ["-", "]", "\\", "/"], ["a"]),
    (r"^\x41\u0042\u{43}\/$", ["ABC/"], ["ABC"]),
    (r"^[\w-.]+$", ["a-b.c"], ["a b"]),
    (r"^[a-c-]$", ["b", "-"], ["d"]),
    (r"^[^a-c]$", ["d", "ü"], ["a", ""]),
    (r"^[a&&b~~[\-]$", ["&", "[", "~", "b"], ["]"]),
    (r"^[\d\s,]+$", ["1, 2"], ["a"]),
    (r"^[^\d\W]$", ["a", "_"], ["1", "-"]),
    (r"^\p{Lu}\P{L}$", ["Ü1"], ["ü1", "UU"]),
    (r"^\p{Script=Greek}+$", ["αβ"], ["ab"]),
    ("^(?<year>\\d{4})-(?:0|1)?$", ["2025-", "2025-1"], ["25-"]),
    ("^(?P<x>a)$", ["a"], ["b"]),
    ("^a{2}$", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", ["aaa"], ["a"]),
    ("^a{0}$", [""], ["a"]),
    ("^a+?b*?$", ["aab"], ["b"]),
    ("^(a|b|)$", ["", "a"], ["c"]),
    ("(?i)^straße$", ["STRAßE"], ["strasse"]),
    ("^(?i:a)b$", ["Ab"], ["AB"]),
    (r"\Aab\Z", ["ab"], ["ab\n"]),
    ("#$%&'\"<>@!~`;:,=", [], ["#"]),
    ("^[#$%&'\"<>@!~`;:,= ]+$", ["# ~&"], ["a"]),
]


def test_what_a_pattern_finds() -> None:
    wrong = []
    for pattern, found, not_found in FINDS:
        one = read(pattern)
        wrong += [(pattern, text) for text in (*found, *not_found) if one.found_in(text) is (text in not_found)]
    assert wrong == []


NONE = ["(", ")", "a)", "(a", "[a", "[z-a]", "*", "^*", "a**", "a{3,2}", "a{2}{3}", "|*"]
NOT_LINEAR = [
    "(?=a)",
    "(?!a)",
    "(?<=a)b",
    "(?<!a)b",
    r"(a)\1",
    r"(?<n>a)\k<n>",
    "(?>a)",
    "a++",
    "a{2}+",
    "(?#c)",
    "a\\",
    "[]a]",
    r"\p{Nothing}",
    r"\ud83d\ude00",
    "\ud800",
    "(a{999}){999}",
    "(" * 400 + ")" * 400,
    "a" * 10_001,
]


def test_what_is_no_pattern_and_what_cannot_be_matched_in_linear_time() -> None:
    told: dict[type[ValueError], list[str]] = {NoPattern: [], NotMatched: []}
    for pattern in (*NONE, *NOT_LINEAR):
        try:
            read(pattern)
        except (NoPattern, NotMatched) as err:
            told[type(err)].append(pattern)
    assert told == {NoPattern: NONE, NotMatched: NOT_LINEAR}


@pytest.mark.parametrize("pattern", ["^(a+)+$", "([ab]*a){9}[ab]{99}c"])
def test_a_search_is_linear_in_the_text(pattern: str) -> None:
    one, began = read(pattern), time.thread_time()
    one.found_in("a" * 9_999 + "!")
    assert time.thread_time() - began < 0.5


_ATOMS = st.sampled_from(["a", "b", "-", ".", "[ab]", "[^a]", "[a-c_]", "(?:a|b)", "(ab|)", r"\.", r"\-", "x", " ", r"[\]^-]", r"\b", "^", "$"])
_COUNTED = st.tuples(_ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map("".join)
_PATTERNS = st.lists(st.one_of(_COUNTED, st.just("|")), max_size=6).map("".join)


@settings(max_examples=80)
@given(_PATTERNS, st.lists(st.text("abc-.]^_x ", max_size=8), min_size=1, max_size=5))
def test_what_both_engines_read_alike_they_find_alike(pattern: str, texts: list[str]) -> None:
    try:
        theirs = re.compile(pattern)
    except re.error:
        with pytest.raises(NoPattern):
            read(pattern)
        return
    ours = read(pattern)
    assert [ours.found_in(text) for text in texts] == [theirs.search(text) is not None for text in texts]
