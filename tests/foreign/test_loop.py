"""Clients that agents and tools made once: every run of a process finds the loop they were made on alive."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from openai import AsyncOpenAI

import talm_sim
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.loop import foreign_loop
from talm_sim.types import Termination
from tests.models.loopback import Loopback, chat_answer, loopback
from tests.runs.recorded_world import TOWNS, make_world

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A model server that keeps its connections, as real ones do."""
    with loopback(chat_answer("It is 41.")) as running:
        yield running


def closed(*clients: Any) -> None:
    """Close clients on the loop that they were used on, so that no socket is left for another test to find."""
    for client in clients:
        asyncio.run_coroutine_threadsafe(client.close(), foreign_loop()).result(60)


@pytest.fixture
def client(server: Loopback) -> Iterator[AsyncOpenAI]:
    """A client that is made once."""
    made = AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0)
    yield made
    closed(made)


def small_world(directory: Path) -> dict[str, Any]:
    directory.mkdir(exist_ok=True)
    return {name: value for name, value in make_world(directory).items() if name != "model"}


def play(world: dict[str, Any], agent: Any, **more: Any) -> list[Termination]:
    return [episode.termination for episode in talm_sim.run(**world, agent=agent, tools="replay", scenario="towns-rome", **more).episodes()]


def asking(client: AsyncOpenAI) -> Any:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        said = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": messages[-1].text}])
        return said.choices[0].message.content or ""

    return act


def test_a_client_made_once_serves_every_run(tmp_path: Path, client: AsyncOpenAI) -> None:
    act = asking(client)
    assert [play(small_world(tmp_path / str(number)), act) for number in range(3)] == [[Termination.ANSWERED]] * 3


async def test_where_a_loop_runs_and_on_the_callers_own(tmp_path: Path, client: AsyncOpenAI) -> None:
    act = asking(client)
    for number in range(2):  # as in a notebook
        assert play(small_world(tmp_path / str(number)), act) == [Termination.ANSWERED]
    seen = []

    async def own(messages: Any, tools: Sequence[BaseTool]) -> str:
        seen.append(asyncio.get_running_loop())
        return "41"

    await talm_sim.run_async(**small_world(tmp_path / "own"), agent=own, tools="replay", scenario="towns-rome")
    assert seen == [asyncio.get_running_loop()]


def test_one_client_serves_tests_that_have_a_loop_each(tmp_path: Path, client: AsyncOpenAI) -> None:
    """As pytest-asyncio runs them."""
    act = asking(client)

    async def test(number: int) -> list[Termination]:
        return play(small_world(tmp_path / str(number)), act)

    ends = []
    for number in range(2):
        with asyncio.Runner() as runner:
            ends += runner.run(test(number))
    assert ends == [Termination.ANSWERED] * 2


def test_agents_run_beside_the_run_and_not_on_its_loop(tmp_path: Path) -> None:
    seen = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        said = await tools[0].ainvoke({"town": "rome"})
        seen.append((asyncio.get_running_loop(), threading.get_ident()))
        return str(said)

    play(small_world(tmp_path), act)
    assert seen[0][0] is foreign_loop() and seen[0][1] != threading.get_ident()


def test_a_run_on_the_loop_of_agents_is_refused(tmp_path: Path) -> None:
    world = small_world(tmp_path)
    told = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        with pytest.raises(PrerequisiteError, match=r"use await run_async\(\.\.\.\)"):
            talm_sim.run(**world, tools="replay", scenario="towns-rome")
        inner = await talm_sim.run_async(**world, tools="replay", scenario="towns-rome", run_id="inner", model="sim/oracle")
        told.append(inner.finished)
        apart = await asyncio.to_thread(talm_sim.run, **world, tools="replay", scenario="towns-rome", run_id="apart", agent=within)
        told.append(apart.finished)
        return "41"

    async def within(messages: Any, tools: Sequence[BaseTool]) -> str:
        return "41"

    assert play({**world, "run_id": "outer"}, act) == [Termination.ANSWERED]
    assert told == [1, 1]


