"""Scenarios of several turns from a file to the transcript: checked, forecast, run, shown, asked about."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim import load_run, run
from talm_sim.config import RunConfig
from talm_sim.runs.forecast import forecast
from talm_sim.tasks import TASKS
from talm_sim.tasks.bounds import RESULT_TOKENS, Bound
from tests.cli.wrong import Talm
from tests.offered import bring_along

TOOLS = '''
PRICES = {"tea": 4.5, "coffee": 3.2}


def price(item: str) -> dict[str, object]:
    """Get the price of an item."""
    return {"item": item, "price": PRICES[item]}


TOOLS = [price]
'''
BEFORE = [
    {"role": "system", "content": "The user is a member."},
    {"role": "user", "content": "Are you open?"},
    {"role": "assistant", "content": "Until six."},
]
FACT = {"type": "facts", "required": [{"name": "price", "value": 4.5, "call": 1, "pointer": "/price"}]}


def scenario(**changes: Any) -> dict[str, Any]:
    def turn(text: str, item: str, *before: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [*before, {"role": "user", "content": text}], "gold_calls": [{"name": "price", "arguments": {"item": item}}]}

    turns = [turn("What is a coffee?", "coffee", *BEFORE), turn("And a tea?", "tea")]
    target = {"type": "facts", "required": [{"name": "coffee", "value": 3.2, "call": 0, "pointer": "/price"}, *_facts()]}
    return {"id": "shop", "group": "perfect", "turns": turns, "tools": ["price"], "target": target} | changes


def _facts() -> list[dict[str, Any]]:
    return [{"name": "tea", "value": 4.5, "call": 1, "pointer": "/price"}]


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, nothing_given: None) -> Iterator[None]:
    (tmp_path / "shop.py").write_text(TOOLS, encoding="utf-8")
    yield
    sys.modules.pop("shop", None)


def written(*lines: dict[str, Any], name: str = "mine.jsonl") -> str:
    Path(name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return name


def test_it_is_sound_and_the_oracle_passes_it_and_its_page_tells_all_that_was_said(talm: Talm) -> None:
    source = ("--scenarios", written(scenario()), "--tools-from", "shop:TOOLS")
    code, out, said = talm("scenarios", "check", *source)
    assert (code, out) == (0, "") and "1 scenario checked: all sound" in said
    code, out, said = talm("run", *source, "--split", "perfect", "--model", "sim/oracle", "--run-id", "made", "-q")
    assert code == 0, said
    stored = load_run("made")
    (episode,) = stored.episodes()
    assert [turn.user_turn for turn in episode.model_turns] == [0, 0, 1, 1]
    assert [verdict.value for verdict in stored.verdicts()] == [True]
    lines = [line.strip() for line in talm("show", "made:shop")[1].splitlines()]
    wanted = ["System: The user is a member.", "User: What is a coffee?", "coffee: 3.2", "The user, request 2", "And a tea?", "tea: 4.5"]
    places = [lines.index(line) for line in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        (
            [{"messages": [{"role": "user", "content": "Tea?"}], "tools_added": ["price"]}],
            "turns.0.tools_added: 'price' is added in the first turn, whose tools are shown from the start; leave it out.",
        ),
        (
            [{"messages": [{"role": "user", "content": "Tea?"}]}, {"messages": BEFORE[1:2], "tools_added": ["prices"]}],
            "turns.1.tools_added: 'prices' is not one of the scenario's `tools`; add it there.",
        ),
        ([{"messages": BEFORE}], "turns.0.messages.2.role: the last turn is answered already; end it with the user."),
    ],
)
def test_what_cannot_be_played_is_one_line_in_check_and_before_a_run(talm: Talm, turns: list[dict[str, Any]], fault: str) -> None:
    source = ("--scenarios", written(scenario(turns=turns)), "--tools-from", "shop:TOOLS")
    for words in (("scenarios", "check"), ("run", "--model", "sim/oracle"), ("run", "--model", "sim/oracle", "--dry-run")):
        code, out, said = talm(*words, *source)
        assert (code, out) == (2, "")
        assert said.startswith(f"talm-sim: error: mine.jsonl:1: {fault}") and said.count("\n") == 1
    assert not Path("runs").exists()


def test_the_bound_counts_the_turns(talm: Talm) -> None:
    def bound(*lines: dict[str, Any]) -> Bound:
        config = RunConfig(scenarios=Path(written(*lines)), tools_from=["shop:TOOLS"], model="openai/gpt-4o", split="perfect")
        return forecast(config).costs[0].bound

    long, short = bound(scenario()), bound(scenario(turns=scenario()["turns"][1:], target=FACT))
    assert (long.least, long.most) == (short.least + 1, short.most)
    # Each of the two awareness questions may hold what the agent said, called and received in all turns before.
    assert long.input_tokens - short.input_tokens > 2 * 5 * RESULT_TOKENS
    many = bound(scenario(turns=[{"messages": [{"role": "user", "content": str(number)}]} for number in range(9)]))
    assert many.least == 5, "more turns than the turn limit lets it answer"


def test_who_answers_reads_what_was_said_by_then_and_no_more() -> None:
    missing = {"kind": "argument", "name": "item", "value": "coffee", "removed_text": "coffee", "human_answer": "The coffee."}
    first, later = scenario()["turns"]
    first["messages"][-1]["content"] = "What does it cost?"
    swapped = [{**later, "messages": later["messages"]}, {**first, "messages": first["messages"][-1:]}]
    lines = [
        scenario(id=name, group="underspecified", turns=turns, missing=missing) for name, turns in (("now", [first, later]), ("then", swapped))
    ]
    stored = run(
        scenarios=written(*lines),
        tools_from=["shop:TOOLS"],
        split="underspecified",
        model="sim/asker",
        human="terminal",
        run_id="waits",
        progress=False,
    )
    asked = {question.scenario_id: question.query for question in stored.pending()}
    assert asked == {
        "now": "System: The user is a member.\nUser: Are you open?\nAI: Until six.\nUser: What does it cost?",
        "then": "User: And a tea?\nAI: coffee: 4.5\nUser: What does it cost?",
    }


def item(**changes: Any) -> dict[str, Any]:
    options = [{"behaviour": "direct", "text": "4.5"}, {"behaviour": "cannot_answer", "text": "I cannot look that up."}]
    target = {"type": "choice", "gold": "cannot_answer", "options": options}
    turns = [{"messages": [{"role": "user", "content": "And a tea?"}]}]
    return {"id": "b", "task": "when2call", "group": "cannot_answer", "turns": turns, "target": target} | changes


PLUGIN = """
from langchain_core.messages import HumanMessage

