"""`scenarios generate` and `scenarios review` as they are typed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from talm_sim.cli.making.reviewing import review_entries, summary_lines
from talm_sim.cli.person.typed_lines import LineReader
from talm_sim.scenarios.making.review import open_review
from talm_sim.tasks import find_task
from talm_sim.tasks.when2call.making.review import ItemReviewer
from talm_sim.tasks.when2call.making.writers import GenerateOptions
from talm_sim.types import Behaviour, Choice
from tests.models.loopback import Answer, chat_answer, loopback

Talm = Callable[..., tuple[int, str, str]]
GENERATE = ("scenarios", "generate", "--out", "made")


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_generate_prints_what_was_made_and_what_was_not(talm: Talm) -> None:
    code, out, err = talm(*GENERATE, "--limit", "12")
    assert code == 0
    assert "tool_call" in out and "Given up" in out and "written" in out
    assert "[12/12]" in err and "s left" in err and "written to made" in err
    assert {path.name for path in Path("made").iterdir()} == {"items.jsonl", "rejected.jsonl", "report.json", "state.jsonl"}
    rows = find_task("when2call").read(("tool_call", "request_for_info", "cannot_answer"), Path("made/items.jsonl"))
    assert rows and all(isinstance(row.target, Choice) and len(row.target.options) == 4 for row in rows)


def test_generate_goes_on_and_refuses_other_settings(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "2")
    code, out, err = talm(*GENERATE, "--limit", "4", "--json")
    assert code == 0 and "2 finished before" in err
    assert json.loads(out)["sources"]["finished"] == 4
    code, _, err = talm(*GENERATE, "--seed", "7")
    assert code == 2 and err.count("\n") == 1 and "seed = 0" in err


def test_generate_takes_its_own_rows_as_sources(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "3")
    code, out, _ = talm("scenarios", "generate", "--from", "made/items.jsonl", "--out", "again", "--json")
    assert code == 0
    assert json.loads(out)["sources"]["asked"] >= 3


def test_generate_takes_items_in_the_form_of_scenarios_as_sources(talm: Talm) -> None:
    _, out, _ = talm("scenarios", "list", "--task", "when2call", "--split", "tool_call", "--json")
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in json.loads(out)[:3]))
    code, out, _ = talm(*GENERATE, "--from", "items.jsonl", "--json")
    assert code == 0
    assert json.loads(out)["sources"]["asked"] == 3


def test_every_field_of_the_options_is_on_the_help_page(talm: Talm) -> None:
    code, page, _ = talm("scenarios", "generate", "--help")
    assert code == 0
    for name in GenerateOptions.model_fields:
        flags = {"file": ("--from ",), "traffic": ("--live ", "--replay ", "--record ")}.get(name, (f"--{name.replace('_', '-')} ",))
        assert all(page.count(flag) == 1 for flag in flags if flag != "--model "), name
    assert "[required]" in page and "0<=x<=2]" in page


def test_the_environment_of_a_run_is_not_read_and_the_last_flag_counts(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MODEL", "openai-api/none-such/m")
    assert talm(*GENERATE, "--limit", "1")[0] == 0
    code, _, err = talm("scenarios", "generate", "--out", "other", "--model", "openai-api/none-such/m", "--live", "--replay")
    assert code == 2 and "not recorded" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--model", "sim/oracle"), "sim/writer"),
        (("--model", "nobody"), "PROVIDER/NAME"),
        (("--model", "openai-api/none-such/m"), "NONE_SUCH_BASE_URL"),
        (("--model", "openai-api/none-such/m", "--replay"), "not recorded"),
        (("--model", "hf/nowhere", "--record"), "no traffic"),
        (("-M", "x"), "KEY=VALUE"),
        (("-M", "api_key=x"), "api_key"),
        (("--limit", "x"), "--limit"),
        (("--limit", "900-901"), "no source question"),
        (("--prompts", "none.toml", "--model", "openai-api/none-such/m"), "none.toml"),
        (("--from", "none.jsonl"), "none.jsonl"),
        (("--prompts", "none.toml"), "no prompts to replace"),
        (("--temperature", "3"), "'--temperature': 3.0 is not in the range 0<=x<=2"),
        (("--top-p", "0"), "'--top-p': 0.0 is not in the range 0<x<=1"),
        (("--attempts", "11"), "'--attempts': 11 is not in the range 1<=x<=10"),
        (("--temperature", "nan"), "--temperature: "),
        (("--variants", "two"), "'all', 'one'"),
        (("--file", "x"), "--file"),
    ],
)
def test_what_the_user_must_mend_is_one_line(talm: Talm, arguments: tuple[str, ...], named: str) -> None:
    code, out, err = talm(*GENERATE, *arguments)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if line.startswith("talm-sim: error")]
    assert len(lines) == 1 and named in lines[0]
    assert "live:" not in err


def test_a_recording_is_replayed_to_the_same_bytes(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--model", "openai-api/toy/m", "--tool-use", "call", "--limit", "3", "--cassettes", "tapes")
    with loopback(chat_answer("What do you need it for?")) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, _, err = talm("scenarios", "generate", "--out", "live", "--record", *arguments)
    assert code == 0 and err.startswith("live: openai-api")
    monkeypatch.delenv("TOY_BASE_URL")
    code, _, err = talm("scenarios", "generate", "--out", "played", *arguments)
    assert code == 0 and "live:" not in err
    for name in ("items.jsonl", "rejected.jsonl"):
        assert Path("live", name).read_bytes() == Path("played", name).read_bytes()
    code, _, err = talm("scenarios", "generate", "--out", "other", "--temperature", "0.1", *arguments)
    assert code == 2 and "add --live" in err and "run the same command to continue" in err


def test_a_request_the_provider_fails_on_is_named_and_tried_again(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (*GENERATE, "--model", "openai-api/toy/m", "--live", "--tool-use", "call", "--limit", "3", "--max-connections", "1")
    refused = Answer({"error": {"message": "the content filter was triggered"}}, status=400)
    with loopback(refused, chat_answer("What do you need it for?")) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, _, err = talm(*arguments)
        assert code == 1 and "2 of 3 source questions" in err
        assert [line for line in err.splitlines() if "content filter" in line and "run the same command to try again" in line]
        code, out, err = talm(*arguments, "--json")
    assert code == 0 and "2 finished before" in err
    assert json.loads(out)["sources"]["failed"] == []


def test_list_and_show_know_the_task(talm: Talm) -> None:
    code, out, err = talm("scenarios", "list", "--task", "when2call", "--split", "cannot_answer", "--json")
    assert code == 0
    first = json.loads(out)[0]
    assert first["group"] == "cannot_answer"
    assert json.loads(talm("scenarios", "show", first["id"], "--task", "when2call")[1]) == first
    code, _, err = talm("scenarios", "list", "--task", "when2call", "--split", "zzz")
    assert code == 2 and "unknown split 'zzz'" in err and "cannot_answer" in err


def reading(*lines: str) -> Callable[[], str | None]:
    left: Iterator[str] = iter(lines)
    return lambda: next(left, None)


def reviewed(folder: Path, *lines: str, rejected: bool = False) -> tuple[str, list[str]]:
    review = open_review(folder, ItemReviewer(), rejected=rejected)
    screen = io.StringIO()
    review_entries(review, Console(file=screen, width=100, markup=False, emoji=False, highlight=False), reading(*lines))
    return screen.getvalue(), list(summary_lines(review.summary()))


def test_a_person_keeps_drops_goes_back_and_quits(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "3")
    screen, summary = reviewed(Path("made"), "k", "u", "d", "too odd", "d", "b", "?", "s", "q")
    assert "right" in screen and "1 kept, 0 dropped, " in screen and "Type k, d, e, s, u or q" in screen
    assert ": 0 kept, 2 dropped, " in summary[0] and summary[0].endswith(" to go; 0% kept")
    assert {"dropped 1: too odd", "dropped 1: the right answer is wrong"} <= set(summary)
    assert "agreement with the automatic checks: 0 of 2 (0%)" in summary
    assert "decided" in reviewed(Path("made"))[1][0], "the end of input ends the review, and the decisions stay"


def test_nothing_in_an_item_reaches_the_terminal_unescaped(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "1")
    file = Path("made/items.jsonl")
    row = json.loads(file.read_text().splitlines()[0])
    row["question"] = row["answers"]["direct"] = "\x1b[2J[red]all gone\x07"
    row["source_id"] = "a\x1b]0;title\x07"
    file.write_text(json.dumps(row) + "\n")
    screen, _ = reviewed(Path("made"), "k")
    assert "[red]all gone" in screen
    assert "\x1b" not in screen and "\x07" not in screen


def test_review_needs_a_person(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    talm(*GENERATE, "--limit", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO("k\n"))
    code, out, err = talm("scenarios", "review", "made")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "terminal" in err
    code, out, _ = talm("scenarios", "review", "made", "--json")
    assert code == 0 and json.loads(out)["kept"] == 0


def test_review_at_a_terminal_writes_what_was_kept(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    talm(*GENERATE, "--limit", "1")
    typed, keys = os.pipe()
    os.write(keys, b"k\nd\nbad\n")
    os.close(keys)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("talm_sim.cli.person.by_key.open_lines", lambda console, plain: LineReader(console, typed))
    code, out, err = talm("scenarios", "review", "made")
    os.close(typed)
    assert code == 0 and "kept rows: made/kept.jsonl" in err.replace("\n", " ")
    assert out.startswith("2 of 2 decided: 1 kept, 1 dropped, 0 to go; 50% kept")
    assert {json.loads(line)["correct_answer"] for line in Path("made/kept.jsonl").read_text().splitlines()} == {Behaviour.TOOL_CALL.value}


def test_a_folder_without_items_says_how_to_make_some(talm: Talm, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = talm("scenarios", "review", "empty")
    assert (code, out) == (2, "")
    assert err == "talm-sim: error: empty: contains no items.jsonl; make items first: talm-sim scenarios generate --out FOLDER\n"


def test_why_is_offered_only_where_the_checks_rejected(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "33-36")
    assert "w why rejected" not in " ".join(reviewed(Path("made"), "q")[0].split())
    rejected = " ".join(reviewed(Path("made"), *["s"] * 400, rejected=True)[0].split())
    assert "w why rejected" in rejected
