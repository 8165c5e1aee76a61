"""A person at a real terminal (a pseudo-terminal, a process of its own): what they type, what they see, and what is kept."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.asks import PendingQuestion
from talm_sim.agent.episode import Waiting
from talm_sim.runs.batch import run_batch
from talm_sim.store.desk import Desk, answer
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import load_run
from talm_sim.types import ModelTurn
from tests.cli.conftest import episode, scenario
from tests.cli.wrong import Talm
from tests.runs.scripted import ALL_KINDS, ScriptedRunner, new_run
from tests.runs.stored import store
from tests.warm import warm_python

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_=>]|\x1b\][^\x07]*\x07")
_AT_ITS_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_HOLDS_ANSWERS = """
import sys
from talm_sim.cli import main
from talm_sim.cli.person import sitting
from talm_sim.store import desk
sitting.HELD_SECONDS = desk.HELD_SECONDS = 1000.0
sys.exit(main(sys.argv[1:]))
"""
UP, DOWN, LEFT, HOME, END = "\x1b[A", "\x1b[B", "\x1b[D", "\x01", "\x05"


class Terminal:
    """A process at a terminal of its own.

    Args:
        directory: Where it runs.
        arguments: Of `talm-sim`.
        rows: Of the terminal.
        columns: Of the terminal.
        warm: Whether Python has the modules already.
        holds: Whether an answer can be taken back for as long as a test may take, in place of seconds.
        environ: Variables besides.
    """

    def __init__(
        self, directory: Path, *arguments: str, rows: int = 24, columns: int = 80, warm: bool = True, holds: bool = False, **environ: str
    ) -> None:
        self._keyboard, self.screen = pty.openpty()
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.mode = termios.tcgetattr(self.screen)
        # As a user's shell has it: what a process does not flush must not reach the screen by an accident of the environment.
        foreign = ("TALM_SIM_", "COLUMNS", "LINES", "NO_COLOR", "PYTHONUNBUFFERED")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        program = ("-c", _HOLDS_ANSWERS) if holds else ("-m", "talm_sim")
        self.process = subprocess.Popen(
            [sys.executable, "-ISc", _AT_ITS_TERMINAL, warm_python() if warm else sys.executable, *program, *arguments],
            cwd=directory,
            env=kept | {"TERM": "xterm-256color"} | environ,
            stdin=self.screen,
            stdout=self.screen,
            stderr=self.screen,
            start_new_session=True,
        )
        self.raw = ""
        self._seen = 0

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self.raw).replace("\r", "")

    def type(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    def answer(self, text: str) -> None:
        """Answer a question, and leave it without a mark."""
        self.type(f"{text}\r")
        self.expect("mark>")
        self.type("\r")

    def expect(self, text: str, seconds: float = 60) -> str:
        """Wait until `text` is shown after all that was expected before; return what is shown up to its end."""
        until = time.monotonic() + seconds
        while (at := self.text.find(text, self._seen)) < 0:
            assert time.monotonic() < until, f"'{text}' is not shown:\n{self.text[self._seen :]}"
            self._read(0.1)
        before, self._seen = self._seen, at + len(text)
        return self.text[before : self._seen]

    def expect_prompt(self) -> str:
        """Wait until a line can be typed."""
        shown = self.expect("/help\n")
        return shown + self.expect(">")

    def ends(self, code: int = 0, seconds: float = 60) -> None:
        """Wait for the end; the terminal is as it was, and nothing typed lies there for the shell."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, self.text
            self._read(0.1)
        self._read(0)
        assert self.process.returncode == code, self.text
        assert termios.tcgetattr(self.screen) == self.mode
        assert "Traceback" not in self.text
        silent = termios.tcgetattr(self.screen)
        silent[3] &= ~termios.ICANON
        termios.tcsetattr(self.screen, termios.TCSANOW, silent)
        assert not select.select([self.screen], [], [], 0)[0], os.read(self.screen, 1000)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.screen)
        os.close(self._keyboard)

    def _read(self, seconds: float) -> None:
        with suppress(OSError):
            while select.select([self._keyboard], [], [], seconds)[0]:
                self.raw += os.read(self._keyboard, 65536).decode(errors="replace")
                seconds = 0


@pytest.fixture
def at_terminal() -> Iterator[Any]:
    made: list[Terminal] = []

    def start(*arguments: Any, **more: Any) -> Terminal:
        made.append(Terminal(*arguments, **more))
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


