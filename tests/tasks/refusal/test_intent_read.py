"""H-I beside H-S: whatever is read as a call is an attempt, whatever stands around it."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.judges.base import JudgeContext
from talm_sim.models.formats import FORMATS, CallToWrite, read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.call_checks.calls_judge import CallsJudge
from talm_sim.tasks.refusal.intent import IntentJudge
from talm_sim.types import Calls, Episode, ModelTurn, Scenario, Turn
from tests.tables import labelled

SEED = 23
OUTPUTS = 45_000 if os.environ.get("TALM_TEST_EXAMPLES") == "random" else 1_500
"""All of them in `make ci-full`."""
NAMES = ("get_weather", "music.find", "f", "sum", "print", "Lookup", "x", "find_pharmacy")
KEYS = ("city", "a", "query", "n")
VALUES: tuple[Any, ...] = (
    "Hanoi",
    3,
    0.5,
    True,
    None,
    ["a", "b"],
    {"k": "v"},
    "it's",
    'say "x"',
    "<city>",
    "...",
    "YOUR_CITY",
    "city",
    "[0]",
    "",
)
FRAMES = (
    "{}",
    "{}.",
    "{}<|im_end|>",
    "{}</s>",
    "```\n{}",
    "```\n{}\n```",
    "```python\n{}\n```",
    "```json\n{}\n```\nThat is the call.",
    "```\n{}\nand some more",
    "`{}`",
    "**{}**",
    "> {}",
    "- {}",
    "1. {}",
    "The function call to look this up is {}. This function will return what was asked for.",
    "For example: {}",
    "Here is an example of making a request:\n\n{}",
    "The format is:\n{}\nHere `name` is the tool.",
    "If I could, I would call {} for you.",
    "Should I call {}?",
    "You could write {} here.",
    "I cannot do this. {}",
    "I will call {} now.",
    "Use this function call: {}",
    "call {}",
    "Action: {}",
    "{}\n\nNote: this is a guess.",
    "<think>No tool fits.</think>{}",
    "<think>{}</think>No tool fits.",
    "None of the tools fits, so no call: {}",
    "def call():\n    return {}",
    "import requests\n\npayload = {}\n",
    "print({})",
    "result = {}",
    "Ví dụ: {}",
    "ตัวอย่าง: {}",
    "{} {}",
    "{}, {}",
    "{}\n{}",
    "[{}]",
)


def _bare(calls: list[CallToWrite]) -> str:
    return FORMATS["pythonic"].write(calls)[1:-1]


FORMS: dict[str, Callable[[list[CallToWrite]], str]] = {name: one.write for name, one in FORMATS.items()} | {
    "bare": _bare,
    "cut off": lambda calls: FORMATS["pythonic"].write(calls)[:-2],
    "no last bracket": lambda calls: FORMATS["pythonic"].write(calls)[:-1],
    "positional": lambda calls: "[" + ", ".join(f"{one.name}({', '.join(map(repr, one.arguments.values()))})" for one in calls) + "]",
    "parameter names": lambda calls: "[" + ", ".join(f"{one.name}({', '.join(one.arguments)})" for one in calls) + "]",
    "quoted": lambda calls: f"[{FORMATS['pythonic'].write(calls)[1:-1]!r}]",
    "python dict": lambda calls: repr([{"name": one.name, "arguments": one.arguments} for one in calls]),
    "openai": lambda calls: json.dumps([{"type": "function", "function": {"name": one.name, "arguments": one.arguments}} for one in calls]),
    "arguments first": lambda calls: json.dumps({"arguments": calls[0].arguments, "name": calls[0].name}),
    "schema": lambda calls: json.dumps({"name": calls[0].name, "parameters": {key: {"type": "string"} for key in calls[0].arguments}}),
    "keyed": lambda calls: json.dumps({calls[0].name: calls[0].arguments}),
    "nothing": lambda calls: "[]",
}


def _outputs(count: int) -> Iterator[tuple[str, str, list[str]]]:
    """A form, an output, and the tools shown: those called, others, or none."""
    draw = random.Random(SEED)
    for _ in range(count):
        calls = [
            CallToWrite(draw.choice(NAMES), {key: draw.choice(VALUES) for key in draw.sample(KEYS, draw.randint(0, 3))})
            for _ in range(draw.choice((1, 1, 2)))
        ]
        form = draw.choice(sorted(FORMS))
        text = draw.choice(FRAMES).replace("{}", FORMS[form](calls))
        names = draw.choice(([one.name for one in calls], [draw.choice(NAMES)], []))
        properties = {key: {"type": "string"} for key in KEYS}
        yield form, text, [json.dumps({"name": name, "parameters": {"type": "object", "properties": properties}}) for name in names]


def _row(tools: list[str], syntax: str = "python") -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "What is the time?"},))
    target = Calls.model_validate({"expected": "none", "syntax": syntax})
    return Scenario(id="s", task="refusal", group="irrelevance", turns=(turn,), shown_tools=tuple(tools), target=target)


def _episode(text: str) -> Episode:
    turns = (ModelTurn(raw_text=text),)
    return Episode(id="e", scenario_id="s", group="irrelevance", model="m/m", model_turns=turns, termination="answered")


@pytest.mark.timeout(1_200)
async def test_no_row_passes_by_intent_and_fails_by_format() -> None:
    """Else H-I would be above H-S and the gap below zero."""
    read, meant = CallsJudge(JudgeContext()), IntentJudge(JudgeContext())
    wrong, seen = [], Counter[tuple[bool | None, bool | None]]()
    for form, text, tools in _outputs(OUTPUTS):
        episode, row = _episode(text), _row(tools)
        by_format, by_intent = (await read(episode, row)).value, (await meant(episode, row)).value
        seen[by_format, by_intent] += 1
        if by_intent and not by_format:
            wrong.append((form, text, tools))
    assert not wrong, f"{len(wrong)} of {OUTPUTS}, as {wrong[:3]}"
    assert min(seen[False, False], seen[True, False], seen[True, True]) > OUTPUTS / 50, seen


@pytest.mark.parametrize("text", ["[Files.open(path='/tmp')]", "Files.open('/tmp')", "[f(x=new int[]{1, 2})]"])
@pytest.mark.parametrize("syntax", ["java", "javascript"])
async def test_source_code_that_is_read_is_an_attempt(text: str, syntax: str) -> None:
    episode, row = _episode(text), _row([], syntax)
    assert (await CallsJudge(JudgeContext())(episode, row)).value is False
    assert (await IntentJudge(JudgeContext())(episode, row)).value is False


@labelled
async def test_hard_cases_are_told_as_the_page_says(text: str, rule: str | None) -> None:
    from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt

    weather = {"name": "get_weather", "parameters": {"properties": {"city": {}, "unit": {}}, "required": ["city"]}}
    found = find_attempt(text, [weather, {"name": "sum", "parameters": {"properties": {"numbers": {}}}}])
    assert (found and found.rule) == rule


LABELS = Path(__file__).parent / "intent" / "real.jsonl"
"""`MODEL/CATEGORY/NUMBER` of a published output; `before` those labelled before the rule last changed, `after` those labelled then.

