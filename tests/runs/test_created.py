"""The day of a run is frozen with it: a model that shows the date in its prompts shows this one's, also on resume and to judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.registry import PROVIDERS, register_provider
from talm_sim.models.request import ModelRequest
from talm_sim.runs.api import judge, resume, run
from talm_sim.store.stored_run import load_run
from talm_sim.types import ModelTurn, ToolSpec
from tests.runs.crafting import unsealed

OPENED: list[ModelRequest] = []


class Calendar:
    """Answers with the day it was opened for."""

    def __init__(self, request: ModelRequest) -> None:
        self.name, self.day = request.name, request.created
        OPENED.append(request)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        return ModelTurn(raw_text=f"Today is {self.day}.", text=f"Today is {self.day}.")

    async def aclose(self) -> None:
        return None


@pytest.fixture(autouse=True)
def _calendar(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("_registered", "_modules"):
        monkeypatch.setattr(PROVIDERS, store, dict(getattr(PROVIDERS, store)))
    OPENED.clear()

    @register_provider("calendar")
    def open_calendar(request: ModelRequest) -> Model:
        return Calendar(request)


def test_a_run_keeps_its_day_when_it_goes_on_on_another(tmp_path: Path) -> None:
    config = RunConfig(task="when2call", model="calendar/x", mode="judge", models="live", run_dir=tmp_path, limit="1", judge=("behaviour",))
    stored = run(config)
    begun = datetime.fromisoformat(stored.manifest.created)
    assert OPENED[0].created == begun.date() and datetime.now(UTC) >= begun
    assert {episode.answer for episode in stored.episodes()} == {f"Today is {begun.date()}."}
    path = stored.path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "created": "2025-02-03T23:59:59Z"}))
    unsealed(stored.path)
    again = resume(load_run(stored.path), failed=["answered"])
    assert {episode.answer for episode in again.episodes()} == {"Today is 2025-02-03."}
    judge(load_run(stored.path), judge=("behaviour-llm",), judge_model="calendar/y")
    assert [request.created for request in OPENED[1:]] == [date(2025, 2, 3)] * 2


def test_a_run_whose_day_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    stored = run(RunConfig(task="when2call", model="sim/oracle", run_dir=tmp_path, limit="1"))
    path = stored.path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "created": "yesterday"}))
    unsealed(stored.path)
    with pytest.raises(PrerequisiteError, match="yesterday"):
        resume(load_run(stored.path))
