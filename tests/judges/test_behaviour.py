from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.behaviour import BehaviourJudge, classify
from talm_sim.types import (
    Behaviour,
    Choice,
    Episode,
    ModelTurn,
    Option,
    Scenario,
    Termination,
    ToolCall,
    Turn,
    UnparsableCall,
)

DIRECT, CALL, ASK, CANNOT = Behaviour
OPTIONS = tuple(Option(behaviour=one, text="x") for one in Behaviour)


def item(gold: Behaviour) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "What is the time?"},))
    return Scenario(id="s", task="when2call", group=gold.value, turns=(turn,), target=Choice(gold=gold, options=OPTIONS))


def episode(answer: str = "", turn: ModelTurn | None = None, end: Termination = Termination.ANSWERED) -> Episode:
    turns = () if turn is None else (turn,)
    return Episode(id="s", scenario_id="s", group="g", model="m/m", answer=answer, model_turns=turns, termination=end)


@pytest.mark.parametrize(
    "written",
    [
        '{"name": "clock", "arguments": {"city": "Hanoi"}}',
        '[{"name": "clock", "arguments": {}}, {"name": "map", "parameters": {"at": [1, 2]}}]',
        '<tool_call>\n{"name": "clock", "arguments": {"city": "Hanoi"}}\n</tool_call>',
        '<tool_call>{"name": "clock", "arguments": {"city": ',
        '<TOOLCALL>[{"name": "clock", "arguments": {}}]</TOOLCALL>',
        '<|python_tag|>clock.get(city="Hanoi")',
        '<function=clock>{"city": "Hanoi"}</function>',
        '[TOOL_CALLS] [{"name": "clock", "arguments": {}}]',
        '>>>clock\n{"city": "Hanoi"}',
        "[clock.now(city='Hanoi', at=[1, 2]), map()]",
        "```python\nclock(city='Hanoi')\n```",
        'I will look it up.\n```json\n{"name": "clock", "arguments": {"city": "Hanoi"}}\n```\nOne moment.',
        '{"type": "function", "function": {"name": "clock", "parameters": {}}}',
        '{"tool_calls": [{"name": "clock", "arguments": {}}]}',
        '{"type": "function", "function": "clock", "parameters": {"city": "Hanoi"}}',
        '{"name": "clock", "arguments": "{}"}',
        "[get_weather(city='Michigan'",
        "<tool_call>clock\n<arg_key>city</arg_key>\n<arg_value>Hanoi</arg_value>\n</tool_call>",
        '[TOOL_CALLS]clock[ARGS]{"city": "Hanoi"}',
        "<reasoning>Which city?</reasoning><toolcall> {} </toolcall>",
    ],
)
def test_a_call_written_as_text_is_a_call_whatever_its_form(written: str) -> None:
    assert classify(written) is CALL


@pytest.mark.parametrize(
    ("answer", "behaviour"),
    [
        ('The record is {"name": "Ada", "age": 36}.', DIRECT),
        ("Paris (the capital) is in France.", DIRECT),
        ("Use print(x) to show it.", DIRECT),
        ('{"tool_calls": []}', DIRECT),
        ('{"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}', DIRECT),
        ('{"type": "function", "function": {"name": "clock", "description": "", "parameters": {}}}', DIRECT),
        ("It is half past twelve. Would you like more details?", DIRECT),
        ("How about a walk in the park? It is sunny.", DIRECT),
        ("I found three hotels: the Grand, the Plaza and the Ritz. Which one should I book?", ASK),
        ("In which city would you like to know the time?", ASK),
        ("Sure, I can help with that. To go on, please specify the city.", ASK),
        ("I need your account number to look that up.", ASK),
        ("I'm sorry, but I can't tell without a place. Could you tell me the city?", ASK),
        ("I\u2019m sorry, I can\u2019t look up the time.", CANNOT),
        ("None of the functions can do this.", CANNOT),
        ("I do not have access to live data. Please check a clock.", CANNOT),
        ("I still need to know the city. Could you add it?", ASK),
        ("I can begin once you tell me the city. Could you say it?", ASK),
        ("Once you are in Hanoi, it is noon.", DIRECT),
        ("Sorry, this is beyond what I can look up.", CANNOT),
        ("That is beyond my abilities. Is there anything else I can do?", CANNOT),
        ("<think>Should I ask which city? Or call clock()?</think>It is noon.", DIRECT),
    ],
)
def test_wordings_are_told_apart(answer: str, behaviour: Behaviour) -> None:
    assert classify(answer) is behaviour


