"""Tools that every episode has of its own: nothing of one is seen by another, and what was made is closed, however the episode ends."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from langchain_core.tools import StructuredTool, tool

from talm_sim import tool_factory
from talm_sim.agent.episode import Agent, Waiting, run_episode
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.recordings import CassetteLibrary
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources.python import PythonSource
from talm_sim.tools_env.toolbox import Tools, ToolSession
from talm_sim.types import Episode, Scenario, ToolCall, Turn

SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("put", "look"))


class Shelf:
    """Where things lie."""

    made: list[Shelf]
    closed: list[Shelf]

    def __init__(self) -> None:
        type(self).made.append(self)
        self.things: list[str] = []

    def put(self, thing: str) -> dict[str, int]:
        """Put a thing on the shelf."""
        self.things.append(thing)
        return {"place": len(self.things)}

    async def look(self) -> list[str]:
        """Look what is there."""
        await asyncio.sleep(0)
        return self.things

    look.read_only = True  # type: ignore[attr-defined]

    @staticmethod
    def size() -> int:
        """Say how much there is room for."""
        return 1_000

    @property
    def label(self) -> str:
        """No tool."""
        raise AssertionError("nobody asked for it")

    def sort(self) -> None:
        self.things.sort()

    def _dust(self) -> None:
        """No tool either."""

    def close(self) -> None:
        """Never a tool."""
        type(self).closed.append(self)


@pytest.fixture(autouse=True)
def _nothing_made() -> None:
    Shelf.made, Shelf.closed = [], []


@tool_factory
async def shelf_of_functions() -> list[Any]:
    """As functions of which none is a method."""
    things: list[str] = []

    def put(thing: str) -> dict[str, int]:
        """Put a thing on the shelf."""
        things.append(thing)
        return {"place": len(things)}

    @tool
    def look() -> list[str]:
        """Look what is there."""
        return things

    look.metadata = {"read_only": True}
    return [put, look]


@tool_factory
def shelf_object() -> Shelf:
    return Shelf()


KINDS: dict[str, Any] = {"class": Shelf, "functions": shelf_of_functions, "object": shelf_object}


async def toolbox(*objects: Any) -> Tools:
    return Tools([await PythonSource("shop", objects).look()])


async def said(session: ToolSession, name: str, **arguments: Any) -> Any:
    response, _ = await session.call(name, arguments)
    return json.loads(response.body)


async def test_public_methods_with_docstrings_are_the_tools_of_a_class() -> None:
    source = await PythonSource("shop", [Shelf]).look()
    assert list(source.specs) == ["put", "look", "size"] and source.specs["put"].required == ("thing",)
    assert [(one.tool, one.reason.partition(";")[0]) for one in source.not_taken] == [("Shelf.sort", "has no docstring")]
    assert {name: route.state for name, route in source.routes.items()} == {"put": "writes", "look": "reads", "size": "writes"}
    assert len(Shelf.made) == len(Shelf.closed) == 1, "it was made once, to see what its tools are"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(plans=st.lists(st.lists(st.none() | st.sampled_from("abc"), max_size=4), min_size=64, max_size=64))
def test_no_episode_of_64_sees_what_another_did(kind: str, plans: list[list[str | None]]) -> None:
    async def play(session: ToolSession, number: int, plan: Sequence[str | None]) -> None:
        mine: list[str] = []
        for step in plan:
            if step is None:
                assert await said(session, "look") == mine
            else:
                mine.append(f"{number}{step}")
                assert await said(session, "put", thing=mine[-1]) == {"place": len(mine)}
        await session.aclose()

    async def together() -> None:
        tools = await toolbox(KINDS[kind])
        await asyncio.gather(*(play(tools.open(f"s@{number}"), number, plan) for number, plan in enumerate(plans)))

    Shelf.made, Shelf.closed = [], []
    asyncio.run(together())
    assert Counter(map(id, Shelf.made)) == Counter(map(id, Shelf.closed))
    if kind != "functions":
        assert len(Shelf.made) == 1 + sum(map(bool, plans)), "one to look at, and one for each episode that calls"


async def test_calls_of_one_turn_are_made_in_their_order_where_one_changes_something() -> None:
    at_once: list[int] = []

    class Slow:
        """Takes the longer, the earlier it is called."""

        def __init__(self) -> None:
            self.done: list[str] = []
            self.reading = 0

        async def write(self, word: str) -> str:
            """Write a word."""
            for _ in range(20 - 4 * len(self.done)):
                await asyncio.sleep(0)
            self.done.append(word)
            return word

        async def read(self) -> list[str]:
            """Read what is written."""
            self.reading += 1
            at_once.append(self.reading)
            await asyncio.sleep(0)
            self.reading -= 1
            return list(self.done)

        read.read_only = True  # type: ignore[attr-defined]

    session = (await toolbox(Slow)).open()
    plan = [("write", {"word": "a"}), ("read", {}), ("read", {}), ("write", {"word": "b"}), ("write", {"word": "c"}), ("read", {})]
    found = await asyncio.gather(*(said(session, name, **arguments) for name, arguments in plan))
    assert found == ["a", ["a"], ["a"], "b", "c", ["a", "b", "c"]]
    assert at_once == [1, 2, 1], "what only reads goes on at the same time"


# --- the end of an episode ------------------------------------------------------------------------------------------------------------


class Acting:
    """Stands where a run has its model and graph: calls a tool, and then ends as it is told to."""

    name = "test/acting"

    def __init__(self, end: Callable[[], Any]) -> None:
        self.end = end

    async def ainvoke(self, step: Any, *, config: Any, context: Any) -> Any:
        await context.tools.call(ToolCall(id="1", name="put", arguments={"thing": "cup"}), 0)
        found = self.end()
        return await found if asyncio.iscoroutine(found) else found


async def agent_that(end: Callable[[], Any], *objects: Any) -> Agent:
    return Agent(model=Acting(end), graph=Acting(end), environment=Environment(await toolbox(*objects or (Shelf,))))  # type: ignore[arg-type]


def _fails() -> Any:
    raise RuntimeError("a bug")


async def test_its_tools_are_closed_when_an_episode_ends_or_fails() -> None:
    agent = await agent_that(lambda: {"termination": "answered"})
    assert isinstance(await run_episode(agent, SCENARIO), Episode)
    assert len(Shelf.made) == len(Shelf.closed) == 2
    with pytest.raises(RuntimeError, match="a bug"):
        await run_episode(await agent_that(_fails), SCENARIO)
    assert len(Shelf.made) == len(Shelf.closed) == 4


async def test_its_tools_are_closed_when_an_episode_is_cancelled() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(run_episode(await agent_that(wait), SCENARIO))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(Shelf.made) == len(Shelf.closed) == 2


class Asked:
    id, value = "q1", "Which?"


async def test_an_episode_that_waits_keeps_its_tools_until_it_goes_on_or_the_run_ends() -> None:
    ends: Iterator[Any] = iter([{"__interrupt__": [Asked]}, {"termination": "answered"}, {"__interrupt__": [Asked]}])
    agent = await agent_that(lambda: next(ends))
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting) and len(Shelf.closed) == 1
    assert isinstance(await run_episode(agent, SCENARIO, resume={}, state=waiting.state), Episode)
    assert [one.things for one in Shelf.made] == [[], ["cup", "cup"]] and len(Shelf.closed) == 2
    assert isinstance(await run_episode(agent, SCENARIO), Waiting)
    assert agent.environment is not None
    await agent.environment.aclose()
    assert len(Shelf.made) == len(Shelf.closed) == 3


async def test_who_calls_after_the_end_makes_nothing_new() -> None:
    for begun in (False, True):
        session = (await toolbox(Shelf)).open()
        if begun:
            await session.call("look", {})
        await session.aclose()
        with pytest.raises(ProviderError, match="The episode has ended, and its tools are closed"):
            await session.call("look", {})
    assert len(Shelf.made) == len(Shelf.closed)


async def test_what_cannot_be_closed_is_said_and_keeps_nothing_else_open(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck:
        def wait(self) -> int:
            """Wait."""
            return 1

        async def aclose(self) -> None:
            raise SystemExit("no")

        def close(self) -> None:
            raise AssertionError("not where there is an aclose")

    @tool_factory
    def both() -> list[Any]:
        return [Stuck(), Shelf()]

    session = (await toolbox(both)).open()
    await session.call("wait", {})
    await session.aclose()
    assert len(Shelf.made) == len(Shelf.closed) == 2
    assert {record.getMessage() for record in caplog.records} == {"tools of Stuck: aclose failed: SystemExit: no"}


# --- what is wrong with a class or a factory ------------------------------------------------------------------------------------------


class Wants:
    def __init__(self, path: str) -> None:
        raise AssertionError(path)


class Silent:
    def put(self, thing: str) -> None:
        raise AssertionError(thing)


class Broken(Shelf):
    def __init__(self) -> None:
        raise SystemExit("no disk")


@tool_factory
def wants(path: str) -> Any:
    raise AssertionError(path)


@tool_factory
def nothing() -> Any:
    return None


def put(thing: str) -> str:
    """Put a thing somewhere."""
    return thing


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([Wants], "Wants: takes 'path', but is called without arguments; pass a function marked @talm_sim.tool_factory that creates it"),
        ([wants], "wants: takes 'path', but is called without arguments; give it a default"),
        ([Silent], "Silent.put: has no docstring; write one, because models read it"),
        ([Broken], "Broken: cannot make the tools of an episode: SystemExit: no disk"),
        ([nothing], "shop: contains no tool"),
        ([put, Shelf], "two tools are called 'put'; rename one"),
        ([5], "5: is an object of type int; give functions, LangChain tools, or a class"),
    ],
)
async def test_what_is_wrong_is_one_line(objects: list[Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^{message}") as caught:
        await PythonSource("shop", objects).look()
    assert "\n" not in str(caught.value)


async def test_a_factory_that_fails_for_one_episode_is_a_failure_of_the_tools() -> None:
    left = [Shelf]

    @tool_factory
    def once() -> Shelf:
        return left.pop()()

    session = (await toolbox(once)).open()
    with pytest.raises(ProviderError, match=r"^once: cannot make the tools of an episode: IndexError: pop from empty list\.$"):
        await session.call("look", {})


# --- what only reads ------------------------------------------------------------------------------------------------------------------


def find(thing: str) -> str:
    """Find a thing."""
    return thing


find.read_only = True  # type: ignore[attr-defined]


def marked(**metadata: Any) -> StructuredTool:
    return StructuredTool.from_function(put, metadata=metadata or None)


@pytest.mark.parametrize(
    ("one", "reads"),
    [
        (find, True),
        (put, False),
        (marked(read_only=True), True),
        (marked(readOnlyHint=True), True),
        (marked(read_only=False), False),
        (marked(), False),
    ],
)
async def test_what_is_declared_read_only_is_called_unasked_and_may_be_shared(one: Any, reads: bool) -> None:
    tools = await toolbox(one)
    (name,) = tools.specs
    assert tools.only_reads(name) is reads
    assert tools.shared_tools() == ([] if reads else [name])


# --- recordings -----------------------------------------------------------------------------------------------------------------------


async def _steps(session: ToolSession, player: Any, *steps: str) -> list[Any]:
    found = []
    for step in steps:
        name, arguments = ("look", {}) if step == "look" else ("put", {"thing": step})
        found.append(json.loads((await session.call(name, arguments, player))[0].body))
    return found


async def test_an_answer_is_replayed_after_the_same_changes_and_after_no_others(tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    tools = await toolbox(Shelf)
    library.save_tools(tools.specs, tools.routes)
    player = library.open_tools("s", "perfect", Traffic.RECORD)
    live = await _steps(tools.open(), player, "look", "cup", "look")
    player.save()
    assert live == [[], {"place": 1}, ["cup"]]
    gone = Tools(recorded=CassetteLibrary(tmp_path).tools())

    def replayed() -> Any:
        return CassetteLibrary(tmp_path).open_tools("s", "perfect", Traffic.REPLAY)

    assert await _steps(gone.open(), replayed(), "look", "cup", "look") == live
    assert await _steps(gone.open(), replayed(), "cup", "look") == live[1:], "what only reads may be left out"
    with pytest.raises(CassetteMissError):
        await _steps(gone.open(), replayed(), "pot")
    with pytest.raises(CassetteMissError):  # recorded of an empty shelf, and of one with a cup; not of one with two
        await _steps(gone.open(), replayed(), "cup", "cup")


async def test_a_paused_episode_is_replayed_where_it_was(tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    environment = Environment(await toolbox(Shelf))
    put_cup, look = ToolCall(id="1", name="put", arguments={"thing": "cup"}), ToolCall(id="2", name="look", arguments={})
    recorded = environment.open(SCENARIO, player=library.open_tools("s", "perfect", Traffic.RECORD))
    assert [(await recorded.call(call, 0)).result for call in (put_cup, look)] == ['{"place":1}', '["cup"]']
    player = library.open_tools("s", "perfect", Traffic.REPLAY)
    begun = environment.open(SCENARIO, player=player)
    await begun.call(put_cup, 0)
    again = environment.open(SCENARIO, player=player, state=json.loads(json.dumps(begun.state())))
    assert (await again.call(look, 1)).result == '["cup"]'
