"""What is packaged for task when2call: as many of every class, from sources with all three items, and nothing where a check fails."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.world.described import built_in_tools

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "scripts/select_when2call.py"))
CLASSES = ("tool_call", "request_for_info", "cannot_answer")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("items") / "made"
    assert main(("scenarios", "generate", "--out", str(out), "--unable", "removed")) == 0
    return [json.loads(line) for line in (out / "items.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def rows(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return SCRIPT["select"](items, 600)  # type: ignore[no-any-return]


def test_every_source_gives_one_row_of_every_class_and_categories_take_turns(items: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    sources = {name: {row["source_id"] for row in rows if row["correct_answer"] == name} for name in CLASSES}
    assert sources["tool_call"] == sources["request_for_info"]
    assert len(rows) == 3 * len(sources["tool_call"]) == 3 * len(sources["cannot_answer"]) >= 60
    assert not (sources["tool_call"] | sources["cannot_answer"]) & set(SCRIPT["LEFT_OUT"])
    assert set(SCRIPT["LEFT_OUT"]) <= {row["source_id"] for row in items}
    categories = len({one.split("-")[0] for one in sources["tool_call"]})
    few = SCRIPT["select"](items, 3 * categories)
    assert Counter(row["correct_answer"] for row in few) == dict.fromkeys(CLASSES, categories)
    assert len({row["source_id"].split("-")[0] for row in few if row["correct_answer"] == "tool_call"}) == categories >= 8


def test_every_class_shows_as_many_tools_and_its_wrong_follow_ups_ask_as_right_ones_do(rows: list[dict[str, Any]]) -> None:
    of = {name: [row for row in rows if row["correct_answer"] == name] for name in CLASSES}
    numbers = [[len(row["tools"]) for row in of[name]] for name in CLASSES]
    assert numbers[0] == numbers[1] == numbers[2] and set(numbers[0]) == {1, 4}
    told = {row["source_id"]: row["answers"]["request_for_info"] for row in of["request_for_info"]}
    needless = sum(row["answers"]["request_for_info"] == told[row["source_id"]] for row in of["tool_call"])
    assert len(told) / 3 <= needless <= 0.7 * len(told), "the others ask for a detail"


def test_no_tool_is_removed_whose_work_a_model_can_do(rows: list[dict[str, Any]]) -> None:
    needed = {row["source_id"] for row in rows if json.loads(row["answers"]["tool_call"])["name"] not in SCRIPT["WITHOUT_A_TOOL"]}
    unable = {row["source_id"] for row in rows if row["correct_answer"] == "cannot_answer"}
    chosen = {row["source_id"] for row in rows if row["correct_answer"] == "tool_call"}
    tools = {row["source_id"]: json.loads(row["answers"]["tool_call"])["name"] for row in rows}
    assert unable <= needed and {tools[one] for one in chosen & needed - unable} <= set(SCRIPT["SERVED_BESIDE"])
    beside = {name for tool, others in SCRIPT["SERVED_BESIDE"].items() for name in (tool, *others)}
    assert set(SCRIPT["WITHOUT_A_TOOL"]) | beside <= set(built_in_tools().specs)


def test_the_form_of_what_is_packaged_tells_nothing_and_every_check_passes(items: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    assert SCRIPT["find_faults"](rows, 60) == []
    few = SCRIPT["select"](items, 30)
    assert f"{len(few)} items, fewer than 5000: give more scenarios, or --at-least" in SCRIPT["find_faults"](few, 5000)


def test_what_form_tells_or_a_check_rejects_is_not_packaged(rows: list[dict[str, Any]]) -> None:
    few = sorted({row["source_id"] for row in rows})[:30]  # to look at all takes long
    rows = [json.loads(json.dumps(row)) for row in rows if row["source_id"] in few]
    for row in rows:
        if row["correct_answer"] == "tool_call":
            row["answers"]["request_for_info"] = "What will you use my answer for?"
    rows[0]["answers"]["cannot_answer"] = "The answer is 5."
    bad = next(row for row in rows if row["correct_answer"] == "cannot_answer")
    bad["tools"] = bad["orig_tools"]
    faults = SCRIPT["find_faults"](rows, 60)
    assert any("may serve it, and it is said that nothing can" in fault for fault in faults)
    assert any("it does not say that it cannot be done" in fault for fault in faults)
    assert any("the form of option request_for_info tells the class" in fault for fault in faults)


def test_nothing_is_replaced_where_something_is_wrong(
    items: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What it finds is tested above, and takes long.
    monkeypatch.setitem(SCRIPT["main"].__globals__, "find_faults", lambda rows, least: ["too few"] if len(rows) < least else [])
    file = tmp_path / "items.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in items), encoding="utf-8")
    assert SCRIPT["main"]([str(file), str(tmp_path / "out"), "--at-least", "5000"]) == 1
    assert not (tmp_path / "out").exists() and "nothing was written" in capsys.readouterr().err
    assert SCRIPT["main"]([str(file), str(tmp_path / "out"), "--at-least", "60"]) == 0
    assert {path.stem for path in (tmp_path / "out").iterdir()} == set(CLASSES)
