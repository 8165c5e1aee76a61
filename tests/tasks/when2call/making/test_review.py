"""A person's decisions are kept one by one, and compared with what the checks said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.making.review import Entry, Part, Review, open_review
from talm_sim.tasks.when2call.making.review import ItemReviewer
from tests.tasks.when2call.making.test_generation import run
from tests.tasks.when2call.making.toys import Teller, source


def opened(place: Path, *, rejected: bool = False) -> Review:
    return open_review(place, ItemReviewer(), rejected=rejected)


def part(entry: Entry, label: str) -> Part:
    return next(one for one in entry.parts if one.label == label)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(tmp_path / "made", Teller({"request_for_info/lacking": "How old are you?"}), [source(1), source(2)])
    return tmp_path / "made"


def test_rows_that_differ_in_their_tools_alone_are_one_decision(folder: Path) -> None:
    review = opened(folder)
    assert [entry.title for entry in review.entries] == [
        f"money-0{number}, right answer: {gold}" for number in (1, 2) for gold in ("tool_call", "cannot_answer")
    ]
    assert [len(entry.rows) for entry in review.entries] == [2, 3, 2, 3]
    assert all(entry.passed for entry in review.entries)
    assert part(review.entries[0], "tool_call").right


def test_a_line_that_a_kill_cut_short_costs_that_decision_alone(folder: Path) -> None:
    review = opened(folder)
    for entry in review.entries[:2]:
        review.decide(entry, "keep")
    review.path.write_bytes(review.path.read_bytes()[:-20])
    again = opened(folder)
    assert again.waiting() == list(again.entries[1:])
    again.decide(again.entries[1], "drop", "no")
    assert opened(folder).summary().dropped == 1


def test_rejected_texts_tell_how_far_person_and_checks_agree(folder: Path) -> None:
    review = opened(folder, rejected=True)
    bad = [entry for entry in review.entries if not entry.passed]
    assert len(bad) == 2 and "missing 'to_currency'" in bad[0].why
    assert part(bad[0], "Text (request_for_info)").text == "How old are you?"
    review.decide(review.entries[0], "keep")
    review.decide(bad[0], "drop", "rude")
    review.decide(bad[1], "keep")
    summary = review.summary()
    assert (summary.decided, summary.agreed) == (3, 2)
    assert review.write_kept().read_text().count("\n") == 2, "a rejected text is no row"


def test_a_file_of_rows_is_reviewed_beside_itself(folder: Path) -> None:
    review = opened(folder / "items.jsonl")
    review.decide(review.entries[0], "keep")
    assert review.path == folder / "items.review.jsonl"
    assert opened(folder / "items.jsonl").summary().kept == 1
    with pytest.raises(PrerequisiteError, match="--rejected"):
        opened(folder / "items.jsonl", rejected=True)


def test_nothing_to_review_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"items\.jsonl"):
        opened(tmp_path)
    (tmp_path / "items.jsonl").write_text("")
    with pytest.raises(PrerequisiteError, match="no items"):
        opened(tmp_path)


def test_rows_made_by_others_are_reviewed_too(folder: Path, tmp_path: Path) -> None:
    row = json.loads((folder / "items.jsonl").read_text().splitlines()[0])
    del row["source_id"]
    row["answers"]["tool_call"] = json.loads(row["answers"]["tool_call"])
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps(row) + "\n")
    (entry,) = opened(own).entries
    assert part(entry, "tool_call").text.startswith('{"name": "convert_money"')
    own.write_text(2 * (json.dumps(row) + "\n"))
    with pytest.raises(PrerequisiteError, match=r"own\.jsonl:2: uuid"):
        opened(own)


@pytest.mark.parametrize("line", ["[]", "{}", '{"text": 3}'])
def test_a_broken_file_of_rejected_texts_is_named_with_its_line(folder: Path, line: str) -> None:
    with open(folder / "rejected.jsonl", "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(PrerequisiteError, match=r"rejected\.jsonl:\d+: is not a rejected text"):
        opened(folder, rejected=True)