async def waiting_run(directory: Path, *questions: str, name: str = "a-run") -> Path:
    """A run that nobody runs, with open questions."""
    run = new_run(directory / "runs", len(questions), asks=len(questions), name=name)
    async with RunStore.open(run) as store:
        for number, text in enumerate(questions):
            episode = f"ask-{number:03}"
            asked = (PendingQuestion(f"{episode}#1-1", 1, text),)
            await store.pause(Waiting(episode, episode, 1, 1, asked, (), (), {"answers": []}))
    return run


def answers(run: Path) -> dict[str, str]:
    with closing(Desk(run)) as desk:
        found = {question: desk.answer_to((question, 1, f"{question}#1-1")) for question in (f"ask-{n:03}" for n in range(9))}
        return {episode: one.text for episode, one in found.items() if one is not None}


async def test_a_line_can_be_edited_and_called_back(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "Which?", "And which?", "Last?")
    terminal = at_terminal(tmp_path, "answer")
    assert "Question 1 of 3" in terminal.expect_prompt()
    terminal.answer("rance" + LEFT * 2 + "\x7fi" + END + "s" + HOME + "F")
    terminal.expect("saved: Fraices")
    terminal.expect_prompt()
    terminal.answer(UP + " too")
    terminal.expect("saved: Fraices too")
    terminal.expect_prompt()
    terminal.answer(UP + UP + DOWN + "\x17" + "北京 naïve")
    terminal.expect("3 questions answered")
    terminal.ends()
    assert answers(run) == {"ask-000": "Fraices", "ask-001": "Fraices too", "ask-002": "Fraices 北京 naïve"}