@pytest.mark.parametrize("answer", ["", " \n", "<think>Hm.</think>"])
def test_nothing_is_no_behaviour(answer: str) -> None:
    assert classify(answer) == "unparsed"


@given(st.text(alphabet=st.sampled_from("{[(<>\"\\:,.? ancei'\n|_"), max_size=200) | st.text(max_size=200))
def test_any_text_gets_a_label(answer: str) -> None:
    assert classify(answer) in {*Behaviour, "unparsed"}


def test_brackets_without_end_take_no_time() -> None:
    assert classify("[" * 100_000) is DIRECT
    assert classify('{"a":' * 20_000) is DIRECT


@pytest.mark.parametrize(
    "turn",
    [
        ModelTurn(tool_calls=(ToolCall(id="1", name="clock"),)),
        ModelTurn(unparsable_calls=(UnparsableCall(id="1", name="clock", raw="{", reason="not JSON"),)),
    ],
)
async def test_a_native_call_is_a_call_readable_or_not(turn: ModelTurn) -> None:
    verdict = await BehaviourJudge(JudgeContext())(episode("Which city?", turn), item(CALL))
    assert (verdict.value, verdict.label) == (True, "tool_call")


async def test_the_verdict_compares_with_the_gold_behaviour() -> None:
    judge = BehaviourJudge(JudgeContext())
    right, wrong = await judge(episode("Which city?"), item(ASK)), await judge(episode("Which city?"), item(CANNOT))
    assert (right.value, right.label, right.judge, right.judge_config_digest) == (True, "request_for_info", "behaviour", judge.config_digest)
    assert (wrong.value, wrong.explanation) == (False, "taken for request_for_info, right is cannot_answer")
    empty = await judge(episode(" "), item(CANNOT))
    assert (empty.value, empty.label) == (False, "unparsed")


async def test_what_is_no_free_answer_gets_no_label() -> None:
    judge = BehaviourJudge(JudgeContext())
    scored = episode().model_copy(update={"details": {"option_scores": [{"behaviour": "tool_call", "logprob": -1, "tokens": 1, "size": 1}]}})
    facts = item(CALL).model_copy(update={"target": None})
    for one, scenario, words in (
        (episode("x", end=Termination.CONTEXT_OVERFLOW), item(CALL), "context_overflow"),
        (episode("x", end=Termination.INFRASTRUCTURE_ERROR), item(CALL), "infrastructure_error"),
        (scored, item(CALL), "chose among given answers"),
        (episode("x"), facts, "no gold behaviour"),
    ):
        verdict = await judge(one, scenario)
        assert verdict.value is None and not verdict.label and words in verdict.explanation


@pytest.mark.bench_data
def test_the_published_answers_are_told_apart(bench_data: Path) -> None:
    """The rules were tuned on the rows of even index; the others had no say in them."""
    lines = (bench_data / "when2call" / "when2call_sample.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [row["answers"] for row in map(json.loads, lines)][1::2]
    seen = Counter((kind, str(classify(text))) for given in answers for kind, text in given.items())
    assert seen.total() == 300
    assert sum(seen[kind.value, kind.value] for kind in Behaviour) >= 0.97 * 300, seen
    assert all(seen[kind.value, kind.value] >= 0.95 * 75 for kind in Behaviour), seen
