"""Where a run's episodes get their runner: what waits for a person is kept, and what was recorded is checked first."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.checkpoints import checkpoint_file, durable_saver, memory_saver
from talm_sim.agent.graph import talm_graph
from talm_sim.agent.responders import responder_kind
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import EpisodeRunner
from talm_sim.runs.parts import Parts
from talm_sim.runs.runner import episode_runner
from talm_sim.runs.store import RunStore
from talm_sim.types import Episode, Scenario, Termination

__all__ = ["CHECKPOINTS", "check_recorded", "open_runner"]

CHECKPOINTS = "checkpoints.db"
"""Name of the file below the run's directory that keeps paused episodes."""


@asynccontextmanager
async def open_runner(parts: Parts, store: RunStore) -> AsyncIterator[EpisodeRunner]:
    """Make the episode runner of a run; what waits for a person is kept in its directory."""
    config = parts.config
    async with AsyncExitStack() as stack:
        saver: BaseCheckpointSaver[Any] | None = None
        if config.human != "none" and responder_kind(config.human).open is None:
            saver = await stack.enter_async_context(durable_saver(store.directory / CHECKPOINTS))
            await _reconcile(store, saver)
        elif config.human != "none":
            saver = memory_saver()
        yield episode_runner(parts, saver)


async def check_recorded(parts: Parts, scenarios: Sequence[Scenario]) -> None:
    """Where a model is to be replayed, replay one episode of each group, and see that it was recorded with these settings.

    Other prompts, sampling or perturbations are other conversations; better said now than once for each episode.

    Raises:
        PrerequisiteError: Not even the first request of an episode is in the recording.
    """
    config = parts.config
    if config.models is not Traffic.REPLAY:
        return
    runner = episode_runner(parts, memory_saver())
    for scenario in {scenario.group: scenario for scenario in reversed(scenarios)}.values():
        result = await runner(scenario, epoch=config.epochs, attempt=1)
        begun = result.model_turns or (isinstance(result, Episode) and result.awareness)
        if isinstance(result, Episode) and result.termination is Termination.REPLAY_MISS and not begun:
            raise PrerequisiteError(
                f"model '{config.model}': {scenario.id}, epoch {config.epochs}, was not recorded with these settings; "
                "add --live, or keep to the settings of the recording."
            )


async def _reconcile(store: RunStore, saver: BaseCheckpointSaver[Any]) -> None:
    """Make checkpoints and store agree after a kill between their two commits.

    A checkpoint whose pause was never committed is dropped; an episode whose checkpoint is gone, or cannot be read, starts again (what its
    person said is kept).
    """
    threads = {f"{paused.episode_id}#{paused.attempt}": paused.episode_id for paused in store.paused().values()}
    kept: set[str] = set()
    path = store.directory / CHECKPOINTS
    with checkpoint_file(path), contextlib.closing(sqlite3.connect(path)) as conn:
        kept.update(thread for (thread,) in conn.execute("SELECT DISTINCT thread_id FROM checkpoints"))
    sound = {thread for thread in kept & set(threads) if await _is_sound(saver, thread)}
    for thread in kept - sound:
        await saver.adelete_thread(thread)
    for thread in set(threads) - sound:
        await store.abandon(threads[thread])


async def _is_sound(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    """Whether a graph can go on from a checkpoint."""
    graph: Any = talm_graph(saver)
    try:
        await graph.aget_state({"configurable": {"thread_id": thread}})
    except Exception:  # a damaged checkpoint breaks in as many ways as there are libraries that read it
        return False
    return True
