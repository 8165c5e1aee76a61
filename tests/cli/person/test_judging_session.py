"""`judge --judge person` as it is typed: refusals in one line, keys from a pipe, what other commands show of it, what a shell completes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from talm_sim.cli.person.typed_lines import LineReader
from talm_sim.cli.root import root
from talm_sim.store.files.records import write_verdict
from talm_sim.store.people.ballot import choose_question, find_people, open_ballot, sample_of
from talm_sim.store.people.sample import KEY
from talm_sim.store.stored_run import load_run
from talm_sim.types import Verdict
from tests.cli.wrong import Talm
from tests.store.people.judged import awareness_run, talm_run, when2call_run

PERSON = ("--judge", "person")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Types lines: each is a key, as they come from a pipe."""
    files = []

    def type_in(lines: str) -> None:
        file = tmp_path / "typed"
        file.write_text(lines, encoding="utf-8")
        files.append(file.open("rb"))
        monkeypatch.setattr("talm_sim.cli.person.by_key.open_lines", lambda console, plain: LineReader(console, files[-1].fileno()))

    yield type_in
    for one in files:
        one.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["talm", *PERSON], "--judge person: say who judges: --name NAME."),
        (["talm", *PERSON, "--name", "a b"], "--name 'a b': give a name of at most 40 letters, digits, '.', '_' and '-'."),
        (["talm", *PERSON, "--judge", "llm"], "--judge person: people judge by themselves; use other judges in a command of their own."),
        (["talm", "--name", "ann"], "--name goes with --judge person."),
        (["talm", *PERSON, "--name", "ann", "--settle"], "--settle decides for all; leave out --name."),
        (["talm", *PERSON, "--settle"], "runs/talm: there is nothing to settle: no two people differ on an episode."),
        (["talm", *PERSON, "--task", "talm"], "RUN and --task exclude each other."),
        (["talm", *PERSON, "--name", "ann", "--question", "instance"], "--question: there is no 'instance' for this run. Known: passed."),
        (["talm", *PERSON, "--labels-in", "absent.csv"], "absent.csv: cannot be read: No such file or directory."),
        ([*PERSON, "--scenarios", "absent.jsonl", "--name", "ann"], "--scenarios absent.jsonl: there is no such file; give a JSONL file of"),
        ([*PERSON, "--task", "talm", "--name", "ann"], "--task talm: of this task, people judge episodes: run it, then: talm-sim judge RUN"),
    ],
)
def test_what_cannot_be_done_is_one_line(talm: Talm, arguments: list[str], said: str) -> None:
    talm_run(Path("runs"), 2)
    code, out, err = talm("judge", *arguments)
    assert (code, out) == (2, "") and said in err and err.rstrip("\n").count("\n") <= 3 and "Traceback" not in err
    assert [path.name for path in Path("runs").iterdir()] == ["talm"]


def test_keys_come_from_a_pipe_and_the_end_of_it_stops(talm: Talm, typed: Callable[[str], None]) -> None:
    run = talm_run(Path("runs"), 4)
    typed("p\nP\n")
    code, out, err = talm("judge", "talm", *PERSON, "--name", "ann")
    assert (code, out) == (0, "") and "2 of 4 items judged\ncontinue with: talm-sim judge talm --judge person --name ann\n" in err
    typed("f\n#\nwhy not\nf\n")
    code, _, err = talm("judge", "talm", *PERSON, "--name", "ann", "--display", "plain")
    assert code == 0 and err.endswith("4 of 4 items judged\nsee how far people and judges agree: talm-sim report talm\n") and "╭" not in err
    people = find_people(load_run(run.path), choose_question(run))
    assert people is not None
    with closing(open_ballot(run, choose_question(run), "ann")) as ballot:
        found = [people.said[item]["ann"] for item in ballot.items]
    assert [(one.label, one.explanation) for one in found] == [("pass", ""), ("pass", ""), ("fail", ""), ("fail", "why not")]


