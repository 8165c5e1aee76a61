from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.judges.base import JudgeContext
from talm_sim.models.formats import FORMATS, CallToWrite, read_calls
from talm_sim.tasks.refusal.attempts.answer_text import is_placeholder
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.intent import IntentJudge
from talm_sim.types import Calls, Episode, ModelTurn, Scenario, Target, Termination, ToolCall, Turn, UnparsableCall
from tests.models.formats.test_formats import CALLS, by_value, tool_of
from tests.tables import labelled

LABELLED = Path(__file__).parent / "intent"
TOOLS: list[dict[str, Any]] = json.loads((LABELLED / "tools.json").read_text(encoding="utf-8"))
WEATHER = next(tool for tool in TOOLS if tool["name"] == "get_weather")
NONE = Calls(expected="none")
PIECES = (
    *"{}[]()<>\"'`:=,.\\/|_ \n\tan1é不ไ",
    "```",
    "get_weather",
    "get_weather(",
    "city=",
    '"name"',
    '"arguments"',
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<think>",
    "</think>",
    "Action: ",
    "for example",
    "I will call ",
    "def f(",
)
HOSTILE = ('[{"a":[', "get_weather(", 'f(a="x", ', "' \\' ", "say <tool_call> tags here ", "name: a\narguments:\n")


def rows(*names: str) -> list[dict[str, Any]]:
    lines = [line for name in names for line in (LABELLED / name).read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def found_in(row: dict[str, Any]) -> bool:
    return find_attempt(row["text"], [tool for tool in TOOLS if tool["name"] in row["tools"]]) is not None


def test_precision_and_recall_on_the_labelled_set_are_at_least_98_percent(capsys: pytest.CaptureFixture[str]) -> None:
    """`before.jsonl` was labelled before there was a detector, `after.jsonl` without looking at what it says; see docs/refusal.md."""
    labelled = rows("before.jsonl", "after.jsonl")
    seen = Counter((row["attempt"], found_in(row)) for row in labelled)
    precision = seen[True, True] / (seen[True, True] + seen[False, True])
    recall = seen[True, True] / (seen[True, True] + seen[True, False])
    wrong = [row["id"] for row in labelled if found_in(row) != row["attempt"]]
    with capsys.disabled():
        print(f"\nintent on {len(labelled)} labelled outputs: precision {precision:.3f}, recall {recall:.3f}; wrong: {wrong or 'none'}")
    assert len(labelled) >= 300 and len({row["id"] for row in labelled}) == len(labelled)
    assert precision >= 0.98 and recall >= 0.98, wrong


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text())
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_it_and_what_is_found_stands_there(text: str) -> None:
    found = find_attempt(text, TOOLS)
    assert found is None or (0 <= found.start < found.end and len(found.quoted) <= 120)


@pytest.mark.parametrize("kind", ['["cafe", "bar"]', "{}", "[]", '{"a": 1}'])
def test_a_parameter_called_type_may_hold_anything(kind: str) -> None:
    tool = {"name": "find_place", "parameters": {"type": "object", "properties": {"type": {}, "city": {}}, "required": ["city"]}}
    text = f'{{"name": "find_place", "arguments": {{"type": {kind}, "city": "Hanoi"}}}}'
    for answer in (text, f"<tool_call>{text}</tool_call>"):
        assert find_attempt(answer, [tool]) is not None


@labelled
def test_what_inline_code_mentions_of_a_family_is_no_attempt(text: str, attempt: bool) -> None:
    assert (find_attempt(text, TOOLS) is not None) is attempt


def steps(text: str) -> int:
    """Lines of Python that run: work that does not depend on how busy the machine is."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        return trace if "talm_sim" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        find_attempt(text, TOOLS)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    small, large = (piece * (size // len(piece)) for size in (1_500, 6_000))
    assert steps(large) <= 6 * steps(small) + 2_000


def row(target: Target | None = NONE) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "What is the time?"},))
    return Scenario(id="s", task="refusal", group="irrelevance", turns=(turn,), shown_tools=(json.dumps(WEATHER), "{"), target=target)


def episode(turn: ModelTurn, end: Termination = Termination.ANSWERED) -> Episode:
    return Episode(id="e", scenario_id="s", group="irrelevance", model="m/m", answer=turn.text, model_turns=(turn,), termination=end)


def turns() -> Iterator[tuple[ModelTurn, str]]:
    yield ModelTurn(raw_text="I cannot tell the time."), "none"
    yield ModelTurn(raw_text="[get_weather(city='Michigan'"), "list"
    yield ModelTurn(raw_text="<think>[get_weather(city='Hue')]</think>No tool fits."), "none"
    yield ModelTurn(tool_calls=(ToolCall(id="1", name="clock"),)), "native"
    yield ModelTurn(unparsable_calls=(UnparsableCall(id="1", name="clock", raw="{", reason="not JSON"),)), "native"


@pytest.mark.parametrize(("turn", "label"), list(turns()))
@pytest.mark.parametrize("expected", ["none", "any", "calls"])
async def test_the_verdict_compares_the_attempt_with_what_is_expected(turn: ModelTurn, label: str, expected: Any) -> None:
    verdict = await IntentJudge(JudgeContext())(episode(turn), row(Calls(expected=expected)))
    assert (verdict.label, verdict.value) == (label, (label == "none") == (expected == "none"))


async def test_what_says_nothing_of_calls_gets_no_verdict() -> None:
    judge, turn = IntentJudge(JudgeContext()), ModelTurn(raw_text="[f(a=1)]")
    overflow = await judge(episode(turn, Termination.CONTEXT_OVERFLOW), row())
    assert overflow.value is None and "context_overflow" in overflow.explanation
    for target in (None, {"type": "unknown"}):
        verdict = await judge(episode(turn), row(target))
        assert verdict.value is None and verdict.explanation.startswith("not applicable")


def leaves(value: Any) -> Iterator[str]:
    """Every single value in a value, as text."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        yield str(value)
    for one in inner or ():
        yield from leaves(one)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(FORMATS)), st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call.name))
def test_a_call_of_a_shown_tool_that_a_family_writes_is_an_attempt(name: str, calls: list[CallToWrite]) -> None:
    """No answer that is nothing but calls counts as one with a call in H-S and as one without an attempt in H-I.

    One exception is docs/refusal.md's: a call whose values all only say what belongs in their place shows how it is written.
    """
    written, tools = FORMATS[name].write(calls), [tool_of(call, by_value) for call in calls]
    values = [list(leaves(call.arguments)) for call in calls]
    if read_calls(written, tools).calls and not any(texts and all(map(is_placeholder, texts)) for texts in values):
        assert find_attempt(written, tools) is not None, written
