"""Labels in and out as CSV: what was written is read again, and what cannot be used is one line that names its place."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.cli.person.label_files import labels_csv, read_labels
from talm_sim.errors import PrerequisiteError
from talm_sim.store.people.ballot import choose_question, find_people, open_ballot, sample_of
from talm_sim.store.people.kept_verdicts import PeopleVerdicts, verdict_of
from talm_sim.store.people.sample import Sample
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.tasks import pass_question
from talm_sim.types import Scenario
from tests.cli.wrong import Talm
from tests.store.people.judged import said, talm_run

QUESTION = pass_question()
ITEMS = ("q-00.perfect", "q-01.underspecified", "=1+1", "-e")
SHOWN = {item: f"x{number}" for number, item in enumerate(ITEMS)}
SAMPLE = Sample(seed=0, sizes={"one": 4}, episodes=dict.fromkeys(ITEMS, "one"))


def people(**labels: dict[str, str]) -> PeopleVerdicts:
    """What people said: name to episode to label."""
    scenario = Scenario(id="s", group="perfect", turns=said("Ask"))
    made = {
        item: {name: verdict_of(QUESTION, given[item], scenario, item, name) for name, given in labels.items() if item in given}
        for item in ITEMS
    }
    return PeopleVerdicts(QUESTION, SAMPLE, {item: verdicts for item, verdicts in made.items() if verdicts}, {}, "person", "people")


def written(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "in.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


NAMES = st.sampled_from(["ann", "bob", "c.y-9"])
GIVEN = st.dictionaries(NAMES, st.dictionaries(st.sampled_from(ITEMS), st.sampled_from(["pass", "fail"]), min_size=1), max_size=3)


@settings(max_examples=60)
@given(GIVEN)
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, labels: dict[str, dict[str, str]]) -> None:
    file = written(tmp_path_factory.mktemp("labels"), labels_csv(SAMPLE, people(**labels), SHOWN))
    found, empty = read_labels(file, QUESTION, SAMPLE, None, SHOWN)
    assert {who: {item: label for item, (label, _) in given.items()} for who, given in found.items()} == labels
    assert empty == len(ITEMS) - len({item for given in labels.values() for item in given})


def test_a_spreadsheet_reads_no_formula_and_may_write_its_own_form(tmp_path: Path) -> None:
    cells = {cell for row in csv.reader(io.StringIO(labels_csv(SAMPLE, None, SHOWN).decode())) for cell in row}
    assert not any(cell.startswith(("=", "-", "+", "@")) for cell in cells) and "'=1+1" in cells
    file = written(tmp_path, b"\xef\xbb\xbfepisode;label;shown\r\n'-e; PASS ;x3\r\nq-00.perfect;f;x0\r\n")
    assert read_labels(file, QUESTION, SAMPLE, None, SHOWN, "ann") == ({"ann": {"-e": ("pass", ""), "q-00.perfect": ("fail", "")}}, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"in\.csv:1: has no column 'episode'"),
        ("episode,name,shown\n", r"in\.csv:1: has no column 'label'"),
        ("episode,shown,label,label\n", r"in\.csv:1: names a column twice"),
        ("episode,name,shown,label\nq-00.perfect,ann,x0,maybe\n", r"in\.csv:2: label: 'maybe' is none of pass, fail\."),
        (
            "episode,name,shown,label\nq-0.perfect,ann,x0,pass\n",
            r"in\.csv:2: episode: 'q-0.perfect' is not one that people judge\. Did you mean 'q-00.perfect'",
        ),
        ("episode,shown,label\nq-00.perfect,x0,pass\n", r"in\.csv:2: says of nobody whose label it is; add a column `name`, or --name NAME\."),
        ("episode,name,shown,label\nq-00.perfect,a b,x0,pass\n", r"in\.csv:2: name 'a b': give a name"),
        (
            "episode,name,shown,label\nq-00.perfect,ann,x0,pass\nq-00.perfect,ann,x0,fail\n",
            r"in\.csv:3: has a second label by ann of 'q-00.perfect'\.",
        ),
        (
            "episode,name,shown,label\nq-00.perfect,bob,x0,fail\n",
            r"in\.csv:2: bob has judged 'q-00.perfect' already: pass; take that back first",
        ),
        ("episode,name,shown,label\nq-00.perfect,ann\n", r"in\.csv:2: has fewer cells than the head\."),
        ('episode,name,shown,label\n"q-00.perfect,ann,x0,pass\n', r"in\.csv:2: is not CSV"),
        (b"episode,name,shown,label\n\xff,ann,pass\n", r"in\.csv: is not UTF-8"),
        ("episode,name,shown,label\n\x1b[2Jq,ann,x0,pass\n", r"in\.csv:2: episode: 'q' is not one"),
        (
            "episode,name,label\nq-00.perfect,ann,pass\n",
            r"in\.csv:1: has no column 'shown', so it may be of another run; write the file with --labels-out, and fill in",
        ),
        (
            "episode,name,shown,label\nq-00.perfect,ann,x0,pass\nq-01.underspecified,ann,x0,pass\n",
            r"in\.csv:3: shown: the label of 'q-01.underspecified' was given to something else than this run's episode or question;",
        ),
        ("episode,name,shown,label\nq-00.perfect,ann,,pass\n", r"in\.csv:2: shown: the label of 'q-00.perfect' does not say what was judged;"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        read_labels(written(tmp_path, text), QUESTION, SAMPLE, people(bob={"q-00.perfect": "pass"}), SHOWN)
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)


def labels_of(run: StoredRun) -> dict[str, dict[str, str]]:
    found = find_people(load_run(run.path), choose_question(run))
    return {} if found is None else {item: {name: one.label for name, one in verdicts.items()} for item, verdicts in found.said.items()}


def test_labels_travel_from_run_to_run(tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = talm_run(Path("runs"), name="first"), talm_run(Path("runs"), name="second")
    with closing(open_ballot(first, choose_question(first), "ann", size=6)) as ballot:
        ballot.give(ballot.items[0], "pass", "=note")
    code, out, err = talm("judge", "first", "--judge", "person", "--labels-out", "l.csv")
    assert (code, out) == (0, "") and "written: l.csv" in err
    assert len(Path("l.csv").read_text(encoding="utf-8").splitlines()) == 7, "one line for each episode of the sample"
    code, _, err = talm("judge", "first", "--judge", "person", "--labels-out", "l.csv")
    assert code == 2 and err == "talm-sim: error: --labels-out l.csv: exists; name another file.\n"
    code, out, err = talm("judge", "second", "--judge", "person", "--labels-in", "l.csv")
    assert (code, out, err) == (0, "", "taken: 1 label of ann; 5 lines without a label\n")
    assert labels_of(second) == labels_of(first)
    assert len(sample_of(second, choose_question(second)).episodes) == 20
    assert talm("judge", "second", "--judge", "person", "--labels-in", "l.csv")[2] == "taken: no new label; 5 lines without a label\n"
    broken = Path("l.csv").read_text(encoding="utf-8") + "q-09.underspecified,bob,perhaps,,,,\n"
    Path("b.csv").write_text(broken.replace("ann", "cy"), encoding="utf-8")
    assert talm("judge", "second", "--judge", "person", "--labels-in", "b.csv")[0] == 2
    assert labels_of(second) == labels_of(first), "a file is taken whole or not at all"


def test_labels_of_another_run_are_refused(tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = talm_run(Path("runs"), 4, name="first")
    other = talm_run(Path("runs"), 4, name="other", hostile="which other agent said")
    with closing(open_ballot(first, choose_question(first), "ann")) as ballot:
        ballot.give(ballot.items[0], "pass")
        given = ballot.items[0]
    code, out, err = talm("judge", "first", "--judge", "person", "--labels-out", "-")
    assert (code, err) == (0, "") and not Path("-").exists() and out.startswith("episode,name,label,note,shown,given_at,counts\n")
    Path("l.csv").write_text(out, encoding="utf-8")
    code, _, err = talm("judge", "other", "--judge", "person", "--labels-in", "l.csv")
    line = next(number for number, text in enumerate(out.splitlines(), 1) if ",ann," in text)
    assert code == 2 and err.startswith(f"talm-sim: error: l.csv:{line}: shown: the label of '{given}' was given to something else than")
    assert labels_of(other) == {}
    code, out, err = talm("judge", "first", "--judge", "person", "--labels-out", "-", "--json")
    assert (code, out) == (2, "") and "both go to standard output" in err
