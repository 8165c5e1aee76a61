"""Judges over a run's stored episodes: judge by judge, several episodes at once, each verdict committed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from talm_sim.errors import CassetteMissError, ProviderError
from talm_sim.judges.base import Judge
from talm_sim.runs import rows
from talm_sim.runs.events import JudgeProgress, OnEvent, ignore_events
from talm_sim.runs.store import RunStore
from talm_sim.types import Episode, Scenario, Verdict

__all__ = ["score"]


async def score(store: RunStore, judges: Sequence[Judge], *, max_at_once: int = 16, on_event: OnEvent = ignore_events) -> int:
    """Let each judge say what it thinks of every finished episode it has not judged yet.

    A judge that fails on an episode (its model does not answer, or was not recorded) leaves an open verdict that says why, and is asked again
    next time.

    Args:
        store: The run.
        judges: In the order in which they work: a later one may read what an earlier one said.
        max_at_once: Episodes one judge looks at at once.
        on_event: Told of progress.

    Returns:
        How many verdicts failed.
    """
    failed = 0
    for judge in judges:
        failed += await _Scoring(store, judge, on_event).run(max_at_once)
    return failed


class _Scoring:
    """One judge at work."""

    def __init__(self, store: RunStore, judge: Judge, on_event: OnEvent) -> None:
        self._store = store
        self._judge = judge
        self._on_event = on_event
        self._scenarios = {scenario.id: scenario for scenario in store.scenarios()}
        self._judged = store.judged_ids(judge.name, judge.config_digest)
        self._total = len(store.finished_ids())
        self._done = len(self._judged)
        self._failed = 0

    async def run(self, max_at_once: int) -> int:
        running: set[asyncio.Task[None]] = set()
        try:
            for episode in rows.episodes(self._store.reader):
                if episode.id in self._judged:
                    continue
                if len(running) >= max_at_once:
                    running = await _progress(running)
                running.add(asyncio.create_task(self._judge_one(episode, self._scenarios[episode.scenario_id])))
            while running:
                running = await _progress(running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return self._failed

    async def _judge_one(self, episode: Episode, scenario: Scenario) -> None:
        try:
            await self._store.add_verdict(await self._judge(episode, scenario))
        except (ProviderError, CassetteMissError) as err:
            self._failed += 1
            await self._store.add_verdict(
                Verdict(
                    episode_id=episode.id,
                    judge=self._judge.name,
                    judge_config_digest=self._judge.config_digest,
                    value=None,
                    explanation=f"not judged: {err}",
                ),
                failed=True,
            )
        self._done += 1
        self._on_event(JudgeProgress(self._judge.name, self._done, self._total))


async def _progress(running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until at least one is done; what it raised is raised here."""
    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    return running
