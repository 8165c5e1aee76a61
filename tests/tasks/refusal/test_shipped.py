"""The shipped recording: real answers of a small model to our own rows, played without a network."""

from __future__ import annotations

from pathlib import Path

from talm_sim import run


def test_the_bare_run_replays_every_packaged_row(tmp_path: Path) -> None:
    played = run(task="refusal", run_dir=tmp_path)
    assert played.job.config.models == "replay"
    episodes = list(played.episodes())
    assert len(episodes) == 648
    assert {episode.termination.value for episode in episodes} == {"answered"}
    assert all(episode.model_turns[0].raw_text or episode.model_turns[0].tool_calls for episode in episodes)
    assert {verdict.judge for verdict in played.verdicts()} == {"calls", "intent"}
