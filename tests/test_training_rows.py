"""Rows of the training experiment: sound by the tools' schemas, alike but for what makes the class, and as docs/training.md registers them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks.training.rows import CLASSES, OTHER, PARTS, TRAINED, Row, digest_of, make_parts, permute_classes, write_rows
from talm_sim.schemas import Schema
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.tasks.when2call.published import read_rows
from talm_sim.world.described import built_in_tools

PAGE = Path(__file__).parents[1] / "docs" / "training.md"


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Row]]:
    return make_parts()


def _call(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row["answers"]["tool_call"])
    return found


def _names(row: Row) -> list[str]:
    return [json.loads(tool)["name"] for tool in row["tools"]]


def _triples(rows: list[Row]) -> list[dict[str, Row]]:
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        assert row["correct_answer"] not in found[row["source_id"]]
        found[row["source_id"]][row["correct_answer"]] = row
    return list(found.values())


def test_each_part_has_its_size_and_every_class_alike(parts: dict[str, list[Row]]) -> None:
    for part, (_, size) in PARTS.items():
        assert Counter(row["correct_answer"] for row in parts[part]) == dict.fromkeys(map(str, CLASSES), size)
    words = Counter(row["source"].partition(", ")[2] for row in parts["test"])
    assert words == {TRAINED: 300, OTHER: 300}
    assert all(row["source"].endswith(TRAINED) for part in ("train", "validation") for row in parts[part])


def test_parts_share_no_category_and_no_tool(parts: dict[str, list[Row]]) -> None:
    specs = built_in_tools().specs
    tools = {part: {name for row in rows for name in (_call(row)["name"], *_names(row))} for part, rows in parts.items()}
    categories = {part: {specs[name].category for name in names} for part, names in tools.items()}
    for part, (many, _) in PARTS.items():
        assert len(categories[part]) == many
        for other in PARTS.keys() - {part}:
            assert not tools[part] & tools[other] and not categories[part] & categories[other]


def test_every_call_is_valid_and_its_tool_shown_where_it_is_right(parts: dict[str, list[Row]]) -> None:
    specs = built_in_tools().specs
    for rows in parts.values():
        for triple in _triples(rows):
            call = _call(triple["tool_call"])
            assert not Schema(specs[call["name"]].parameters).faults(call["arguments"], most=1)
            assert call["name"] in _names(triple["tool_call"]) and call["name"] in _names(triple["request_for_info"])
            assert call["name"] not in _names(triple["cannot_answer"])


def test_a_whole_request_states_every_argument_and_the_other_lacks_a_required_one(parts: dict[str, list[Row]]) -> None:
    specs = built_in_tools().specs
    for rows in parts.values():
        for triple in _triples(rows):
            call, lacking = _call(triple["tool_call"]), triple["request_for_info"]["held_out_param"]
            assert lacking in specs[call["name"]].required
            for name, value in call["arguments"].items():
                for gold in ("tool_call", "cannot_answer"):
                    assert str(value) in triple[gold]["question"]
                asked = triple["request_for_info"]["question"]
                assert not mentions_value(asked, value) if name == lacking else str(value) in asked


def test_the_files_are_those_that_the_page_registers_and_can_be_read(parts: dict[str, list[Row]], tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for part, rows in parts.items():
        file = tmp_path / f"{part}.jsonl"
        write_rows(rows, file)
        assert f"| {part}.jsonl | `{digest_of(file)}` |" in page
        assert len(read_rows(file)) == len(rows)


def test_permuted_rows_keep_the_shares_and_take_their_own_options(parts: dict[str, list[Row]]) -> None:
    items = parts["train"]
    rows = [{"id": one["uuid"], "prompt": one["question"], "completion": one["answers"][one["correct_answer"]]} for one in items]
    trained = [row | {"action": one["correct_answer"]} for row, one in zip(rows, items, strict=True)]
    permuted = permute_classes(trained, items)
    assert Counter(row["action"] for row in permuted) == Counter(row["action"] for row in trained)
    changed = sum(one["action"] != other["action"] for one, other in zip(permuted, trained, strict=True))
    assert 0.55 < changed / len(items) < 0.78  # two of three, by chance
    assert all(row["completion"] == item["answers"][row["action"]] for row, item in zip(permuted, items, strict=True))
    assert permuted == permute_classes(trained, items)


def test_an_answer_that_is_not_the_option_is_refused(parts: dict[str, list[Row]]) -> None:
    item = parts["train"][0]
    with pytest.raises(ValueError, match=item["uuid"]):
        permute_classes([{"id": item["uuid"], "action": "tool_call", "completion": "<tool_call>"}], [item])


def test_too_few_sources_are_an_error() -> None:
    with pytest.raises(ValueError, match="fewer than 999"):
        make_parts({"train": (1, 999)})
