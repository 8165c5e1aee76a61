"""Faults of a model that runs in this process: each ends as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim import run
from talm_sim.types import Episode, Termination
from tests.models.local.tiny import make_tiny

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("default")]
pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"), context=16_384)


def play(tiny: Path, place: Path, *perturb: str) -> Episode:
    options: dict[str, Any] = {"model_options": {"device": "cpu", "threads": "1"}, "max_new_tokens": 8, "turn_limit": 3, "progress": False}
    stored = run(model=f"hf/{tiny}", split="perfect", limit="1", run_dir=place, perturb=perturb, **options)
    (episode,) = stored.episodes()
    assert stored.crashed == 0
    assert stored.failed == 0
    return episode


def test_each_fault_ends_as_data(tiny: Path, tmp_path: Path) -> None:
    failed = play(tiny, tmp_path, "model-500:call=2")
    assert (failed.termination, failed.injected) == (Termination.AGENT_ERROR, "model-500:call=2")
    assert len(failed.model_turns) == 1
    plain = play(tiny, tmp_path)
    assert all(turn.text for turn in plain.model_turns)
    assert plain.model_turns[0].text == failed.model_turns[0].text
    for fault in ("model-cut", "model-empty", "model-html", "model-refusal", "model-repeat"):
        episode = play(tiny, tmp_path, f"{fault}:call=2")
        assert episode.termination is Termination.TURN_LIMIT
        (log,) = episode.model_turns[1].perturbations
        assert (log.fired, log.seen) == (1, 1)
        assert log.injected == episode.model_turns[1].text
        if fault == "model-repeat":
            assert log.injected == plain.model_turns[0].text
        assert log.replaced == (plain.model_turns[1].text if fault == "model-cut" else None)
