"""A budget holds for a command as a whole: real requests to a real server, until a limit is reached, and what is left is done later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import talm_sim
from talm_sim.common.budgets import read_budget
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.batch import run_batch
from talm_sim.runs.budget import Spending
from talm_sim.runs.events import BudgetReached, BudgetSpent, RunEvent, RunStarted
from talm_sim.runs.prices import Price
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import StoredRun
from tests.models.stand_in import Call, StandIn, serving
from tests.runs.recorded_world import TOWNS, make_world
from tests.runs.scripted import ScriptedRunner, new_run

MODEL, JUDGE = "openai-api/stand/small", "openai-api/stand/judge"
PER_EPISODE = 4
"""Requests: two questions about what is missing, a call, an answer."""


def act(server: StandIn, messages: Sequence[tuple[str, str]], tools: Mapping[str, Mapping[str, Any]]) -> str | list[Call]:
    """Look up the town that is named last; as a judge, let everything pass."""
    told = " ".join(text for who, text in messages if who != "system")
    if not tools:
        return "Pass" if "Pass or Fail" in told else "Yes"
    results = [text for who, text in messages if who == "result"]
    if results:
        return [("Finish", {"final_answer": f"It is {results[-1]}"})] if "Finish" in tools else f"It is {results[-1]}"
    town = max(TOWNS, key=told.rfind)
    if town not in told:
        return [("ask_human", {"question": "Which town?"})]
    return [("town_latitude", {"town": town})]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(StandIn, "act", act)
    with serving("guesses") as found:
        monkeypatch.setenv("STAND_BASE_URL", f"{found.url}/v1")
        yield found


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of 12 episodes, of which two run at a time."""
    found = make_world(tmp_path)
    return {**found, "model": MODEL, "tools": "replay", "epochs": 3, "max_episodes": 2, "progress": False}


class Heard(list[RunEvent]):
    """A run's events."""

    @property
    def spent(self) -> BudgetSpent:
        (found,) = (one for one in self if isinstance(one, BudgetSpent))
        return found

    @property
    def reached(self) -> list[BudgetReached]:
        return [one for one in self if isinstance(one, BudgetReached)]


def ran(verb: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Heard]:
    heard = Heard()
    return verb(*args, on_event=heard.append, **options), heard


def rows(run: StoredRun) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in {"elapsed_s", "run"}} for row in run.to_records()]


@pytest.mark.parametrize(("limit", "least", "each"), [("requests=7", 7, PER_EPISODE), ("tokens=100", 100, 14 * PER_EPISODE)])
def test_a_limit_of_what_is_asked_stops_in_time(server: StandIn, world: dict[str, Any], limit: str, least: int, each: int) -> None:
    stored, heard = ran(talm_sim.run, **world, budget=limit)
    name = limit.partition("=")[0]
    assert [one.limits for one in heard.reached] == [(name,)]
    spent = heard.spent.spent
    assert least <= spent[name] <= least + 2 * each
    assert spent["requests"] == len(server.requests) and spent["tokens"] == 14 * len(server.requests)
    assert stored.finished * PER_EPISODE == len(server.requests) and heard.spent.left == {"episodes": 12 - stored.finished}
    assert stored.unjudged == 0, "judges that ask no model judge what is finished"


def test_a_limit_of_the_cost_counts_every_model_at_its_price(server: StandIn, world: dict[str, Any], tmp_path: Path) -> None:
    prices = tmp_path / "p.toml"
    prices.write_text(f'currency = "EUR"\n"{MODEL}" = {{input = 1000, output = 100000}}\n', encoding="utf-8")
    each = (11 * 1000 + 3 * 100000) / 1e6
    stored, heard = ran(talm_sim.run, **world, budget=f"cost={each * 8}", prices=prices)
    assert heard.spent.currency == "EUR" and heard.spent.spent["cost"] == pytest.approx(each * len(server.requests))
    assert 8 <= len(server.requests) <= 8 + 2 * PER_EPISODE and 0 < stored.finished < 12


