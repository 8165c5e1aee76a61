"""Tools that ask the person while a call of theirs runs: the call waits where it is, whoever answers and whenever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.checkpoints import durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Players, Waiting, run_episode
from talm_sim.agent.graph import TalmRules, talm_graph
from talm_sim.agent.holding import HoldingGraph
from talm_sim.agent.humans import HumanReply, RecordedResponder, Responder, SimulatedResponder, question_digest
from talm_sim.agent.own.agent_rules import AgentRules
from talm_sim.agent.own.agents import _read
from talm_sim.agent.own.sessions import Sessions
from talm_sim.agent.prompts import load_prompts
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings import CassetteLibrary, HttpResponse, RecordedAnswer
from talm_sim.tools_env.asking_tools import current_person
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.routes import answer, posted
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Decision, Episode, Form, GoldCall, HumanEvent, ModelTurn, Scenario, Termination, ToolCall, ToolSpec, Turn
from tests.agent.own.playing import Script, react

FIELDS = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}
SPECS = {
    name: ToolSpec(name=name, parameters={"type": "object", "properties": {"flight": {"type": "string"}}, "required": ["flight"]})
    for name in ("book", "look")
}
SCENARIO = Scenario(
    id="s",
    group="perfect",
    turns=(
        Turn(
            messages=({"role": "user", "content": "Book me a seat."},),
            gold_calls=(GoldCall(name="book", arguments={"flight": "VN1", "seat": "12A"}),),
        ),
    ),
    tools=("book", "look"),
)
ACCEPTED = Decision(action="accept", content={"seat": "12A"})


class Airline:
    """A source whose tool `book` asks for a seat while a call of it runs."""

    def __init__(self) -> None:
        self.name = "airline"
        self.specs = SPECS
        self.routes = posted("airline", SPECS, asks=True)
        self.responses: Mapping[str, Any] = {}
        self.not_taken = ()
        self.patience: float | None = None
        self.made: list[str] = []
        self.left: list[str] = []

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        flight = str(arguments["flight"])
        self.made.append(f"{tool} {flight}")
        if tool == "look":
            await asyncio.sleep(0.02)
            return answer({"free": True})
        person = current_person.get()
        if person is None:
            return answer({"seat": "any"})
        try:
            async with asyncio.timeout(self.patience):
                decision = await person(Form(message=f"Which seat on {flight}?", fields=FIELDS, source="airline"))
        except TimeoutError:
            return answer({"seat": "too late"})
        self.made.append(f"asked {flight}")
        return answer({"seat": (decision.content or {}).get("seat", decision.action)})

    def leave(self, episode: str) -> None:
        self.left.append(episode)

    async def aclose(self) -> None:
        """Nothing to close."""


def book(*flights: str) -> ModelTurn:
    return ModelTurn(tool_calls=tuple(ToolCall(id=flight, name="book", arguments={"flight": flight}) for flight in flights), stop="tool_calls")


DONE = ModelTurn(raw_text="Done.", text="Done.")


def agent_of(
    airline: Airline, *turns: ModelTurn, responder: Responder | None = None, saver: Any = None, own: bool = False, human: str = "terminal"
) -> Agent:
    saver = memory_saver() if saver is None else saver
    ours: Any = HoldingGraph(talm_graph(TalmRules(load_prompts(), {}, 9), saver))
    graph: Any = Sessions(_read("t:thing", react), AgentRules(turns=9, tokens=None, seconds=600.0)) if own else ours
    return Agent(
        model=Script(*turns),
        graph=graph,
        environment=Environment(Tools([airline], person=human != "none")),
        human=human,
        human_tool=None if human == "none" else load_prompts().human_tool(),
        responder=(lambda scenario, epoch: responder) if responder else None,
        saver=None if own else saver,
    )


async def resume(agent: Agent, waiting: Waiting, *decisions: Decision | str, scenario: Scenario = SCENARIO, **more: Any) -> Episode | Waiting:
    replies = {
        one.interrupt_id: HumanReply(said, "queue") if isinstance(said, str) else HumanReply(said.text, "queue", decision=said)
        for one, said in zip(waiting.questions, decisions, strict=True)
    }
    return await run_episode(agent, scenario, resume=replies, state=json.loads(json.dumps(waiting.state)), **more)


OWN = pytest.mark.parametrize("own", [False, True], ids=["ours", "own"])


@OWN
@pytest.mark.parametrize(
    ("decision", "seat"),
    [(ACCEPTED, "12A"), (Decision(action="decline"), "decline"), (Decision(action="cancel"), "cancel")],
    ids=["accept", "decline", "cancel"],
)
async def test_a_call_waits_where_it_is_and_is_made_once(own: bool, decision: Decision, seat: str) -> None:
    airline = Airline()
    agent = agent_of(airline, book("VN1"), DONE, own=own)
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting)
    (asked,) = waiting.questions
    assert (asked.ask, asked.question) == (1, "Which seat on VN1?")
    assert asked.request == Form(message="Which seat on VN1?", fields=FIELDS, source="airline")
    assert len(waiting.model_turns) == 1 and waiting.events == ()
    assert airline.made == ["book VN1"] and airline.left == []
    episode = await resume(agent, waiting, decision)
    assert isinstance(episode, Episode) and episode.termination is Termination.ANSWERED
    form, call = episode.events
    assert isinstance(form, HumanEvent) and (form.by, form.kind, form.decision, form.turn, form.call_id) == (
        "elicitation",
        "form",
        decision,
        0,
        "VN1",
    )
    assert seat in call.result and airline.made == ["book VN1", "asked VN1"] and episode.questions == ()  # type: ignore[union-attr]
    assert airline.left == ["s@1"] and agent.held == {}


@OWN
async def test_what_the_calls_of_a_turn_ask_waits_together(own: bool) -> None:
    airline = Airline()
    agent = agent_of(airline, book("VN1", "VN2"), book("VN3"), DONE, own=own)
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting) and sorted(one.question for one in waiting.questions) == ["Which seat on VN1?", "Which seat on VN2?"]
    again = await resume(agent, waiting, ACCEPTED, Decision(action="decline"))
    assert isinstance(again, Waiting) and [(one.question, one.ask) for one in again.questions] == [("Which seat on VN3?", 3)]
    episode = await resume(agent, again, ACCEPTED)
    assert isinstance(episode, Episode) and episode.termination is Termination.ANSWERED
    assert sorted(event.question[-4:-1] for event in episode.human_events) == ["VN1", "VN2", "VN3"]
    assert len(airline.made) == 6


@OWN
async def test_the_simulated_person_fills_in_what_the_scenario_knows(own: bool) -> None:
    agent = agent_of(Airline(), book("VN1"), DONE, own=own, human="simulated", responder=SimulatedResponder(SCENARIO, SPECS))
    episode = await run_episode(agent, SCENARIO)
    assert isinstance(episode, Episode) and [event.decision for event in episode.human_events] == [ACCEPTED]


@OWN
async def test_a_tool_that_stops_waiting_leaves_a_form_that_nobody_answered(own: bool) -> None:
    airline = Airline()
    airline.patience = 0.1
    agent = agent_of(airline, book("VN1"), DONE, own=own)
    waiting = await run_episode(agent, SCENARIO)
    assert isinstance(waiting, Waiting) and waiting.withdrawn() == []
    async with asyncio.timeout(60):
        while not waiting.withdrawn():
            await asyncio.sleep(0.01)
    assert waiting.withdrawn() == [waiting.questions[0].interrupt_id]
    episode = await resume(agent, waiting, ACCEPTED)  # too late
    assert isinstance(episode, Episode) and episode.termination is Termination.ANSWERED
    (form,) = episode.human_events
    assert (form.answer, form.responder, form.declined) == ("Nobody answered in time.", "nobody", "timeout")
    assert form.decision == Decision(action="cancel") and "too late" in episode.tool_events[0].result


async def test_what_the_person_takes_is_no_time_of_the_call() -> None:
    agent = agent_of(Airline(), book("VN1"), DONE)
    waiting = await run_episode(agent, SCENARIO)
    await asyncio.sleep(1.5)
    assert isinstance(waiting, Waiting)
    episode = await resume(agent, waiting, ACCEPTED)
    assert isinstance(episode, Episode) and episode.tool_events[0].elapsed_ms < 1400 and episode.elapsed_s < 1.4


async def test_without_a_person_nobody_is_asked() -> None:
    airline = Airline()
    episode = await run_episode(agent_of(airline, book("VN1"), DONE, human="none"), SCENARIO)
    assert isinstance(episode, Episode) and episode.human_events == () and "any" in episode.tool_events[0].result


def recorded(ask: int, question: str, answer: str, decision: Decision | None = None) -> RecordedAnswer:
    return RecordedAnswer(
        ask=ask, question_digest=question_digest(question), question=question, answer=answer, responder="me", decision=decision
    )


async def test_recorded_decisions_about_forms_are_found_by_the_form_and_do_not_number_the_questions() -> None:
    answers = [
        recorded(1, "Window or aisle?", "Window."),
        recorded(1, "Which seat on VN1?", "accept", ACCEPTED),
        recorded(2, "Which seat on VN1?", "decline", Decision(action="decline")),
    ]
    asks = ModelTurn(tool_calls=(ToolCall(id="q", name="ask_human", arguments={"question": "Window or aisle?"}),), stop="tool_calls")
    person = RecordedResponder("s", answers)
    agent = agent_of(Airline(), book("VN1"), asks, book("VN1"), DONE, human="recorded", responder=person)
    episode = await run_episode(agent, SCENARIO)
    assert isinstance(episode, Episode) and episode.termination is Termination.ANSWERED, episode
    assert [event.answer for event in episode.human_events] == ["accept", "Window.", "decline"]
    assert [event.decision.action for event in episode.human_events if event.decision] == ["accept", "decline"]
    alone = RecordedResponder("s", answers)  # where the tools are replayed, nobody asks for the forms
    agent = agent_of(Airline(), asks, DONE, human="recorded", responder=alone)
    assert isinstance(episode := await run_episode(agent, SCENARIO), Episode) and episode.human_events[0].answer == "Window."
    agent = agent_of(Airline(), book("VN9"), DONE, human="recorded", responder=RecordedResponder("s", answers))
    missed = await run_episode(agent, SCENARIO)
    assert isinstance(missed, Episode) and missed.termination is Termination.REPLAY_MISS and "Which seat on VN9?" in missed.error
    await agent.aclose()


async def test_a_responder_s_decision_is_one_that_the_form_takes() -> None:
    class Careless:
        async def __call__(self, question: str, ask: int) -> HumanReply:
            raise AssertionError

        async def decide(self, request: Any, ask: int) -> HumanReply:
            return HumanReply("", "careless", decision=Decision(action="accept", content={"seat": 12}))

    async def words_only(question: str, ask: int) -> HumanReply:
        return HumanReply("12A", "words")

    with pytest.raises(PrerequisiteError, match=r"'Which seat on VN1\?' cannot be taken: seat: 12 is not of type 'string'"):
        await run_episode(agent_of(Airline(), book("VN1"), DONE, responder=Careless()), SCENARIO)
    with pytest.raises(PrerequisiteError, match="fills in no forms: it needs a method decide"):
        await run_episode(agent_of(Airline(), book("VN1"), DONE, responder=words_only), SCENARIO)


async def test_a_held_episode_leaves_no_checkpoint_to_continue_from_and_ends_with_its_run(tmp_path: Path) -> None:
    asks = ModelTurn(tool_calls=(ToolCall(id="q", name="ask_human", arguments={"question": "Which?"}),), stop="tool_calls")
    airline = Airline()

    async def threads(saver: BaseCheckpointSaver[Any]) -> set[str]:
        return {one.config["configurable"]["thread_id"] async for one in saver.alist(None)}

    async with durable_saver(tmp_path / "c.db") as saver:
        agent = agent_of(airline, asks, book("VN1"), asks, DONE, saver=saver)
        waiting = await run_episode(agent, SCENARIO)
        assert isinstance(waiting, Waiting) and await threads(saver) == {"s#1"}
        held = await resume(agent, waiting, "VN1")
        assert isinstance(held, Waiting) and [*agent.held] == ["s#1"] and await threads(saver) == set()
        paused = await resume(agent, held, ACCEPTED)
        assert isinstance(paused, Waiting) and agent.held == {} and await threads(saver) == {"s#1"}
        episode = await resume(agent, paused, "that")
        assert isinstance(episode, Episode) and [event.type for event in episode.events] == ["human", "human", "tool", "human"]
        agent = agent_of(airline, book("VN7"), saver=saver)
        assert isinstance(await run_episode(agent, SCENARIO, attempt=2), Waiting)
        await agent.aclose()
        assert agent.held == {} and airline.left == ["s@1", "s@1"] and "asked VN7" not in airline.made


async def test_what_a_person_answered_is_recorded_with_the_call_and_is_played_without_the_person(tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path)
    airline = Airline()
    players = Players(library.open_tools("s", "perfect", Traffic.RECORD))
    agent = agent_of(airline, book("VN1"), DONE)
    waiting = await run_episode(agent, SCENARIO, players=players)
    assert isinstance(waiting, Waiting) and agent.players_of(SCENARIO, 1, 1) is players
    await resume(agent, waiting, ACCEPTED)
    assert players.tools is not None
    players.tools.save()
    tools = Tools([airline], person=True)
    library.save_tools(tools.specs, tools.routes)
    library.save_tools(tools.specs, {name: route.model_copy(update={"asks": False}) for name, route in tools.routes.items()})
    for person in (True, False):
        known = library.tools(person=person)
        assert known["book"][1].asks is person
        replayed = Tools(recorded=known, person=person)
        player = library.open_tools("s", "perfect", Traffic.REPLAY)
        if person:
            response, _ = await replayed.call("book", {"flight": "VN1"}, "s@1", player)
            assert b"12A" in response.body
        else:
            with pytest.raises(CassetteMissError):
                await replayed.call("book", {"flight": "VN1"}, "s@1", player)
