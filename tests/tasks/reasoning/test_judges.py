"""No judge reads a form: with a right one before it, each stored output gets the verdict that it got alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from zipfile import ZipFile

import pytest

from talm_sim.agent.single_step import _answer
from talm_sim.judges.base import JudgeContext
from talm_sim.judges.behaviour import classify
from talm_sim.models.parsing import split_reasoning
from talm_sim.reasoning import Decision, read_form
from talm_sim.tasks import find_task
from talm_sim.tasks.reasoning import read_thought, with_thought
from talm_sim.tasks.refusal.call_checks.calls_judge import BfclCallsJudge, CallsJudge
from talm_sim.tasks.refusal.intent import IntentJudge
from talm_sim.tasks.when2call.behaviour_llm import answer_for_judge
from talm_sim.types import Calls, Episode, ModelTurn, Scenario
from tests.tasks.refusal.crafted import answered, case
from tests.tasks.refusal.test_intent import LABELLED, TOOLS

RECORDED = Path(__file__).parents[3] / "cassettes" / "openai-api--vllm--smollm2-135m" / "refusal"
JUDGES = [IntentJudge(JudgeContext()), CallsJudge(JudgeContext()), BfclCallsJudge(JudgeContext(calls_as="pythonic"))]


@cache
def outputs() -> tuple[tuple[Scenario, str], ...]:
    """What the shipped recording answered to the packaged rows, and the texts written for judge `intent`."""
    return tuple(one for one in (*recorded(), *written()) if not read_form(one[1]).fields)


def recorded() -> Iterator[tuple[Scenario, str]]:
    task = find_task("refusal")
    for group in task.groups("all"):
        with ZipFile(RECORDED / f"{group}.zip") as archive:
            conversations = {name.partition("/")[0]: name for name in archive.namelist() if "/" in name}
            for scenario in task.read([group], None, "20"):
                tape = json.loads(archive.read(conversations[scenario.id]))
                answer = json.loads(tape["interactions"][0]["response"]["body"]["string"])
                yield scenario, answer["choices"][0]["message"]["content"] or ""


def written() -> Iterator[tuple[Scenario, str]]:
    for name in ("before", "after"):
        for line in (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            tools = [json.dumps(tool) for tool in TOOLS if tool["name"] in row["tools"]]
            yield case(row["id"], tools=tools, target=Calls(expected="any")), row["text"]


def turn_of(raw: str) -> ModelTurn:
    text, thought = split_reasoning(raw)
    return ModelTurn(raw_text=raw, text=text, reasoning=thought)


def episode_of(scenario: Scenario, turn: ModelTurn) -> Episode:
    return answered(scenario).model_copy(update={"model_turns": (turn,), "answer": _answer(turn)})


async def test_a_right_form_changes_no_verdict() -> None:
    assert len({text for _, text in outputs()}) >= 150
    for (scenario, output), decision in zip(outputs(), cycle(Decision), strict=False):
        alone = episode_of(scenario, turn_of(output))
        formed = with_thought("form", decision, output, summary=scenario.query, tools=["get_weather(city='Hanoi')"])
        behind = episode_of(scenario, read_thought(turn_of(formed)))
        for judge in JUDGES:
            before, after = await judge(alone, scenario), await judge(behind, scenario)
            assert (after.value, after.label) == (before.value, before.label), (judge.name, output)
        assert classify(behind.answer) == classify(alone.answer), output
        assert answer_for_judge(behind).strip() == answer_for_judge(alone).strip(), output


def test_a_call_in_a_form_is_none_and_one_behind_a_broken_form_is_one() -> None:
    scenario = case("a", tools=[json.dumps(TOOLS[0])])
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Hanoi"}}\n</tool_call>'
    inside = f"task_summary: weather\ndecision: defer\nwhy: {' '.join(call.split())}\n\nI cannot tell."
    broken = f"task_summary: weather\ndecision: defer\n{call}\nwhy: no"
    for text, label in ((inside, "none"), (broken, "tag")):
        episode = episode_of(scenario, read_thought(turn_of(text)))
        assert asyncio.run(JUDGES[0](episode, scenario)).label == label


def test_a_form_without_an_answer_leaves_none() -> None:
    turn = read_thought(turn_of("task_summary: weather\ntool_needed: true\ndecision: call"))
    assert (turn.written, turn.text, _answer(turn)) == ("", "", "")
    assert turn.reasoning.startswith("task_summary: weather")
    assert turn.raw_text == "task_summary: weather\ntool_needed: true\ndecision: call"


@pytest.mark.parametrize("formed", [True, False])
def test_a_thought_that_never_ends_leaves_no_answer(formed: bool) -> None:
    turn = read_thought(turn_of("<think>I could call get_weather(city='Hanoi')"), formed=formed)
    assert (turn.written, _answer(turn)) == ("", "")
    ended = turn_of("<think>Hm.</think>task_summary: a\ndecision: call\n\nNo.")
    assert (read_thought(ended, formed=formed) is ended) == (not formed)