from talm_sim import Request, Row, Scenario, SingleStepTask, Summary, Turn, register_task


class Asks(SingleStepTask):
    splits = {"all": ("perfect",)}
    control = lambda self, name, scenario: Silent()
    rows = lambda self, run: [Row(episode=one.id, scenario=one.scenario_id, base=one.scenario_id, group="all") for one in run.episodes()]
    summarize = lambda self, rows, run: [Summary(group="all", n=len(rows), total=len(rows))]

    def request(self, scenario, job):
        return Request([HumanMessage(scenario.query)])


class Silent:
    name = "sim/oracle"

    async def generate(self, messages, tools, settings):
        from talm_sim.types import ModelTurn

        return ModelTurn(raw_text="Yes", text="Yes")

    async def aclose(self):
        pass


@register_task
class Short(Asks):
    name = "short"


@register_task
class Made(Asks):
    name = "made"

    def load(self, job):
        said = tuple({"role": "user", "content": text} for text in ("One?", "Two?"))
        return [Scenario(id="m", task="made", group="perfect", turns=(Turn(messages=said),))]


@register_task
class Long(Asks):
    name, reads_dialogues = "long", True
"""


def test_a_task_of_your_own_refuses_dialogues_unless_it_reads_them(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--plugin", "brought_along", "--model", "sim/oracle", "-q")
    with bring_along(monkeypatch, tmp_path, TASKS, PLUGIN):
        for task in ("short", "long"):
            line = {"id": "a", "task": task, "group": "perfect", "turns": scenario()["turns"]}
            code, _, said = talm("run", "--task", task, "--scenarios", written(line, name=f"{task}.jsonl"), *words)
            assert code == (0 if task == "long" else 2), said
            assert ("short.jsonl:1: turns: contains several turns, but this task asks the model a single question" in said) is (task == "short")
        code, _, said = talm("run", "--task", "made", *words)
        assert (code, said) == (
            2,
            "talm-sim: error: scenario m: turns: contains more than what the user asks, but this task asks the model a single question; "
            "keep one user message.\n",
        )
