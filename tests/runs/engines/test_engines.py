"""Shards that an engine plays become the run that one process plays; what ends early is kept, and said."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import OutOfBudgetError, PrerequisiteError
from talm_sim.runs.engines.base import Order, carry_out
from talm_sim.runs.events import BudgetSpent, RunEvent, RunFinished, RunStarted, ShardsProgress
from talm_sim.store.files import lease
from talm_sim.store.kept_shards import KeptShards
from talm_sim.store.stored_run import StoredRun
from tests.runs.engines.here import blind, engine
from tests.runs.recorded_world import make_world

OPTIONS: dict[str, Any] = {"split": "underspecified", "limit": "6", "model": "sim/oracle", "tools": "replay", "progress": False}


def play(run_dir: Path, name: str | None = "many", **options: Any) -> StoredRun:
    return talm_sim.run(**{**OPTIONS, "run_dir": run_dir, "run_id": name, "on": "here", **options})


def content(run: StoredRun) -> list[dict[str, Any]]:
    """All that a run says of its episodes but the times."""
    found = [episode.model_dump(mode="json") for episode in run.episodes()]

    def without_times(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_times(one) for key, one in value.items() if not key.endswith(("_s", "_ms", "_at", "time"))}
        return [without_times(one) for one in value] if isinstance(value, list) else value

    return [without_times(one) for one in found]


def hidden(run_dir: Path) -> list[str]:
    return [path.name for path in run_dir.iterdir() if path.name.startswith(".")]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return talm_sim.run(**OPTIONS, run_dir=tmp_path_factory.mktemp("alone"), run_id="one")


@pytest.mark.parametrize("change", [lambda order: order, blind], ids=["shared", "fetched"])
def test_the_run_is_what_one_process_plays(tmp_path: Path, alone: StoredRun, change: Callable[[Order], Order]) -> None:
    events: list[RunEvent] = []
    with engine(change) as here:
        run = play(tmp_path, on="here:4://node:1", on_event=events.append)
    assert (here.addresses, here.closed) == (["node:1"], 1)
    assert content(run) == content(alone)
    assert run.summary_records() == [{**one, "run": "many"} if "run" in one else one for one in alone.summary_records()]
    assert run.judged and run.closed and not hidden(tmp_path)
    assert sum(one.rows for one in run.shards) == 6 and {one.part.partition("/")[2] for one in run.shards} == {"4"}
    assert run.manifest.config.on is None and run.manifest.config.shard is None
    start = next(event for event in events if isinstance(event, RunStarted))
    where = "are played in" if change is not blind else "are fetched from their nodes"
    assert where in start.notices[0] and start.total == 6 and start.path == str(tmp_path / "many")
    ends = [event for event in events if isinstance(event, ShardsProgress) and event.shard]
    assert len(ends) == len(run.shards) and ends[-1].left == 0 and ends[-1].finished == 6 and not any(event.error for event in ends)
    assert isinstance(events[-1], RunFinished) and events[-1].terminations == {"answered": 6}


def test_by_default_there_is_a_shard_per_cpu_and_no_more_than_bases(tmp_path: Path) -> None:
    with engine(room=2) as here:
        assert {one.part.partition("/")[2] for one in play(tmp_path, "two", limit="3").shards} == {"2"}
        here.room = 500
        assert {one.part.partition("/")[2] for one in play(tmp_path, "more", limit="3").shards} == {"3"}


def test_a_shard_that_fails_is_named_and_the_same_call_plays_the_rest(tmp_path: Path, alone: StoredRun) -> None:
    failing: list[str] = []

    def fail_two(order: Order) -> Order:
        if order.name and len(failing) < 2:
            failing.append(order.name)
            raise PrerequisiteError("its nodes failed (the lights went out).")
        return order

    with engine(fail_two) as here, pytest.raises(PrerequisiteError) as failed:
        play(tmp_path, on="here:4")
    assert re.search(
        r"2 of 3 shards failed, for example ./4: its nodes failed \(the lights went out\)\. The others are kept\.", str(failed.value)
    )
    assert f"Continue with: talm-sim resume {tmp_path / 'many'}" in str(failed.value)
    assert here.closed == 1 and not (tmp_path / "many").exists() and hidden(tmp_path) == [".many.shards"]
    assert talm_sim.list_runs(tmp_path) == []
    with engine(room=9) as here:
        run = talm_sim.resume("many", run_dir=tmp_path)  # the number of shards is remembered
    assert sorted(order.name for order in here.orders if order.name) == sorted(failing)
    assert content(run) == content(alone) and not hidden(tmp_path)


def test_a_shard_that_a_node_began_is_resumed_by_another(tmp_path: Path, alone: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first node stops in the middle, and is silent from then on; it is another machine, so nothing but its silence is known of it."""
    monkeypatch.setattr(lease, "STALE_SECONDS", 1.5)
    waited: list[float] = []

    def begin(order: Order) -> Order:
        if order.name:
            config = talm_sim.RunConfig.model_validate_json(order.config)
            half = config.model_copy(update={"budget": "minutes=0.0001", "max_episodes": 1})
            carry_out(replace(order, config=half.model_dump_json(exclude_unset=True)))
            path = Path(order.place) / order.name
            with closing(sqlite3.connect(path / "run.db")) as conn, conn:
                values = (7, "elsewhere", "boot/", time.time())
                conn.execute("INSERT INTO lease (one, token, pid, host, process, heartbeat) VALUES (1, 'x', ?, ?, ?, ?)", values)
            waited.append(time.monotonic())
        return order

    with engine(begin):
        run = play(tmp_path, on="here:2")
    assert content(run) == content(alone)
    assert time.monotonic() - waited[0] > 1.0


