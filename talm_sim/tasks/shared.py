"""Share what the runs of one session use: for equal arguments one object, opened when first asked for, closed with the session."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talm_sim.common.digests import canonical_json
from talm_sim.config import RunConfig, Traffic
from talm_sim.models.registry import in_process, open_model
from talm_sim.models.request_facts import RequestFacts
from talm_sim.recordings import CassetteLibrary, RecordingTransport

if TYPE_CHECKING:
    from talm_sim.models.base import Model
    from talm_sim.tools_env.toolbox import Tools


class Shared(AsyncExitStack):
    """Models, tools and recordings of one session: a run, a judging or a grid of runs."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: dict[str, Any] = {}
        self._opening_tools = asyncio.Lock()
        self.facts: defaultdict[str, RequestFacts] = defaultdict(RequestFacts)
        """By model: how it is asked."""

    def library(self, root: Path | None, folder: str = "") -> CassetteLibrary:
        """Return the recordings below `root`, or the shipped ones without it; conversations are in a task's `folder`."""
        found: CassetteLibrary = self._opened.setdefault(f"library {root} {folder}", CassetteLibrary(root, folder))
        return found

    async def model(self, config: RunConfig, created: datetime | None = None) -> Model:
        """Return the model of a configuration whose traffic is decided; it is loaded once, however many runs or judges ask for it."""
        names = ("model", "model_options", "constrained", "models", "max_retries", "max_connections", "timeout", "fail_fast")
        wanted = {name: getattr(config, name) for name in names}
        key, day = f"model {canonical_json(wanted)}", None if created is None else created.date()
        if "strftime_now" in getattr(self._opened.get(key), "chat_template", ""):
            key += f" {day}"
        if key not in self._opened:
            if config.models is not Traffic.LIVE:
                self.library(config.cassettes).read_facts(config.model, self.facts[config.model], replayed=config.models is Traffic.REPLAY)
            model = open_model(
                config.model,
                transport_factory=None if in_process(config.model) else partial(RecordingTransport, model=config.model),
                max_retries=config.max_retries,
                max_connections=config.max_connections,
                timeout=config.timeout,
                options=config.model_options,
                constrained=config.constrained,
                replay=config.models is Traffic.REPLAY and not in_process(config.model),
                fail_fast=config.fail_fast and not in_process(config.model),
                created=day,
                facts=self.facts[config.model],
            )
            self.push_async_callback(model.aclose)
            self._opened[key] = self._opened[f"{key} {day}"] = model
        found: Model = self._opened[key]
        return found

    async def tools(self, config: RunConfig, sources: tuple[str, ...] = (), *, trusted: bool = False, person: bool = False) -> Tools:
        """Return the tools of a configuration whose traffic is decided; a live source is started once."""
        from talm_sim.tools_env.toolbox import Tools, open_tools  # not at the top: a model alone needs no tools

        library = self.library(config.cassettes)
        replayed, person = config.tools is Traffic.REPLAY, person and (bool(sources) or config.tools is Traffic.REPLAY)  # ours ask nobody
        key = f"tools of {config.cassettes} {person}" if replayed else f"tools {sources} {trusted} {person}"
        async with self._opening_tools:  # a source takes a while to start, and another run may ask meanwhile
            if key not in self._opened:
                recorded = library.tools(person=person) if replayed else None
                opened = Tools(recorded=recorded, person=person) if replayed else await open_tools(sources, trusted=trusted, person=person)
                self._opened[key] = opened
                self.push_async_callback(self._opened[key].aclose)
        found: Tools = self._opened[key]
        if config.tools is Traffic.RECORD:
            library.save_tools(found.specs, found.routes)
        return found

    @staticmethod
    def single_steps(config: RunConfig, model: Model) -> int:
        """Return how many single steps run at the same time: at least enough for two batches of a model in this process."""
        return max(config.max_episodes, 2 * getattr(model, "batch_size", 0))
