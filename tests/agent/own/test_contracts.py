"""The forms in which graphs elsewhere ask a person: LangChain's middleware as it is installed, and Agent Inbox's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from talm_sim.agent.approvals import REJECTED
from talm_sim.agent.episode import Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.agent.own.contracts import read_interrupt
from talm_sim.judges.refused import judge_refusals
from talm_sim.types import Action, Approval, Decision, Episode, HumanEvent, ModelTurn, Termination, ToolCall, ToolEvent
from tests.agent.own.playing import ANSWER, LOOK, SCENARIO, Script, agent_of, looking, play, react

WRONG = ToolCall(id="c2", name="airport_info", arguments={"code": "SGN"})
OTHER = ToolCall(id="c3", name="delete_all", arguments={"sure": True})


@tool
def delete_all(sure: bool) -> str:
    """Delete."""
    return f"deleted {sure}"


def gated(mode: Any = "batched", **allowed: Any) -> Any:
    """Return a function that builds LangChain's agent, whose calls need a person."""

    def build(tools: Sequence[Any], model: Any) -> Any:
        on: Any = {"airport_info": True, "delete_all": True} | {name: {"allowed_decisions": list(of)} for name, of in allowed.items()}
        gate = HumanInTheLoopMiddleware(interrupt_on=on, interrupt_mode=mode)
        return create_agent(model, [*tools, delete_all], middleware=[gate])

    return build


async def decide(build: Any, script: Script, *decisions: Decision) -> Episode:
    """Play an episode whose person decides later, each time about all that waits."""
    agent = agent_of(build, script, human="terminal")
    left = list(decisions)
    result = await run_episode(agent, SCENARIO)
    while isinstance(result, Waiting):
        replies = {one.interrupt_id: HumanReply(left[0].text, "queue", decision=left.pop(0)) for one in result.questions}
        result = await run_episode(agent, SCENARIO, resume=replies, state=result.state)
    assert not left
    return result


MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
@pytest.mark.parametrize(
    ("decision", "ran", "read"),
    [
        (Decision(action="approve"), {"code": "HAN"}, '{"path":'),
        (Decision(action="edit", arguments={"code": "VIE"}), {"code": "VIE"}, "a human reviewer replaced this tool call"),
        (Decision(action="reject", message="Not that one."), None, "with reason: Not that one."),
        (Decision(action="reject"), None, "The tool was not executed."),
        (Decision(action="respond", message="It is 12 m high."), None, "It is 12 m high."),
    ],
    ids=lambda value: value.text if isinstance(value, Decision) else "",
)
async def test_the_middleware_is_answered_in_its_own_form(mode: str, decision: Decision, ran: dict[str, Any] | None, read: str) -> None:
    script = Script(looking(), ANSWER)
    episode = await decide(gated(mode), script, decision)
    assert (episode.termination, episode.error) == (Termination.ANSWERED, "")
    (asked,) = episode.human_events
    assert asked.request == Approval(
        name="airport_info",
        arguments={"code": "HAN"},
        description="Tool execution requires approval\n\nTool: airport_info\nArgs: {'code': 'HAN'}",
        repeatable=True,
        same_tool=mode == "per_call",
        parameters={} if mode == "batched" else asked.request.parameters,  # type: ignore[union-attr]
    )
    assert (asked.kind, asked.by, asked.decision, asked.question) == ("approval", "interrupt", decision, 'Allow airport_info(code="HAN")?')
    assert [event.arguments for event in episode.tool_events] == ([] if ran is None else [ran])
    assert read in episode.model_turns[1].raw_prompt
    assert episode.questions == ()


@MODES
async def test_only_what_the_middleware_allows_can_be_decided(mode: str) -> None:
    for allowed in (("approve",), ("reject",), ("respond",), ("edit", "reject")):
        episode = await play(gated(mode, airport_info=allowed), Script(looking(WRONG), ANSWER), human="simulated")
        (asked,) = episode.human_events
        assert isinstance(asked.request, Approval) and asked.request.allowed == allowed
        assert asked.decision is not None and asked.decision.action == allowed[0] and episode.termination is Termination.ANSWERED


async def test_the_schema_of_an_edited_call_is_the_tool_s_own_where_it_is_given() -> None:
    agent = agent_of(gated("per_call"), Script(looking(OTHER), ANSWER), human="terminal")
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting) and isinstance(asked := waiting.questions[0].request, Approval)
    assert asked.same_tool and asked.parameters["properties"]["sure"]["type"] == "boolean" and asked.parameters["required"] == ["sure"]
    await agent.graph.aclose()


