"""Models, tools and recordings of several workers: one budget, one tool service, whole recordings, and every event reaches the run."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.events import EpisodeFinished, RequestRetried, RunEvent, RunStarted, ToolsRestarted
from talm_sim.runs.stored_run import load_run
from talm_sim.tools_env.service import process
from tests.cli.conftest import talm  # noqa: F401
from tests.models.stand_in import StandIn, serving
from tests.runs.recorded_world import make_world
from tests.runs.test_budget import JUDGE, MODEL, Heard, act, ran
from tests.runs.workers.watched import children_of, content, tables
from tests.tools_env.service.quick import QuickServices


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(StandIn, "act", act)
    with serving("guesses") as found:
        monkeypatch.setenv("STAND_BASE_URL", f"{found.url}/v1")
        yield found


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of 12 episodes, of which two run at a time."""
    return {**make_world(tmp_path), "model": MODEL, "tools": "replay", "epochs": 3, "max_episodes": 2, "progress": False, "workers": 2}


@pytest.mark.parametrize("limit", ["requests=7", "tokens=100", "cost=0.09"])
def test_a_budget_is_the_runs(server: StandIn, world: dict[str, Any], tmp_path: Path, limit: str) -> None:
    prices = tmp_path / "p.toml"
    prices.write_text(f'"{MODEL}" = {{input = 1000, output = 1000}}\n', encoding="utf-8")
    stored, heard = ran(talm_sim.run, **world, budget=limit, prices=prices)
    (reached,) = heard.reached
    assert reached.limits == (limit.partition("=")[0],)
    spent = heard.spent.spent
    assert 7 <= spent["requests"] == len(server.requests) <= 7 + 8 and spent["tokens"] == 14 * len(server.requests)
    assert spent["cost"] == pytest.approx(0.014 * len(server.requests))
    assert stored.finished * 4 == len(server.requests) and heard.spent.left == {"episodes": 12 - stored.finished}
    assert stored.unjudged == 0
    rest, heard = ran(talm_sim.resume, stored, progress=False)
    assert rest.finished == 12 and len(server.requests) == 48


