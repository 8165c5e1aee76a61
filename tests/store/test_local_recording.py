"""A real model, recorded and replayed with its server gone: `VLLM_BASE_URL=http://127.0.0.1:PORT/v1 pytest -m local`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from talm_sim import RunConfig, run
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Episode

SERVER = os.environ.get("VLLM_BASE_URL", "")
MODEL = os.environ.get("VLLM_MODEL", "smollm2-135m")
NOWHERE = "http://127.0.0.1:9"
pytestmark = [pytest.mark.local, pytest.mark.skipif(not SERVER, reason="VLLM_BASE_URL names no server"), pytest.mark.timeout(600)]


def _point_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")


def _behaviour(episode: Episode) -> dict[str, Any]:
    """What an episode did, without clocks and without where the answers came from."""
    facts = episode.model_dump(exclude={"started_at", "elapsed_s", "events", "human", "tools"})
    clocks = {"elapsed_ms", "origin", "asked_at", "answered_at", "responder"}
    return facts | {"events": [event.model_dump(exclude=clocks) for event in episode.events]}


def _verdicts(stored: StoredRun) -> list[tuple[str, str, bool | None]]:
    return sorted((verdict.episode_id, verdict.judge, verdict.value) for verdict in stored.verdicts())


@pytest.mark.parametrize(
    ("model", "tool_format"),
    [(f"openai-api/vllm/{MODEL}", "constrained"), (f"openai-api/vllm/{MODEL}", "native"), (f"anthropic/{MODEL}", "native")],
)
def test_a_recorded_run_replays_the_same_with_the_server_gone(
    model: str, tool_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _point_at(SERVER.removesuffix("/v1"), monkeypatch)
    options: dict[str, Any] = {"model": model, "tool_format": tool_format, "split": "underspecified", "limit": "2", "max_new_tokens": 60}
    config = RunConfig(**options, run_dir=tmp_path / "runs", cassettes=tmp_path / "recordings")
    live = run(config, human="simulated", tools="record", models="record")
    _point_at(NOWHERE, monkeypatch)
    again = run(config, human="recorded", tools="replay", models="replay")
    assert [_behaviour(episode) for episode in again.episodes()] == [_behaviour(episode) for episode in live.episodes()]
    assert _verdicts(again) == _verdicts(live)
    assert all(episode.termination.completed and episode.usage.output_tokens for episode in live.episodes())
