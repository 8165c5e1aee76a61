"""A person whom a model plays: the conversation that the model reads, and decisions, which follow the scenario."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.agent.person.knowledge import knowledge_of
from talm_sim.agent.person.model_person import ASKED_FOR, PERSONAS, Persona, PersonModel, PlayedPerson
from talm_sim.agent.person.read_person import is_simulated, read_answers
from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.types import (
    Approval,
    Episode,
    GoldCall,
    HumanEvent,
    Missing,
    MissingKind,
    ModelTurn,
    Scenario,
    Termination,
    ToolSpec,
    Turn,
)

GONE = Missing(kind=MissingKind.ARGUMENT, name="city", value="Hanoi", removed_text="in {known} Hanoi", human_answer="I mean Hanoi.")
SCENARIO = Scenario(
    id="s",
    group="underspecified",
    turns=(
        Turn(
            messages=({"role": "user", "content": "What is the {persona} weather?"},),
            gold_calls=(GoldCall(name="weather", arguments={"city": "Hanoi"}),),
        ),
    ),
    missing=(GONE,),
)


class Scripted:
    """Says the next of some texts, and keeps what it was asked."""

    name = "openai/scripted"

    def __init__(self, *texts: str) -> None:
        self.texts = [*texts]
        self.asked: list[list[tuple[str, str]]] = []
        self.seeds: list[int | None] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        assert not tools and settings.max_new_tokens == 256
        self.asked.append([(one.type, str(one.content)) for one in messages])
        self.seeds.append(settings.seed)
        return ModelTurn(raw_text=self.texts[0], text=self.texts.pop(0))

    async def aclose(self) -> None:
        """Hold nothing."""


def person(model: Any, persona: Persona = "none", opened: list[tuple[Any, ...]] | None = None) -> PlayedPerson:
    @contextmanager
    def opens(digest: str, scenario: Scenario, epoch: int, ask: int) -> Iterator[None]:
        if opened is not None:
            opened.append((digest, scenario.id, epoch, ask))
        yield

    def open_request(digest: str, scenario: Scenario, epoch: int, ask: int) -> AbstractContextManager[object]:
        return opens(digest, scenario, epoch, ask)

    shared = PersonModel(model, load_prompts(), persona, 3, open_request)
    return PlayedPerson(shared, knowledge_of(SCENARIO, {}), SCENARIO, 2)


def test_a_conversation_goes_on_and_braces_stay_what_they_are() -> None:
    model, opened = Scripted("Hanoi.", "Yes.", ""), list[tuple[Any, ...]]()
    played = person(model, "chatty", opened)
    first, second = asyncio.run(played("Which city?", 1)), asyncio.run(played("Sure?", 2))
    assert (first.answer, first.responder, first.declined) == ("Hanoi.", "model:openai/scripted", "")
    assert (second.answer, second.declined) == ("Yes.", "")
    (kind, system), *said = model.asked[1]
    assert kind == "system" and "What is the {persona} weather?" in system and "- I mean Hanoi." in system and "You are chatty" in system
    assert said == [("human", "Which city?"), ("ai", "Hanoi."), ("human", "Sure?")]
    assert len(set(model.seeds)) == 2
    assert [one[1:] for one in opened] == [("s", 2, 1), ("s", 2, 2)] and len({one[0] for one in opened}) == 1
    with pytest.raises(ProviderError, match="no answer to question 3"):
        asyncio.run(played("Really?", 3))


@pytest.mark.parametrize("persona", PERSONAS)
def test_every_persona_has_its_own_words_and_recording(persona: Persona) -> None:
    opened, plain = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    model = Scripted("x")
    asyncio.run(person(model, persona, opened)("Which city?", 1))
    asyncio.run(person(Scripted("x"), "none", plain)("Which city?", 1))
    assert (opened == plain) is (persona == "none")
    assert "{" not in load_prompts().person(persona)[1]
    assert set(ASKED_FOR) < set(PERSONAS)


def test_calls_are_decided_by_rule_and_who_pushes_back_asks_why_once() -> None:
    right, wrong = Approval(name="weather", arguments={"city": "Hanoi"}), Approval(name="weather", arguments={"city": "Rome"})
    plain, pushes = person(Scripted()), person(Scripted(), "pushes-back")

    def decided(who: PlayedPerson, *requests: Approval) -> list[str]:
        return [asyncio.run(who.decide(one, number)).answer for number, one in enumerate(requests, start=1)]

    assert decided(plain, right, wrong) == ["approve", 'edit: weather({"city": "Hanoi"})']
    assert decided(pushes, right, right) == ["reject: Why do you want to do that? Tell me first.", "approve"]
    assert decided(person(Scripted(), "pushes-back"), Approval(name="weather", arguments={"city": "Hanoi"}, allowed=("approve",))) == [
        "approve"
    ]


def test_a_call_that_is_answered_in_words_is_a_question() -> None:
    asked = Approval(name="ask", arguments={"question": "Which city?"}, allowed=("respond",))
    reply = asyncio.run(person(Scripted("Hanoi.")).decide(asked, 1))
    assert reply.decision is not None and (reply.decision.action, reply.decision.message) == ("respond", "Hanoi.")


def test_what_people_say_is_read_and_only_simulated_ones_are_checked() -> None:
    said = [("Which city?", "Hue."), ("Which city?", "Why do you ask? Hanoi."), ("Why?", "")]
    for responder, faults in (("terminal", [0, 0, 0]), ("model:openai/scripted", [1, 0, 0]), ("recorded (simulated)", [1, 0, 0])):
        events = tuple(
            HumanEvent(turn=0, call_id=str(n), question=question, answer=answer, responder=responder, declined="" if answer else "skip")
            for n, (question, answer) in enumerate(said)
        )
        episode = Episode(id="e", scenario_id="s", group="g", model="m", events=events, termination=Termination.ANSWERED)
        read = list(read_answers(episode, lambda _: knowledge_of(SCENARIO, {})))
        assert [one.words for one in read] == [1, 5, 0]
        assert [one.told for one in read] == [(), ("city",), ()]
        assert [one.pushes_back for one in read] == [False, True, True]
        assert [len(one.faults) for one in read] == faults
        assert is_simulated(responder) is (faults != [0, 0, 0])