def test_processes_send_no_more_requests_at_once_than_the_run_may(
    server: StandIn, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, asked, at_once = threading.Lock(), [0], [0]

    def act_slowly(*given: Any) -> str | list[Any]:
        with lock:
            asked[0] += 1
            at_once.append(asked[0])
        time.sleep(0.05)
        with lock:
            asked[0] -= 1
        return act(*given)

    monkeypatch.setattr(StandIn, "act", act_slowly)
    run = talm_sim.run(**{**world, "epochs": 20, "max_episodes": 16}, max_connections=8)
    assert run.finished == 80 and max(at_once) <= 8


def test_judges_and_a_person_count_as_such(server: StandIn, world: dict[str, Any]) -> None:
    more = {"judge": ("reference", "llm"), "judge_model": JUDGE, "human": f"model:{JUDGE}", "split": "underspecified", "epochs": 1}
    stored, heard = ran(talm_sim.run, **{**world, **more}, budget="requests=1000")
    asked = {(one.part, one.model): one.requests for one in heard.spent.parts}
    assert sum(asked.values()) == len(server.requests) and asked["judge", JUDGE] == 3 * stored.finished == 12, "three votes"
    assert asked["person", JUDGE] == sum(len(episode.human_events) for episode in stored.episodes()) > 0
    assert heard.spent.left == {}


def test_a_recording_of_several_workers_is_whole(server: StandIn, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = talm_sim.run(**world, models="record", run_id="recorded")
    asked = len(server.requests)
    assert asked == 48
    for workers in (1, 3):
        again = talm_sim.run(**{**world, "workers": workers, "max_episodes": 4}, models="replay", run_id=f"again-{workers}")
        assert (content(again), again.finished) == (content(recorded), 12)
        assert [{**one, "models": ""} for one in tables(again)] == [{**one, "models": ""} for one in tables(recorded)]
    assert len(server.requests) == asked


def test_a_refused_key_ends_the_run_in_a_line(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(PrerequisiteError, match=r"^[^\n]+The run is kept; continue with: talm-sim resume [^\n]+$"):
        talm_sim.run(**world, max_retries=0)


def test_retries_and_the_log_reach_the_run(
    server: StandIn, world: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []

    def act_once_late(*arguments: Any) -> Any:
        if not refused:
            refused.append(1)
            raise ConnectionResetError
        return act(*arguments)

    monkeypatch.setattr(StandIn, "act", act_once_late)
    heard = Heard()
    with caplog.at_level(logging.DEBUG, "talm_sim"):
        run = talm_sim.run(**{**world, "epochs": 1}, on_event=heard.append)
    assert run.finished == 4 and dict(run.terminations) == {"answered": 4}
    retried = [one for one in heard if isinstance(one, RequestRetried)]
    assert [(one.model, one.number) for one in retried] == [(MODEL, 1)]
    lines = [record.getMessage() for record in caplog.records if record.name == "talm_sim.models.endpoint"]
    assert len(lines) == 1 and lines[0].startswith(f"{MODEL} at 127.0.0.1") and "; retry 1 in " in lines[0]


class Killing:
    """Kills the tool service after so many episodes."""

    def __init__(self, services: QuickServices, monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
        self.services, self.moment = services, moment
        self.finished = 0
        self.events: list[RunEvent] = []
        self.started: list[process.ToolService] = []
        self.children = 0
        start = process.ToolService.start

        def noting(service: process.ToolService) -> process.ToolService:
            self.started.append(service)
            return start(service)

        monkeypatch.setattr(process.ToolService, "start", noting)

    def __call__(self, event: RunEvent) -> None:
        self.events.append(event)
        self.finished += isinstance(event, EpisodeFinished)
        if isinstance(event, RunStarted):
            self.children = len(children_of(os.getpid()))
        if isinstance(event, EpisodeFinished) and self.finished == self.moment:
            os.kill(self.services.pid(self.started[-1]), signal.SIGKILL)


@pytest.mark.live
def test_workers_share_one_tool_service_and_find_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = QuickServices(monkeypatch, tmp_path)
    killing = Killing(services, monkeypatch, 4)
    options: dict[str, Any] = {"model": "sim/asker", "human": "simulated", "tools": "live", "split": "underspecified", "limit": "12"}
    before = len(children_of(os.getpid()))
    run = talm_sim.run(**options, run_dir=tmp_path / "runs", max_episodes=4, workers=2, on_event=killing)
    assert dict(run.terminations) == {"answered": 12}
    assert len(killing.started) == 1 and killing.children == before + 2, "a service and one worker"
    assert [one for one in killing.events if isinstance(one, ToolsRestarted)] == [ToolsRestarted("killed by SIGKILL")]
    assert len(children_of(os.getpid())) == before


def test_a_grid_has_workers_and_one_budget(server: StandIn, world: dict[str, Any]) -> None:
    heard = Heard()
    grid = talm_sim.ablate(over={"seed": [0, 1]}, **{**world, "epochs": 1}, budget="requests=1000", on_event=heard.append)
    assert [cell.run.finished for cell in grid.cells] == [4, 4]
    assert heard.spent.spent["requests"] == len(server.requests) == 32


def test_the_command_shows_one_run(server: StandIn, world: dict[str, Any], talm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("TALM_SIM_LOG_LEVEL", "info")
    words = ["--scenarios", str(world["scenarios"]), "--cassettes", str(world["cassettes"]), "--split", "perfect", "--tools", "replay"]
    words += ["--model", "sim/oracle", "--run-dir", str(tmp_path / "runs"), "--workers", "2", "--human", "none"]
    code, out, err = talm("run", *words, "--run-id", "w", "--display", "json", "--controls", "--gate", "perfect.pass_rate>=.9")
    events = [json.loads(line) for line in out.splitlines()]
    kinds = {one["event"] for one in events}
    assert code == 0 and kinds >= {"run_started", "episode_started", "episode_finished", "run_finished", "summary"}
    assert sum(one["event"] == "episode_finished" for one in events) >= 4 and "Traceback" not in err
    assert talm("judge", "w", "--run-dir", str(tmp_path / "runs"), "--judge", "reference")[0] == 0
    code, out, err = talm("resume", "w", "--run-dir", str(tmp_path / "runs"), "--workers", "3", "--display", "plain")
    assert code == 0 and "4 of 4" in err
    assert load_run(tmp_path / "runs" / "w").job.config.workers == 2
