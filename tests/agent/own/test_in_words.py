"""What an agent asks in plain words reaches the person, and the agent goes on with the reply; a scenario's turns follow one another."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from talm_sim.agent.episode import run_episode
from talm_sim.types import Episode, HumanEvent, ModelTurn, Scenario, Termination, Turn
from tests.agent.own.playing import SCENARIO, Script, agent_of, looking, play, react

ASKS = "I can look it up. Could you tell me the **code**? It has three letters."
QUESTION = "Could you tell me the code?"


def code_in(messages: Sequence[BaseMessage]) -> str:
    return next((word.strip(".") for word in reversed(messages[-1].text.split()) if word.strip(".").isupper() and len(word) > 2), "")


def look(tools: Sequence[BaseTool], code: str) -> str:
    return str(tools[0].invoke({"code": code}))


def act(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> Any:
    """Asks in words, and looks up what it is told."""
    code = code_in(messages)
    return [*messages, AIMessage(f"Found {look(tools, code)}" if code else ASKS)]


def bare(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> Any:
    """The same, but returns its message alone."""
    return act(messages, tools)[-1]


def in_text(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> Any:
    """The same, as a text."""
    return act(messages, tools)[-1].text


def as_state(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> Any:
    """The same, in a state of dictionaries."""
    roles = {"human": "user", "ai": "assistant"}
    return {"messages": [{"role": roles[one.type], "content": one.text} for one in act(messages, tools)]}


async def on_the_loop(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> Any:
    """The same, async."""
    code = code_in(messages)
    return f"Found {await tools[0].ainvoke({'code': code})}" if code else ASKS


def built(tools: Sequence[BaseTool]) -> Any:
    """Builds a function."""
    return act


def graph_of(state: Any = MessagesState) -> Callable[..., Any]:
    def build(tools: Sequence[BaseTool]) -> Any:
        async def think(state: Any) -> dict[str, Any]:
            return {"messages": [AIMessage(await on_the_loop(state["messages"], tools))]}

        return StateGraph(state).add_node("think", think).add_edge(START, "think").compile()

    return build


class Overwritten(TypedDict):
    """A state whose messages are those that were given last."""

    messages: list[BaseMessage]


AGENTS = [act, bare, in_text, as_state, on_the_loop, built, graph_of(), graph_of(Overwritten)]


@pytest.mark.parametrize("agent", AGENTS, ids=["list", "message", "text", "state", "async", "builds", "graph", "graph without a reducer"])
async def test_a_question_in_words_is_answered_and_the_agent_goes_on(agent: Any) -> None:
    episode = await play(agent, human="simulated", rounds=5)
    asked, called = episode.events
    assert isinstance(asked, HumanEvent)
    assert (asked.question, asked.answer, asked.by, asked.turn) == (QUESTION, "It is HAN.", "words", 0)
    assert called.type == "tool" and called.arguments == {"code": "HAN"}
    assert episode.answer.startswith("Found {") and episode.termination is Termination.ANSWERED
    first, second, last = episode.model_turns
    assert (first.text, first.raw_prompt) == (ASKS, "[human] How high is the airport?")
    assert (second.raw_prompt, second.tool_calls[0].name) == ("[human] It is HAN.", "airport_info")
    assert last.text == episode.answer


async def test_an_agent_is_built_once_for_an_episode() -> None:
    made = []

    def build(tools: Sequence[BaseTool]) -> Any:
        made.append(1)
        return built(tools)

    await play(build, human="simulated", rounds=5)
    assert made == [1]


@pytest.mark.parametrize(("rounds", "questions"), [(0, 0), (1, 1), (5, 5)])
async def test_after_the_last_round_the_last_text_is_the_answer(rounds: int, questions: int) -> None:
    def again(messages: list[BaseMessage], tools: Any) -> str:
        return f"Which code, please ({len(messages)})?"

    episode = await play(again, human="simulated", rounds=rounds, turns=50)
    assert len(episode.human_events) == questions
    assert episode.answer == f"Which code, please ({1 + 2 * questions})?"
    assert episode.termination is Termination.ANSWERED and len(episode.model_turns) == questions + 1


async def test_nobody_answers_where_there_is_nobody() -> None:
    episode = await play(act, human="none")
    assert (episode.events, episode.answer) == ((), ASKS)


async def test_a_model_s_own_last_words_are_not_taken_down_twice() -> None:
    turns = [ModelTurn(raw_text="Which code?", text="Which code?"), looking(), ModelTurn(raw_text="12 m", text="12 m")]
    episode = await play(react, Script(*turns), human="simulated", rounds=5)
    assert [turn.text for turn in episode.model_turns] == ["Which code?", "", "12 m"]
    assert [turn.raw_prompt for turn in episode.model_turns][:2] == ["[human] How high is the airport?", "[human] It is HAN."]


async def test_what_the_user_reads_is_taken_down_where_the_model_said_something_else() -> None:
    async def agent(messages: Any, tools: Any, model: Any) -> str:
        await model.ainvoke(messages)
        return "Which code?" if len(messages) == 1 else "12 m"

    model = Script(ModelTurn(raw_text="thinking", text="thinking"), ModelTurn(raw_text="12 m", text="12 m"))
    episode = await play(agent, model, human="simulated", rounds=5)
    assert [turn.text for turn in episode.model_turns] == ["thinking", "Which code?", "12 m"]
    assert episode.human_events[0].turn == 1


async def test_what_it_returns_without_a_new_message_is_no_answer() -> None:
    """An earlier message of the conversation is not its own."""
    history = ({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "How high?"})
    scenario = SCENARIO.model_copy(update={"turns": (Turn(messages=history),)})
    episode = await run_episode(agent_of(lambda messages, tools: messages), scenario)
    assert isinstance(episode, Episode)
    assert episode.termination is Termination.AGENT_ERROR and "returned no new message; the last AI message must be its answer" in episode.error


# --- several turns ------------------------------------------------------------------------------------------------------------------------


def two_turns(*first: dict[str, Any]) -> Scenario:
    second = Turn(messages=({"role": "user", "content": "And how long is the runway?"},))
    return SCENARIO.model_copy(update={"turns": (Turn(messages=first), second)})


async def test_each_turn_follows_the_agents_answer_and_a_question_before_it_is_answered_first() -> None:
    heard: list[list[tuple[str, str]]] = []

    def agent(messages: list[BaseMessage], tools: Sequence[BaseTool]) -> str:
        heard.append([(one.type, one.text) for one in messages])
        return ["Which code?", "It is 12 m high.", "2 km."][len(heard) - 1]

    call = {"id": "c", "name": "airport_info", "arguments": {"code": "VIE"}}
    opening = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look up Vienna."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": json.dumps({"height": 183}), "tool_call_id": "c"},
        {"role": "assistant", "content": "183 m."},
        {"role": "user", "content": "How high is the other airport?"},
    )
    episode = await run_episode(agent_of(agent, human="simulated", rounds=5), two_turns(*opening))
    assert isinstance(episode, Episode)
    said = [
        ("system", "Be brief."),
        ("human", "Look up Vienna."),
        ("ai", ""),
        ("tool", '{"height": 183}'),
        ("ai", "183 m."),
        ("human", "How high is the other airport?"),
    ]
    asked = [*said, ("ai", "Which code?"), ("human", "It is HAN.")]
    assert heard == [said, asked, [*asked, ("ai", "It is 12 m high."), ("human", "And how long is the runway?")]]
    assert episode.answer == "2 km." and [event.by for event in episode.human_events] == ["words"]
    assert [turn.user_turn for turn in episode.model_turns] == [0, 0, 1]
    assert episode.model_turns[0].raw_prompt.startswith("[system] Be brief.\n\n[human] Look up Vienna.\n\n[ai] \n[call] airport_info(")
    assert [turn.raw_prompt for turn in episode.model_turns][1:] == ["[human] It is HAN.", "[human] And how long is the runway?"]
