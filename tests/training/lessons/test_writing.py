from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation
from talm_sim.models.formats import CallToWrite
from talm_sim.tasks.templates import load_template
from talm_sim.tasks.when2call.training.lessons import ChoiceLessons
from talm_sim.tasks.when2call.training.sets import build_set
from talm_sim.training.lessons.training_examples import TrainingSet
from talm_sim.training.lessons.writing import RowSource, RowWriter, WrittenRows, fit_examples, fit_scenarios, make_card, write_rows
from talm_sim.types import Choice, Scenario
from tests.tasks.when2call.choices import CALL, TOOL, mixture, scenario

CHATML = (
    "{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}{# <tool_call> #}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>{{ call.function.name }}</tool_call>{% endfor %}{% endfor %}<assistant>"
)


class Tokenizer:
    """A `TextModel` without weights, whose chat template is rendered by Jinja itself."""

    name = "hf/made-up"

    def __init__(self, chat_template: str = CHATML) -> None:
        self.chat_template = chat_template
        self.asked: list[tuple[str, list[str]]] = []

    def render_chat(self, messages: Sequence[dict[str, Any]], tools: Sequence[Any]) -> str:
        import jinja2

        return jinja2.Environment().from_string(self.chat_template).render(messages=messages, tools=tools)

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        self.asked.append((prompt, list(options)))
        return [Continuation(-1.0, 1) for _ in options]

    async def complete(self, prompt: str, settings: Any) -> Any:
        raise AssertionError


def _scored(model: Tokenizer | None, template: str, one: Scenario) -> tuple[str, dict[str, str]]:
    """The prompt that the task scores, and its options by behaviour."""
    assert isinstance(one.target, Choice)
    style = load_template(template, model)
    return style.prompt(one.query, one.shown_tools), {option.behaviour.value: style.option(option) for option in one.target.options}


@pytest.mark.parametrize("template", ["default", "qwen2.5", "chat", "chat-bare"])
def test_a_row_is_the_text_that_the_task_scores(template: str) -> None:
    model = Tokenizer() if template.startswith("chat") else None
    scenarios = {one.id: one for one in mixture()}
    writer = ChoiceLessons().writer(model, template)
    for row in write_rows(build_set([*scenarios.values()], "sft"), writer).rows:
        prompt, options = _scored(model, template, scenarios[row["id"]])
        assert list(row) == ["id", "prompt", "completion", "action", "source"]
        assert (row["prompt"], row["completion"]) == (prompt, options[row["action"]])
    for row in write_rows(build_set([*scenarios.values()], "preference"), writer).rows:
        prompt, options = _scored(model, template, scenarios[row["id"].partition("/")[0]])
        assert list(row) == ["id", "prompt", "chosen", "rejected", "chosen_action", "rejected_action", "source"]
        assert (row["prompt"], row["chosen"]) == (prompt, options[row["chosen_action"]])
        assert row["rejected"] != row["chosen"]
        assert ("/" in row["id"]) == (row["rejected"] not in options.values()), "a damaged call is no option"


def test_several_calls_and_whole_conversations_are_written() -> None:
    calls = (CallToWrite("f", {"a": 1}), CallToWrite("g", {}))
    assert load_template("default", None).calls(calls) == '{"name": "f", "arguments": {"a": 1}}\n{"name": "g", "arguments": {}}'
    assert load_template("chat", Tokenizer()).calls(calls).count("<tool_call>") == 2
    said: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A table!"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", **CALL}]},
        {"role": "tool", "content": "booked", "tool_call_id": "a"},
    ]
    chat = load_template("chat", Tokenizer()).conversation(said, [json.dumps(TOOL)])
    assert chat.endswith("<system>Be brief.<user>A table!<assistant><tool_call>book_table</tool_call><tool>booked<assistant>")
    bare = load_template("chat", Tokenizer(CHATML.replace("tools", "nothing"))).conversation(said, [json.dumps(TOOL)])
    assert bare.index("book_table") < bare.index("Be brief.") < bare.index("A table!") < bare.index("booked")
    assert "System: Be brief.\nUser: A table!\nAPI request: book_table(" in load_template("default", None).conversation(said, [])