async def test_without_a_person_a_gated_call_is_the_agent_s_error() -> None:
    episode = await play(gated(), Script(looking(), ANSWER))
    assert episode.termination is Termination.AGENT_ERROR and "add --human simulated" in episode.error


# --- Agent Inbox, and what is of no known form ------------------------------------------------------------------------------------------


def inbox(action: str, args: dict[str, Any], **config: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("allow_accept", "allow_edit", "allow_ignore", "allow_respond"), True) | config
    return {"action_request": {"action": action, "args": args}, "config": flags, "description": "Please look."}


def asks(value: Any, **more: Any) -> Any:
    """Return a graph that says what it is resumed with."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(repr(interrupt(value, **more)))]}

    return StateGraph(MessagesState).add_node("ask", ask).add_node("tools", ToolNode([delete_all])).add_edge(START, "ask").compile()


@pytest.mark.parametrize(
    ("decision", "response"),
    [
        (Decision(action="approve"), {"type": "accept", "args": {"action": "send", "args": {"to": "Ann"}}}),
        (Decision(action="edit", arguments={"to": "Bo"}), {"type": "edit", "args": {"action": "send", "args": {"to": "Bo"}}}),
        (Decision(action="reject", message="No."), {"type": "ignore", "args": None}),
        (Decision(action="respond", message="Ask Ann."), {"type": "response", "args": "Ask Ann."}),
    ],
    ids=lambda value: value.text if isinstance(value, Decision) else "",
)
@pytest.mark.parametrize("listed", [False, True])
async def test_agent_inbox_is_answered_in_its_own_form(decision: Decision, response: dict[str, Any], listed: bool) -> None:
    value = inbox("send", {"to": "Ann"})
    episode = await decide(asks([value] if listed else value), Script(), decision)
    assert episode.answer == repr([response])
    (asked,) = episode.human_events
    assert asked.request == Approval(name="send", arguments={"to": "Ann"}, description="Please look.")


async def test_several_of_agent_inbox_are_several_items() -> None:
    value = [inbox("send", {"to": "Ann"}, allow_edit=False, allow_respond=False), inbox("wipe", {}, allow_accept=False)]
    asked = read_interrupt(value)
    assert [one.allowed for one in asked.items if isinstance(one, Approval)] == [("approve", "reject"), ("edit", "reject", "respond")]
    episode = await play(asks(value), human="simulated")
    assert episode.answer == repr([{"type": "ignore", "args": None}] * 2)


@pytest.mark.parametrize(
    "value",
    [
        "Which code?",
        {"question": "Which code?"},
        {"action_requests": []},
        {"action_requests": [{"name": "t", "args": {}}]},
        {"action_requests": [{"name": "t", "args": {}}], "review_configs": [{"action_name": "t", "allowed_decisions": ["later"]}]},
        {"action_requests": [{"name": "t", "args": []}], "review_configs": [{"action_name": "t", "allowed_decisions": ["approve"]}]},
        {"type": "tool_approval", "name": "t"},
        {"type": "tool_approval", "name": 3, "args": {}},
        {"action_request": {"action": "t", "args": {}}},
        [inbox("t", {}), "x"],
        [],
        None,
        float("nan"),
    ],
)
async def test_anything_else_is_a_question_in_words(value: Any) -> None:
    asked = read_interrupt(value)
    assert len(asked.items) == 1 and isinstance(asked.items[0], str)
    episode = await play(asks(value), human="simulated")
    assert isinstance(episode.events[0], HumanEvent) and episode.events[0].kind == "question"
    assert episode.answer == repr(episode.events[0].answer)


@pytest.mark.parametrize(("answer", "taken"), [("12", 12), ("twelve", "twelve"), ('{"a": 1}', '{"a": 1}')])
async def test_an_answer_is_read_as_the_value_that_an_interrupt_takes(answer: str, taken: Any) -> None:
    agent = agent_of(asks("How high?", response_schema={"type": "integer"}), human="terminal")
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting)
    reply = {waiting.questions[0].interrupt_id: HumanReply(answer, "queue")}
    episode = await run_episode(agent, SCENARIO, resume=reply, state=waiting.state)
    assert isinstance(episode, Episode) and episode.answer == repr(taken)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=True),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["action_requests", "review_configs", "action_name", "allowed_decisions", "name", "args", "type", "action_request", "config"],
)
NEAR = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=10)


@given(NEAR, NEAR)
def test_an_interrupt_of_any_value_and_schema_asks_something(value: Any, schema: Any) -> None:
    asked = read_interrupt(value, schema)
    assert asked.items
    assert all(isinstance(one, str) or one.allowed for one in asked.items)


@given(st.lists(st.sampled_from(["approve", "edit", "reject", "respond"]), min_size=1, unique=True), st.booleans())
def test_the_decisions_of_a_request_are_those_of_its_review_config(allowed: list[Action], other: bool) -> None:
    configs = [{"action_name": "t", "allowed_decisions": allowed}, {"action_name": "u", "allowed_decisions": ["approve"]}]
    value = {"action_requests": [{"name": "t", "args": {}}, *([{"name": "u", "args": {}}] if other else [])], "review_configs": configs}
    items = read_interrupt(value).items
    assert isinstance(items[0], Approval) and set(items[0].allowed) == set(allowed) and len(items) == 1 + other


async def _play(thing: Any, *decisions: Decision, model: Script | None = None) -> Episode:
    """Play an agent whose calls wait, one stretch after the other."""
    agent = agent_of(thing, model, human="terminal")
    assert agent.environment is not None
    agent.environment.approve = frozenset({"airport_info"})
    result = await run_episode(agent, SCENARIO)
    for decision in decisions:
        assert isinstance(result, Waiting)
        replies = {one.interrupt_id: HumanReply(decision.text, "terminal", decision=decision) for one in result.questions}
        result = await run_episode(agent, SCENARIO, resume=replies, state=result.state)
    assert isinstance(result, Episode)
    return result


async def test_calls_of_a_function_wait_for_the_person() -> None:
    async def act(messages: Any, tools: Sequence[BaseTool]) -> str:
        info = next(one for one in tools if one.name == "airport_info")
        return " | ".join([str(await info.ainvoke({"code": code})) for code in ("HAN", "SGN", "DAD", "HUI")])

    episode = await _play(
        act,
        Decision(action="approve"),
        Decision(action="edit", name="airport_info", arguments={"code": "PQC"}),
        Decision(action="reject", message="Not that one."),
        Decision(action="respond", message="It is 12 m high."),
    )
    first, second, third, fourth = episode.answer.split(" | ")
    assert (first, second) == ("{'path': 'http://tools.invalid/t/HAN'}", "{'path': 'http://tools.invalid/t/PQC'}")
    assert third == f"{REJECTED} The reason given: Not that one."
    assert fourth.endswith(": It is 12 m high.")
    kinds = ["ask", "call", "ask", "call", "ask", "ask"]
    assert ["ask" if isinstance(event, HumanEvent) else "call" for event in episode.events] == kinds
    assert [event.arguments for event in episode.tool_events] == [{"code": "HAN"}, {"code": "PQC"}]
    assert {event.by for event in episode.human_events} == {"policy"}
    for asked, done in zip(episode.human_events, episode.tool_events, strict=False):
        assert (asked.turn, asked.call_id) == (done.turn, done.call_id)


async def test_a_graph_reads_a_rejected_call_as_a_failed_one() -> None:
    read: list[ToolMessage] = []

    def agent(tools: Sequence[BaseTool], model: Any) -> Any:
        return react(tools, model)

    class Reading(Script):
        async def generate(self, messages: Any, tools: Any, settings: Any) -> ModelTurn:
            read.extend(message for message in messages if isinstance(message, ToolMessage))
            return await super().generate(messages, tools, settings)

    model = Reading(looking(LOOK), ModelTurn(raw_text="Then not.", text="Then not."))
    episode = await _play(agent, Decision(action="reject"), model=model)
    assert [(message.text, message.tool_call_id) for message in read] == [(REJECTED, "c1")]
    assert not any(isinstance(event, ToolEvent) for event in episode.events)
    assert episode.answer == "Then not."


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    ("second", "labels"),
    [
        (LOOK.model_copy(update={"id": "c9"}), ["same_call", "went_on_without"]),
        (LOOK.model_copy(update={"id": "c9", "arguments": {"code": "SGN"}}), ["went_on_without", "went_on_without"]),
    ],
)
async def test_refusals_of_langchain_s_middleware_are_judged_as_ours(mode: Any, second: ToolCall, labels: list[str]) -> None:
    rejected = Decision(action="reject", message="No.")
    turns = Script(looking(LOOK), looking(second), ModelTurn(raw_text="Then not.", text="Then not."))
    episode = await decide(gated(mode), turns, rejected, rejected)
    found = judge_refusals(episode, SCENARIO, {})
    assert [*found] == ["airport_info", "airport_info #2"]
    assert [str(one.label) for one in found.values()] == labels
