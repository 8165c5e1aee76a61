"""Rows in the form of BFCL v2 Live and of xLAM-60k, written for these tests, as source questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.when2call.making.other_rows import is_other_row, read_other_rows

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
    assert one.call.tool == "boats.rent" and one.call.arguments == {"lake": "Lake Inari", "seats": 4}
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


def test_other_lines_are_not_taken_for_them() -> None:
    assert is_other_row(XLAM) and is_other_row([XLAM]) and is_other_row(bfcl())
    assert not any(map(is_other_row, ({"question": "x", "tools": [], "answers": {}}, [], None, {"id": 1, "turns": []})))


def test_the_command_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _write(tmp_path / "rows.jsonl", bfcl(ground_truth=RIGHT))
    assert main(("scenarios", "generate", "--from", str(file), "--out", str(tmp_path / "made"))) == 0
    report = json.loads((tmp_path / "made/report.json").read_text())
    assert report["sources"]["finished"] == 1 and "Apache-2.0" in report["licence"]
