"""Runs scenarios against an agent for a test: offline from recordings, or recording them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import run, to_completion
from talm_sim.runs.events import RunEvent, RunStarted
from talm_sim.runs.load import StoredRun
from talm_sim.tasks.shared import Shared
from talm_sim.testing.admission import asks_whether_admitted
from talm_sim.testing.played import Played

__all__ = ["Lab"]


class Lab:
    """What the fixture `talm` is.

    Args:
        directory: Where runs are kept.
        cassettes: Recordings of the user's own; None for those that come with the package.
        record: Whether to record what is missing, in `cassettes`.
        judge_model: Asked, live, whether an answer tells of a failure where its words do not; empty for none.
    """

    def __init__(self, directory: Path, cassettes: Path | None = None, *, record: bool = False, judge_model: str = "") -> None:
        self.notices: list[str] = []
        """What was said of the runs: of an agent that brings its own model, that this is live."""
        self._directory = directory
        self._cassettes = cassettes
        self._record = record
        self._judge_model = judge_model

    def run(self, agent: Any, *, perturb: str | Sequence[str] = (), **options: Any) -> Played:
        """Run scenarios against an agent.

        Args:
            agent: A compiled graph or a function, or `MODULE:OBJECT`.
            perturb: What to damage, as `--perturb` takes it.
            **options: Further options of `talm_sim.run`, such as `scenario`, `scenarios`, `split`, `limit`, `model`, `tools`. The person is
                the simulated one, and all is replayed, unless an option says otherwise.

        Raises:
            PrerequisiteError: Something is missing, such as a recording.
        """
        how = "record" if self._record else "replay"
        defaults: dict[str, Any] = {"human": "simulated", "tools": how, "models": how, "run_dir": self._directory}
        if self._cassettes is not None:
            defaults["cassettes"] = self._cassettes
        stored = run(agent=agent, perturb=perturb, progress=False, on_event=self._hear, **{**defaults, **options})
        self._check(stored)
        return Played(stored, self._admitted if self._judge_model else None)

    def _hear(self, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            self.notices += [notice for notice in event.notices if notice not in self.notices]

    def _check(self, stored: StoredRun) -> None:
        """See that every episode was played: one that our side failed says nothing of the agent."""
        for episode in stored.episodes():
            if episode.termination.failed:
                mend = "" if self._record else " Record what is missing with: pytest --talm-record"
                raise PrerequisiteError(f"{episode.id} ended in {episode.termination.value}: {episode.error}{mend}")
        if stored.finished < stored.total:
            raise PrerequisiteError(f"{stored.id}: an episode waits for a person; choose human='simulated' or another that answers at once.")

    def _admitted(self, query: str, failures: str, answer: str) -> bool:
        async def ask() -> bool:
            async with Shared() as shared:
                model = await shared.model(RunConfig(model=self._judge_model, models="live"))
                return await asyncio.wait_for(asks_whether_admitted(model, query, failures, answer), 120)

        return to_completion(ask())
