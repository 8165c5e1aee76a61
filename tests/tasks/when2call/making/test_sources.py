"""Source questions: queries with two asks only where their sentences can be told apart, and rows in the form of BFCL v2 Live and xLAM-60k."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.when2call.making import source_questions
from talm_sim.tasks.when2call.making.other_rows import read_other_rows
from talm_sim.tasks.when2call.making.splitting import Split, split_query, tidy_request
from talm_sim.types import Behaviour, Choice, GoldCall, Missing, MissingKind, Option, Scenario, Source, ToolSpec, Turn
from tests.growth import check_growth
from tests.tables import labelled
from tests.tasks.when2call.making.toys import spec

WEATHER = ToolSpec(
    name="get_sunrise",
    category="weather",
    description="Get the time of sunrise in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
MONEY = spec()
SPECS = {one.name: one for one in (WEATHER, MONEY, spec("get_rate"))}
SUN = GoldCall(name="get_sunrise", arguments={"city": "Oslo"})
CASH = GoldCall(name="convert_money", arguments={"amount": 250, "from_currency": "dollars", "to_currency": "francs"})
QUERY = "When does the sun rise in Oslo? I also need to know how much 250 dollars are in francs."


def scenario(query: str, *calls: GoldCall, name: str = "toy-01", group: str = "perfect", missing: Missing | None = None) -> Scenario:
    base = {} if group == "perfect" else {"base": "toy-01"}
    turn = Turn(messages=({"role": "user", "content": query},), gold_calls=calls)
    return Scenario(id=name, group=group, turns=(turn,), tools=tuple(SPECS), missing=missing, source=Source(licence="Apache-2.0", **base))


def test_each_ask_is_one_source_question_with_its_own_call() -> None:
    found, dropped = source_questions([scenario(QUERY, SUN, CASH)], SPECS)
    assert not dropped
    assert [(one.id, one.question, one.call) for one in found] == [
        ("toy-01.1", "When does the sun rise in Oslo?", SUN),
        ("toy-01.2", "I need to know how much 250 dollars are in francs.", CASH),
    ]
    assert [other.name for other in found[1].others] == ["get_rate"]


def test_a_dialogue_is_no_single_question() -> None:
    one = scenario("When does the sun rise there?", SUN)
    earlier = Turn(messages=({"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice."}))
    found, dropped = source_questions([one.model_copy(update={"turns": (earlier, *one.turns)})], SPECS)
    assert (found, [drop.reason for drop in dropped]) == ([], ["it holds more than a single question"])


@labelled
def test_what_cannot_be_told_apart_is_dropped_with_the_reason(query: str, reason: str) -> None:
    found, dropped = source_questions([scenario(query, SUN, CASH)], SPECS)
    assert not found
    assert reason in dropped[0].reason


def test_an_indirect_question_keeps_the_words_that_it_hangs_on() -> None:
    query = "Can you tell me when the sun rises in Oslo and how much 250 dollars are in francs?"
    missing = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs")
    shorter = scenario(query.replace("in francs", "at home"), name="u", group="underspecified", missing=missing)
    found, _ = source_questions([scenario(query, SUN, CASH), shorter], SPECS)
    assert found[0].question == "Can you tell me when the sun rises in Oslo."
    assert found[1].question == "Can you tell me how much 250 dollars are in francs?"
    assert found[1].removal is not None and found[1].removal.question == "Can you tell me how much 250 dollars are at home?"


@pytest.mark.parametrize(
    "first", ["Tell me when the sun rises in Oslo.", "When does the sun rise in Oslo, and", "Tell me when the sun rises in Oslo, and"]
)
def test_a_direct_question_gets_no_other_words_before_it(first: str) -> None:
    found, _ = source_questions([scenario(f"{first} how much do 250 dollars make in francs?", SUN, CASH)], SPECS)
    assert found[1].question == "How much do 250 dollars make in francs?"


def test_a_rewriting_that_changes_both_asks_is_not_used() -> None:
    missing = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs")
    other = "When does it get light in Oslo? I also need to know how much 250 dollars are at home."
    found, _ = source_questions([scenario(QUERY, SUN, CASH), scenario(other, name="u", group="underspecified", missing=missing)], SPECS)
    assert [one.removal for one in found] == [None, None]


def test_an_unknown_tool_and_a_third_call_are_reasons_to_drop() -> None:
    _, dropped = source_questions([scenario(QUERY, SUN, GoldCall(name="fly"))], SPECS)
    assert "'fly'" in dropped[0].reason
    _, dropped = source_questions([scenario(QUERY, SUN, CASH, SUN)], SPECS)
    assert "3 gold calls" in dropped[0].reason


def test_a_tool_call_row_is_a_source_question() -> None:
    call = json.dumps({"name": "get_sunrise", "arguments": {"city": "Oslo"}})
    kinds = [Option(behaviour=kind, text=call if kind is Behaviour.TOOL_CALL else kind.value) for kind in Behaviour]
    shown = tuple(json.dumps({"name": one.name, "description": one.description, "parameters": one.parameters}) for one in (MONEY, WEATHER))
    turn = Turn(messages=({"role": "user", "content": "Sunrise in Oslo?"},))
    values = {"id": "u-1", "task": "when2call", "group": "tool_call", "turns": (turn,), "shown_tools": shown}
    row = Scenario(**values, target=Choice(gold=Behaviour.TOOL_CALL, options=tuple(kinds)))
    found, dropped = source_questions([row, row.model_copy(update={"shown_tools": shown[:1]})], {})
    assert [(one.call, one.spec.name, [other.name for other in one.others]) for one in found] == [(SUN, "get_sunrise", ["convert_money"])]
    assert "does not show" in dropped[0].reason


@settings(deadline=None)
@given(text=st.text(max_size=120))
def test_no_text_breaks_the_splitting(text: str) -> None:
    assert isinstance(split_query(text, [SUN, CASH], [WEATHER, MONEY]), Split | str)
    tidy_request(text, capital=True)


@pytest.mark.parametrize("piece", ["and what ", "12 "])
def test_a_long_query_is_split_in_step_with_its_length_or_not_at_all(piece: str) -> None:
    check_growth(lambda text: split_query(text, [SUN, CASH], [WEATHER, MONEY]), lambda size: piece * (size // len(piece)), 2**14)


def test_a_query_of_many_sentences_is_not_split() -> None:
    for query in ("What is it? " * 14, "a" * 2_001):
        assert split_query(query, [SUN, CASH], [WEATHER, MONEY]) == "it has more than 2,000 characters or 12 sentences"


RENT = {
    "name": "boats.rent",
    "description": "Rents a rowing boat.",
    "parameters": {
        "type": "dict",
        "required": ["lake", "seats"],
        "properties": {
            "lake": {"type": "string", "description": "Lake where the boat lies."},
            "seats": {"type": "integer", "description": "Seats that are needed."},
            "cover": {"type": "boolean", "description": "Whether it has a cover.", "default": False},
        },
    },
}
FISH = {"name": "fish_count", "description": "Counts fish.", "parameters": {"type": "dict", "required": [], "properties": {}}}
QUESTION = "Rent me a boat with 4 seats on Lake Inari."


def bfcl(number: int = 0, **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"live_multiple_{number}-0-0", "question": [[{"role": "user", "content": QUESTION}]], "function": [FISH, RENT]}
    return row | changes


RIGHT = [{"boats.rent": {"lake": ["Lake Inari", "Inari"], "seats": [4], "cover": ["", False]}}]
XLAM = {
    "id": 17,
    "query": QUESTION,
    "answers": json.dumps([{"name": "rent", "arguments": {"lake": "Lake Inari", "seats": 4}}]),
    "tools": json.dumps(
        [
            {
                "name": "rent",
                "description": "Rents a rowing boat.",
                "parameters": {
                    "lake": {"description": "Lake where the boat lies.", "type": "str"},
                    "seats": {"description": "Seats that are needed.", "type": "int"},
                    "days": {"description": "Days of the rent.", "type": "List[int], optional"},
                    "cover": {"description": "Cover.", "type": "bool", "default": False},
                },
            }
        ]
    ),
}


def _write(file: Path, *rows: Any) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_bfcl_row_finds_its_call_beside_the_file_and_takes_the_first_accepted_values(tmp_path: Path) -> None:
    file = _write(tmp_path / "BFCL_v3_live_multiple.json", bfcl(), bfcl(1))
    _write(
        tmp_path / "possible_answer" / file.name, {"id": bfcl()["id"], "ground_truth": RIGHT}, {"id": bfcl(1)["id"], "ground_truth": RIGHT * 2}
    )
    (one,), (other,) = read_other_rows(file)
    assert (one.id, one.question, one.licence, one.origin) == (bfcl()["id"], QUESTION, "Apache-2.0", "BFCL v2 Live")
    assert one.call.name == "boats.rent" and one.call.arguments == {"lake": "Lake Inari", "seats": 4}
    assert one.spec.required == ("lake", "seats") and one.spec.parameters["type"] == "object"
    assert [spec.name for spec in one.others] == ["fish_count"]
    assert other.reason == "it does not have one right call"


def test_nested_values_are_taken_at_every_depth(tmp_path: Path) -> None:
    right = [{"boats.rent": {"lake": [{"name": ["Inari"], "side": ["", "north"]}], "seats": [[1, 2]]}}]
    (one,), _ = read_other_rows(_write(tmp_path / "rows.jsonl", bfcl(ground_truth=right)))
    assert one.call.arguments == {"lake": {"name": "Inari"}, "seats": [1, 2]}


@pytest.mark.parametrize("whole", [True, False])
def test_an_xlam_row_gives_a_schema_with_what_is_required(tmp_path: Path, whole: bool) -> None:
    two = XLAM | {"id": 18, "answers": json.dumps([*json.loads(str(XLAM["answers"]))] * 2)}
    file = tmp_path / "xlam.json"
    file.write_text(json.dumps([XLAM, two]) if whole else f"{json.dumps(XLAM)}\n{json.dumps(two)}\n")
    (one,), (other,) = read_other_rows(file)
    assert (one.id, one.licence, one.call.arguments) == ("xlam-17", "CC-BY-4.0", {"lake": "Lake Inari", "seats": 4})
    assert one.spec.required == ("lake", "seats")
    assert {name: entry["type"] for name, entry in one.spec.parameters["properties"].items()} == {
        "lake": "string",
        "seats": "integer",
        "days": "array",
        "cover": "boolean",
    }
    assert (other.id, other.reason) == ("xlam-18", "it has 2 right calls; one is taken")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (bfcl(ground_truth=[{"sail": {"lake": ["Inari"]}}]), "it does not show the tool 'sail' that it calls"),
        (bfcl(ground_truth=RIGHT, question=[[], []]), "it is not a single message of the user"),
        (bfcl(ground_truth=RIGHT, function=[{"description": "no name"}]), "its right call or a tool it shows cannot be read"),
        (bfcl(ground_truth=[{"boats.rent": 3}]), "its right call names no arguments"),
    ],
)
def test_what_gives_no_source_question_is_left_out_with_a_reason(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    found, (dropped,) = read_other_rows(_write(tmp_path / "rows.jsonl", row))
    assert (found, dropped.reason) == ([], reason)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([bfcl()], "rows.jsonl:1: has no right call; put BFCL's folder possible_answer beside the file"),
        ([bfcl(ground_truth=RIGHT), {"id": 1}], "rows.jsonl:2: is not a row of BFCL"),
        ([XLAM | {"tools": "[{"}], "rows.jsonl:1: tools: not JSON"),
        ([XLAM | {"answers": "3"}], "rows.jsonl:1: answers: is not a list of objects"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        read_other_rows(_write(tmp_path / "rows.jsonl", *rows))


def test_the_command_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _write(tmp_path / "rows.jsonl", bfcl(ground_truth=RIGHT))
    assert main(("scenarios", "generate", "--from", str(file), "--out", str(tmp_path / "made"))) == 0
    report = json.loads((tmp_path / "made/report.json").read_text())
    assert report["sources"]["finished"] == 1 and "Apache-2.0" in report["licence"]
