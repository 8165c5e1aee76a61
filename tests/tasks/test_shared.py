"""What runs of one session share: equal arguments one object, opened once, closed once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from langchain_core.messages import BaseMessage

from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.registry import PROVIDERS, register_provider
from talm_sim.models.request import ModelRequest
from talm_sim.tasks.shared import Shared
from talm_sim.types import ModelTurn, ToolSpec
from talm_sim.world import HEALTH_PATH, process

LIVE = Traffic.LIVE


class Opened:
    """A model that notes what became of it."""

    made: list[Opened]

    def __init__(self, request: ModelRequest) -> None:
        self.name, self.request, self.closed, self.batch_size = request.name, request, 0, 0
        Opened.made.append(self)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        return ModelTurn()

    async def aclose(self) -> None:
        self.closed += 1
        if self.request.model == "bad":
            raise RuntimeError("will not close")


@pytest.fixture(autouse=True)
def _noting(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("_registered", "_modules"):
        monkeypatch.setattr(PROVIDERS, store, dict(getattr(PROVIDERS, store)))
    Opened.made = []

    @register_provider("noting", constrains=True)
    def open_noting(request: ModelRequest) -> Model:
        if request.model == "gone":
            raise PrerequisiteError("gone")
        return Opened(request)


def config(model: str = "noting/a", **options: Any) -> RunConfig:
    return RunConfig(**{"model": model, "models": LIVE, **options})


async def test_a_model_is_opened_once_for_equal_arguments_and_closed_once() -> None:
    async with Shared() as shared:
        first = await shared.model(config())
        assert await shared.model(config(task="when2call", split="direct", seed=3, temperature=0.5, epochs=2, judge=("x",))) is first
        assert first is (await asyncio.gather(*(shared.model(config(tools=traffic)) for traffic in Traffic)))[2]
        different = (
            config("noting/b"),
            config(model_options={"a": "1"}),
            config(tool_format="constrained"),
            config(models=Traffic.REPLAY),
            config(max_retries=1),
            config(max_connections=2),
            config(timeout=3),
            config(fail_fast=False),
        )
        others = [await shared.model(one) for one in different]
        assert len({id(one) for one in (first, *others)}) == len(Opened.made) == 9
        assert not any(one.closed for one in Opened.made)
    assert [one.closed for one in Opened.made] == [1] * 9


async def test_a_model_whose_prompts_show_the_date_is_loaded_once_for_each_day(monkeypatch: pytest.MonkeyPatch) -> None:
    morning, evening, later = (datetime(2025, 3, day, hour, tzinfo=UTC) for day, hour in ((1, 1), (1, 23), (2, 0)))
    async with Shared() as shared:
        first = await shared.model(config(), morning)
        assert first is await shared.model(config(), evening) is await shared.model(config(), later), "it shows none"
        monkeypatch.setattr(Opened, "chat_template", "{{ strftime_now('%d') }}", raising=False)
        dated = [await shared.model(config("noting/b"), moment) for moment in (morning, later, evening, later)]
    assert (dated[0], dated[1]) == (dated[2], dated[3]) and dated[0] is not dated[1]
    assert [one.request.created for one in Opened.made] == [date(2025, 3, 1), date(2025, 3, 1), date(2025, 3, 2)]


async def test_what_cannot_be_opened_or_closed_leaves_the_others_alone() -> None:
    with pytest.raises(RuntimeError, match="will not close"):
        async with Shared() as shared:
            await shared.model(config())
            await shared.model(config("noting/bad"))
            await shared.model(config("noting/c"))
            for _ in range(2):
                with pytest.raises(PrerequisiteError, match="gone"):
                    await shared.model(config("noting/gone"))
    assert [one.closed for one in Opened.made] == [1, 1, 1]


@pytest.mark.parametrize(("batch", "episodes", "steps"), [(0, 16, 16), (8, 16, 16), (32, 16, 64)])
async def test_single_steps_fill_two_batches(batch: int, episodes: int, steps: int) -> None:
    async with Shared() as shared:
        model = await shared.model(config())
        Opened.made[0].batch_size = batch
        assert shared.single_steps(config(max_episodes=episodes), model) == steps


@pytest.mark.live
async def test_a_tool_service_is_started_once_and_ends_with_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[process.ToolService] = []
    begin = process.ToolService.__init__

    def noting(self: process.ToolService, *args: Any, **more: Any) -> None:
        started.append(self)
        begin(self, *args, **more)

    monkeypatch.setattr(process.ToolService, "__init__", noting)
    configs = (config(tools=LIVE), config(tools=LIVE, max_episodes=3), config(tools=Traffic.RECORD, cassettes=tmp_path))
    async with Shared() as shared:
        one, other, recording, again = await asyncio.gather(*map(shared.tools, (*configs, configs[0])))
        assert again is one is await shared.tools(configs[0])
        assert one.specs == other.specs == recording.specs
        # What nobody is shown is not recorded.
        shown = {name: spec.model_copy(update={"human_replaceable_reason": "", "is_record": False}) for name, spec in one.specs.items()}
        assert shared.library(tmp_path).tool_specs() == shown
        assert len(one.specs) >= 40
        (service,) = started
        pid, address = service.pid, service.base_url
        assert pid is not None and requests.get(address + HEALTH_PATH, timeout=5).ok
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
