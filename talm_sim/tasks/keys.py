"""The name of a model's recording: a digest of what shapes the requests of a conversation."""

from __future__ import annotations

from typing import Any

from talm_sim.digests import digest
from talm_sim.tasks.base import Job

__all__ = ["recording_key"]


def recording_key(job: Job[Any]) -> str:
    """Digest of what shapes a job's conversations. Its fields stay as they are, because shipped recordings are named by it.

    Wordings that come with the package are not in it: a changed one is a miss, which names what differs.
    """
    config, settings = job.config, job.settings()
    shared = {
        "model": config.model,
        "model_options": config.model_options,
        "tool_format": "constrained" if config.constrained else "native",
        "prompts": config.prompts.read_text(encoding="utf-8") if config.prompts else "",
        "temperature": settings.temperature,
        "max_new_tokens": settings.max_new_tokens,
        "seed": config.seed,
    }
    return digest({**job.task.key(job), **shared})
