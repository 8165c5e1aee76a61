from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from talm_sim.agent.humans import DONT_KNOW
from talm_sim.cli.prompt import CLOSED, LATER, WONT_SAY, LineReader, Reply, ask, question_panel
from talm_sim.runs.desk import Question
from talm_sim.types import HumanEvent, ModelTurn, ToolEvent


class Terminal:
    """A reader fed by hand, and the screen it is seen on."""

    def __init__(self) -> None:
        source, self._sink = os.pipe()
        self._source = source
        self.reader = LineReader(source)
        self.console = Console(file=io.StringIO(), width=80, markup=False, emoji=False, highlight=False)

    def type(self, text: str) -> None:
        os.write(self._sink, text.encode())

    def hang_up(self) -> None:
        os.close(self._sink)
        self._sink = -1

    @property
    def screen(self) -> str:
        assert isinstance(self.console.file, io.StringIO)
        return self.console.file.getvalue()

    def close(self) -> None:
        self.reader.close()
        os.close(self._source)
        if self._sink >= 0:
            os.close(self._sink)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def question(text: str = "Which country?", progress: list[dict[str, Any]] | None = None) -> Question:
    return Question("geo-01", 1, "i1", 1, text, 0.0, "geo-01", "underspecified", "How many people live there?", progress or [])


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("France\n", Reply("France")),
        ("  France \n", Reply("France")),
        ("\n", Reply(DONT_KNOW, "idk")),
        ("   \n", Reply(DONT_KNOW, "idk")),
        ("/skip\n", Reply(WONT_SAY, "skip")),
        ("/LATER\n", LATER),
        ("//etc\n", Reply("/etc")),
        ("/nonsense\nFrance\n", Reply("France")),
        ("naïve 北京\n", Reply("naïve 北京")),
        ("Fra\x1b[Ance\n", Reply("France")),
    ],
)
def test_what_is_typed(terminal: Terminal, typed: str, reply: object) -> None:
    terminal.type(typed)
    assert ask(terminal.console, terminal.reader, question()) == reply


def test_an_unknown_command_is_explained(terminal: Terminal) -> None:
    terminal.type("/quit\nx\n")
    ask(terminal.console, terminal.reader, question())
    assert "No command '/quit'" in terminal.screen


def test_the_end_of_input_closes(terminal: Terminal) -> None:
    terminal.type("half a line")
    terminal.hang_up()
    assert ask(terminal.console, terminal.reader, question()) == Reply("half a line")
    assert ask(terminal.console, terminal.reader, question()) == CLOSED


def test_lines_typed_ahead_answer_the_next_questions(terminal: Terminal) -> None:
    terminal.type("one\ntwo\n")
    assert [ask(terminal.console, terminal.reader, question()) for _ in range(2)] == [Reply("one"), Reply("two")]


def test_another_thread_can_end_the_wait(terminal: Terminal) -> None:
    got: list[object] = []
    thread = threading.Thread(target=lambda: got.append(ask(terminal.console, terminal.reader, question())))
    thread.start()
    terminal.reader.stop()
    thread.join(10)
    assert got == [CLOSED]


def test_the_panel_shows_what_is_needed_to_answer(terminal: Terminal) -> None:
    done = (
        ModelTurn(text="let me look"),
        ToolEvent(turn=0, call_id="1", name="capital", arguments={"country": "?"}, result='{"detail": "x"}', ok=False, status=404),
        HumanEvent(turn=0, call_id="2", question="Really?", answer="Yes.", responder="terminal"),
    )
    progress = [item.model_dump(mode="json") for item in done]
    terminal.console.print(question_panel(question("Which [b]country[/b]\x1b[2J?", progress), more=2))
    text = " ".join(terminal.screen.replace("│", " ").split())
    for part in ("geo-01 (underspecified)", "How many people live there?", "→ capital(country='?')", "failed 404", "asks the human: Really?"):
        assert part in text
    assert "Which [b]country[/b]?" in text
    assert "2 more questions waiting" in text
    assert "\x1b" not in text


def test_a_long_past_is_shortened(terminal: Terminal) -> None:
    events = [ToolEvent(turn=0, call_id=str(i), name=f"tool_{i}", ok=True).model_dump(mode="json") for i in range(12)]
    terminal.console.print(question_panel(question(progress=events)))
    assert "(4 earlier steps not shown)" in terminal.screen
    assert "tool_3(" not in terminal.screen
    assert "tool_11(" in terminal.screen


@pytest.mark.parametrize(
    ("text", "left_out"),
    [("x" * 1_000 + "y" * 98_000 + "z" * 1_000, "98,000 characters left out"), ("x\n" * 60 + "z", "21 lines left out")],
)
def test_a_flood_of_text_is_cut_in_the_middle(terminal: Terminal, text: str, left_out: str) -> None:
    terminal.console.print(question_panel(question(text)))
    assert left_out in terminal.screen
    assert terminal.screen.count("\n") < 60
    asked = terminal.screen.partition("It asks you")[2]
    assert "x" in asked.partition("left out")[0]
    assert "z" in asked.partition("left out")[2]


def test_what_was_said_before_stands_on_few_lines(terminal: Terminal) -> None:
    said = HumanEvent(turn=0, call_id="1", question="who? " * 20_000, answer="me " * 20_000, responder="terminal")
    terminal.console.print(question_panel(question(progress=[said.model_dump(mode="json")])))
    assert terminal.screen.count("\n") < 20