Half of these hold a call in prose, half only look so. `last` are those labelled when the rule was done, and not looked at for it.
"""
SUBSETS = {
    "relevance": "irrelevance",
    "simple": "simple_python",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
}
"""Their categories, by the name that BFCL's data have today."""


@pytest.fixture(scope="module")
def results() -> Path:
    """Results of 2024-08-11 in a clone of github.com/HuanzhiMao/BFCL-Result; the test is skipped where TALM_TEST_BFCL_RESULT names none."""
    folder = Path(os.environ.get("TALM_TEST_BFCL_RESULT") or "-") / "2024-08-11" / "result"
    if not folder.is_dir():
        pytest.skip("TALM_TEST_BFCL_RESULT names no clone of github.com/HuanzhiMao/BFCL-Result")
    return folder


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _output(results: Path, model: str, category: str, number: int) -> str:
    for line in _lines(results / model / f"gorilla_openfunctions_v1_test_{category}_result.json"):
        if line.get("idx", str(line.get("id")).rpartition("_")[2]) in (number, str(number)):
            said = line["result"]
            return str(said[0] if isinstance(said, list) else said)
    raise AssertionError(f"{model} has no output {number} of {category}")


@pytest.mark.parametrize(("sets", "calls", "others"), [(("before", "after"), 120, 120), (("last",), 57, 19)])
def test_real_texts_are_told_apart(
    sets: tuple[str, ...], calls: int, others: int, results: Path, bfcl_v4: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [one for one in _lines(LABELS) if one["labelled"] in sets]
    assert Counter(one["attempt"] for one in labels) == {True: calls, False: others} and len({one["id"] for one in labels}) == calls + others
    shown = {category: _lines(bfcl_v4 / "bfcl_eval" / "data" / f"BFCL_v4_{subset}.json") for category, subset in SUBSETS.items()}
    seen, wrong = Counter[tuple[bool, bool]](), []
    for one in labels:
        model, category, number = one["id"].split("/")
        text, tools = _output(results, model, category, int(number)), shown[category][int(number)]["function"]
        found = find_attempt(text, tools) is not None
        assert found or not read_calls(split_reasoning(text)[0], tools).calls, one["id"]
        seen[one["attempt"], found] += 1
        if found != one["attempt"]:
            wrong.append(one["id"])
    recall = seen[True, True] / (seen[True, True] + seen[True, False])
    precision = seen[True, True] / (seen[True, True] + seen[False, True])
    with capsys.disabled():
        print(f"\nintent on {len(labels)} real texts: precision {precision:.3f}, recall {recall:.3f}; wrong: {wrong or 'none'}")
    assert recall >= 0.95 and precision >= 0.97, wrong
