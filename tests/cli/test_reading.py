"""`report`, `show`, `runs list`: what a stored run looks like."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.config import RunConfig
from talm_sim.runs.api import run
from talm_sim.types import Termination
from tests.cli.conftest import episode, scenario
from tests.cli.parsing.shells import NAMES, SHELLS, needs, passed
from tests.cli.wrong import Talm
from tests.runs.stored import store
from tests.tables import labelled


def test_report_prints_rates_over_intervals_and_says_what_they_are(stored: Path, talm: Talm) -> None:
    code, out, err = talm("report", "a-run", "--all")
    assert (code, err) == (0, "\nLLM judge:   talm-sim judge a-run --judge-model PROVIDER/NAME --live\n")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == ["n", "Passed", "Noticed", "Unexpected", "Skipped", "person"]
    assert lines[3].split() == ["reference"]
    assert lines[0] == "openai/some, Ask-and-Help (recorded human), perturbed: http-500:p=0.5"
    assert lines[4].split() == ["perfect", "2", ".50", ".50", ".00", ".00", ".00"]
    assert lines[5].split() == [".09–.91", ".09–.91", ".00–.66", ".00–.66", ".00–.66"]
    assert lines[6].split() == ["underspecified", "1", "1.00", "1.00", ".00", ".00", "1.00"]
    assert lines[7].split()[:3] == ["of", "2", ".21–1.00"]
    notes = " ".join(" ".join(lines[8:]).split())
    for note in (
        "model: replayed recording; tools: replayed recording",
        "passed by judge reference",
        "not scored: 1 infrastructure_error",
        "1 of 5 episodes not finished",
        "1 awareness answer neither Yes, No nor I don't know",
        "http-500:p=0.5 hit 2 of 8 calls (2 of 4 episodes)",
        "underspecified: asked in the one episode that needed it; the one question was about what was missing",
    ):
        assert note in notes


def test_equal_titles_of_several_runs_are_told_apart_by_their_names(stored: Path, talm: Talm) -> None:
    assert " ".join(talm("report", "a-run", "a-run", "--all")[1].split()).count("http-500:p=0.5 [a-run]") == 2


def test_report_rows_is_one_line_an_episode(stored: Path, talm: Talm) -> None:
    code, out, err = talm("report", "a-run", "--rows")
    assert (code, err) == (0, "")
    assert out == talm("report", "--rows", "--csv")[1]
    rows = {row["episode"]: row for row in csv.DictReader(io.StringIO(out))}
    assert list(rows) == ["perfect-0", "perfect-1", "lacking-0", "lacking-1"]
    first, lacking = rows["perfect-0"], rows["lacking-0"]
    assert (first["run"], first["scenario"], first["group"], first["termination"]) == ("a-run", "perfect-0", "perfect", "answered")
    assert (first["pass_rate"], first["awareness"], first["said"], first["reference"], first["interaction"]) == (
        "True",
        "True",
        "yes",
        "True",
        "False",
    )
    assert (lacking["awareness"], lacking["said"], lacking["interaction"]) == ("True", "idk", "True")
    assert (rows["perfect-1"]["awareness"], rows["perfect-1"]["said"]) == ("False", "unparsed")
    assert (rows["lacking-1"]["pass_rate"], rows["lacking-1"]["completed"]) == ("", "False"), "what is not scored counts as nothing"
    # The rates of the table come from these rows.
    for record in json.loads(talm("report", "--json")[1]):
        for name in ("pass_rate", "awareness", "skip", "interaction"):
            counted = [row[name] for row in rows.values() if row["group"] == record["group"] and row[name]]
            assert (counted.count("True"), len(counted)) == (record[f"{name}_k"], record[f"{name}_n"])
    assert [row["episode"] for row in json.loads(talm("report", "--rows", "--json")[1])] == list(rows)


def test_an_empty_directory_says_how_to_begin(tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = talm("report")
    assert (code, out) == (2, "")
    assert err == "talm-sim: error: runs: there are no runs here yet; start one with: talm-sim run --split underspecified\n"
    code, out, err = talm("runs", "list")
    assert (code, out) == (0, "")
    assert "there are no runs here yet; start one with: talm-sim run" in err


def test_show_lists_a_runs_episodes(stored: Path, talm: Talm) -> None:
    out = talm("show", "a-run")[1]
    assert "lacking-1" in out
    assert "infrastructure_error" in out
    assert out.splitlines()[0].split() == ["Episode", "Ended", "Outcome", "Calls", "Asked", "Faults", "reference"], "no call failed: no column"
    rows = json.loads(talm("show", "a-run", "--json")[1])
    said = [(row["episode"], row["tools"], row["questions"], [(one["judge"], one["value"]) for one in row["verdicts"]]) for row in rows]
    assert said == [
        ("perfect-0", 0, 0, [("reference", True)]),
        ("perfect-1", 0, 0, [("reference", False)]),
        ("lacking-0", 0, 1, [("reference", True)]),
        ("lacking-1", 0, 1, [("reference", False)]),
    ]
    assert [(row["failed"], row["fired"]) for row in rows] == [(0, 1), (0, 0), (0, 0), (0, 1)]
    assert (rows[2]["query"], rows[2]["verdicts"][0]["explanation"]) == ("What is the capital? (lacking-0)", "by hand")


def test_episodes_that_wait_are_listed_with_what_they_ask(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--model", "sim/asker", "--replay", "--split", "underspecified", "--limit", "2", "--human", "terminal")
    code, _, _ = talm("run", *options, "--run-id", "w", "--display", "none")
    assert code == 1
    out, rows = talm("show", "w")[1], json.loads(talm("show", "w", "--json")[1])
    assert [(row["episode"], row["termination"], row["verdicts"]) for row in rows] == [
        (f"calendar-0{n}.underspecified", "waiting", []) for n in (1, 2)
    ]
    assert rows[0]["question"].startswith("What is the date?") and rows[0]["query"].startswith("On which date does Vietnam")
    assert "Waiting" in out and "What is the date?" in out and max(map(len, out.splitlines())) <= 80


def test_the_awareness_question_and_the_prompt_are_told(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    talm("run", "--split", "underspecified", "--scenario", "language-02.underspecified", "--run-id", "one", "--display", "none")
    short, full = (" ".join(talm("show", "one:language-02.underspecified", *more)[1].split()) for more in ((), ("--full",)))
    for text in (short, full):
        assert "Start with Yes, No or IDK." in text and "Prompt [system] You help a person with a request." in text
        assert "the simulated person, recorded: does not know" in text
    assert "use --full to see everything" in short and "use --full to see everything" not in full
    assert "Get the Soundex, NYSIIS and match rating codes" in full and "Get the Soundex, NYSIIS" not in short
    document = json.loads(talm("show", "one:language-02.underspecified", "--json")[1])
    assert document["query"].startswith("I'm filling in") and document["episode"]["awareness"][0]["question"].startswith(
        "Request: I'm filling in"
    )


@labelled
def test_show_of_what_is_not_there(stored: Path, talm: Talm, name: str, message: str) -> None:
    code, out, err = talm("show", name)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_runs_list(stored: Path, talm: Talm) -> None:
    (stored.parent / "broken").mkdir()
    (stored.parent / "broken" / "run.json").write_text("{}", encoding="utf-8")
    out = " ".join(talm("runs", "list")[1].split())
    assert re.search(r"a-run \d+ s talm some http-500:p=0.5 all recorded 4/5 unfinished, 1 failed", out)
    assert "unreadable" in out
    infos = {info["id"]: info for info in json.loads(talm("runs", "list", "--json")[1])}
    assert infos["a-run"]["finished"] == 4
    assert infos["broken"]["problem"]


def test_a_page_is_not_written_over_a_file_of_another_kind(stored: Path, talm: Talm, tmp_path: Path) -> None:
    data = tmp_path / "items.jsonl"
    data.write_text("{}\n")
    code, out, err = talm("report", "a-run", "--html", str(data))
    assert (code, out, err) == (2, "", f"talm-sim: error: --html {data}: the name must end in .html.\n")
    assert data.read_text() == "{}\n"


def test_the_episodes_of_multiple_choice_show_right_and_chosen(talm: Talm, tmp_path: Path) -> None:
    run(RunConfig(task="when2call", model="sim/eager", limit="1", run_dir=tmp_path), run_id="c")
    code, out, err = talm("show", "c", "--run-dir", str(tmp_path))
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["Episode", "Ended", "Right", "Chosen"]
    assert len(out.splitlines()) == 4 and " request " in out, "no line is broken: classes are called by their short words"
    rows = json.loads(talm("show", "c", "--run-dir", str(tmp_path), "--json")[1])
    assert {(row["right"], row["chosen"]) for row in rows} >= {("request_for_info", "tool_call"), ("tool_call", "tool_call")}
    run(RunConfig(task="when2call", model="sim/oracle", mode="judge", limit="1", run_dir=tmp_path), run_id="free")
    out = talm("show", "free", "--run-dir", str(tmp_path))[1]
    assert out.splitlines()[0].split() == ["Episode", "Ended", "Right", "Chosen", "behaviour"]
    assert len(out.splitlines()) == 4 and max(map(len, out.splitlines())) <= 80, "an id of 36 letters and a verdict fit a line"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[str]]]:
    """The lines for copying that are printed of runs which a stranger named, their agents, tools and episodes; beside each, its words."""
    place = tmp_path_factory.mktemp("named")
    failed: dict[str, Any] = {"termination": Termination.INFRASTRUCTURE_ERROR, "error": "no route", "awareness": (), "answer": ""}
    found: list[tuple[str, list[str]]] = []
    for name in NAMES[::3]:
        lost = episode(scenario(name, "perfect"), **failed)
        config: dict[str, Any] = {"model": "agent/a", "agent": name, "tools": "live", "tools_from": (f"x=python:{name}",)}
        known = [scenario(one, "perfect") for one in (name, "b", "c")]
        path = store(place, "r", known, [lost, episode(known[2])], **config).path.rename(place / name)
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(said):
            assert main(["judge", str(path)]) == 1
            assert main(["report", str(path)]) == 0
        again = ["resume", str(path), "--agent", name, "--tools-from", f"x=python:{name}"]
        judge = ["judge", str(path), "--judge-model", "PROVIDER/NAME"]
        lines = re.findall(r"talm-sim (?:.* \\\n)*.*", said.getvalue())
        screen = [["show", f"{path}:{name}"], ["report", str(path), "--all"]]
        found += zip(lines, [*screen, again, again, *screen, judge], strict=True)
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_every_line_that_is_printed_for_copying_can_be_pasted(shell: str, printed: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    needs(shell)
    assert passed(shell, [line for line, _ in printed], tmp_path) == [words for _, words in printed]
    assert not list(tmp_path.rglob("PWNED"))


def test_a_name_with_control_characters_is_printed_in_no_line_to_copy(stored: Path, talm: Talm) -> None:
    stored.rename(stored.parent / "a\x1b[2J;touch PWNED\nb")
    _, out, err = talm("judge", "latest")
    for what in ("see one episode ", "every table     "):
        assert f"  {what} no command to copy: a name in it has control characters\n" in out
    assert "talm-sim" not in err + out.replace("talm-sim explain", "") and "\x1b" not in out + err


def test_where_no_published_row_is_about_the_scenarios_it_is_said(talm: Talm, tmp_path: Path) -> None:
    run(RunConfig(task="refusal", limit="1", run_dir=tmp_path), run_id="own")
    run(RunConfig(split="perfect", limit="1", run_dir=tmp_path, model="sim/oracle"), run_id="talm")
    said = "against paper: no published row is about these scenarios and settings"
    place = ("--run-dir", str(tmp_path))
    assert said in " ".join(talm("report", "own", *place, "--against", "paper")[1].split())
    assert said not in " ".join(talm("report", "own", *place)[1].split())
    beside = " ".join(talm("report", "talm", *place, "--against", "paper")[1].split())
    assert said not in beside and "GPT4o" in beside


def test_where_explanations_wait_for_a_judge_it_is_said(talm: Talm, tmp_path: Path) -> None:
    run(RunConfig(task="awareness", protocol="explanation", model="sim/oracle", limit="1", run_dir=tmp_path), run_id="e")
    out = " ".join(talm("report", "e", "--all", "--run-dir", str(tmp_path))[1].split())
    assert "are judged by a model: add --judge-model PROVIDER/NAME" in out