async def test_an_answer_is_taken_back(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?")
    early = at_terminal(tmp_path, "answer", "--undo")
    early.expect("there is no answer to take back: nobody has answered a question of this run.")
    early.ends(2)
    terminal = at_terminal(tmp_path, "answer", "a-run")
    assert "/undo" not in terminal.expect_prompt()
    terminal.type("/undo\r")
    terminal.expect("nothing to take back")
    terminal.expect_prompt()
    terminal.answer("slip")
    terminal.expect("saved: slip (/undo takes it back until the run is resumed)")
    second = terminal.expect_prompt()
    assert "Second?" in second
    assert "or /undo, /skip, /later, /help" in second
    terminal.type("/undo\r")
    terminal.expect("taken back: slip")
    assert "First?" in terminal.expect_prompt()
    terminal.answer("right")
    assert "Second?" in terminal.expect_prompt()
    terminal.answer("another slip")
    assert "/undo" not in terminal.expect("made a mistake? take back the last answer with: talm-sim answer a-run --undo")
    terminal.ends()
    assert answers(run) == {"ask-000": "right", "ask-001": "another slip"}
    late = at_terminal(tmp_path, "answer", "--undo")
    late.expect("ask-001: taken back: another slip")
    late.ends()
    assert answers(run) == {"ask-000": "right"}
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    last = at_terminal(tmp_path, "answer", "--undo")
    last.expect("no answer can be taken back")
    last.ends(2)


async def test_a_line_half_typed_for_a_question_answered_elsewhere_is_kept(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?", "Third?")
    terminal = at_terminal(tmp_path, "answer", "a-run")
    terminal.expect_prompt()
    terminal.type("half-ty")
    terminal.expect("half-ty")
    answer(run, "ask-000", "DE", responder="elsewhere", name="Bob")
    terminal.expect("answered elsewhere by Bob: DE")
    terminal.type("ped anxx\x7f\x7fswer\r")
    terminal.expect("not sent: half-typed answer (the Up key calls it back)")
    assert "Second?" in terminal.expect_prompt()
    terminal.answer(UP + " to this")
    terminal.expect("saved: half-typed answer to this")
    assert "Third?" in terminal.expect_prompt()
    terminal.type("again-ha")
    terminal.expect("again-ha")
    answer(run, "ask-002", declined="idk", responder="elsewhere")
    terminal.expect("answered elsewhere: I don't know")
    terminal.type("lf an")  # and no Enter at all
    terminal.expect("not sent: again-half an")
    terminal.ends()
    assert answers(run) == {"ask-000": "DE", "ask-001": "half-typed answer to this", "ask-002": ""}


async def test_an_answer_that_waits_for_its_mark_when_somebody_else_answers_is_shown(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?")
    terminal = at_terminal(tmp_path, "answer", "a-run")
    terminal.expect_prompt()
    terminal.type("my long answer\r")
    terminal.expect("mark>")
    answer(run, "ask-000", "DE", responder="elsewhere")
    terminal.expect("answered elsewhere: DE")
    terminal.expect("not sent: my long answer")
    terminal.expect_prompt()
    terminal.type("\x04")
    terminal.ends()
    assert answers(run) == {"ask-000": "DE"}


async def test_enter_alone_asks_first_and_no_text_typed_then_is_lost(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?", "Third?")
    terminal = at_terminal(tmp_path, "answer")
    terminal.expect_prompt()
    terminal.type("\r")
    terminal.expect("y/n")
    terminal.type("\r")
    terminal.expect_prompt()
    terminal.type("\r")
    terminal.expect("y/n")
    terminal.type("x\r")
    terminal.expect("Type y or n")
    terminal.expect("y/n")
    terminal.answer("YES")
    terminal.expect("saved: I don't know")
    terminal.expect_prompt()
    terminal.type("\r")
    terminal.expect("y/n")
    terminal.type("France it is\r")
    terminal.expect("taken as your answer")
    terminal.expect("mark>")
    terminal.type("0")  # one key
    terminal.expect("saved: France it is (question marked as not appropriate)")
    terminal.expect_prompt()
    terminal.type("\r")
    terminal.expect("y/n")
    terminal.type("/undo\r")
    terminal.expect("taken back: France it is")
    terminal.expect_prompt()
    terminal.type("\x04")
    terminal.expect("2 questions still open; answer with: talm-sim answer a-run")
    terminal.ends()
    assert answers(run) == {"ask-000": "Sorry, I don't know."}


async def test_two_people_are_asked_different_questions_and_one_alone_all(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?")
    one, two = at_terminal(tmp_path, "answer"), at_terminal(tmp_path, "answer")
    shown = {terminal.expect_prompt().partition("asks you")[2].split()[2] for terminal in (one, two)}
    assert shown == {"First?", "Second?"}
    three = at_terminal(tmp_path, "answer")
    assert "First?" in three.expect_prompt(), "all are under somebody's eyes"
    for terminal in (three, two):
        terminal.type("\x03")
        terminal.ends(130)
    one.answer("Oslo")
    one.expect_prompt()
    one.answer("Rome")
    one.ends()
    assert sorted(answers(run).values()) == ["Oslo", "Rome"] and not (run / "desk.lock").exists()


async def test_what_was_typed_before_a_question_was_seen_answers_nothing(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?")
    terminal = at_terminal(tmp_path, "answer")
    terminal.expect_prompt()
    terminal.type("one\rtwo\rthree\r")
    terminal.expect("mark>")
    terminal.type("\r")
    assert "Second?" in terminal.expect_prompt()
    terminal.type("/later\r")
    terminal.expect("postponed: you will be asked again at the end")
    assert "Second?" in terminal.expect_prompt()
    terminal.type("/later\r")
    terminal.expect("postponed: the question stays open")
    terminal.expect("1 question answered")
    terminal.ends()
    assert answers(run) == {"ask-000": "one"}


async def test_plain_moves_no_cursor_and_draws_no_frame(tmp_path: Path, at_terminal: Any) -> None:
    run = await waiting_run(tmp_path, "First?", "Second?")
    terminal = at_terminal(tmp_path, "answer", NO_COLOR="1", TERM="dumb")
    shown = terminal.expect_prompt()
    assert "You are the user. You asked:\nQuery 0?\nYou know:\n" in shown
    terminal.answer("one")
    terminal.expect_prompt()
    terminal.type("half")
    terminal.expect("half")
    answer(run, "ask-001", "DE", responder="elsewhere")
    terminal.expect("answered elsewhere: DE")
    terminal.expect("not sent: half")
    assert "Up key" not in terminal.text
    terminal.ends()
    assert not re.findall(r"\x1b\[[\d;?]*[A-HJKSTfhlsu]", terminal.raw)
    assert not set(terminal.text) & set("╭╮╰╯│─→")


async def three_kinds(directory: Path) -> Path:
    """A run that nobody runs, with an open question, a call to approve and a form."""
    run = new_run(directory / "runs", 3, asks=3, kinds=ALL_KINDS)
    async with RunStore.open(run) as store:
        await run_batch(store, ScriptedRunner(), store.progress())
    return run


@pytest.mark.parametrize(("columns", "how"), [(80, {}), (120, {"TALM_SIM_DISPLAY": "plain"})])
async def test_a_person_answers_approves_and_fills_in(tmp_path: Path, at_terminal: Any, columns: int, how: dict[str, str]) -> None:
    run = await three_kinds(tmp_path)
    terminal = at_terminal(tmp_path, "answer", columns=columns, TALM_SIM_NAME="Ada Lovelace", **how)
    assert "Question 1 of 3" in terminal.expect_prompt()
    terminal.answer("Oslo")
    assert "Approval 2 of 3" in terminal.expect_prompt()
    terminal.type("a\r")
    terminal.expect("saved: approve (/undo takes it back until the run is resumed)")
    assert "Form 3 of 3" in terminal.expect_prompt()
    terminal.type("/undo\r")
    terminal.expect("taken back: approve")
    assert "Approval 2 of 3" in terminal.expect_prompt()
    terminal.type("e\r")
    terminal.expect("room>")
    terminal.type("5\r" if how else "\x155\r")
    terminal.expect("part>")
    terminal.type("\r")
    terminal.expect('saved: edit: book({"room": "5", "part": 1})')
    terminal.expect_prompt()
    terminal.type("a\r")
    terminal.expect("nights (whole number)")
    terminal.expect("nights>")
    terminal.type("0\r")
    terminal.expect("nights: 0 is less than the minimum of 1.")
    terminal.expect("nights>")
    terminal.type("2\r" if how else "\x152\r")
    terminal.expect("1 question, 1 approval and 1 form answered")
    terminal.ends()
    with closing(Desk(run)) as desk:
        filed = [desk.answer_to((name, 1, f"{name}#1-1")) for name in ("ask-000", "call-001", "form-002")]
    assert [(one.text, one.name) for one in filed if one is not None] == [
        (text, "Ada Lovelace") for text in ("Oslo", 'edit: book({"room": "5", "part": 1})', 'accept: {"nights": 2}')
    ]


REPLAYED = ("--split", "underspecified", "--limit", "3", "--model", "sim/asker", "--human", "terminal", "--replay")


async def test_a_run_is_interrupted_answered_and_resumed(tmp_path: Path, at_terminal: Any) -> None:
    terminal = at_terminal(tmp_path, "run", *REPLAYED, "--run-id", "mine", warm=False, TALM_SIM_NAME="Ada")
    first = terminal.expect_prompt()
    assert "Question 1 of 3, calendar-01.underspecified" in first
    assert "She was born on 1994-03-11." in first
    terminal.answer("1994-03-11")
    terminal.expect("saved: 1994-03-11")
    terminal.expect_prompt()
    terminal.type("ha\x03")
    terminal.expect("interrupted: 0 of 3 episodes finished, 1 question answered, 2 still open; \neverything is kept.")
    terminal.expect("Continue with: talm-sim resume mine")
    terminal.ends(130)

    terminal = at_terminal(tmp_path, "resume", TALM_SIM_NAME="Bob")
    assert "Question 1 of 2, calendar-02" in terminal.expect_prompt()
    terminal.type("/later\r")
    assert "Question 2 of 2, calendar-03" in terminal.expect_prompt()
    terminal.answer("30")
    assert "Question 2 of 2, calendar-02" in terminal.expect_prompt()
    terminal.type("/later\r")
    terminal.expect("1 question answered, 1 still open")
    terminal.expect("Answer with: talm-sim answer mine")
    terminal.ends(terminal.process.wait(60))

    done = load_run(tmp_path / "runs" / "mine")
    called = {episode.scenario_id.split(".")[0]: episode.answer for episode in done.episodes()}
    assert set(called) == {"calendar-01", "calendar-03"}
    assert "hijri" in called["calendar-01"]
    names = {episode.scenario_id.split(".")[0]: [event.name for event in episode.human_events] for episode in done.episodes()}
    assert names == {"calendar-01": ["Ada"], "calendar-03": ["Bob"]}
    assert "Ada" not in (done.path / "run.json").read_text(), "a name is kept with the answers alone"
    assert [question.scenario_id for question in done.pending()] == ["calendar-02.underspecified"]


async def test_what_is_said_while_a_line_is_typed_goes_above_it(tmp_path: Path, at_terminal: Any) -> None:
    terminal = at_terminal(tmp_path, "run", *REPLAYED, "--run-id", "mine", warm=False, TALM_SIM_LOG_LEVEL="info")
    terminal.expect_prompt()
    terminal.type("half")
    terminal.expect("half")
    while len(waiting := [*load_run(tmp_path / "runs" / "mine").pending()]) < 3:
        time.sleep(0.05)
    answer(tmp_path / "runs" / "mine", waiting[-1].key, "1990-01-01")
    said = terminal.expect("[1/3] calendar-03")
    assert "half" not in said, "it would stand on the line that is typed"
    terminal.expect("> half", 20)
    terminal.type("\x03")
    terminal.ends(130)


async def test_undo_reaches_an_episode_of_a_living_run_while_its_answer_is_held(tmp_path: Path, at_terminal: Any) -> None:
    terminal = at_terminal(tmp_path, "run", *REPLAYED, "--run-id", "mine", holds=True)
    terminal.expect_prompt()
    terminal.answer("1990-01-01")
    terminal.expect("saved: 1990-01-01 (/undo takes it back, for 1000 s)")
    terminal.expect_prompt()
    terminal.type("/undo\r")
    terminal.expect("taken back: 1990-01-01")
    assert "calendar-01" in terminal.expect_prompt()
    for text in ("1994-03-11", "2026-01-31"):
        terminal.answer(f"{text}")
        terminal.expect_prompt()
    deadline = time.monotonic() + 30
    while load_run(tmp_path / "runs" / "mine").finished < 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    terminal.type("/undo\r")
    terminal.expect("taken back: 2026-01-31")
    terminal.expect_prompt()
    terminal.type("/undo\r")
    terminal.expect("too late to take back '1994-03-11': its episode has already continued")
    terminal.expect_prompt()
    terminal.type("/help\r")
    shown = terminal.expect_prompt()
    assert all(command in shown for command in ("/skip", "/later", "/undo", "/more", "Ctrl-C"))
    terminal.answer("2026-01-31")
    terminal.expect_prompt()
    terminal.type("a slip\r")
    terminal.expect("mark>")
    terminal.type("u")
    terminal.expect_prompt()
    terminal.answer("30")
    terminal.expect("saved: 30\n")
    terminal.expect("3 of 3 episodes")
    terminal.ends()


@pytest.mark.usefixtures("nothing_given")
def test_a_blind_run_stays_blind(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_BLIND", "1")
    talm("run", *REPLAYED, "--run-id", "mine", "--display", "none")
    monkeypatch.setenv("TALM_SIM_BLIND", "0")
    for command in (("answer", "--list"), ("resume", "mine", "--display", "plain"), ("answer", "--json")):
        shown = "".join(map(str, talm(*command)))
        assert "1994-03-11" not in shown and "You know" not in shown
    assert [question.knows for question in load_run("mine").pending()] == [None] * 3


def test_what_is_longer_than_the_screen_is_paged(tmp_path: Path, at_terminal: Any) -> None:
    pager = tmp_path / "less"  # of others it is not known whether they show colours
    pager.write_text("#!/bin/sh\necho PAGED $LESS\ncat\n")
    pager.chmod(0o755)
    asked, text = scenario("long", "perfect"), "a line\n" * 50 + "\x1b]52;c;x\x07the \x9bend"
    kept = episode(asked, answer=text, model_turns=(ModelTurn(text=text),))
    config: dict[str, Any] = {"split": "all", "model": "openai/some", "models": "replay", "tools": "replay", "options": {"human": "none"}}
    store(tmp_path / "runs", "a-run", [asked], [kept], **config)
    terminal = at_terminal(tmp_path, "show", "a-run:long", PAGER=str(pager), LESS="-R")
    assert "PAGED -R" in terminal.expect("Query")
    terminal.expect("the end")
    terminal.ends()
    assert "\x1b]" not in terminal.raw and "\x9b" not in terminal.raw and "\x1b[1m" in terminal.raw
    assert "PAGED" in at_terminal(tmp_path, "show", "a-run", rows=1, PAGER=str(pager)).expect("Episode"), "the list is paged, too"
    for rows, chosen, *more in ((200, str(pager)), (24, str(pager), "--no-pager"), (24, ""), (24, "cat")):
        whole = at_terminal(tmp_path, "show", "a-run:long", *more, rows=rows, PAGER=chosen)
        assert "PAGED" not in whole.expect("Verdicts")
        whole.ends()
