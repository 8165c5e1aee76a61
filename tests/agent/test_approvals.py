"""A person approves, changes, rejects or answers a call before it runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from talm_sim.agent.approvals import REJECTED
from talm_sim.agent.checkpoints import durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Waiting, run_episode
from talm_sim.agent.graph import TalmRules, talm_graph
from talm_sim.agent.humans import HumanReply, RecordedResponder, question_digest
from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.recordings import HttpResponse, Player, RecordedAnswer
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.guarded import guarded_tools
from talm_sim.tools_env.routes import build_request
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import (
    Approval,
    Decision,
    Episode,
    HumanEvent,
    ModelTurn,
    Origin,
    PersonRequest,
    Route,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    ToolSpec,
    Turn,
)

PROMPTS = load_prompts()
_ARGUMENTS = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"], "additionalProperties": False}
SPECS = {name: ToolSpec(name=name, parameters=_ARGUMENTS) for name in ("send", "look", "wipe", "writing")}
ROUTES = {"send": Route(method="POST", path="/send"), "look": Route(path="/look/{to}")}
SCENARIO = Scenario(
    id="s", group="g", turns=(Turn(messages=({"role": "user", "content": "Send it to Ann."},)),), tools=("send", "look", "wipe")
)


class Client(Tools):
    """Answers every call from memory, and keeps what was called."""

    def __init__(self) -> None:
        routes = {name: ROUTES.get(name, Route(method="DELETE", path=f"/{name}")) for name in SPECS}
        super().__init__(recorded={name: (spec, routes[name]) for name, spec in SPECS.items()})
        self.made: list[tuple[str, Mapping[str, object]]] = []

    async def call(
        self, tool: str, arguments: Mapping[str, object], episode: str = "", player: Player | None = None
    ) -> tuple[HttpResponse, Origin]:
        build_request(self.routes[tool], arguments)
        self.made.append((tool, arguments))
        return HttpResponse(200, "OK", (), json.dumps({"done": [tool, arguments]}).encode()), Origin.RECORDED


class Script:
    """A model that plays prepared turns; it keeps what it was shown."""

    name = "test/script"

    def __init__(self, *turns: ModelTurn) -> None:
        self.turns = list(turns)
        self.seen: list[Sequence[BaseMessage]] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.seen.append(list(messages))
        return self.turns.pop(0)

    async def aclose(self) -> None:
        """Nothing to close."""


class Decider:
    """A person who decides as it was told, and answers questions."""

    def __init__(self, *decisions: Decision) -> None:
        self.decisions = list(decisions)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, question: str, ask: int) -> HumanReply:
        self.asked.append((question, ask))
        return HumanReply("yes", "decider")

    async def decide(self, request: PersonRequest, ask: int) -> HumanReply:
        self.asked.append((request.text, ask))
        decision = self.decisions.pop(0)
        return HumanReply(decision.text, "decider", decision=decision)


def calls(*made: tuple[str, Mapping[str, object]]) -> ModelTurn:
    return ModelTurn(tool_calls=tuple(ToolCall(id=f"c{place}", name=name, arguments=dict(given)) for place, (name, given) in enumerate(made)))


ANSWER = ModelTurn(raw_text="Done.", text="Done.")
SEND = calls(("send", {"to": "Ann"}))


def agent(model: Script, tools: Client, *, approve: str = "send", perturb: tuple[str, ...] = (), **more: Any) -> Agent:
    saver = more.pop("saver", None) or memory_saver()
    return Agent(
        model=model,
        graph=talm_graph(TalmRules(PROMPTS, {}, 5), saver),
        environment=Environment(tools, perturb=perturb, writing=True, approve=guarded_tools(approve, tools)),
        human="terminal",
        human_tool=PROMPTS.human_tool(),
        most_steps=25,
        saver=saver,
        **more,
    )


async def play(model: Script, *decisions: Decision, tools: Client | None = None, **more: Any) -> tuple[Episode, Decider]:
    person = Decider(*decisions)
    episode = await run_episode(agent(model, tools or Client(), responder=lambda scenario, epoch: person, **more), SCENARIO)
    assert isinstance(episode, Episode)
    return episode, person


def read_by(model: Script) -> list[str]:
    return [message.text for message in model.seen[-1] if message.type == "tool"]


async def test_an_approved_call_runs_as_it_was_made() -> None:
    model, tools = Script(SEND, ANSWER), Client()
    episode, person = await play(model, Decision(action="approve"), tools=tools)
    asked, done = episode.events
    assert isinstance(asked, HumanEvent)
    assert isinstance(done, ToolEvent)
    assert person.asked == [('Allow send(to="Ann")?', 1)]
    assert (asked.by, asked.kind, asked.request, asked.call_id) == (
        "policy",
        "approval",
        Approval(name="send", arguments={"to": "Ann"}, parameters=_ARGUMENTS),
        "c0",
    )
    assert asked.decision == Decision(action="approve")
    assert (done.call_id, done.name, done.arguments, done.ok) == ("c0", "send", {"to": "Ann"}, True)
    assert tools.made == [("send", {"to": "Ann"})]
    assert read_by(model) == [done.result]
    assert episode.questions == ()
    assert Episode.model_validate_json(episode.model_dump_json()) == episode


async def test_an_edited_call_is_what_runs_and_what_faults_strike() -> None:
    model, tools = Script(SEND, ANSWER), Client()
    edited = Decision(action="edit", name="wipe", arguments={"to": "Bob"})
    episode, _ = await play(model, edited, tools=tools, perturb=("http-500:tool=wipe,times=1",))
    (done,) = episode.tool_events
    assert (done.name, done.arguments, done.status) == ("wipe", {"to": "Bob"}, 500)
    assert [log.fired for log in done.perturbations] == [1]
    assert episode.human_events[0].decision == edited
    assert tools.made == []
    assert read_by(model) == [done.result]


async def test_an_edit_that_does_not_fit_is_the_responder_s_mistake() -> None:
    tools = Client()
    with pytest.raises(PrerequisiteError, match="cannot be taken: 'to' is a required property"):
        await play(Script(SEND, ANSWER), Decision(action="edit", name="send", arguments={"who": "Bob"}), tools=tools)
    assert tools.made == []


async def test_an_edit_of_another_tool_that_does_not_fit_is_an_error_that_the_agent_reads() -> None:
    tools = Client()
    episode, _ = await play(Script(SEND, ANSWER), Decision(action="edit", name="wipe", arguments={"who": "Bob"}), tools=tools)
    assert [(event.name, event.error) for event in episode.tool_events] == [("wipe", "invalid_arguments")]
    assert tools.made == []


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(action="reject"), REJECTED),
        (Decision(action="reject", message="Wrong Ann."), f"{REJECTED} The reason given: Wrong Ann."),
        (
            Decision(action="respond", message="It was sent already."),
            "The person answered in place of this call, which was not executed: It was sent already.",
        ),
    ],
)
async def test_a_call_that_is_not_allowed_does_not_run_and_its_agent_reads_why(decision: Decision, said: str) -> None:
    model, tools = Script(SEND, ANSWER), Client()
    episode, _ = await play(model, decision, tools=tools)
    assert tools.made == []
    assert episode.tool_events == ()
    assert read_by(model) == [said]
    assert episode.human_events[0].answer == said
    assert episode.termination is Termination.ANSWERED


async def test_calls_of_one_turn_are_decided_together_and_the_others_do_not_wait() -> None:
    made = calls(
        ("send", {"to": "A"}), ("look", {"to": "B"}), ("send", {"to": "C"}), ("ask_human", {"question": "Now?"}), ("send", {"to": "D"})
    )
    model, tools = Script(made, ANSWER), Client()
    decisions = (Decision(action="approve"), Decision(action="reject"), Decision(action="edit", name="send", arguments={"to": "E"}))
    episode, person = await play(model, *decisions, tools=tools)
    assert [ask for _, ask in person.asked] == [1, 2, 3, 4]
    assert tools.made == [("look", {"to": "B"}), ("send", {"to": "A"}), ("send", {"to": "E"})]
    answered = [message.tool_call_id for message in model.seen[1] if isinstance(message, ToolMessage)]
    assert sorted(answered) == ["c0", "c1", "c2", "c3", "c4"]
    assert len(model.seen) == 2
    assert [event.question for event in episode.questions] == ["Now?"]


async def test_a_call_that_would_be_refused_anyway_is_shown_to_nobody() -> None:
    model = Script(calls(("send", {"who": "Ann"}), ("sned", {"to": "Ann"})), ANSWER)
    episode, person = await play(model)
    assert person.asked == []
    assert [event.error for event in episode.tool_events] == ["invalid_arguments", "unknown_tool"]


async def test_a_tool_that_a_fault_renames_needs_approval_all_the_same() -> None:
    model = Script(ModelTurn(), ANSWER)
    tools = Client()
    person = Decider(Decision(action="reject"))
    played = agent(model, tools, responder=lambda scenario, epoch: person, perturb=("rename:tool=send",))
    assert played.environment is not None
    renamed = next(spec.name for spec in played.environment.open(SCENARIO).tools if spec.name not in SPECS)
    model.turns[0] = calls((renamed, {"to": "Ann"}))
    episode = await run_episode(played, SCENARIO)
    assert isinstance(episode, Episode)
    assert [event.question for event in episode.human_events] == [f'Allow {renamed}(to="Ann")?']
    assert tools.made == []


async def test_approvals_wait_in_a_file_and_nothing_runs_twice(tmp_path: Path) -> None:
    tools = Client()
    made = calls(("send", {"to": "A"}), ("send", {"to": "B"}))
    async with durable_saver(tmp_path / "c.db") as saver:
        waiting = await run_episode(agent(Script(made), tools, saver=saver), SCENARIO)
    assert isinstance(waiting, Waiting)
    assert [(one.ask, one.question, one.request) for one in waiting.questions] == [
        (1, 'Allow send(to="A")?', Approval(name="send", arguments={"to": "A"}, parameters=_ARGUMENTS)),
        (2, 'Allow send(to="B")?', Approval(name="send", arguments={"to": "B"}, parameters=_ARGUMENTS)),
    ]
    assert tools.made == []
    first, second = (one.interrupt_id for one in waiting.questions)
    replies = {
        second: HumanReply("", "terminal", decision=Decision(action="reject")),
        first: HumanReply("", "terminal", decision=Decision(action="approve"), name="Ann"),
    }
    async with durable_saver(tmp_path / "c.db") as saver:
        episode = await run_episode(
            agent(Script(ANSWER), tools, saver=saver), SCENARIO, resume=replies, state=json.loads(json.dumps(waiting.state))
        )
    assert isinstance(episode, Episode)
    assert tools.made == [("send", {"to": "A"})]
    assert [(event.name, event.decision) for event in episode.human_events] == [
        ("Ann", Decision(action="approve")),
        ("", Decision(action="reject")),
    ]


async def test_recorded_decisions_are_played_again() -> None:
    decisions = (Decision(action="edit", name="send", arguments={"to": "Bob"}), Decision(action="reject", message="No more."))
    turns = (SEND, calls(("send", {"to": "Cid"})), ANSWER)
    live, _ = await play(Script(*turns), *decisions)
    recorded = [
        RecordedAnswer(
            ask=ask,
            question_digest=question_digest(event.question),
            question=event.question,
            answer=event.answer,
            responder=event.responder,
            decision=event.decision,
        )
        for ask, event in enumerate(live.human_events, start=1)
    ]
    played = agent(Script(*turns), Client(), responder=lambda scenario, epoch: RecordedResponder(scenario.id, recorded))
    again = await run_episode(played, SCENARIO)
    assert isinstance(again, Episode)
    outcome = [(event.question, event.answer, event.decision) for event in live.human_events]
    assert [(event.question, event.answer, event.decision) for event in again.human_events] == outcome
    assert [(event.name, event.arguments, event.result) for event in again.tool_events] == [
        (event.name, event.arguments, event.result) for event in live.tool_events
    ]


async def test_a_responder_that_decides_nothing_is_named() -> None:
    async def answers(question: str, ask: int) -> HumanReply:
        return HumanReply("yes", "test")

    with pytest.raises(PrerequisiteError, match="approves no calls"):
        await run_episode(agent(Script(SEND), Client(), responder=lambda scenario, epoch: answers), SCENARIO)


def test_the_guarded_tools_are_those_named_or_not_declared_read_only() -> None:
    tools = Client()
    assert guarded_tools("", tools) == frozenset()
    assert guarded_tools("writing", tools) == {"send", "wipe", "writing"}
    assert guarded_tools("tool:writing", tools) == {"writing"}
    assert guarded_tools("look,tool:send", tools) == {"look", "send"}
    with pytest.raises(PrerequisiteError, match=r"^approve: no tool 'sned'\. Did you mean 'send'\?$"):
        guarded_tools("look,sned", tools)


def test_a_call_may_be_repeated_if_it_only_reads_or_changes_what_is_the_episodes_own() -> None:
    tools = Client()
    tools.routes["wipe"] = Route(method="POST", path="/wipe", state="writes")
    opened = Environment(tools, approve=frozenset(SPECS)).open(SCENARIO)
    asked = {name: opened.approval_of(ToolCall(id="c", name=name, arguments={"to": "A"})) for name in SCENARIO.tools}
    assert {name: request is not None and request.repeatable for name, request in asked.items()} == {"send": False, "look": True, "wipe": True}
