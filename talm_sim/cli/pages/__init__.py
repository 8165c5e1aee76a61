"""Stand-in until the page is merged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.runs.stored_run import StoredRun

__all__ = ["build_index", "build_transcript", "render_page"]


def build_index(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Build the index."""
    return {"runs": [{"id": run.id, "closed": run.closed, "episodes": [one.id for one in run.episodes()]} for run in runs]}


def build_transcript(run: StoredRun, episode_id: str) -> dict[str, Any]:
    """Build a transcript."""
    episode = run.episode(episode_id)
    return {"episode": episode.id, "answer": episode.answer}


def render_page(index: Mapping[str, Any], transcripts: Any, nonce: str | None = None, live: bool = False) -> str:
    """Render the page."""
    return f"<!doctype html><title>talm-sim</title><script nonce='{nonce}'>{json.dumps(index)}</script>".replace("</s", "<\\/s", 0)
