"""Agents and tools that block the loop they share, or a thread: their episodes end, and say in which line; the others finish."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

import talm_sim
from talm_sim.foreign.loop import foreign_loop
from talm_sim.tools_env.sources.python import PythonSource
from talm_sim.types import Episode, Termination
from tests.runs.recorded_world import make_world

ENDED, ANSWERED = Termination.AGENT_ERROR, Termination.ANSWERED


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What blocks waits for this, so that nothing is left when the test has ended."""
    event = threading.Event()
    yield event
    event.set()


def played(directory: Path, agent: Any, **more: Any) -> list[Episode]:
    """The episodes of a run over the four perfect scenarios, four times each and all at once."""
    directory.mkdir(exist_ok=True)
    world = {name: value for name, value in make_world(directory).items() if name != "model"}
    options = {"epochs": 4, "max_episodes": 16, "agent_timeout": 1.0, "tools": "replay", **more}
    return list(talm_sim.run(**world, agent=agent, **options).episodes())


def one(directory: Path, agent: Any, **more: Any) -> Episode:
    (episode,) = played(directory, agent, epochs=1, scenario="towns-rome", **more)
    return episode


def line_of(function: Any, text: str) -> str:
    lines, first = inspect.getsourcelines(function)
    return f"{__file__}, line {first + next(number for number, line in enumerate(lines) if text in line)}"


async def looks(messages: Any, tools: Sequence[BaseTool]) -> str:
    return str(await tools[0].ainvoke({"town": messages[0].text.split()[4].strip(",")}))


def test_one_blocks_the_loop_and_fifteen_finish(tmp_path: Path, released: threading.Event) -> None:
    before = foreign_loop()
    seen: list[int] = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        said = await looks(messages, tools)
        seen.append(1)
        while len(seen) < 16:
            await asyncio.sleep(0.01)
        if "rome" in messages[0].text and not blocking:
            blocking.append(1)
            released.wait(100)
        await asyncio.sleep(0.3)
        return said

    blocking: list[int] = []
    episodes = played(tmp_path, act)
    (ended,) = (episode for episode in episodes if episode.termination is not ANSWERED)
    assert ended.termination is ENDED
    assert (
        ended.error
        == f"the agent took more than 1 s (agent_timeout); it blocked the event loop of all agents at {line_of(act, 'released.wait')}"
    )
    assert foreign_loop() is not before
    others = [episode for episode in episodes if episode is not ended]
    assert len(others) == 15 and all(len(episode.tool_events) == 1 for episode in others)
    assert {episode.attempt for episode in others} == {2}, "they were under way, and started again"


def test_the_wait_for_another_is_not_counted(tmp_path: Path) -> None:
    """Each of sixteen blocks the loop for a quarter of its time: together for four times as long as one may take."""

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        time.sleep(0.25)
        return "41"

    assert {(episode.termination, episode.attempt) for episode in played(tmp_path, act, agent_timeout=1.0)} == {(ANSWERED, 1)}


