"""An agent of the user's own plays like our graph does: its calls and turns are kept, its limits hold, its errors are data, and it can wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from pydantic import ValidationError

from talm_sim.agent.episode import Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.agent.own.agents import find_agent, hand_over, load_agent
from talm_sim.errors import PrerequisiteError
from talm_sim.types import (
    Episode,
    HumanEvent,
    Termination,
    ToolCall,
    Usage,
)
from tests.agent.own.playing import ANSWER, LOOK, SCENARIO, SPEC, Script, agent_of, looking, play, react


async def test_a_graph_on_the_model_it_is_handed_leaves_the_same_events_as_ours() -> None:
    ask = ToolCall(id="a1", name="ask_human", arguments={"question": "What is the code of the airport?"})
    model = Script(looking(ask), looking(), ANSWER)
    episode = await play(react, model, human="simulated")
    assert model.offered[0] == ("airport_info", "ask_human") and model.specs[0][0] == SPEC
    asked, called = episode.events
    assert isinstance(asked, HumanEvent) and (asked.turn, asked.call_id, asked.answer) == (0, "a1", "It is HAN.")
    assert (called.turn, called.call_id, called.type) == (1, "c1", "tool")
    assert [turn.tool_calls for turn in episode.model_turns] == [(ask,), (LOOK,), ()]
    assert episode.model_turns[0].raw_prompt == "[human] How high is the airport?"
    assert (episode.answer, episode.termination, episode.awareness) == ("12 m", Termination.ANSWERED, ())
    assert episode.usage == Usage(input_tokens=205, output_tokens=25)


async def test_a_compiled_graph_calls_our_tools_in_place_of_its_own_and_its_own_question_is_put() -> None:
    @tool
    def airport_info(code: str) -> str:
        """Look."""
        return "its own"

    async def ask(state: MessagesState) -> dict[str, Any]:
        code = interrupt({"question": "What is the code of the airport?"})
        return {"messages": [AIMessage("", tool_calls=[{"name": "airport_info", "args": {"code": code}, "id": "x", "type": "tool_call"}])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([airport_info]))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "tools")
    compiled = graph.compile()
    episode = await play(compiled, human="simulated")
    assert [event.type for event in episode.events] == ["human", "tool"]
    assert "It%20is%20HAN" in episode.tool_events[0].result
    alone = await play(compiled)
    assert alone.termination is Termination.AGENT_ERROR and "--human" in alone.error
    outside = await ToolNode([airport_info]).tools_by_name["airport_info"].ainvoke({"code": "HAN"})
    assert outside == "its own"


async def test_turns_of_a_model_the_agent_brings_itself_are_kept_and_held_to_the_limit() -> None:
    call = {"name": "airport_info", "args": {"code": "HAN"}, "id": "y", "type": "tool_call"}

    async def act(messages: Any, tools: Sequence[BaseTool]) -> Any:
        model = GenericFakeChatModel(messages=iter([AIMessage("hm", tool_calls=[call]), AIMessage("done")]))
        first = await model.ainvoke(messages)
        result = await tools[0].ainvoke(first.tool_calls[0])
        return [*messages, first, result, await model.ainvoke([*messages, first, result])]

    episode = await play(act)
    assert [turn.text for turn in episode.model_turns] == ["hm", "done"] and episode.events[0].call_id == "y"
    assert (await play(act, turns=1)).termination is Termination.TURN_LIMIT


async def test_limits_end_an_agent_that_does_not_end_even_one_that_catches_all() -> None:
    async def loop(messages: Any, tools: Sequence[BaseTool]) -> Any:
        while True:
            try:
                await tools[0].ainvoke({"code": "HAN"})
            except Exception:
                continue

    episode = await play(loop, turns=4)
    assert (episode.termination, len(episode.model_turns), len(episode.events)) == (Termination.TURN_LIMIT, 4, 3)
    model = Script(looking(), looking(), looking())
    episode = await play(react, model, tokens=200)
    assert (episode.termination, len(episode.events)) == (Termination.TOKEN_LIMIT, 1)


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_an_agent_that_takes_too_long_is_stopped(asynchronous: bool) -> None:
    released = threading.Event()

    async def slow(messages: Any, tools: Any) -> Any:
        await asyncio.Event().wait()

    def stuck(messages: Any, tools: Any) -> Any:
        released.wait()

    episode = await play(slow if asynchronous else stuck, seconds=0.2)
    assert episode.termination is Termination.AGENT_ERROR and "0.2 s (agent_timeout)" in episode.error
    released.set()


async def test_its_traceback_is_kept_and_logged_without_secrets(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-very-secret-very-secret-1234")

    def deep_within() -> None:
        raise ValueError("no luck with sk-very-secret-very-secret-1234")

    async def fail(messages: Any, tools: Any) -> Any:
        deep_within()

    with caplog.at_level("DEBUG", "talm_sim"):
        episode = await play(fail)
    (logged,) = (one.getMessage() for one in caplog.records if "the agent raised an error" in one.getMessage())
    assert "test_own_agent.py, line" in episode.error
    for told in (logged, episode.traceback):
        assert "Traceback" in told and ", in deep_within" in told and told.endswith("ValueError: no luck with REDACTED")
        assert "secret" not in told
    first = next(line for line in episode.traceback.splitlines() if line.startswith("  File "))
    assert "test_own_agent.py" in first and first.endswith("in fail")  # none of the frames that called it
    assert "secret" not in str(episode.model_dump(mode="json"))


async def test_a_long_traceback_is_kept_with_its_beginning_and_its_end() -> None:
    def fail(messages: Any, tools: Any) -> Any:
        raise ValueError("many words " * 100_000 + "and the last")

    kept = (await play(fail)).traceback
    assert kept.startswith("Traceback") and ", in fail" in kept and kept.endswith("and the last")
    assert 7_000 < len(kept) < 8_100 and " characters left out" in kept


async def test_a_failure_outside_of_the_agents_code_has_no_traceback() -> None:
    assert (await play(lambda messages, tools: None)).traceback == ""


def raising(error: BaseException) -> Any:
    def act(messages: Any, tools: Any) -> Any:
        raise error

    return act


def again(messages: Any, tools: Any) -> Any:
    return again(messages, tools)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (raising(SystemExit(3)), "SystemExit: 3 "),
        (raising(asyncio.CancelledError()), "CancelledError "),
        (raising(StopIteration()), "StopIteration"),
        (raising(BaseExceptionGroup("two", [KeyboardInterrupt()])), "BaseExceptionGroup: two "),
        (again, "RecursionError: maximum recursion depth exceeded"),
        (lambda messages, tools: 7, "TypeError: returned an object of type int, but an agent returns messages"),
        (lambda messages, tools: None, "TypeError: returned an object of type NoneType"),
        (lambda messages, tools: [1, 2], "TypeError: returned an object of type list"),
        (lambda messages, tools: messages, "TypeError: returned no new message; the last AI message must be its answer"),
    ],
)
@pytest.mark.parametrize("asynchronous", [True, False])
async def test_whatever_an_agent_fails_with_ends_its_episode_and_nothing_else(act: Any, said: str, asynchronous: bool) -> None:
    async def on_the_loop(messages: Any, tools: Any) -> Any:
        return act(messages, tools)

    episode = await play(on_the_loop if asynchronous else act)
    assert episode.termination is Termination.AGENT_ERROR
    assert said in episode.error and "/talm_sim/" not in episode.error


async def test_a_plain_function_cannot_interrupt_the_run() -> None:
    episode = await play(raising(KeyboardInterrupt()))
    assert episode.termination is Termination.AGENT_ERROR
    assert episode.error.startswith("RuntimeError: KeyboardInterrupt (") and "test_own_agent.py, line" in episode.error


async def test_a_call_that_was_not_recorded_ends_the_episode_whatever_the_agent_makes_of_it() -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> Any:
        try:
            await tools[0].ainvoke({"code": "XXX"})
        except Exception:
            return "never mind"

    episode = await play(act)
    assert (episode.termination, episode.error) == (Termination.REPLAY_MISS, "not recorded")


async def test_what_is_no_json_is_the_agents_mistake() -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> Any:
        for wrong in (object(), float("nan")):
            with pytest.raises(ValidationError):
                await tools[0].ainvoke({"code": wrong})
        return "done"

    episode = await play(act)
    assert [event.error for event in episode.tool_events] == ["unparsable_arguments"] * 2


async def test_a_plain_call_on_the_loop_is_refused_with_the_fix() -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> Any:
        return tools[0].invoke({"code": "HAN"})

    assert "use ainvoke" in (await play(act)).error


async def test_an_agent_waits_for_a_person_where_it_is_and_starts_again_in_another_process() -> None:
    begun = 0

    async def act(messages: Any, tools: Sequence[BaseTool]) -> Any:
        nonlocal begun
        begun += 1
        by_name = {one.name: one for one in tools}
        calls: list[Any] = [by_name["ask_human"].ainvoke({"question": "Which?"}), by_name["airport_info"].ainvoke({"code": "HAN"})]
        asked: Any = (await asyncio.gather(*calls, return_exceptions=True))[0]
        return f"{asked} {await by_name['airport_info'].ainvoke({'code': 'SGN'})}"

    agent = agent_of(act, human="terminal", perturb=("http-500:times=1",))
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting) and waiting.questions[0].question == "Which?" and len(waiting.events) == 1
    reply = {waiting.questions[0].interrupt_id: HumanReply("that one", "terminal")}
    done = await run_episode(agent, SCENARIO, resume=reply, state=waiting.state)
    assert isinstance(done, Episode) and done.answer.startswith("that one {") and begun == 1
    assert [event.type for event in done.events] == ["tool", "human", "tool"]
    assert (done.perturbations[0].armed, done.perturbations[0].fired) == (2, 1)

    again = await run_episode(replace(agent, graph=agent_of(act).graph), SCENARIO, attempt=2)
    assert isinstance(again, Waiting) and begun == 2
    await agent.graph.aclose()


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (3, "is of type int, but an agent is"),
        (dict, "is the class dict"),
        (lambda text: text, "takes \\(text\\), but an agent takes \\(messages, tools\\)"),
        (StateGraph(MessagesState), "is not compiled"),
    ],
)
def test_what_is_no_agent_is_said_in_a_line(thing: Any, said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        hand_over(thing)


def test_a_graph_of_another_state_or_without_tools_is_refused() -> None:
    from typing import TypedDict

    class Other(TypedDict):
        text: str

    other: Any = StateGraph(Other)
    other.add_node("a", lambda state: state)
    other.add_edge(START, "a")
    with pytest.raises(PrerequisiteError, match=r"no 'messages' \(it has: text\)"):
        hand_over(other.compile())
    bare: Any = StateGraph(MessagesState)
    bare.add_node("a", lambda state: state)
    bare.add_edge(START, "a")
    with pytest.raises(PrerequisiteError, match="the graph has no ToolNode, so it cannot be given these tools"):
        hand_over(bare.compile())


async def test_what_a_function_builds_is_looked_at() -> None:
    def build(tools: Any) -> Any:
        return 3

    with pytest.raises(PrerequisiteError, match="t:thing: returned an object of type int"):
        await play(build)


def test_agents_are_imported_only_where_the_user_names_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_agents.py").write_text("def act(messages, tools): ...\n")
    (tmp_path / "my_broken_agents.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PrerequisiteError, match=r"talm-sim does not import what a stored run names; add --agent my_own_agents:act\."):
        find_agent("my_own_agents:act")
    assert load_agent("my_own_agents:act").takes == ("messages", "tools")
    assert find_agent("my_own_agents:act").name == "my_own_agents:act"
    for name, said in {
        "my_own_agents": "write MODULE:OBJECT",
        "my_own_agents:acts": "has no 'acts'. Did you mean 'act'",
        "not_there:act": "No module named 'not_there'; install it",
        "my_broken_agents:act": "cannot be imported: ZeroDivisionError",
    }.items():
        with pytest.raises(PrerequisiteError, match=said.replace("(", r"\(")):
            load_agent(name)