def test_another_question_is_another_table(talm: Talm, typed: Callable[[str], None]) -> None:
    awareness_run(Path("runs"), 3)
    typed("c\nc\nw\n")
    assert talm("judge", "aware", *PERSON, "--name", "ann")[0] == 0
    typed("n\nn\n")
    err = talm("judge", "aware", *PERSON, "--name", "ann", "--question", "instance")[2]
    assert "continue with: talm-sim judge aware --judge person --name ann --question instance" in err
    (found,) = json.loads(talm("report", "aware", "--json")[1])
    assert (found["person_k"], found["person_n"], found["person_instance"], found["person_instance_n"]) == (2, 3, 1, 2)
    out = talm("report", "aware", "--all", "-q")[1]
    assert "people: instance" in out and "Is the reason the assistant gave right?" in out and "Can the request be served" in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_people_said_is_shown(talm: Talm, typed: Callable[[str], None]) -> None:
    when2call_run(Path("runs"), 2)
    typed("d\nd\n")
    talm("judge", "choice", *PERSON, "--name", "ann")
    assert "person:ann: pass (direct)" in talm("show", "choice:c-00")[1]
    listed = json.loads(talm("show", "choice", "--json")[1])
    assert {one["judge"] for one in listed[0]["verdicts"]} == {"behaviour", "person:ann"}
    assert " ".join(talm("show", "choice")[1].split()).count("person:ann") == 0, "a column per person is too much for a screen"
    rows = talm("report", "choice", "--rows", "--csv")[1].splitlines()
    assert rows[0].split(",").count("person:ann") == 1 and len(rows) == 3
    talm("report", "choice", "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "agreement with people: Which of the four is the answer?" in page and "people" in page


def test_a_shell_completes_names_and_questions(talm: Talm, typed: Callable[[str], None]) -> None:
    awareness_run(Path("runs"), 2)
    typed("c\n")
    talm("judge", "aware", *PERSON, "--name", "ann")
    complete = ShellComplete(root, {}, "talm-sim", "_TALM_SIM_COMPLETE")
    given = ["judge", "aware", "--judge", "person"]
    assert [one.value for one in complete.get_completions([*given, "--name"], "")] == ["ann"]
    assert [one.value for one in complete.get_completions([*given, "--question"], "")] == ["explanation", "instance"]
    assert "person" in [one.value for one in complete.get_completions(["judge", "aware", "--judge"], "")]


def test_names_and_samples_of_a_strangers_run_are_not_believed(talm: Talm) -> None:
    run = talm_run(Path("runs"), 2)
    question = choose_question(run)
    sample = sample_of(run, question)

    def having(*verdicts: Verdict, people: str = "") -> None:
        with closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as conn:
            conn.execute("DELETE FROM meta WHERE key = 'seal'")
            for verdict in verdicts:
                write_verdict(conn, verdict)
            if people:
                from talm_sim.store.files.sealing import insert_row

                insert_row(conn, "meta", KEY, people, either="REPLACE")

    hostile = Verdict(episode_id="q-00.perfect", judge="person:\x1b[2J", judge_config_digest=question.key, value=True, label="pass")
    elsewhere = hostile.model_copy(update={"judge": "person:bob", "episode_id": "no-such"})
    other = hostile.model_copy(update={"judge": "person:cy", "label": "\x1b[2J"})
    good = hostile.model_copy(update={"judge": "person:ann"})
    having(hostile, elsewhere, other, good)
    people = find_people(load_run(run.path), question)
    assert people is not None and people.names == ["ann"]
    assert "\x1b" not in talm("report", "talm")[1]
    wrong = sample.model_dump(mode="json") | {"sizes": {}}
    having(people=json.dumps({question.key: wrong}))
    code, _, err = talm("report", "talm")
    assert code == 2 and "'people' is damaged" in err and "more episodes were drawn from a stratum than it has" in err and err.count("\n") == 2


def test_a_sample_that_is_half_judged_says_what_it_lacks(talm: Talm, typed: Callable[[str], None]) -> None:
    run = talm_run(Path("runs"), 60, hostile="")
    said = {one.episode_id: bool(one.value) for one in run.verdicts()}
    with closing(open_ballot(run, choose_question(run), "ann", size=30)) as ballot:
        ballot.give_all({item: ("fail", "") for item in ballot.items if not said[item]})
    out = " ".join(talm("report", "talm", "-q")[1].split())
    assert "people judge 30 of 60 episodes, drawn with seed 0: failed 15 of 40, passed 15 of 20" in out
    assert "pass rate, by people: not known until some of passed have a label; 15 labels (of those drawn, 15 still open)" in out
    typed("p\n" * 14)
    err = talm("judge", "talm", *PERSON, "--name", "ann")[2]
    assert "29 of 30 items judged" in err, "the same draw goes on"
    out = " ".join(talm("report", "talm", "-q")[1].split())
    assert "pass rate, by people: .33 [" in out and "from 29 labels (of those drawn, 1 still open); by the run's judge: .33 [" in out
    about = json.loads(talm("judge", "talm", *PERSON, "--json")[1])
    assert about["sample"]["strata"]["failed"] == {"of": 40, "drawn": 15, "chance": 0.375} and about["open"] == 1
    assert about["rate"]["labels"] == 29 and about["rate"]["low"] < about["rate"]["value"] < about["rate"]["high"]
