"""A person's decisions: kept at once, taken back, with other texts, by several people, and merged."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from talm_sim.cli import main
from talm_sim.cli.making.reviewing import merge_lines, review_entries, summary_lines
from talm_sim.common.kappa import kappa
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import short_form
from talm_sim.scenarios.making.merge_reviews import open_merge
from talm_sim.scenarios.making.review import Review, open_review
from talm_sim.tasks.awareness.making.remove import remove_by_rules
from talm_sim.tasks.awareness.making.review import ManipulationReviewer
from talm_sim.tasks.registry import reviewer_of
from talm_sim.types import Scenario
from tests.tasks.awareness.making.made import asked

Read = Callable[[], str | None]
BOOKED = ("Remind me of the call at noon, with the code CBA-12.", "Gladly. Where is it?", "At the pier in Brest, thanks.")


def scenarios(number: int) -> list[Scenario]:
    original = asked(*BOOKED[:1], name=f"toy.{number}", stock_code="CBA-12", date="noon")
    changed = remove_by_rules(original, 0)
    assert isinstance(changed, Scenario), changed
    return [original, changed]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    made.mkdir()
    lines = [json.dumps(short_form(one)) for number in range(1, 5) for one in scenarios(number)]
    (made / "items.jsonl").write_text("\n".join(lines) + "\n")
    return made


def opened(place: Path, name: str = "") -> Review:
    return open_review(place, ManipulationReviewer(), name=name)


def reading(*lines: str) -> Read:
    left: Iterator[str] = iter(lines)
    return lambda: next(left, None)


def sat(review: Review, *lines: str, width: int = 80) -> str:
    screen = io.StringIO()
    review_entries(review, Console(file=screen, width=width, markup=False, emoji=False, highlight=False), reading(*lines))
    return screen.getvalue()


def kept(place: Path) -> list[Mapping[str, object]]:
    return [json.loads(line) for line in place.read_text().splitlines()]


def test_original_and_changed_stand_side_by_side_within_eighty_columns(folder: Path) -> None:
    screen = sat(opened(folder), "q")
    assert all(len(line) <= 80 for line in screen.splitlines())
    assert "Original" in screen and "Changed" in screen and "Gone" in screen and "0 kept, 0 dropped, 4 to go" in screen
    assert "Keep it if the tools listed cannot serve" in screen


def test_keep_drop_with_a_letter_undo_and_go_on(folder: Path) -> None:
    screen = sat(opened(folder), "k", "d", "a", "d", "-", "u", "k", "s", "s", "u", "q")
    assert "what was removed is not needed" in screen and "Back to what was skipped (2)" in screen
    summary = opened(folder).summary()
    assert (summary.kept, summary.dropped, summary.entries) == (1, 0, 4), "the last undo took the second decision back"
    sat(opened(folder), "d", "d", "d", "so odd")
    assert list(summary_lines(opened(folder).summary()))[-2:] == ["dropped 1: it is unnatural or ungrammatical", "dropped 1: so odd"]


def test_undo_reaches_back_to_an_earlier_sitting_and_to_nothing(folder: Path) -> None:
    sat(opened(folder), "k", "q")
    review = opened(folder)
    assert review.undo() is not None and review.undo() is None
    assert opened(folder).summary().decided == 0
    assert "There is no decision to undo." in sat(opened(folder), "u", "q")


def test_an_edited_text_is_checked_again_kept_and_marked(folder: Path) -> None:
    before = opened(folder).entries[0]
    asked_again = next(part for part in before.parts if part.name)
    assert asked_again.before is not None
    screen = sat(opened(folder, "anna"), "e", asked_again.before, "e", "Remind me of the call, please.", "k", "q")
    assert "The checks say: identical" in screen and "(edited)" in screen
    review = opened(folder, "anna")
    assert review.summary().edited == 1
    rows = kept(review.write_kept())
    assert [row["id"] for row in rows] == ["toy.1", "toy.1.removed"]
    changed = Scenario.model_validate(rows[1])
    assert changed.query == "Remind me of the call, please."
    assert changed.target is not None and getattr(changed.target, "made_by", "") == "rules, edited by anna"
    assert review.path == folder / "review-anna.jsonl" and (folder / "kept-anna.jsonl").is_file()


def test_what_is_kept_comes_with_its_original(folder: Path) -> None:
    review = opened(folder)
    for entry, said in zip(review.entries, ("keep", "drop", "keep", "keep"), strict=True):
        review.decide(entry, said)  # type: ignore[arg-type]
    assert [row["id"] for row in kept(review.write_kept())] == [f"toy.{n}{end}" for n in (1, 3, 4) for end in ("", ".removed")]


def decide(folder: Path, name: str, said: str) -> None:
    review = opened(folder, name)
    for entry, letter in zip(review.entries, said, strict=False):
        if letter != "-":
            review.decide(entry, "keep" if letter == "k" else "drop", "" if letter == "k" else "odd")


def test_two_people_are_merged_and_what_they_differ_on_is_settled(folder: Path) -> None:
    decide(folder, "anna", "kkd-")
    decide(folder, "ben", "kddk")
    merge = open_merge(folder, ManipulationReviewer())
    assert list(merge_lines(merge)) == [
        "anna, ben: 2 of 3 agree (67%); Cohen's kappa 0.40",
        "2 agreed, 0 settled, 1 to settle, 1 not decided by two",
        "to settle: toy.2.removed: anna said: keep; ben said: drop: odd",
    ]
    screen = sat(merge.disputed, "k")
    assert "anna said" in screen and "drop: odd" in screen
    again = open_merge(folder, ManipulationReviewer())
    assert not again.disputed.waiting()
    assert [row["id"] for row in kept(again.write_kept())] == ["toy.1", "toy.1.removed", "toy.2", "toy.2.removed"]


def test_two_texts_for_one_entry_are_a_difference_too(folder: Path) -> None:
    for name, text in (("anna", "Remind me of it."), ("ben", "")):
        review = opened(folder, name)
        review.decide(review.entries[0], "keep", texts={"user 1": text} if text else {})
    merge = open_merge(folder, ManipulationReviewer())
    (one,) = merge.disputed.entries
    assert one.texts == {"user 1": "Remind me of it."}, "what one of them wrote is proposed"
    (agreement,) = merge.agreements()
    assert (agreement.agreed, agreement.kappa) == (1, None)


def test_one_person_cannot_be_merged_and_a_name_is_a_file_name(folder: Path) -> None:
    decide(folder, "anna", "k")
    with pytest.raises(PrerequisiteError, match="one person reviewed it; let each of two"):
        open_merge(folder, ManipulationReviewer())
    with pytest.raises(PrerequisiteError, match="--name"):
        opened(folder, "../anna")


def test_merge_as_it_is_typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decide(folder, "anna", "kk")
    decide(folder, "ben", "kd")
    assert main(("scenarios", "review", str(folder), "--merge", "--json")) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["agreement"] == [{"names": ["anna", "ben"], "n": 2, "agreed": 1, "kappa": 0.0}]
    assert json.loads(out)["to_settle"] == ["toy.2.removed"] and "kept.jsonl" in err.replace("\n", "")
    assert main(("scenarios", "review", str(folder), "--merge", "--name", "x")) == 2


def test_the_reviewer_is_told_by_what_the_file_holds(folder: Path, tmp_path: Path) -> None:
    assert isinstance(reviewer_of(folder), ManipulationReviewer)
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": "x", "group": "perfect", "turns": []}\n')
    with pytest.raises(PrerequisiteError, match=r"own\.jsonl:1: is a scenario of task talm"):
        reviewer_of(own)
    own.write_text("")
    with pytest.raises(PrerequisiteError, match="no items"):
        reviewer_of(own)


def test_nothing_in_a_scenario_reaches_the_terminal_unescaped(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    rows[1]["turns"][0]["messages"][0]["content"] = "\x1b[2J[red]gone\x07"
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    screen = sat(opened(folder), "e", "q")
    assert "[red]gone" in screen and "\x1b" not in screen and "\x07" not in screen


@pytest.mark.parametrize(
    ("pairs", "value"), [([], None), ([("k", "k")], None), ([("k", "d"), ("d", "k")], -1.0), ([("k", "k"), ("d", "d")], 1.0)]
)
def test_kappa_by_hand(pairs: Sequence[tuple[str, str]], value: float | None) -> None:
    assert kappa(pairs) == value
