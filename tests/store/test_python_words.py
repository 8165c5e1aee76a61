"""Messages that name options, in the words of Python."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from talm_sim.config import RunConfig
from talm_sim.store.python_words import python_words


@pytest.mark.parametrize(
    ("said", "in_python"),
    [
        ("--split: unknown split 'x'", "split: unknown split 'x'"),
        ("--max-new-tokens: 0 is too small", "max_new_tokens: 0 is too small"),
        ("add --mode judge.", 'add mode="judge".'),
        ("or set TALM_SIM_TOOLS=live.", 'or set tools="live".'),
        ("add --live, or keep to it", 'add models="live", or keep to it'),
        ("or replay with --replay.", 'or replay with models="replay".'),
        ("add --record to make it", 'add models="record" to make it'),
        ("add --human simulated or another", "add human simulated or another"),
        ("name it: --tools-from [NAME=]KIND:PLACE.", 'name it: tools_from="[NAME=]KIND:PLACE".'),
        ("add -M alternatives=0.", 'add model_options={"alternatives": "0"}.'),
        ("unknown option '--splt'. Did you mean '--split'?", "unknown option 'splt'. Did you mean 'split'?"),
        ("-M stream: openai/x fills it in", "model_options: stream: openai/x fills it in"),
        ("holds none; start one with: talm-sim run --split underspecified", "holds none; start one with: talm-sim run --split underspecified"),
        (
            "write some: talm-sim scenarios init --tools-from ... --out FILE, and add --scenarios FILE.",
            'write some: talm-sim scenarios init --tools-from ... --out FILE, and add scenarios="FILE".',
        ),
        (
            "continue it with `talm-sim resume x --live` or choose another --run-id.",
            "continue it with `talm-sim resume x --live` or choose another run_id.",
        ),
        ("go on with: talm-sim resume 'a; --live' --live", "go on with: talm-sim resume 'a; --live' --live"),
        ("--yes goes with --dry-run", "--yes goes with --dry-run"),
        ("a-text--split and -- alone", "a-text--split and -- alone"),
    ],
)
def test_an_option_becomes_an_argument(said: str, in_python: str) -> None:
    assert python_words(said) == in_python


@given(st.text())
def test_a_text_without_options_stays_as_it_is(text: str) -> None:
    if not re.search(r"--[a-z]|-M ", text):
        assert python_words(text) == text


@given(st.sampled_from(sorted(RunConfig.model_fields)), st.text(alphabet=" :;.,'xyz", max_size=12))
def test_no_option_is_left_as_a_flag(name: str, rest: str) -> None:
    said = python_words(f"choose --{name.replace('_', '-')} {rest}")
    assert "--" not in said and name in said
