"""The clock of the day may be set while a run goes on: durations come from one that nobody sets."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from talm_sim.runs.api import resume, run
from talm_sim.store.desk import answer
from tests.runs.recorded_world import make_world


def test_nothing_takes_less_than_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backwards = itertools.count(2e9, -3600.0)
    clock = SimpleNamespace(time=lambda: next(backwards), monotonic=time.monotonic)
    for module in ("agent.episode", "store.desk"):
        monkeypatch.setattr(f"talm_sim.{module}.time", clock)
    world = make_world(tmp_path)
    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"})
    for question in stored.pending():
        answer(stored.path, question.episode_id, "I mean Oslo.")
    episodes = list(resume(stored.path).episodes())
    assert len(episodes) == 4
    for episode in episodes:
        assert 0 <= episode.elapsed_s < 60
        for event in episode.human_events:
            assert event.answered_at >= event.asked_at
