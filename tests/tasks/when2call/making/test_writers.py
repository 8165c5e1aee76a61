"""A model's texts are taken as they are, less what it wraps around them; the rules write the same things every time."""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.common.toml_files import packaged_toml
from talm_sim.errors import ContextOverflowError, PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.scenarios.making.prompts import load_writer_prompts
from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.maker import PROMPTS
from talm_sim.tasks.when2call.making import GenerateOptions, ModelWriter, RuleWriter, source_questions
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.pipeline import make_items
from talm_sim.types import Behaviour, Fact, ModelTurn, ToolSpec
from talm_sim.world.described import built_in_tools
from tests.tables import labelled
from tests.tasks.when2call.making.toys import item, lacking, source

DATA = files("talm_sim.tasks.when2call") / "scenarios"


class Model:
    """Says its texts one after the other, and keeps what it was asked."""

    name = "toy/model"

    def __init__(self, *turns: ModelTurn | str | Exception) -> None:
        self._turns = list(turns)
        self.asked: list[tuple[list[str], GenerationSettings]] = []
        self.closed = 0

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.asked.append(([str(message.content) for message in messages], settings))
        turn = self._turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return ModelTurn(text=turn) if isinstance(turn, str) else turn

    async def aclose(self) -> None:
        self.closed += 1


def writer(model: Model, labeller: Model | None = None, **more: Any) -> ModelWriter:
    return ModelWriter(model, labeller or model, load_writer_prompts(PROMPTS), GenerateOptions(out=Path("made"), seed=3, **more))


async def test_a_text_cut_off_is_asked_for_once_more_with_twice_the_room() -> None:
    model = Model(ModelTurn(text="You get", stop="length"), "You get 230 francs.")
    assert (await writer(model).option(Behaviour.DIRECT, item(), 0)).text == "You get 230 francs."
    assert [settings.max_new_tokens for _, settings in model.asked] == [256, 512]
    cut = await writer(Model(*[ModelTurn(text="You", stop="length")] * 2)).option(Behaviour.DIRECT, item(), 0)
    assert cut.problem == "it was cut off after 512 tokens"


async def test_a_prompt_beyond_the_context_is_a_reason_and_no_crash() -> None:
    written = await writer(Model(ContextOverflowError("too long"))).unanswerable(source(), 0)
    assert "context" in written.problem


@labelled
async def test_a_label_is_read(said: str, label: str) -> None:
    labeller = Model(said)
    written = await writer(Model(), labeller).tool_use(source())
    assert (written.text, written.problem) == (label, "")
    assert labeller.asked[0][1].choices == ("public_data", "calculator", "specialized_tool", "real_time", "database")


@pytest.mark.parametrize("said", ["", "I don't know.", "database or calculator"])
async def test_a_label_that_is_not_clear_is_a_problem(said: str) -> None:
    assert (await writer(Model(said)).tool_use(source())).problem


@pytest.mark.parametrize("said", ['"How much?"', "New request: How much?", "\u201cHow much?\u201d", " How\nmuch? ", "Question: 'How much?'"])
async def test_what_a_model_wraps_around_a_text_is_taken_off(said: str) -> None:
    assert (await writer(Model(said)).unanswerable(source(), 0)).text == "How much?"


async def test_quotation_marks_within_stay() -> None:
    assert (await writer(Model("'Ja' or 'nein'")).unanswerable(source(), 0)).text == "'Ja' or 'nein'"


async def test_only_what_a_step_may_know_stands_in_its_prompt() -> None:
    model = Model(*["x"] * 4)
    one = writer(model)
    await one.option(Behaviour.CANNOT_ANSWER, lacking(), 0)
    await one.option(Behaviour.REQUEST_FOR_INFO, lacking(), 0)
    await one.unanswerable(source(), 0)
    await one.rewrite(source(), lacking().missing, 0)  # type: ignore[arg-type]
    refusal, follow_up, beyond, rewritten = ["\n".join(messages) for messages, _ in model.asked]
    assert "convert_money" not in refusal and "Currency" not in refusal
    assert "to currency" in follow_up and "francs" not in follow_up
    assert "convert_money" in beyond
    assert "francs" in rewritten and "Currency to convert to." in rewritten


async def test_every_request_has_its_own_seed_and_attempts_differ() -> None:
    model = Model(*["x"] * 3)
    one = writer(model)
    await one.option(Behaviour.DIRECT, item(), 0)
    await one.option(Behaviour.DIRECT, item(), 1)
    await one.option(Behaviour.DIRECT, lacking(), 0)
    assert len({settings.seed for _, settings in model.asked}) == 3


