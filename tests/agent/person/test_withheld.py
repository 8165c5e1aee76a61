"""The simulated person does a tool's work once the tool is hidden or has failed, and not before, whatever the run injects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.agent.humans import DONT_KNOW, FollowingResponder, HumanReply
from talm_sim.agent.person.knowledge import knowledge_of
from talm_sim.agent.responders import ResponderContext, responder_kind
from talm_sim.language.about_missing import describe_missing, replaceable_tools
from talm_sim.tasks import find_task
from talm_sim.tasks.acting.person_faults import read_person
from talm_sim.tasks.acting.standing_in import hidden_tools
from talm_sim.types import Episode, Event, HumanEvent, Scenario, Termination, ToolEvent, ToolSpec
from talm_sim.world.described import built_in_tools
from tests.tasks.views import job

FAULTS = ((), ("http-500",), ("timeout:seconds=0", "empty-result:p=0.5"))


@cache
def specs() -> Mapping[str, ToolSpec]:
    return built_in_tools().specs


@cache
def scenarios() -> tuple[Scenario, ...]:
    """Those whose gold calls are of a tool that a person can replace."""
    made = job("talm", model="sim/oracle", split="perfect,underspecified")
    return tuple(one for one in find_task("talm").load(made) if replaceable_tools(one, specs()))


def question_about(scenario: Scenario, tool: str) -> str:
    return f"What is the {' '.join(tool.split('_'))}? I need: {specs()[tool].description}"


def ask(scenario: Scenario, question: str, perturb: tuple[str, ...], *events: Event) -> HumanReply:
    opened = responder_kind("simulated").open
    assert opened is not None
    person = opened(ResponderContext(scenario, 1, specs(), list, hidden_tools([*specs().values()], perturb)))
    assert isinstance(person, FollowingResponder)
    person.follow((), events)
    return asyncio.run(person(question, 1))


def failing(tool: str, *, ok: bool = False, error: str = "http_500") -> ToolEvent:
    return ToolEvent(turn=0, call_id="c", name=tool, ok=ok, error="" if ok else error)


@settings(max_examples=40)
@given(st.integers(0, 999), st.integers(0, 4))
def test_until_a_tool_has_failed_faults_change_no_answer(place: int, number: int) -> None:
    scenario = scenarios()[place % len(scenarios())]
    tools = [one.name for one in replaceable_tools(scenario, specs())]
    blockers = [f"What is the {one.name.replace('_', ' ')}? {describe_missing(scenario, one, specs())}" for one in scenario.missing]
    questions = [*(question_about(scenario, tool) for tool in tools), *blockers, "Could you help me?"]
    fine = [failing(tool, ok=True) for tool in tools] + [failing(tool, error="invalid_arguments") for tool in tools]
    for question in questions:
        assert len({ask(scenario, question, perturb, *fine[:number]) for perturb in FAULTS}) == 1


@pytest.mark.parametrize("perturb", FAULTS)
def test_once_it_has_failed_or_is_hidden_its_work_is_done(perturb: tuple[str, ...]) -> None:
    for scenario in scenarios()[::7]:
        for tool in replaceable_tools(scenario, specs()):
            question, said = question_about(scenario, tool.name), tool.human_answer or "nothing"
            assert said not in ask(scenario, question, perturb).answer
            assert said in ask(scenario, question, perturb, failing(tool.name)).answer
            assert said in ask(scenario, question, (*perturb, f"mask:tool={tool.name}")).answer


def test_what_is_told_before_is_a_leak() -> None:
    leaks = 0
    for scenario in [one for one in scenarios() if not one.missing][::9]:
        (tool, *_) = replaceable_tools(scenario, specs())
        question = HumanEvent(
            turn=1, call_id="h", question=question_about(scenario, tool.name), answer=tool.human_answer or "", responder="model:a/b"
        )
        said = {}
        for name, events in {"before": (question, failing(tool.name)), "after": (failing(tool.name), question)}.items():
            episode = Episode(id="e", scenario_id=scenario.id, group="perfect", model="m", events=events, termination=Termination.ANSWERED)
            said[name] = [fault.kind for one in read_person(episode, scenario, specs(), ("http-500",)) for fault in one.faults]
        assert "leak" not in said["after"], scenario.id
        leaks += "leak" in said["before"]
        withheld = [one.missing.name for one in knowledge_of(scenario, specs(), stands_in=()).things if one.withheld]
        assert tool.name in withheld and ask(scenario, question.question, ()).answer == DONT_KNOW
    assert leaks > 5, "what a person tells of a tool that works was not asked of it"