def test_nothing_is_continued_with_other_options(tmp_path: Path) -> None:
    def fail(order: Order) -> Order:
        if order.name.startswith("shard-1-"):
            raise PrerequisiteError("gone.")
        return order

    world = make_world(tmp_path)
    many = world["run_dir"] / "many"
    with engine(fail), pytest.raises(PrerequisiteError):
        play(**world, on="here:3")
    with engine() as here:
        with pytest.raises(PrerequisiteError, match="a run of this name exists; choose another run_id, or continue it with: talm-sim resume"):
            play(**world)
        for options, said in (
            ({"seed": 5}, "seed would change from '0' to '5'"),
            ({"on": "here"}, "on belongs to"),
            ({"agent": "brought:agent"}, "does not start what a stored run names; continue with: talm-sim resume"),
        ):
            with pytest.raises(PrerequisiteError, match=said):
                talm_sim.resume(many, **options)
        world["scenarios"].write_text(world["scenarios"].read_text(encoding="utf-8").replace("How far", "How"), encoding="utf-8")
        with pytest.raises(PrerequisiteError, match="was begun with another set of scenarios"):
            talm_sim.resume(many)
        assert here.orders == []
        plan = many.with_name(".many.shards") / "plan.json"
        for text in ("[]", "{", json.dumps({**json.loads(plan.read_text()), "shards": "x"})):
            plan.write_text(text)
            with pytest.raises(PrerequisiteError, match=r"plan\.json: is damaged"):
                talm_sim.resume(many)


