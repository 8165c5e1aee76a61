"""The checker of simulated people: measured on labelled answers, and never at fault with the person that is played by a rule."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.agent.humans import SimulatedResponder
from talm_sim.agent.person.faults import FAULTS, find_faults, told_things
from talm_sim.agent.person.knowledge import Knowledge, KnownThing, knowledge_of
from talm_sim.agent.person.read_person import read_answers
from talm_sim.language.said.past_acts import claimed_acts
from talm_sim.types import Episode, Fact, HumanEvent, Missing, MissingKind, Scenario, Termination, ToolSpec
from talm_sim.world.described import built_in_tools
from tests.labelled_scenarios import labelled_scenarios

FILE = Path(__file__).with_name("answers.jsonl")


def records(file: Path = FILE) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@cache
def scenarios() -> dict[str, Scenario]:
    return labelled_scenarios()


@cache
def specs() -> Mapping[str, ToolSpec]:
    return built_in_tools().specs


@cache
def known(scenario: str) -> Knowledge:
    return knowledge_of(scenarios()[scenario], specs())


def verdict(record: dict[str, Any]) -> str:
    """The gravest fault that is found, or `ok`."""
    earlier = record.get("earlier", [])
    asked = [*(question for question, _ in earlier), record["question"]]
    found = find_faults(record["answer"], asked, known(record["scenario"]), [answer for _, answer in earlier])
    return found[0].kind if found else "ok"


@pytest.mark.parametrize(("file", "size", "least"), [("answers", 120, 110), ("apart", 40, 37), ("kinds", 40, 37), ("later", 20, 18)])
def test_nearly_all_labels_are_right_and_no_contradiction_passes(file: str, size: int, least: int) -> None:
    said = [(one["id"], one["label"], verdict(one)) for one in records(FILE.with_name(f"{file}.jsonl"))]
    wrong = [one for one in said if one[1] != one[2]]
    assert len(said) == size and size - len(wrong) >= least, wrong
    assert [one for one in wrong if one[1:] == ("contradiction", "ok")] == []
    assert file != "answers" or len([one for one in wrong if one[1] == "ok"]) <= 1


def _same(knowledge: Knowledge, _: HumanEvent) -> Knowledge:
    return knowledge


@pytest.mark.parametrize("stands_in", [False, True])
def test_the_person_that_is_played_by_a_rule_is_never_at_fault(*, stands_in: bool) -> None:
    """Whatever it is asked: about what is missing, about a tool's work, about nothing, about the other scenarios' blockers."""
    specs = built_in_tools().specs
    chosen = [one for one in scenarios().values() if one.missing][::9]
    others = ["Could you give me more details?", "Which city do you mean?", "On which date?", "What is the amount?"]
    for scenario in chosen:
        tools = specs if stands_in else ()
        knowledge = knowledge_of(scenario, specs, stands_in=tools or None)
        person = SimulatedResponder(scenario, specs, stands_in=tools)
        asked = [*(f"What is the {' '.join(one.name.split('_'))}? I need: {one.description}" for one in knowledge.things), *others]
        events = []
        for number, question in enumerate(asked, start=1):
            reply = asyncio.run(person(question, number))
            said = {"answer": reply.answer, "responder": "simulated", "declined": reply.declined}
            events.append(HumanEvent(turn=0, call_id=f"h{number}", question=question, **said))
        episode = Episode(id="e", scenario_id=scenario.id, group="g", model="m", events=tuple(events), termination=Termination.ANSWERED)
        read = read_answers(episode, partial(_same, knowledge))
        faults = [(one.event.question, one.event.answer, one.faults) for one in read if one.faults]
        assert faults == [], scenario.id


def thing(name: str, value: str | int, said: str = "") -> KnownThing:
    gone = Missing(kind=MissingKind.ARGUMENT, name=name, value=value, removed_text=said)
    return KnownThing(gone, "", (Fact(name=name, value=value),), f"{value}\n{said}")


TWO = Knowledge("Book a table and a taxi for Tom.", (thing("guests", 14), thing("restaurant", "Trattoria Verde")))


@pytest.mark.parametrize(
    ("question", "answer", "kinds"),
    [
        ("How many guests?", "We are 14.", []),
        ("How many guests?", "We are fourteen.", []),
        ("How many guests?", "15 people.", ["contradiction"]),
        ("How many guests?", "14 or 15.", ["contradiction"]),
        ("How many guests?", "15, sorry, I meant 14.", []),
        ("How many guests?", "It is not 14.", ["contradiction"]),
        ("How many guests? 15?", "Yes.", ["contradiction"]),
        ("How many guests?", "I don't know.", []),
        ("How many guests?", "Why do you need to know?", []),
        ("How many guests?", "14, at the Trattoria Verde.", ["leak"]),
        ("How many guests?", "14. I have already called them.", ["false_claim"]),
        ("How many guests?", "14. I have not called them.", []),
        ("How many guests?", "14, and Marjorie brings a cake.", ["false_claim"]),
        ("Which restaurant?", "At the Trattoria Verde.", []),
        ("Which restaurant?", "At the Osteria Blu.", ["contradiction"]),
        ("Shall I wear a hat?", "As I said, Trattoria Verde.", ["false_claim", "leak"]),
        ("Who is it for?", "For Tom.", []),
    ],
)
def test_rules(question: str, answer: str, kinds: list[str]) -> None:
    found = find_faults(answer, [question], TWO)
    assert [*dict.fromkeys(one.kind for one in found)] == kinds, found


def test_a_thing_that_was_asked_before_is_no_leak_and_may_be_said_to_have_been_told() -> None:
    asked = ["Which restaurant?", "How many guests?"]
    assert find_faults("14. As I said, Trattoria Verde.", asked, TWO, ["Trattoria Verde"]) == []
    assert told_things("14, Trattoria Verde", TWO) == ["guests", "restaurant"]


def test_acts_that_the_scenario_knows_of_are_not_claimed() -> None:
    assert [one.words for one in claimed_acts("I changed the money yesterday.", "On which day I changed the money")] == []
    assert [one.words for one in claimed_acts("If I sent it, fine. Should I have called?")] == []


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=3))
def test_any_text_is_read(answer: str, asked: list[str]) -> None:
    found = find_faults(answer, asked, TWO, asked[:-1])
    assert [FAULTS.index(one.kind) for one in found] == sorted(FAULTS.index(one.kind) for one in found)
    assert set(told_things(answer, TWO)) <= {"guests", "restaurant"}


@given(
    st.lists(st.sampled_from(["14", "15", "or", "not", "I", "already", "sent", "Oslo", "Trattoria Verde", ",", ".", "?", "sorry"]), max_size=12)
)
def test_the_right_value_alone_is_never_a_contradiction_of_another_thing(words: list[str]) -> None:
    for fault in find_faults(" ".join(words), ["Shall I wear a hat?"], TWO):
        if fault.kind == "leak":
            assert fault.about in told_things(" ".join(words), TWO)


def test_knowledge_has_every_blocker() -> None:
    assert [one.name for one in known("calendar-06.underspecified").things] == ["year"]
    assert known("calendar-03.non-replaceable").things == ()
    assert [str(fact.value) for fact in known("finance-06.replaceable").things[0].facts] == ["32"]