def test_a_file_of_prompts_replaces_single_texts(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('[direct]\nsystem = "Be brief."\n', encoding="utf-8")
    own, built_in = load_writer_prompts(PROMPTS, file), load_writer_prompts(PROMPTS)
    assert own.texts["direct"] == {"system": "Be brief.", "user": built_in.texts["direct"]["user"]}
    assert own.digest != built_in.digest


@labelled
def test_a_broken_file_of_prompts_is_one_line(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=named) as caught:
        load_writer_prompts(PROMPTS, file)
    assert "\n" not in str(caught.value)
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        load_writer_prompts(PROMPTS, tmp_path / "none.toml")


async def test_rules_never_give_the_true_answer() -> None:
    facts = (Fact(name="amount", value=221.5, call=0, pointer="/a"), Fact(name="day", value="2025-04-07", call=0, pointer="/d"))
    written = await RuleWriter([source(facts=facts)], 0).option(Behaviour.DIRECT, item(), 0)
    assert written.problem == "" or "221.5" not in written.text
    own = Item(source(facts=facts), Behaviour.TOOL_CALL, "How much?")
    told = await RuleWriter([own.source], 0).option(Behaviour.DIRECT, own, 0)
    assert told.text.startswith("Amount: 237")
    assert "221.5" not in told.text and "2025-04-07" not in told.text


@labelled
async def test_a_value_of_another_question_is_told_where_it_might_be_this_one_s(value: Any, other: Any, told: str) -> None:
    own, others = (source(facts=(Fact(name="answer", value=one, call=0, pointer="/a"),)) for one in (value, other))
    written = await RuleWriter([own, others], 0).option(Behaviour.DIRECT, Item(own, Behaviour.TOOL_CALL, "What?"), 0)
    assert written.text == f"Answer: {told}."


async def test_a_made_up_value_may_be_written_by_hand() -> None:
    spec = source().spec.model_copy(update={"name": "get_proverb"})
    own, other = (source(spec=spec, facts=(Fact(name="proverb", value=one, call=0),)) for one in ("Manus manum lavat", "Morgenstund"))
    written = await RuleWriter([own, other], 0).option(Behaviour.DIRECT, Item(own, Behaviour.TOOL_CALL, "What?"), 0)
    assert written.text == "Proverb: Festina lente."


def test_no_value_written_by_hand_is_the_true_one() -> None:
    tables = packaged_toml("talm_sim.tasks.when2call.making", "wrong_values.toml")
    assert set(tables) <= set(built_in_tools().specs)
    same = [true for table in tables.values() for true, made_up in table.items() if true.casefold() == made_up.casefold()]
    assert same == ["2025-09-04"], "the day of a flight whose time is made up; no other day would fit"


async def test_rules_say_what_they_cannot_do() -> None:
    rules = RuleWriter([], 0)
    assert (await rules.rewrite(source(), lacking().missing, 0)).problem  # type: ignore[arg-type]
    assert "out of this tool's reach" in (await rules.unanswerable(source(), 0)).problem
    no_word = Item(source(facts=(Fact(name="city", value="Bern", call=0),)), Behaviour.TOOL_CALL, "Where?")
    assert "city" in (await rules.option(Behaviour.DIRECT, no_word, 0)).problem


async def test_the_packaged_items_are_what_the_writer_without_a_model_makes() -> None:
    sources, _ = source_questions(find_task("talm").read(("perfect", "underspecified")), built_in_tools().specs)
    rules = RuleWriter(sources, 0)
    script = runpy.run_path(str(Path(__file__).parents[4] / "scripts/select_when2call.py"))
    rows = script["select"]([row for one in sources for row in (await make_items(one, rules, seed=0, unable="removed")).rows], 600)
    for group in ("tool_call", "request_for_info", "cannot_answer"):
        made = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows if row["correct_answer"] == group)
        assert (DATA / f"{group}.jsonl").read_text(encoding="utf-8") == made, "run scripts/make_when2call.sh"


def test_the_data_card_counts_what_is_there() -> None:
    card = (DATA / "LICENCE.md").read_text(encoding="utf-8")
    for group in ("tool_call", "request_for_info", "cannot_answer"):
        rows = find_task("when2call").read((group,))
        shown = [sum(min(2, len(row.shown_tools)) == number for row in rows) for number in (0, 1, 2)]
        assert f"| {group}.jsonl | {len(rows)} | {' / '.join(map(str, shown))} |" in card