def test_all_block(tmp_path: Path, released: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.agent.own.sessions._LET_GO_S", 0.1)

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        released.wait(100)
        return "41"

    episodes = played(tmp_path, act, epochs=1, agent_timeout=0.4)
    assert [episode.termination for episode in episodes] == [ENDED] * 4
    assert all(line_of(act, "released.wait") in episode.error for episode in episodes)
    assert one(tmp_path / "next", lambda messages, tools: "41").termination is ANSWERED


def test_a_blocked_thread_is_named_by_its_line(tmp_path: Path, released: threading.Event) -> None:
    def plain(messages: Any, tools: Any) -> str:
        released.wait(100)
        return "41"

    def node(state: MessagesState) -> dict[str, Any]:
        released.wait(100)
        return {}

    def build(tools: Sequence[BaseTool]) -> Any:
        graph = StateGraph(MessagesState).add_node("node", node).add_node("tools", ToolNode(tools))
        return graph.add_edge(START, "node").compile()

    async def in_thread(messages: Any, tools: Any) -> str:
        await asyncio.to_thread(plain, messages, tools)
        return "41"

    async def waits(messages: Any, tools: Any) -> str:
        await asyncio.Event().wait()
        return "41"

    for agent, where in {plain: plain, build: node, in_thread: plain}.items():
        episode = one(tmp_path / agent.__name__, agent, agent_timeout=0.3)
        assert episode.error.endswith(f"; it blocked a thread at {line_of(where, 'released.wait')}"), episode.error
    assert one(tmp_path / "waits", waits, agent_timeout=0.3).error.endswith(f"; it was waiting at {line_of(waits, 'Event().wait')}")


def test_one_that_asks_its_own_model_and_catches_everything_ends(tmp_path: Path) -> None:
    """It never gives the loop back once its episode has ended: what asks its model is told so at once."""
    model = FakeListChatModel(responses=["a"])
    asked: list[int] = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        if "rome" not in messages[0].text:
            while not asked:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            return await looks(messages, tools)
        while True:
            try:
                await model.ainvoke(messages)
            except BaseException:
                asked.append(1)

    ends = {episode.scenario_id: episode.termination for episode in played(tmp_path, act, epochs=1, agent_timeout=60)}
    assert ends == {"towns-rome": Termination.TURN_LIMIT, **dict.fromkeys(["towns-oslo", "towns-lima", "towns-cairo"], ANSWERED)}


def test_what_an_agent_left_running_blocks_later_ones_only_for_a_while(
    tmp_path: Path, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talm_sim.foreign.time._LEFT_OVER_S", 0.5)

    async def block() -> None:
        await asyncio.sleep(0.1)
        released.wait(100)

    async def leaves(messages: Any, tools: Any) -> str:
        kept.append(asyncio.create_task(block()))
        return "41"

    kept: list[Any] = []
    assert one(tmp_path / "first", leaves).termination is ANSWERED

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        await asyncio.sleep(0.2)
        return await looks(messages, tools)

    assert one(tmp_path / "second", act, agent_timeout=60).termination is ANSWERED


def test_an_episode_that_waits_for_a_person_starts_again_with_its_answer(tmp_path: Path, released: threading.Event) -> None:
    begun = []

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        by_name = {tool.name: tool for tool in tools}
        if "rome" in messages[0].text:
            while "told" not in begun:
                await asyncio.sleep(0.01)
            released.wait(100)
        begun.append("oslo")
        return str(await by_name["ask_human"].ainvoke({"question": "Which?"}))

    async def ask(question: Any, desk: Any) -> None:
        begun.append("told")
        await asyncio.sleep(2)
        desk.answer(question.key, "this one", responder="terminal")

    episodes = played(tmp_path, act, epochs=1, limit=2, human="terminal", ask=ask)
    assert {episode.scenario_id: (episode.termination, episode.attempt, episode.answer) for episode in episodes} == {
        "towns-oslo": (ANSWERED, 2, "this one"),
        "towns-rome": (ENDED, 1, ""),
    }
    assert (begun.count("oslo"), begun.count("told")) == (2, 1), "it began again, and the person was asked once"


def test_one_that_blocks_while_it_waits_for_a_person_ends_too(
    tmp_path: Path, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talm_sim.foreign.time._WAITING_BEAT_S", 0.1)

    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        if "rome" not in messages[0].text:
            await asyncio.sleep(0.8)
            return await looks(messages, tools)
        asked = asyncio.create_task({tool.name: tool for tool in tools}["ask_human"].ainvoke({"question": "Which?"}))
        await asyncio.sleep(0.4)
        released.wait(100)
        return str(await asked)

    async def ask(question: Any, desk: Any) -> None:
        await asyncio.sleep(3)
        desk.answer(question.key, "this one", responder="terminal")

    episodes = played(tmp_path, act, epochs=1, limit=2, human="terminal", ask=ask, agent_timeout=2.0)
    ends = {episode.scenario_id: (episode.termination, episode.attempt) for episode in episodes}
    assert ends == {"towns-oslo": (ANSWERED, 2), "towns-rome": (ENDED, 1)}


def test_what_a_run_within_an_agent_blocks_is_the_agents(tmp_path: Path, released: threading.Event) -> None:
    async def inner(messages: Any, tools: Sequence[BaseTool]) -> str:
        begun.append(1)
        released.wait(100)
        return "41"

    async def outer(messages: Any, tools: Sequence[BaseTool]) -> str:
        await asyncio.to_thread(one, tmp_path / "inner", inner, agent_timeout=0.5)
        return "41"

    async def outer_on_its_loop(messages: Any, tools: Sequence[BaseTool]) -> str:
        world = {name: value for name, value in make_world(tmp_path).items() if name != "model"}
        await talm_sim.run_async(**world, run_id="inner", agent=inner, tools="replay", scenario="towns-rome")
        return "41"

    begun: list[int] = []
    episode = one(tmp_path / "outer", outer, agent_timeout=60)
    assert (episode.termination, episode.attempt, len(begun)) == (ENDED, 1, 1)
    assert episode.error == f"a run within it blocked the event loop of all agents at {line_of(inner, 'released.wait')}"
    episode = one(tmp_path, outer_on_its_loop, agent_timeout=3)
    assert (episode.termination, episode.attempt, len(begun)) == (ENDED, 1, 2)
    assert line_of(inner, "released.wait") in episode.error


def test_what_an_agent_raises_on_the_loop_is_its_own_and_no_ctrl_c(tmp_path: Path) -> None:
    async def act(messages: Any, tools: Any) -> str:
        raise KeyboardInterrupt

    error = one(tmp_path, act).error
    assert error.startswith("RuntimeError: KeyboardInterrupt (") and line_of(act, "raise") in error


async def ask_office(question: str) -> dict[str, str]:
    """Ask the office.

    Args:
        question: What to ask.
    """
    if question == "blocks":
        RELEASED[0].wait(100)
    await asyncio.sleep(0.6)
    return {"said": "It is 41."}


RELEASED: list[threading.Event] = []


def offices(directory: Path, monkeypatch: pytest.MonkeyPatch, released: threading.Event, *questions: str) -> dict[str, Any]:
    """Options of a run in which each question is put to the office."""
    monkeypatch.setattr(f"{__name__}.RELEASED", [released])
    monkeypatch.setattr(PythonSource.__init__, "__kwdefaults__", {"timeout": 1.0})
    file = directory / "ask.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        for question in questions:
            call = {"name": "ask_office", "arguments": {"question": question}}
            turn = {"messages": [{"role": "user", "content": question}], "gold_calls": [call]}
            target = {"type": "facts", "required": [{"name": "said", "value": "It is 41."}]}
            scenario = {"id": question, "group": "perfect", "turns": [turn], "tools": ["ask_office"], "target": target}
            stream.write(json.dumps(scenario) + "\n")
    return {"scenarios": file, "split": "all", "run_dir": directory, "tools": [ask_office]}


def test_a_tool_that_blocks_the_loop_costs_only_its_own_call(
    tmp_path: Path, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own graph plays: nobody has an agent's time, but a call has its own."""
    before = foreign_loop()
    options = offices(tmp_path, monkeypatch, released, "blocks", "why", "how")
    episodes = talm_sim.run(model="sim/oracle", **options).episodes()
    errors = {episode.scenario_id: [event.error for event in episode.tool_events] for episode in episodes}
    assert errors == {"blocks": ["timeout"], "why": [""], "how": [""]}
    assert foreign_loop() is not before


def test_a_tool_that_blocks_the_loop_ends_the_agent_that_called_it(
    tmp_path: Path, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        return str(await tools[0].ainvoke({"question": messages[0].text}))

    options = offices(tmp_path, monkeypatch, released, "blocks", "why")
    episodes = talm_sim.run(agent=act, agent_timeout=2.0, **options).episodes()
    blocks, why = sorted(episodes, key=lambda episode: episode.scenario_id)
    assert (why.termination, why.attempt) == (ANSWERED, 2)
    assert blocks.termination is ENDED and blocks.error.endswith(f"at {line_of(ask_office, '].wait')}")