def _words(prompt: str, answer: str) -> tuple[int, bool]:
    return len(prompt.split()) + len(answer.split()), prompt.endswith("\n")


def test_empty_and_long_answers_are_left_out_by_id() -> None:
    writer = ChoiceLessons().writer(None, "auto")
    made = build_set(mixture(), "sft")
    made.examples[0] = replace(made.examples[0], chosen=" ")
    lengths = sorted(_words(row["prompt"], row["completion"])[0] for row in write_rows(made, writer).rows)
    left = dict(made.left_out)
    assert left == {"an answer is empty": [made.examples[0].id]}
    written = write_rows(made, writer, _words, lengths[-1] - 1)
    assert len(written.rows) + len(made.left_out[f"longer than --max-tokens {lengths[-1] - 1}"]) == 17
    assert written.longest < lengths[-1] and written.merged == 0
    unclean = RowWriter("x", {}, lambda scenario: "Answer:", writer.calls)
    assert write_rows(made, unclean, _words).merged == 17


def test_a_pair_of_equal_texts_is_left_out() -> None:
    made = build_set(mixture(), "preference")
    twin = made.examples[0] = replace(made.examples[0], rejected=made.examples[0].chosen)
    assert len(write_rows(made, ChoiceLessons().writer(None, "auto")).rows) == 35
    assert made.left_out == {"both answers are the same text": [twin.id]}


def test_what_is_too_long_does_not_change_the_balance() -> None:
    long = [scenario(f"long-{number}", gold="request_for_info", question="word " * 500) for number in range(9)]
    writer = ChoiceLessons().writer(None, "auto")

    def write(made: TrainingSet) -> WrittenRows:
        return write_rows(made, writer, _words, 300)

    made = fit_scenarios([*mixture(), *long], lambda some: build_set(some, "sft", balance="paper"), write)
    assert made.counts()["right"] == dict.fromkeys(("tool_call", "request_for_info", "cannot_answer"), 6)
    assert len(made.examples) == 18 and not any(one.id.startswith("long") for one in made.examples)
    assert sorted(one for ids in made.left_out.values() for one in ids) == sorted(one.id for one in long)
    with pytest.raises(PrerequisiteError, match="no row can be made from 9 scenarios: longer than --max-tokens 300"):
        fit_scenarios(long, lambda some: build_set(some, "sft"), write)
    with pytest.raises(PrerequisiteError, match=r"no row can be made from 9 answers \(9: longer than"):
        fit_examples(build_set(long, "sft"), write)


def test_a_call_that_cannot_be_written_names_its_row() -> None:
    def fail(calls: Sequence[CallToWrite]) -> str:
        raise PrerequisiteError("macro 'tool_call' failed.")

    with pytest.raises(PrerequisiteError, match=r"^row tool_call-0: macro 'tool_call' failed\.$"):
        write_rows(build_set(mixture()[:1], "sft"), RowWriter("x", {}, lambda scenario: "", fail))


def test_the_card_tells_where_the_rows_come_from() -> None:
    scenarios = [*mixture(), scenario("bad", "direct"), scenario("own", licence="", url="", source="own")]
    made = build_set(scenarios, "sft", seed=4)
    card = make_card(made, made.examples, [RowSource("scenarios", "a.jsonl", "00", 20, {})], command="talm-sim export", seed=4)
    assert (card["rows"], card["seed"], card["command"]) == (19, 4, "talm-sim export")
    assert sorted((one["source"], one["rows"], one["share"]) for one in card["shares"]) == [("made up", 18, 0.9474), ("own", 1, 0.0526)]
    assert sum(number for one in card["shares"] for number in one["classes"].values()) == 19
    assert {one["source"]: one["licence"] for one in card["licences"]} == {"made up": "CC-BY-4.0", "own": "not stated"}
    why = "a direct answer is right here, which these sets never teach"
    assert card["left_out"] == [{"why": why, "number": 1, "ids": ["bad"]}]
    assert card["sources"] == [{"kind": "scenarios", "name": "a.jsonl", "sha256": "00", "given": 20}]
    json.dumps(card)
