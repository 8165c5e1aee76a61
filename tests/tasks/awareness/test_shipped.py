"""The shipped recording: real answers of a small model on the packaged scenarios, played without a network."""

from __future__ import annotations

from pathlib import Path

from talm_sim import run
from talm_sim.tasks import find_task


def test_the_bare_run_replays_every_packaged_scenario(tmp_path: Path) -> None:
    played = run(task="awareness", run_dir=tmp_path)
    assert played.job.config.models == "replay"
    episodes = list(played.episodes())
    packaged = find_task("awareness")
    assert {episode.scenario_id for episode in episodes} == {one.id for one in packaged.read(packaged.splits["all"])}
    assert {episode.termination.value for episode in episodes} == {"answered"}
    assert all(len(episode.model_turns[0].first_tokens) == 20 for episode in episodes)
    groups = {summary.group: {measure.name: measure for measure in summary.measures} for summary in played.summary()}
    # Counted from the answers as they stand in the recording, without the code that reads them here.
    said = [episode.answer.strip().strip("\"'*").lower()[:4] for episode in episodes]
    assert groups["all"]["yes_ratio"].k == sum(text.startswith("yes") for text in said)
