"""Whole sessions as a user has them: real processes, the real tool service, no model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from talm_sim.runs.batch import run_batch
from talm_sim.store.files.store import RunStore
from tests.cli.wrong import Talm
from tests.runs.scripted import ALL_KINDS, ScriptedRunner, new_run
from tests.warm import warm_python

pytestmark = pytest.mark.live
Here = Callable[..., subprocess.CompletedProcess[str]]
SMALL = ["--split", "underspecified", "--limit", "3", "--display", "plain"]


def talm_sim(directory: Path, *arguments: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")}
    command = [warm_python(), "-m", "talm_sim", *arguments]
    return subprocess.run(command, cwd=directory, env=environ, input=typed, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def here(nothing_given: None, talm: Talm) -> Here:
    """Runs a command line in this process."""
    return lambda *arguments: subprocess.CompletedProcess(arguments, *talm(*arguments))


def one_run(directory: Path) -> str:
    (run,) = [path.name for path in (directory / "runs").iterdir()]
    return run


def test_record_replay_and_a_miss(tmp_path: Path, here: Here) -> None:
    command = ["run", *SMALL, "--model", "sim/asker", "--human", "simulated", "--cassettes", "tapes"]
    recorded = here(*command, "--record", "--run-id", "first")
    assert recorded.returncode == 0, recorded.stderr
    again = here(*command, "--replay", "--run-id", "again")
    assert again.returncode == 0, again.stderr
    assert again.stdout.replace("again", "first") == recorded.stdout
    assert "tools: replayed recording" in " ".join(here("report", "again", "--all").stdout.split())

    next((tmp_path / "tapes" / "tools" / "underspecified").glob("*-02.underspecified.json")).unlink()
    missed = here(*command, "--replay", "--run-id", "missed")
    assert missed.returncode == 1, missed.stderr
    assert "not scored: 1 replay miss" in missed.stdout
    assert "1 episode failed, for example" in missed.stderr


def test_a_person_who_is_not_there_then_answers_then_the_run_goes_on(tmp_path: Path, here: Here) -> None:
    person = ["--model", "sim/asker", "--human", "terminal", "--live"]
    begun = talm_sim(tmp_path, "run", *SMALL, *person, typed="/later\n")
    assert begun.returncode == 1, "nothing is finished, all of it waits"
    assert "nothing is finished yet: calendar-01.underspecified asks: What is the date?" in begun.stderr
    run = one_run(tmp_path)
    assert f"3 questions open. Answer with: talm-sim answer {run[:15]}" in begun.stderr
    assert f"Continue with: talm-sim resume {run[:15]}" in begun.stderr

    questions = json.loads(here("answer", run, "--json").stdout)
    assert [question["ask"] for question in questions] == [1, 1, 1]
    assert questions[0]["knows"] == "She was born on 1994-03-11."
    listed = " ".join(here("answer", "--list").stdout.split())
    for question in questions:
        assert f"You asked: {question['query']} You know: {question['knows']} The agent asks you: {question['question']}" in listed
    hidden = here("answer", "--list", "--blind").stdout
    assert "You know" not in hidden
    assert questions[0]["query"][:60] in " ".join(hidden.split())
    several = here("answer", run, "--text", "x")
    assert (several.returncode, "3 questions are open" in several.stderr) == (2, True)
    first = questions[0]["episode_id"]
    answered = here("answer", run, "--episode", first, "--text", "11 March 1994")
    assert (answered.returncode, f"{first}: saved" in answered.stderr) == (0, True)
    late = here("answer", run, "--episode", first, "--text", "too late")
    assert late.returncode == 2
    assert late.stderr == f"talm-sim: error: --episode: '{first}' has no open questions: they have been answered.\n"
    typed = talm_sim(tmp_path, "answer", run, typed="/skip\n\n")
    assert typed.returncode == 0
    assert "What " in typed.stderr
    assert json.loads(here("answer", run, "--json").stdout) == []

    resumed = here("resume", run, "--display", "plain")
    assert resumed.returncode == 0, resumed.stderr
    assert "3 of 3 episodes" in resumed.stderr
    transcript = here("show", f"{run}:{first}").stdout
    assert "a person (talm-sim answer): 11 March 1994" in transcript


def test_calls_and_forms_are_decided_about_without_a_prompt(tmp_path: Path, here: Here) -> None:
    run = new_run(tmp_path / "runs", 4, asks=4, kinds=ALL_KINDS)
    asyncio.run(wait_for_people(run))
    listed = json.loads(here("answer", "--json").stdout)
    assert [(one["kind"], (one["request"] or {}).get("name")) for one in listed] == [
        ("question", None),
        ("approval", "book"),
        ("form", None),
        ("question", None),
    ]
    text = " ".join(here("answer", "--list").stdout.split())
    assert 'The agent wants to call: book {"room": "call-001", "part": 1}' in text and "You can: approve, edit, reject, respond" in text
    assert "The agent asks you: How many nights in form-002, part 1? The form: nights (whole number)" in text
    wrong = (
        (("call-001", "--text", "yes"), "'call-001' asks to approve a call of book: give a decision (approve, edit, reject, respond), and no"),
        (
            ("call-001", "--decide", "accept", "--values", "{}"),
            "'call-001': the decision does not fit: 'accept' is not allowed here; allowed: ",
        ),
        (("call-001", "--decide", "edit"), "--decide edit needs --values JSON."),
        (("call-001", "--decide", "edit", "--values", "[1]"), "--values: not a JSON object; write one, for example"),
        (("call-001", "--decide", "approve", "--text", "x"), "--decide approve takes no --text; reject and respond do."),
        (("call-001", "--decide", "approve", "--values", "{}"), "--values goes with --decide edit or --decide accept."),
        (("call-001", "--decide", "approve", "--idk"), "--idk and --decide exclude each other."),
        (("call-001", "--decide", "approve", "--mark", "1"), "--mark goes with --text, --idk or --skip."),
        (("call-001", "--decide", "approve", "--name", "x" * 81), "--name: a name has at most 80 printable characters, on one line."),
        (("ask-000", "--decide", "approve"), "'ask-000' asks a question: answer it with a text, not with a decision."),
        (
            ("form-002", "--decide", "accept", "--values", '{"nights": "x"}'),
            "'form-002': the decision does not fit: nights: 'x' is not of type",
        ),
    )
    for options, line in wrong:
        done = here("answer", "--episode", *options)
        assert (done.returncode, f"error: {line}" in " ".join(done.stderr.split())) == (2, True), (options, done.stderr)
    undecided = here("answer", "--decide", "approve")
    assert "2 questions, 1 approval and 1 form are open; use --episode" in undecided.stderr
    right = [
        ["ask-000", "--text", "Oslo", "--name", "Ada"],
        ["call-001", "--decide", "reject", "--text", "Too dear.", "--name", "Ada"],
        ["form-002", "--decide", "accept", "--values", '{"nights": 2}'],
    ]
    assert [here("answer", "--episode", *options).returncode for options in right] == [0, 0, 0]
    undone = here("answer", "--undo")
    assert 'form-002: taken back: accept: {"nights": 2}' in undone.stderr and "1 question and 1 form still open" in " ".join(
        undone.stderr.split()
    )


async def wait_for_people(run: Path) -> None:
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())


def test_ctrl_c_keeps_everything_and_says_how_to_go_on(tmp_path: Path, here: Here) -> None:
    command = [warm_python(), "-m", "talm_sim", "run", *SMALL, "--model", "sim/asker", "--human", "terminal", "--live"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines: SimpleQueue[str | None] = SimpleQueue()
        assert process.stderr is not None
        errors = process.stderr

        def read() -> None:
            for line in errors:
                lines.put(line)
            lines.put(None)

        reader = threading.Thread(target=read)
        reader.start()
        while (line := lines.get(timeout=60)) is not None and "The agent asks you" not in line:
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        reader.join()
    said = []
    while (line := lines.get()) is not None:
        said.append(line)
    assert f"Continue with: talm-sim resume {one_run(tmp_path)[:15]}\n" in said[-1]
    assert "Traceback" not in "".join(said)
    questions = json.loads(here("answer", one_run(tmp_path), "--json").stdout)
    assert len(questions) >= 1


def test_a_script_does_not_sit_through_the_waits_of_slow_tools(tmp_path: Path, here: Here) -> None:
    model = ["--split", "perfect", "--limit", "2", "--model", "sim/oracle", "--live"]
    done = here("ablate", "--over", "perturb=,timeout:seconds=300", *model, "--display", "json", "--json")
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event": "episode_finished"')]
    assert [end["elapsed_s"] >= 300 for end in ends] == [False, False, True, True], "the waits are in the elapsed time"