def test_code_of_the_users_is_named_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored run starts no code by itself: not the agent, not a plugin, not the tools."""
    (tmp_path / "agent_of_shards.py").write_text("async def agent(messages, tools):\n    return 'Yes'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    options = {**OPTIONS, "run_dir": tmp_path, "run_id": "many", "on": "here"}
    del options["model"]
    with engine(lambda order: replace(order, until=1.0)), pytest.raises(OutOfBudgetError) as stopped:
        talm_sim.run(**options, agent="agent_of_shards:agent", plugin=("agent_of_shards",), budget="minutes=5")
    command = f"talm-sim resume {tmp_path / 'many'} --plugin agent_of_shards --agent agent_of_shards:agent"
    assert str(stopped.value).endswith(f"{command} --budget minutes=5")
    with engine() as here:
        with pytest.raises(PrerequisiteError, match=f"continue with: {command}$"):
            talm_sim.resume("many", run_dir=tmp_path, agent="agent_of_shards:agent")
        assert talm_sim.resume("many", run_dir=tmp_path, agent="agent_of_shards:agent", plugin=("agent_of_shards",)).finished == 6
    assert all(json.loads(order.config)["options"]["agent"] == "agent_of_shards:agent" for order in here.orders if order.name)


def test_a_run_that_exists_is_not_played_again_and_a_new_name_is_free(tmp_path: Path) -> None:
    with engine() as here:
        first = play(tmp_path, None, on="here:1")
        with pytest.raises(PrerequisiteError, match="a run of this name exists"):
            play(tmp_path, first.id)
        with pytest.raises(PrerequisiteError, match="is not a run name"):
            play(tmp_path, "../up")
        assert play(tmp_path, None, on="here:1").id != first.id
    assert len([order for order in here.orders if order.name]) == 2


def test_nothing_is_left_if_no_shard_began(tmp_path: Path) -> None:
    with engine(lambda order: replace(order, version="0.0.9")), pytest.raises(PrerequisiteError) as refused:
        play(tmp_path)
    assert "is installed there, and here 0.0.9; install the same version." in str(refused.value)
    assert hidden(tmp_path) == []


def test_a_budget_is_divided_and_its_time_is_that_of_the_command(tmp_path: Path) -> None:
    events: list[RunEvent] = []
    with engine() as here:
        with pytest.raises(OutOfBudgetError, match=r"the budget is spent: \d of 6 episodes are finished, all kept. Continue with"):
            play(tmp_path, on="here:3", budget="requests=7,minutes=0.0001", on_event=events.append)
        texts = [talm_sim.RunConfig.model_validate_json(order.config).budget for order in here.orders if order.name]
        assert sorted(texts) == ["requests=2", "requests=2", "requests=3"]
        assert all(order.until is not None and order.until < time.time() for order in here.orders if order.name)
        start = next(event for event in events if isinstance(event, RunStarted))
        assert start.notices[1:] == ("budget: requests=7 is divided evenly among 3 shards",)
        (spent,) = (event for event in events if isinstance(event, BudgetSpent))
        assert spent.limits == {"requests": 7, "minutes": 0.0001} and spent.left["episodes"] > 0
        with pytest.raises(PrerequisiteError, match="budget: requests=2 cannot be divided among 3 shards; play fewer"):
            talm_sim.resume(tmp_path / "many", budget="requests=2")
        assert talm_sim.resume(tmp_path / "many", budget="minutes=5").finished == 6


def test_recordings_are_not_made_where_they_would_be_lost(tmp_path: Path) -> None:
    with engine(blind), pytest.raises(PrerequisiteError, match="the recordings would be lost; use shared storage"):
        play(tmp_path, tools="record", cassettes=tmp_path / "made")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on": "rya"}, "on rya: there is no engine 'rya'. Did you mean 'ray'?"),
        ({"on": "here:0"}, "after the engine comes a number of shards from 1 to 10,000, as in here:4"),
        ({"on": "local://x"}, "processes of this machine have no address"),
        ({"workers": 2}, 'is gone: processes of this machine play a run with on="local:N"'),
        ({"shard": "1/2"}, 'cuts the run into shards itself; leave out shard="1/2"'),
        ({"human": "terminal"}, "human terminal asks through one run's queue"),
        ({"human": "simulated", "ask_limit_run": 3}, "ask_limit_run counts the questions of a whole run"),
        ({"model": "hf/some/model"}, "hf/some/model runs in the process that uses it"),
        ({"agent": lambda messages, tools: messages}, "is known in this process alone"),
        ({"paired_run": "other"}, "paired_run compares whole runs"),
    ],
    ids=lambda one: "" if isinstance(one, str) else next(iter(one)),
)
def test_what_cannot_be_moved_is_refused_in_a_line_before_anything_is_opened(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with engine() as here, pytest.raises(PrerequisiteError) as refused:
        play(tmp_path, **options)
    assert said in str(refused.value)
    assert (here.addresses, [*tmp_path.iterdir()]) == ([], [])


def test_the_cells_of_a_grid_are_played_and_continue(tmp_path: Path) -> None:
    failing: list[str] = []

    def fail_one(order: Order) -> Order:
        if order.name and not failing:
            failing.append(order.name)
            raise PrerequisiteError("its nodes failed.")
        return order

    over: dict[str, list[Any]] = {"seed": [0, 1], "judge": [(), ("reference",)]}
    base = {**OPTIONS, "on": "here:2", "run_dir": tmp_path}
    with pytest.raises(PrerequisiteError, match="ablate: budget counts what one process spends"):
        talm_sim.ablate(over=over, **base, budget="requests=5")
    with engine(fail_one):
        with pytest.raises(PrerequisiteError, match="its nodes failed"):
            talm_sim.ablate(over=over, **base)
        grid = talm_sim.ablate(over=over, **base)
    assert [cell.run.finished for cell in grid.cells] == [6, 6, 6, 6]
    assert [len(cell.run.shards) for cell in grid.cells] == [2, 0, 2, 0], "a cell that differs in its judges has the episodes of the other"
    assert not hidden(tmp_path) and all(cell.run.manifest.config.on is None for cell in grid.cells)


def test_ray_that_is_not_installed_is_said_with_the_command_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(PrerequisiteError, match=r"on ray: needs Ray; install it with: pip install .*\[ray\]"):
        play(tmp_path, on="ray")
    assert [*tmp_path.iterdir()] == []


def test_files_of_a_node_stay_in_the_directory_of_their_shard(tmp_path: Path) -> None:
    kept = KeptShards(tmp_path / "many", tmp_path, "token", 1, {1: 1})
    kept.put(1, {"../run.db": b"x", "run.json": b"y"})
    assert sorted(path.name for path in kept.path(1).iterdir()) == ["run.db", "run.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["shard-1-of-1"]