def test_a_limit_of_the_minutes_ends_by_a_clock_that_nobody_sets(
    server: StandIn, world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talm_sim.runs.budget.time.monotonic", lambda: 60.0 * len(server.requests))  # a minute for each request
    stored, heard = ran(talm_sim.run, **world, budget="minutes=6.5")
    assert 7 <= len(server.requests) <= 7 + 2 * PER_EPISODE and heard.reached[0].limits == ("minutes",)
    assert heard.spent.parts == () and 0 < stored.finished < 12


def test_a_run_that_is_resumed_with_new_budgets_ends_with_the_same_rows(server: StandIn, world: dict[str, Any], tmp_path: Path) -> None:
    whole = talm_sim.run(**{**world, "judge": ("reference", "llm"), "judge_model": JUDGE, "run_dir": tmp_path / "whole"})
    asked = len(server.requests)
    stored, heard = ran(talm_sim.run, **world, budget="requests=10", judge=("reference", "llm"), judge_model=JUDGE)
    assert heard.spent.left["judge llm"] == stored.finished == stored.unjudged, "the agent spent it all"
    sessions, spent = 1, heard.spent.spent["requests"]
    while heard.spent.left:
        stored, heard = ran(talm_sim.resume, stored, budget="requests=10", progress=False, max_episodes=2, max_connections=2)
        sessions, spent = sessions + 1, spent + heard.spent.spent["requests"]
        assert heard.spent.spent["requests"] <= 10 + 2 * PER_EPISODE
    assert sessions > 4 and spent == len(server.requests) - asked == asked, "nothing is asked twice"
    assert rows(stored) == rows(whole) and stored.unjudged == 0
    assert [one.record() | {"run": ""} for one in stored.summary()] == [one.record() | {"run": ""} for one in whole.summary()]


def test_judging_stops_alike_and_says_what_is_left(server: StandIn, world: dict[str, Any]) -> None:
    stored = talm_sim.run(**world)
    agent = len(server.requests)
    judged: dict[str, Any] = {"judge": ("reference", "llm"), "judge_model": JUDGE, "max_connections": 1}
    _, heard = ran(talm_sim.judge, stored, **judged, budget="requests=7")
    assert [(one.part, one.model, one.requests) for one in heard.spent.parts] == [("judge", JUDGE, 9)]  # three votes for each of three
    assert heard.spent.left == {"judge llm": 9} and stored.unjudged == 9
    _, heard = ran(talm_sim.judge, stored, **judged)
    assert not heard.reached and stored.unjudged == 0 and len(server.requests) - agent == 36


def test_a_budget_is_no_part_of_a_run_or_of_a_recordings_key(
    server: StandIn, world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "p.toml"
    prices.write_text(f'"{MODEL}" = {{input = 1, output = 1}}\n', encoding="utf-8")
    begun, heard = ran(talm_sim.run, **world, models="record", budget="requests=10,cost=9", prices=prices)
    assert heard.spent.left and begun.manifest.config.budget == "" and begun.manifest.config.prices is None
    assert "p.toml" not in (begun.path / "run.json").read_text(encoding="utf-8")
    done, heard = ran(talm_sim.resume, begun, progress=False)
    assert done.finished == 12 and not heard.reached and not [one for one in heard if isinstance(one, BudgetSpent)]
    asked = len(server.requests)
    for name in ("STAND_BASE_URL", "STAND_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    # A replay asks nobody, so it spends nothing, and needs no price.
    replayed, heard = ran(talm_sim.run, **world, models="replay", budget="requests=1,cost=0.01,tokens=1", prices=prices)
    assert replayed.finished == 12 and heard.spent.parts == () and len(server.requests) == asked
    assert heard.spent.spent["requests"] == heard.spent.spent["cost"] == 0


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "budget cost: needs the prices of the models; add prices="),
        ({"prices": '"other/m" = {input = 1, output = 1}'}, f"no price for {MODEL}. Known: other/m."),
        ({"prices": f'"{MODEL}" = {{input = 1, output = 1}}', "judge_model": JUDGE}, f"no price for {JUDGE}."),
    ],
)
def test_a_price_that_is_missing_is_said_before_anything_runs(
    server: StandIn, world: dict[str, Any], tmp_path: Path, options: dict[str, Any], line: str
) -> None:
    if "prices" in options:
        (tmp_path / "p.toml").write_text(options["prices"], encoding="utf-8")
        options = options | {"prices": tmp_path / "p.toml"}
    with pytest.raises(PrerequisiteError) as refused:
        talm_sim.run(**world, **options, budget="cost=1")
    assert line in str(refused.value) and not server.requests and not (tmp_path / "runs").exists()