def test_what_an_agent_leaves_running_holds_nobody(tmp_path: Path) -> None:
    """A thread that never returns, a task that catches its end: the command ends, with nothing said of them."""
    code = f"""
import asyncio, sys, time
sys.path.insert(0, {str(ROOT)!r})
import talm_sim
from tests.foreign.test_loop import small_world
from pathlib import Path

async def deaf():
    while True:
        try:
            await asyncio.sleep(1000)
        except BaseException:
            pass

async def act(messages, tools):
    act.kept = asyncio.create_task(deaf())
    await asyncio.to_thread(time.sleep, 1000)

stored = talm_sim.run(**small_world(Path({str(tmp_path)!r})), agent=act, tools="replay", scenario="towns-rome", agent_timeout=0.5)
print([episode.termination.value for episode in stored.episodes()])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=110, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['agent_error']\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_has_a_loop_of_its_own(tmp_path: Path) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
import talm_sim
from tests.foreign.test_loop import small_world
from pathlib import Path

async def act(messages, tools):
    return "41"

def play(name):
    world = small_world(Path({str(tmp_path)!r}) / name)
    return [one.termination.value for one in talm_sim.run(**world, agent=act, tools="replay", scenario="towns-rome").episodes()]

play("parent")
pid = os.fork()
if pid == 0:
    print(play("child"), flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=110, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['answered']\n", "")


def test_an_async_tool_keeps_its_client_too(tmp_path: Path, client: AsyncOpenAI) -> None:
    async def ask_office(question: str) -> dict[str, str]:
        """Ask the office.

        Args:
            question: What to ask.
        """
        said = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return {"said": said.choices[0].message.content or ""}

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        return str(await tools[0].ainvoke({"question": "How?"}))

    turn = {"messages": [{"role": "user", "content": "Ask how."}], "gold_calls": [{"name": "ask_office", "arguments": {"question": "How?"}}]}
    target = {"type": "facts", "required": [{"name": "said", "value": "It is 41."}]}
    asked = {"id": "ask", "group": "perfect", "turns": [turn], "tools": ["ask_office"], "target": target}
    file = tmp_path / "ask.jsonl"
    file.write_text(json.dumps(asked) + "\n", encoding="utf-8")
    for number in range(3):
        stored = talm_sim.run(agent=act, tools=[ask_office], scenarios=file, split="all", run_dir=tmp_path / str(number))
        (episode,) = stored.episodes()
        assert "It is 41." in episode.answer, episode


@pytest.mark.parametrize("asynchronous", [True, False])
def test_an_agent_that_moves_to_another_directory_takes_the_run_not_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    async def act(messages: Any, tools: Any) -> str:
        os.chdir("/")
        await asyncio.sleep(0.01)
        return "done"

    def act_in_a_thread(messages: Any, tools: Any) -> str:
        os.chdir("/")
        return "done"

    world = small_world(tmp_path / "world")
    monkeypatch.chdir(tmp_path)
    world |= {"run_dir": Path("mine"), "run_id": "r"}
    stored = talm_sim.run(**world, agent=act if asynchronous else act_in_a_thread, tools="replay", scenario="towns-rome", epochs=6)
    assert (Path.cwd(), stored.path, stored.finished) == (tmp_path, Path("mine/r"), 6)
    assert [one.name for one in Path("mine").iterdir()] == ["r"]
    talm_sim.judge(stored)


def test_recordings_and_the_run_are_found_wherever_an_agent_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(messages: Any, tools: Any) -> str:
        os.chdir("/")
        return str(tools[0].invoke({"town": next(town for town in TOWNS if town in messages[-1].text)}))

    def asks_for_another(messages: Any, tools: Any) -> Any:
        return tools[0].invoke({"town": "Bern"})

    world = small_world(tmp_path)
    monkeypatch.chdir(tmp_path)
    world |= {"run_dir": Path("mine"), "cassettes": Path("cassettes"), "max_episodes": 1, "tools": "replay"}
    stored = talm_sim.run(**world, agent=act)
    assert [one.answer for one in stored.episodes()] == [str({"latitude": latitude}) for latitude in TOWNS.values()]
    (missed,) = talm_sim.run(**world, agent=asks_for_another, scenario="towns-rome").episodes()
    assert (missed.error or "").startswith("cassettes/tools/perfect/towns-rome.json: ")
    os.chdir("/")  # as a thread that an agent left behind may
    assert stored.finished == len(TOWNS)
