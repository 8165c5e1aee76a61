"""What the runs of one session share: for equal arguments one object, opened when it is first asked for, closed with the session."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from talm_sim.config import RunConfig, Traffic
from talm_sim.digests import canonical_json
from talm_sim.models.registry import in_process, open_model
from talm_sim.recordings import CassetteLibrary, RecordingTransport
from talm_sim.tools_env.client import ToolClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talm_sim.models.base import Model
    from talm_sim.tools_env.service.process import ToolService
    from talm_sim.types import ToolSpec

__all__ = ["Shared", "Tools"]


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools there are, and what reaches them."""

    specs: Mapping[str, ToolSpec]
    client: ToolClient


class Shared:
    """Models, tools and recordings of one session, be it a run, a judging or a grid of runs."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._opened: dict[str, Any] = {}
        self._opening_tools = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self._stack.aclose()

    def library(self, root: Path | None, folder: str = "") -> CassetteLibrary:
        """The recordings below `root`, the shipped ones without it; conversations in a task's `folder`."""
        found: CassetteLibrary = self._opened.setdefault(f"library {root} {folder}", CassetteLibrary(root, folder))
        return found

    async def model(self, config: RunConfig, created: datetime | None = None) -> Model:
        """The model of a configuration whose traffic is decided; loaded once, however many runs or judges ask for it.

        Args:
            config: The configuration.
            created: When the run was created; a model that shows the date in its prompts is loaded once for each day.

        Raises:
            PrerequisiteError: Its name, an option, a key, a package or an address is missing or wrong.
        """
        names = ("model", "model_options", "constrained", "models", "max_retries", "max_connections", "timeout", "fail_fast")
        wanted = {name: getattr(config, name) for name in names}
        key, day = f"model {canonical_json(wanted)}", None if created is None else created.date()
        if _shows_date(self._opened.get(key)):
            key += f" {day}"
        if key not in self._opened:
            model = open_model(
                config.model,
                transport_factory=None if in_process(config.model) else RecordingTransport,
                max_retries=config.max_retries,
                max_connections=config.max_connections,
                timeout=config.timeout,
                options=config.model_options,
                constrained=config.constrained,
                replay=config.models is Traffic.REPLAY,
                fail_fast=config.fail_fast and not in_process(config.model),
                created=day,
            )
            self._stack.push_async_callback(model.aclose)
            self._opened[key] = self._opened[f"{key} {day}"] = model
        found: Model = self._opened[key]
        return found

    async def tools(self, config: RunConfig) -> Tools:
        """The tools of a configuration whose traffic is decided; a live tool service is started once.

        Raises:
            PrerequisiteError: The recorded tools cannot be read, or no port is free.
        """
        live = config.tools is not Traffic.REPLAY
        key = f"tools {config.tools} {config.max_episodes} {config.cassettes}"
        async with self._opening_tools:  # a service takes a while to start, and another run may ask meanwhile
            if key not in self._opened:
                if live:
                    service, specs = await self._service()
                    client = ToolClient(service.base_url, connections=config.max_episodes, recover=service.recover)
                else:
                    specs, client = self.library(config.cassettes).tool_specs(), ToolClient()
                if config.tools is Traffic.RECORD:
                    self.library(config.cassettes).save_tool_specs(specs)
                self._stack.callback(client.close)
                self._opened[key] = Tools(specs, client)
        found: Tools = self._opened[key]
        return found

    async def _service(self) -> tuple[ToolService, Mapping[str, ToolSpec]]:
        from talm_sim.tools_env.service.process import ToolService  # not at the top: a replay imports no tool service

        if "service" not in self._opened:
            service = await self._stack.enter_async_context(ToolService())
            self._opened["service"] = service, await asyncio.to_thread(service.specs)
        found: tuple[ToolService, Mapping[str, ToolSpec]] = self._opened["service"]
        return found

    @staticmethod
    def single_steps(config: RunConfig, model: Model) -> int:
        """Single steps to have under way: at least enough for two of the batches a model in this process works in."""
        return max(config.max_episodes, 2 * getattr(model, "batch_size", 0))


def _shows_date(model: Any) -> bool:
    return "strftime_now" in getattr(model, "chat_template", "")