def test_a_grid_has_one_budget_and_continues(server: StandIn, world: dict[str, Any]) -> None:
    grid: dict[str, Any] = {"over": {"seed": [1, 2, 3]}, "epochs": 1}
    options = {name: value for name, value in world.items() if name not in {"epochs", "progress"}}
    done, heard = ran(talm_sim.ablate, **grid, **options, budget="requests=20")
    assert len(done.cells) == 2 and [cell.run.finished == 4 for cell in done.cells] == [True, False]
    assert heard.spent.left == {"episodes": 4 - done.cells[1].run.finished, "cells": 1}
    assert heard.spent.spent["requests"] == len(server.requests) <= 20 + 2 * PER_EPISODE
    done, heard = ran(talm_sim.ablate, **grid, **options, budget="requests=100")
    assert [cell.run.finished for cell in done.cells] == [4, 4, 4] and not heard.spent.left
    assert len(server.requests) == 12 * PER_EPISODE


# --- people and agents of one's own ---------------------------------------------------------------------------------------------------


class Brought(BaseChatModel):
    """A model that an agent brings itself."""

    says_tokens: bool = True

    @property
    def _llm_type(self) -> str:
        return "brought"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        used = {"input_tokens": 20, "output_tokens": 2, "total_tokens": 22} if self.says_tokens else None
        return ChatResult(generations=[ChatGeneration(message=AIMessage("41", usage_metadata=used))])


@pytest.mark.parametrize("says_tokens", [True, False])
def test_the_models_that_an_agent_brings_are_counted_where_they_are_langchains(world: dict[str, Any], says_tokens: bool) -> None:
    model = Brought(says_tokens=says_tokens)

    async def agent(messages: Any, tools: Any) -> Any:
        return await model.ainvoke(messages)

    options = {name: value for name, value in world.items() if name != "model"}
    stored, heard = ran(talm_sim.run, **options, agent=agent, budget="requests=5,tokens=100000")
    (part,) = heard.spent.parts
    assert 5 <= part.requests == stored.finished <= 7 and part.part == "agent" and part.model.startswith("agent/")
    assert (part.bounded, part.input_tokens) == (0, 20 * part.requests) if says_tokens else part.bounded == part.requests
    (started,) = (one for one in heard if isinstance(one, RunStarted))
    assert "budget: of the models that your agent brings, only LangChain's are counted" in started.notices


# --- the batch ------------------------------------------------------------------------------------------------------------------------


class Counted(ScriptedRunner):
    """A runner whose every stretch is a request."""

    def __init__(self, spending: Spending, **how: Any) -> None:
        super().__init__(**how)
        self.spending = spending

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = await super().__call__(*args, **kwargs)
        assert self.spending.meter is not None
        self.spending.meter.add_turn("m/m", None, talm_sim.types.Usage())
        return result


async def batch(run: Path, limit: str, heard: Heard, **options: Any) -> tuple[Counted, Any]:
    spending = Spending(read_budget(limit), {"m/m": Price(1, 1)}, heard.append)
    runner = Counted(spending)
    async with RunStore.open(run) as store:
        counts = await run_batch(store, runner, store.progress(), spending=spending, on_event=heard.append, **options)
    heard.append(spending.report())
    return runner, counts


@pytest.mark.parametrize("at_once", [1, 3])
async def test_a_limit_that_the_last_episode_reaches_leaves_nothing(tmp_path: Path, at_once: int) -> None:
    heard = Heard()
    _, counts = await batch(new_run(tmp_path, 6), "requests=6", heard, max_episodes=at_once)
    assert counts.finished == 6 and not heard.reached and not heard.spent.left


async def test_nobody_is_waited_for_once_the_minutes_are_over(tmp_path: Path) -> None:
    heard, run = Heard(), new_run(tmp_path, 3, asks=2)
    _, counts = await batch(run, "minutes=0.01,requests=99", heard, wait=True)
    assert (counts.finished, counts.waiting) == (1, 2) and [one.limits for one in heard.reached] == [("minutes",)]
