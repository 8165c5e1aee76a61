"""What users bring is loaded by every worker, and what their code does stays with its episode."""

from __future__ import annotations

import json
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim import register_judge
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.stored_run import load_run
from talm_sim.types import Termination
from tests.runs.recorded_world import make_world
from tests.runs.workers.conftest import NAME
from tests.runs.workers.watched import content, tables, workers_of
from tests.warm import warm_python


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    found = {**make_world(tmp_path), "tools": "replay", "human": "none", "progress": False}
    del found["model"]
    return found


def test_plugins_and_an_agent_are_loaded_by_the_workers(world: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    more: dict[str, Any] = {
        "agent": f"{NAME}:looks",
        "plugin": (NAME,),
        "judge": ("short-in-workers",),
        "perturb": ("refuses-in-workers:p=.5",),
        "epochs": 4,
    }
    alone = talm_sim.run(**world, **more)
    capfd.readouterr()
    run = talm_sim.run(**world, **more, workers=2)
    out, err = capfd.readouterr()
    assert (content(run), tables(run)) == (content(alone), tables(alone))
    assert out == "" and err.count("an agent prints this") == 16, "what is printed in a worker is talk"
    fired = {one.fired for episode in run.episodes() for one in episode.perturbations}
    assert fired == {0, 1}


def test_an_agent_that_fails_fails_in_its_episode(world: dict[str, Any]) -> None:
    alone = talm_sim.run(**world, agent=f"{NAME}:fails")
    run = talm_sim.run(**world, agent=f"{NAME}:fails", workers=2)
    assert tables(run) == tables(alone)
    ended = {episode.scenario_id: (episode.termination, episode.error) for episode in run.episodes()}
    assert ended == {episode.scenario_id: (episode.termination, episode.error) for episode in alone.episodes()}
    assert ended["towns-rome"][0] is ended["towns-oslo"][0] is Termination.AGENT_ERROR


def test_an_agent_that_ends_the_process_ends_the_run_in_a_line(world: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"^4 workers have died; the last one was gone with exit code 7: find out why") as caught:
        talm_sim.run(**world, agent=f"{NAME}:exits", workers=2, run_id="exits")
    path = tmp_path / "runs" / "exits"
    assert str(caught.value).endswith(f"continue with: talm-sim resume {path} --agent {NAME}:exits")
    assert workers_of() == [] and {"towns-rome"}.isdisjoint(episode.id for episode in load_run(path).episodes())


def test_an_agent_that_blocks_the_loop_costs_its_own_episode(world: dict[str, Any]) -> None:
    run = talm_sim.run(**world, agent=f"{NAME}:blocks", agent_timeout=1.0, workers=2, max_episodes=4)
    ended = {episode.id: episode for episode in run.episodes()}
    assert "it blocked the event loop of all agents at " in ended.pop("towns-rome").error
    assert [episode.termination for episode in ended.values()] == [Termination.ANSWERED] * 3
    assert {episode.attempt for episode in ended.values()} == {1, 2}, "what was beside it in its worker started again"


def test_an_agent_reads_no_orders(world: dict[str, Any]) -> None:
    run = talm_sim.run(**world, agent=f"{NAME}:reads_input", workers=2)
    assert {episode.answer for episode in run.episodes()} == {"there is no input"}


def test_an_error_of_a_judge_is_reported_by_the_run_and_costs_no_episode(world: dict[str, Any], tmp_path: Path) -> None:
    more: dict[str, Any] = {"plugin": (NAME,), "judge": ("reference", "broken-in-workers"), "run_id": "broken"}
    with pytest.raises(ZeroDivisionError, match="a judge's own error"):
        talm_sim.run(**world, **more, agent=f"{NAME}:looks", workers=2)
    assert load_run(tmp_path / "runs" / "broken").finished == 4


def test_the_script_that_runs_needs_no_guard(world: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    options = {name: str(value) if isinstance(value, Path) else value for name, value in world.items()}
    file.write_text(
        "import asyncio, json, sys, talm_sim\n"
        f"options = json.loads({json.dumps(options)!r})\n"
        "run = talm_sim.run(**options, model='sim/oracle', workers=2)\n"
        "async def notebook():\n"
        "    first = await talm_sim.run_async(**options, model='sim/oracle', workers=2)\n"
        "    return first, talm_sim.run(**options, model='sim/oracle', workers=2)\n"
        "print(run.finished, [one.finished for one in asyncio.run(notebook())])\n",
        encoding="utf-8",
    )
    code = f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')"
    done = subprocess.run([warm_python(), "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.returncode) == ("4 [4, 4]\n", 0), done.stderr


def tool(town: str) -> str:
    """Say where a town is."""
    return town


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"agent": lambda messages, tools: "an answer"}, "is known in this process alone; put it into a module"),
        ({"model": "sim/oracle", "tools": [tool]}, "these tools are known in this process alone; put them into a module and name it"),
        (
            {"model": "hf/a/b"},
            "runs in the process that uses it, so each would load it; serve it and name it as openai-api/SERVICE/NAME.",
        ),
        ({"model": "vllm/a/b"}, "vllm/a/b runs in the process that uses it"),
        ({"model": "sim/oracle", "max_episodes": 1}, "max_episodes 1 leaves nothing for some of them; use fewer workers."),
        ({"model": "sim/oracle", "human": "terminal", "ask_limit_run": 3}, "ask_limit_run counts the questions of the whole run"),
        ({"model": "sim/oracle", "workers": 0}, "workers: 0 is too small"),
    ],
)
def test_what_workers_cannot_have_is_refused_in_a_line(world: dict[str, Any], tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        talm_sim.run(**{"workers": 2, **world, **options})
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_what_the_script_itself_defines_is_refused_before_there_is_a_run(
    world: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Here(import_module(NAME).ShortAnswer):  # type: ignore[misc]
        """Another one."""

        name = "here-alone"

    monkeypatch.setattr(Here, "__module__", "__main__")
    register_judge(Here)
    with pytest.raises(PrerequisiteError, match="judge here-alone is defined in the script that runs; put it into a module of its own"):
        talm_sim.run(**world, model="sim/oracle", judge=("here-alone",), workers=2)
    assert not (tmp_path / "runs").exists()
