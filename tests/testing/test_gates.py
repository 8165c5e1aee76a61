"""`gate()` of a test asserts what `--gate` of a command does, and a run in which the agent broke passes none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from talm_sim.comparison.compared_rows import Side
from talm_sim.errors import NotComparableError, PrerequisiteError
from talm_sim.testing.lab import Lab


def silent(messages: Any, tools: Sequence[Any]) -> str:
    return "I cannot tell."


def broken(messages: Any, tools: Sequence[Any]) -> str:
    raise KeyError("gold")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "runs")


def test_gates_are_asserted_and_a_failure_lists_every_gate(lab: Lab) -> None:
    played = lab.run(silent, split="underspecified", limit=2)
    played.gate("pass_rate<=0.5", "asked<=0")
    with pytest.raises(AssertionError) as caught:
        played.gate("pass_rate<=0.5", "asked>=0.9")
    assert str(caught.value).splitlines() == [
        "gate missed: underspecified.asked>=0.9: .00 [.00\N{EN DASH}.66], n 2",
        "  calendar-01.underspecified: declined, or said it was missing: “I cannot tell.”",
        f"  talm-sim show {played.stored.path}:calendar-01.underspecified",
        "gate passed: underspecified.pass_rate<=0.5: .00 [.00\N{EN DASH}.66], n 2",
    ]


def test_a_missed_gate_names_the_first_episode_that_counts_against_it(lab: Lab) -> None:
    def guess(messages: Any, tools: Sequence[Any]) -> str:
        with suppress(Exception):
            next(one for one in tools if one.name == "convert_to_hijri").invoke({"date": "1994-03-11"})
        return "It is 1 Muharram."

    for gate, came in (
        ("guessed<=0", "made up what was missing: turn 1 calls convert_to_hijri(date='1994-03-11')"),
        ("pass_rate>=1", "made up"),
    ):
        with pytest.raises(AssertionError, match=rf"gate missed: underspecified.{gate}.*\n  calendar-01.underspecified: {re.escape(came)}"):
            lab.run(guess, split="underspecified", limit=1).gate(gate)


def test_what_is_no_gate_is_an_error_and_passes_nothing(lab: Lab) -> None:
    played = lab.run(silent, split="underspecified", limit=1)
    with pytest.raises(PrerequisiteError, match=r"^gate: 'pas_rate>=0\.9': there is no measure 'pas_rate'. Did you mean 'pass_rate'\?"):
        played.gate("pas_rate>=0.9")
    with pytest.raises(ValueError, match="name a gate"):
        played.gate()


def test_an_agent_that_raised_an_error_passes_no_gate(lab: Lab) -> None:
    with pytest.raises(AssertionError, match="the agent raised an error in 1 episode, for example calendar-01"):
        lab.run(broken, split="perfect", limit=1).gate("pass_rate<=1")


def test_a_run_is_compared_with_a_baseline(lab: Lab, tmp_path: Path) -> None:
    played, file = lab.run(silent, split="perfect", limit=2), tmp_path / "kept.jsonl"
    file.write_text("".join(f"{line}\n" for line in Side.of_run(played.stored).lines()), encoding="utf-8")
    played.gate(baseline=file)
    played.gate("pass_rate", baseline=played.stored)
    with pytest.raises(NotComparableError):
        lab.run(silent, split="perfect", limit=3).gate(baseline=file)
