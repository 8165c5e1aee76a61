"""Whatever family a call is written by, it is an attempt, whether the family is read or not; what only speaks of its marks is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.models.formats import FORMATS, CallToWrite, read_calls
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from tests.growth import check_growth
from tests.models.formats.families import CASES, TOLD, TOOLS, WRITTEN


def _write(name: str, call: CallToWrite) -> str:
    return FORMATS[name].write([call])


OTHER = [{"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}]
NAMES = st.from_regex(r"[a-z]{2,9}(_[a-z]{2,7}){1,2}", fullmatch=True)
VALUES = st.text(min_size=1, max_size=12, alphabet=st.characters(codec="utf-8", categories=("L", "N", "Zs"))) | st.integers() | st.booleans()
ARGUMENTS = st.dictionaries(st.from_regex(r"[a-z]{2,8}", fullmatch=True), VALUES, min_size=1, max_size=3)
WRITERS: Mapping[str, Callable[[CallToWrite], str]] = {**{name: partial(_write, name) for name in WRITTEN}, **TOLD}
LEADS = ("", "I look it up.\n", "\n")
FIRST = ("glm-4", "ChatGLM 3", "Functionary v2, behind its prompt")
"""Families whose calls have no mark but that they begin the turn."""


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(WRITERS)), NAMES, ARGUMENTS, st.booleans(), st.sampled_from(LEADS))
def test_every_familys_call_is_an_attempt(family: str, name: str, arguments: dict[str, object], shown: bool, lead: str) -> None:
    """Of a tool that was shown and of one that was not, alone and behind a sentence."""
    call = CallToWrite(name, arguments)
    tools = [{"name": name, "parameters": {"properties": {key: {} for key in arguments}}}] if shown else OTHER
    written = ("" if family in FIRST and lead.strip() else lead) + WRITERS[family](call)
    assert find_attempt(written, tools) is not None, written


@pytest.mark.parametrize("family", sorted(WRITTEN))
def test_what_a_familys_own_template_writes_is_an_attempt_and_so_is_a_call_that_is_flagged_as_cut_off(family: str) -> None:
    assert not [case for case in CASES if find_attempt(WRITTEN[family][case], OTHER) is None]
    written, (name, _) = WRITTEN[family]["one"], CASES["one"][0]
    for end in range(written.index(name) + len(name), len(written)):
        read = read_calls(written[:end], TOOLS)
        if read.calls or read.unparsable:
            assert find_attempt(written[:end], TOOLS) is not None, written[:end]


@pytest.mark.parametrize(
    "text",
    [
        "I would have to write <|tools_prefix|> and <|tools_suffix|> around a call, but no tool fits.",
        "`<|START_ACTION|>` is the token that begins a call.",
        "Call: I would phone them first.",
        "Use <code>print(x)</code> to see it.",
        "Recipient: all.",
        'Result\n{"a": 1}',
        "hello\n```python\nprint(1)\n```",
        "I cannot tell the weather; my only tool tells the time.",
    ],
)
def test_what_speaks_of_a_mark_is_no_attempt(text: str) -> None:
    assert find_attempt(text, OTHER) is None


@pytest.mark.parametrize("unit", ["Call: f(", "<code>\nf(a ", "f\n"])
def test_marks_are_looked_for_in_linear_time(unit: str) -> None:
    check_growth(lambda text: find_attempt(text, OTHER), lambda size: unit * (size // len(unit)), 2**18)
