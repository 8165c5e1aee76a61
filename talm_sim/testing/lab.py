"""Run scenarios against an agent for a test: offline from recordings, or recording them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.errors import NotRecordedError, PrerequisiteError
from talm_sim.models.base import Model
from talm_sim.runs.api import run, run_to_completion
from talm_sim.runs.events import RunEvent, RunStarted
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.shared import Shared
from talm_sim.testing.emptiness import asks_whether_admitted, asks_whether_noticed
from talm_sim.testing.played_agent import Admitted, Played
from talm_sim.types import Termination

__all__ = ["Lab"]

_CALLED = 'tools_from=[...], tools="live"'
_FIX = "Record what is missing with: pytest --talm-record"


class Lab:
    """The fixture `talm`.

    Args:
        directory: Where runs are kept.
        cassettes: Your own recordings; None for those that come with the package.
        record: Whether to record what is missing, in `cassettes`.
        judge_model: Asked, live, whether an answer reports a failure or an empty result, if the wording does not settle it; empty for none.
        on_notice: Called with each thing to know about a run, for example that a model which the agent asks by itself is live.
    """

    def __init__(
        self,
        directory: Path,
        cassettes: Path | None = None,
        *,
        record: bool = False,
        judge_model: str = "",
        on_notice: Callable[[str], None] = lambda notice: None,
    ) -> None:
        self._on_notice = on_notice
        self._directory = directory
        self._cassettes = cassettes
        self._record = record
        self._judge_model = judge_model

    def run(self, agent: Any, *, perturb: str | Sequence[str] = (), **options: Any) -> Played:
        """Run scenarios against an agent.

        Args:
            agent: A compiled graph or a function, or `MODULE:OBJECT`.
            perturb: What to damage, as `--perturb` takes it.
            **options: Further options of `talm_sim.run`, for example `scenario`, `split`, `limit`, `model` or `tools`. Unless an option says
                otherwise, the person is simulated and everything is replayed.

        Raises:
            PrerequisiteError: Something is missing, such as a recording.
        """
        how = "record" if self._record else "replay"
        defaults: dict[str, Any] = {"human": "simulated", "tools": how, "models": how, "run_dir": self._directory}
        if self._cassettes is not None:
            defaults["cassettes"] = self._cassettes
        __tracebackhide__ = True
        options = {**defaults, **_add_tool_sources(options)}
        if "tools_from" in options and options.get("cassettes") is None and options["tools"] == "replay":
            raise PrerequisiteError(f"these tools have no recordings. {_FIX}; or have them called in each test: {_CALLED}")
        try:
            stored = run(agent=agent, perturb=perturb, progress=False, on_event=self._on_event, **options)
        except NotRecordedError as err:
            raise PrerequisiteError(f"{str(err).partition('; add --live')[0]}. {_FIX}") from None
        self._check(stored)
        if not self._judge_model:
            return Played(stored)
        return Played(stored, self._judge(asks_whether_admitted), self._judge(asks_whether_noticed))

    def _on_event(self, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            for notice in event.notices:
                self._on_notice(notice)

    def _check(self, stored: StoredRun) -> None:
        """Check that every episode was played: one that failed on our side says nothing about the agent."""
        for episode in stored.episodes():
            if episode.termination.failed:
                fix = f" {_FIX}" if episode.termination is Termination.REPLAY_MISS else ""
                raise PrerequisiteError(f"{episode.id} ended in {episode.termination.value}: {episode.error}{fix}")
        if stored.finished < stored.total:
            raise PrerequisiteError(
                f"{stored.id}: an episode is waiting for a person; choose human='simulated' or another responder that answers at once."
            )

    def _judge(self, question: Callable[[Model, str, str, str], Awaitable[bool]]) -> Admitted:
        """Return a function that puts a question to the judge model, as a test asks it."""

        async def ask(query: str, calls: str, answer: str) -> bool:
            async with Shared() as shared:
                model = await shared.model(RunConfig(model=self._judge_model, models="live"))
                return await asyncio.wait_for(question(model, query, calls, answer), 120)

        return lambda query, calls, answer: run_to_completion(ask(query, calls, answer))


def _add_tool_sources(options: Mapping[str, Any]) -> dict[str, Any]:
    """Move tools that were passed as objects to `tools_from`; whether they are replayed is another question."""
    options = dict(options)
    if not isinstance(options.get("tools", ""), str):
        options["tools_from"] = options.pop("tools")
    return options
