"""`--no-awareness`: an agent that would say No plays all the same, and is recorded apart."""

from __future__ import annotations

from pathlib import Path

import pytest

import talm_sim
from talm_sim import PrerequisiteError
from talm_sim.tasks.keys import recording_key
from talm_sim.types import Termination
from tests.tasks.views import job


def test_no_question_is_asked_before_the_start(tmp_path: Path) -> None:
    ends = {}
    for left_out in (False, True):
        stored = talm_sim.run(model="sim/cautious", split="perfect", limit=2, run_dir=tmp_path, progress=False, no_awareness=left_out)
        ends[left_out] = {one.termination for one in stored.episodes()}
        assert [bool(one.awareness) for one in stored.episodes()] == [not left_out] * 2
        assert {row.outcome for row in stored.rows()} == {"solved" if left_out else "declined_needlessly"}
    assert ends[False] == {Termination.SKIPPED} and Termination.SKIPPED not in ends[True]


def test_it_is_recorded_apart() -> None:
    asked, unasked = (recording_key(job("talm", no_awareness=left_out)) for left_out in (False, True))
    assert asked == recording_key(job("talm")) != unasked


def test_it_does_not_go_with_these_questions_alone(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="no_awareness: stop_after asks these questions alone; leave out one of the two"):
        talm_sim.run(model="sim/oracle", no_awareness=True, stop_after="awareness", run_dir=tmp_path)
    assert not list(tmp_path.iterdir())
