"""A person's verdicts in the file: at once, in any run's state, never another's, taken back, and as they were after a kill."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.store import RunStore
from talm_sim.store.people.ballot import GivenElsewhereError, choose_question, find_people, open_ballot, sample_of
from talm_sim.store.people.sample import KEY
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Verdict
from tests.store.people.judged import awareness_run, talm_run, when2call_run


def said(run: StoredRun, name: str) -> dict[str, Verdict]:
    people = find_people(run, choose_question(run))
    return {} if people is None else {one: verdicts[name] for one, verdicts in people.said.items() if name in verdicts}


def give(run: StoredRun, name: str, **labels: str) -> None:
    with closing(open_ballot(run, choose_question(run), name)) as ballot:
        ballot.give_all({item.replace("__", "-").replace("_", "."): (label, "") for item, label in labels.items()})


def test_verdicts_are_kept_beside_the_judges_and_the_run_stays_sealed(tmp_path: Path) -> None:
    run = talm_run(tmp_path)
    before = [one.record() for one in run.summary()]
    question = choose_question(run)
    with closing(open_ballot(run, question, "ann", size=6)) as ballot:
        first, second = ballot.items[:2]
        ballot.give(first, "pass", "a note")
        assert said(load_run(run.path), "ann")[first].explanation == "a note", "another process sees it at once"
        ballot.give(second, "fail")
        ballot.give(second, "pass")
        assert (ballot.given, len(ballot.waiting())) == (2, 4)
    run = load_run(run.path)
    assert run.closed and [one.label for one in said(run, "ann").values()] == ["pass", "pass"]
    assert {one.judge for one in run.verdicts()} == {"reference"}, "the run's own table keeps its judge"
    after = [one.record() for one in run.summary()]
    assert [{name: value for name, value in one.items() if not name.startswith("person")} for one in after] == before
    assert {path.name for path in run.path.iterdir()} == {"run.db", "run.json"}


def test_all_people_have_one_sample_in_orders_of_their_own(tmp_path: Path) -> None:
    run = talm_run(tmp_path)
    question = choose_question(run)
    items = []
    for name in ("ann", "bob"):
        with closing(open_ballot(run, question, name, size=12, seed=3)) as ballot:
            items.append(ballot.items)
    assert set(items[0]) == set(items[1]) and items[0] != items[1]
    said = {one.episode_id: one.value for one in run.verdicts()}
    passed = [bool(said[item]) for item in items[0]]
    assert sum(passed) == 6 and passed not in (sorted(passed), sorted(passed, reverse=True)), "the order tells no verdict"
    assert sample_of(run, question).sizes == {"failed": 13, "passed": 7}
    assert len(sample_of(run, question, 6, 4).episodes) == 6, "nobody has judged anything yet"
    sample_of(run, question, 12, 3)
    give(run, "ann", **{next(iter(sample_of(run, question).episodes)).replace("-", "__").replace(".", "_"): "pass"})
    assert len(sample_of(run, question, 16).episodes) == 16 and set(items[0]) <= set(sample_of(run, question).episodes)
    for size, seed, message in ((5, None, "--sample 5: people judge 16 episodes"), (None, 4, "--seed 4: .* was drawn with seed 3")):
        with pytest.raises(PrerequisiteError, match=message):
            open_ballot(run, question, "ann", size=size, seed=seed)
    assert len(sample_of(run, question, 500).episodes) == 20 == len(sample_of(run, question, 900).episodes)


async def test_more_are_drawn_by_the_verdicts_of_the_first_draw(tmp_path: Path) -> None:
    run = talm_run(tmp_path)
    question = choose_question(run)
    before = sample_of(run, question, 6)
    with closing(open_ballot(run, question, "ann")) as ballot:
        ballot.give(ballot.items[0], "pass")
    async with RunStore.open(run.path) as store:  # another judge, which passes all
        await store.add_verdict(Verdict(episode_id=next(iter(before.left)), judge="reference", value=True))
    after = sample_of(load_run(run.path), question, 10)
    assert after.known == before.known and after.sizes == before.sizes and before.episodes.keys() < after.episodes.keys()
    earlier = {question.key: {"seed": 0, "sizes": before.sizes, "episodes": before.episodes}}
    with closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as conn:
        conn.execute("DELETE FROM meta WHERE key = 'seal'")
        insert_row(conn, "meta", KEY, json.dumps(earlier), either="REPLACE")
    run = load_run(run.path)
    assert sample_of(run, question).episodes == before.episodes
    with pytest.raises(PrerequisiteError, match="--sample 10: an earlier version drew the sample"):
        sample_of(run, question, 10)


def test_a_model_is_no_person(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    question = choose_question(run)
    for name, message in (("llm", "is a judge, whose labels never count as people's"), ("openai/gpt-4o", "give a name of at most")):
        with pytest.raises(PrerequisiteError, match=message):
            open_ballot(run, question, name)


def test_the_last_verdict_is_taken_back_also_in_a_later_sitting(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    question = choose_question(run)
    with closing(open_ballot(run, question, "ann")) as ballot:
        assert ballot.undo() is None
        for item in ballot.items[:3]:
            ballot.give(item, "pass")
        assert ballot.undo() == ballot.items[2]
    give(run, "bob", **{"q__00_perfect": "fail"})
    with closing(open_ballot(run, question, "ann")) as ballot:
        assert ballot.undo() == ballot.items[1] and ballot.undo() == ballot.items[0] and ballot.undo() is None
        assert len(ballot.waiting()) == 4
    assert said(run, "ann") == {} and [*said(run, "bob")] == ["q-00.perfect"], "nobody takes back another's"


def test_the_first_of_two_sittings_of_one_name_wins(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    question = choose_question(run)
    with closing(open_ballot(run, question, "ann")) as one, closing(open_ballot(run, question, "ann")) as other:
        first, second = one.items[:2]
        one.give(first, "pass")
        with pytest.raises(GivenElsewhereError, match=f"'{first}' has been judged by ann meanwhile: pass") as caught:
            other.give_all({second: ("fail", ""), first: ("fail", "")})
        assert caught.value.verdict == said(load_run(run.path), "ann")[first]
        assert [*said(load_run(run.path), "ann")] == [first], "all or none"
        one.give(first, "fail")
        other.catch_up()
        assert other.undo() == first and other.given == 0
        one.give(first, "pass")
        assert said(load_run(run.path), "ann")[first].label == "pass", "what was taken back elsewhere can be given"


async def test_people_judge_while_a_process_has_the_run(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    question = choose_question(run)
    async with RunStore.open(run.path) as store:
        with closing(open_ballot(run, question, "ann")) as ballot:
            ballot.give(ballot.items[0], "pass")
            await store.add_verdict(Verdict(episode_id=ballot.items[0], judge="other", value=True))
            ballot.give(ballot.items[1], "fail")
    run = load_run(run.path)
    assert run.closed and len(said(run, "ann")) == 2


async def test_an_episode_that_is_tried_again_loses_its_verdicts(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    give(run, "ann", **{"q__00_perfect": "fail", "q__01_underspecified": "pass"})
    async with RunStore.open(run.path) as store:
        store.start_attempt("q-00.perfect", 2)
    assert [*said(load_run(run.path), "ann")] == ["q-01.underspecified"], "they were about another answer"


def test_an_unfinished_run_is_finished_first(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 4)
    with closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as conn:
        conn.execute("DELETE FROM meta WHERE key = 'seal'")
        conn.execute("DELETE FROM episodes WHERE id = 'q-00.perfect'")
    with pytest.raises(PrerequisiteError, match="1 of 4 episodes are not finished: talm-sim resume"):
        open_ballot(load_run(run.path), choose_question(run), "ann")


def test_what_is_shown_hides_verdicts_model_and_group(tmp_path: Path) -> None:
    for run in (talm_run(tmp_path), awareness_run(tmp_path), when2call_run(tmp_path)):
        with closing(open_ballot(run, choose_question(run), "ann")) as ballot:
            for item in ballot.items:
                text = str(ballot.material(item))
                assert "secret" not in text and "person" not in text.replace("Asked the person", "").replace("The person replied", "")
                assert not any(group in text for group in ("perfect", "underspecified", "removed", "gold"))
                assert "umber" in text or "Answer" in text


def test_what_people_differ_on_is_settled_in_a_sitting_of_its_own(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 6)
    question = choose_question(run)
    with pytest.raises(PrerequisiteError, match="nothing to settle"):
        open_ballot(run, question, "", settle=True)
    give(run, "ann", **{"q__00_perfect": "fail", "q__01_underspecified": "pass", "q__02_perfect": "pass"})
    give(run, "bob", **{"q__00_perfect": "pass", "q__01_underspecified": "pass"})
    people: Any = find_people(run, question)
    assert people.disputed() == ["q-00.perfect"] == people.undecided() and people.verdict("q-00.perfect") is None
    with closing(open_ballot(run, question, "", settle=True)) as ballot:
        assert ballot.material("q-00.perfect")[-1] == ("What was said", "ann: fail\nbob: pass")
        ballot.give("q-00.perfect", "pass")
        assert ballot.waiting() == []
    people = find_people(run, question)
    assert (people.undecided(), people.verdict("q-00.perfect").label) == ([], "pass")
    assert people.said["q-00.perfect"]["ann"].label == "fail", "what each said stays beside it"
    give(run, "cy", **{"q__00_perfect": "fail"})
    assert find_people(run, question).verdict("q-00.perfect").label == "pass", "settled counts more than a majority"  # type: ignore[union-attr]


def test_a_sample_that_is_drawn_anew_ends_a_sitting_that_has_begun(tmp_path: Path) -> None:
    run = talm_run(tmp_path)
    question = choose_question(run)
    with closing(open_ballot(run, question, "ann", size=4)) as ballot:
        sample_of(run, question, 4, 8)
        other = next(item for item in ballot.items if item not in sample_of(run, question).episodes)
        with pytest.raises(PrerequisiteError, match="the sample was drawn anew meanwhile; start again"):
            ballot.give(other, "pass")
    assert said(run, "ann") == {} and load_run(run.path).closed and len(sample_of(run, question, seed=8).episodes) == 4


def test_people_share_the_work(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 10)
    question = choose_question(run)
    with closing(open_ballot(run, question, "ann", reviews=1)) as ann, closing(open_ballot(run, question, "bob", reviews=1)) as bob:
        assert len(ann.items) == len(bob.items) == 10
        for item in ann.items[:4]:
            ann.give(item, "pass")
        assert [item for item in bob.items if not bob.is_wanted(item)] == [item for item in bob.items if item in ann.items[:4]]
    with closing(open_ballot(run, question, "cy", reviews=1)) as cy, closing(open_ballot(run, question, "ann", reviews=1)) as ann:
        assert len(cy.items) == 6 and len(ann.items) == 10 and len(ann.waiting()) == 6
    with closing(open_ballot(run, question, "cy", reviews=2)) as cy:
        assert len(cy.items) == 10


def test_a_question_that_does_not_exist_or_applies_to_nothing_is_one_line(tmp_path: Path) -> None:
    aware = awareness_run(tmp_path)
    assert (choose_question(aware).name, choose_question(aware, "instance").name) == ("explanation", "instance")
    with pytest.raises(PrerequisiteError, match="--question: there is no 'passed' for this run"):
        choose_question(aware, "passed")
    choices = when2call_run(tmp_path)
    stored = [one.model_copy(update={"details": {"option_scores": []}}) for one in choices.episodes()]
    assert all(choose_question(choices).show(one, next(choices.scenarios())) is None for one in stored)
