from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.person.prompt import ask
from talm_sim.cli.person.question_page import Page
from talm_sim.cli.person.replies import LATER, UNDO, Reply, Said
from talm_sim.cli.person.typed_lines import LineReader, _ending_keys
from talm_sim.store.questions import Question
from talm_sim.types import HumanEvent, ModelTurn, ToolCall, ToolEvent
from tests.cli.person.typist import Typist


class Terminal:
    """A reader fed by hand, and the screen it is seen on."""

    def __init__(self) -> None:
        source, self._sink = os.pipe()
        self._source = source
        self.console = Console(file=io.StringIO(), width=80, markup=False, emoji=False, highlight=False)
        self.reader = LineReader(self.console, source)

    def type(self, text: str) -> None:
        os.write(self._sink, text.encode())

    def hang_up(self) -> None:
        os.close(self._sink)
        self._sink = -1

    async def ask(self, asked: Question, **how: Any) -> Said:
        return await ask(self.console, self.reader, Page(self.console, asked, 1, 1, **how))

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


def question(text: str = "Which country?", progress: list[dict[str, Any]] | None = None, knows: str | None = "It is France.") -> Question:
    return Question("geo-01", 1, "i1", 1, text, 0.0, "geo-01", "underspecified", "How many people live there?", progress or [], knows)


def shown(asked: Question, *, plain: bool = False, height: int = 24, width: int = 80) -> tuple[Page, Console]:
    """A page on a terminal of a size."""
    console = Console(
        file=io.StringIO(), width=width, height=height, markup=False, emoji=False, highlight=False, force_terminal=True, color_system=None
    )
    page = Page(console, asked, 2, 5, plain=plain)
    page.show()
    return page, console


def text_on(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("France\n", Reply("France")),
        ("  France \n", Reply("France")),
        ("\n", Reply(DONT_KNOW, "idk")),
        ("   \n", Reply(DONT_KNOW, "idk")),
        ("/skip\n", Reply(WONT_SAY, "skip")),
        ("/LATER\n", LATER),
        ("/undo\n", UNDO),
        ("//etc\n", Reply("/etc")),
        ("/more\nFrance\n", Reply("France")),
        ("/nonsense\nFrance\n", Reply("France")),
        ("naïve 北京\n", Reply("naïve 北京")),
        ("Fra\x1b[Ance\n", Reply("France")),
    ],
)
async def test_what_is_typed(terminal: Terminal, typed: str, reply: object) -> None:
    terminal.type(typed)
    assert await terminal.ask(question()) == reply
    assert ("No command '/nonsense'" in terminal.screen) is ("/nonsense" in typed)


def test_the_page_shows_what_is_needed_to_answer() -> None:
    done = (
        ModelTurn(text="let me look"),
        ToolEvent(turn=0, call_id="1", name="capital", arguments={"country": "?"}, result='{"detail": "x"}', ok=False, status=404),
        HumanEvent(turn=0, call_id="2", question="Really?", answer="Yes.", responder="terminal"),
    )
    progress = [item.model_dump(mode="json") for item in done]
    _, console = shown(question("Which [b]country[/b]\x1b[2J?", progress), height=40)
    text = " ".join(text_on(console).replace("│", " ").split())
    wanted = (
        "Question 2 of 5, geo-01 (underspecified)",
        "You are the user. You asked How many people live there?",
        "You know It is France.",
        "→ capital(country='?')",
        "failed 404",
        "asks the human: Really?",
        "The agent asks you Which [b]country[/b]?",
    )
    for part in wanted:
        assert part in text
    assert "\x1b" not in text


def test_plain_is_words_alone() -> None:
    done = (
        ToolEvent(turn=0, call_id="1", name="capital", arguments={"country": "?"}, result="no such thing", ok=False, status=404),
        ToolEvent(turn=0, call_id="2", name="capital", arguments={}, result="Paris", ok=True, status=200),
        HumanEvent(turn=0, call_id="3", question="Really?", answer="Yes.", responder="terminal"),
    )
    _, console = shown(question(progress=[item.model_dump(mode="json") for item in done]), plain=True, height=40)
    assert text_on(console) == (
        "Question 2 of 5, geo-01 (underspecified)\n"
        "You are the user. You asked:\nHow many people live there?\n"
        "You know:\nIt is France.\n"
        "The agent so far:\ncalled capital(country='?'): failed 404, no such thing\ncalled capital(): Paris\nasked: Really? Answer: Yes.\n"
        "The agent asks you:\nWhich country?\n"
    )


def test_a_blind_person_is_told_neither_what_the_user_knows_nor_what_is_missing() -> None:
    _, console = shown(question(knows=None))
    assert "Question 2 of 5 ─" in text_on(console)
    for told in ("know", "underspecified", "geo-01"):
        assert told not in text_on(console)


LONG = " ".join(f"word{n}" for n in range(900))
UNBROKEN = question("x" * 9_000)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 12), (100, 50)])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("asked", [question(LONG), UNBROKEN, question("line\n" * 300 + "end?")])
def test_a_page_fits_the_screen_and_leads_to_all_of_a_long_question(asked: Question, width: int, height: int, plain: bool) -> None:
    page, console = shown(asked, width=width, height=height, plain=plain)
    first = text_on(console)
    assert page.pages > 1
    assert first.count("\n") <= max(height - 2, 16)
    assert "more: /more" in first
    assert "It is France." in first
    for part in ("You are the user. You asked", "You know", "The agent asks you"):
        assert part in first
    if height >= 24:
        assert asked.question.split()[-1][-3:] in first  # the end, where the question mostly stands
    for _ in range(page.pages):
        page.show_more()
    seen = "".join(text_on(console).removeprefix(first).replace("│", " ").split())
    for word, times in Counter(asked.question.split() if asked is not UNBROKEN else asked.question).items():
        assert seen.count(word) >= times


@pytest.mark.parametrize("plain", [False, True])
def test_nothing_that_a_run_says_of_a_failed_call_steers_the_screen(plain: bool) -> None:
    evil = "\x1b]52;c;eA==\x07\x9b2J\u2028\x00bad"
    failed = ToolEvent(turn=0, call_id="1", name=evil, arguments={evil: evil}, result=evil, ok=False, error=evil)
    _, console = shown(question(evil, [failed.model_dump(mode="json")], evil), plain=plain, height=40)
    assert "bad" in text_on(console)
    assert not set("\x1b\x07\x9b\u2028\x00") & set(text_on(console))


def test_a_message_that_asks_in_words_is_shown_whole_above_its_question() -> None:
    said = ModelTurn(text="Which country?\n- France\n- Italy").model_dump(mode="json")
    _, console = shown(question(progress=[said]), plain=True)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "The agent writes to you:\nWhich country?\n- France\n- Italy\n" in text and text.endswith("The agent asks you:\nWhich country?\n")
    for same in (ModelTurn(text="Which country?"), ModelTurn(tool_calls=(ToolCall(id="a", name="ask_human"),), text="Let me ask.")):
        _, console = shown(question(progress=[same.model_dump(mode="json")]), plain=True)
        assert "The agent writes to you" not in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        (("1994", "1"), Reply("1994", appropriate=True)),
        (("/skip", "0"), Reply(WONT_SAY, "skip", False)),
        (("", "y", ""), Reply(DONT_KNOW, "idk", None)),
        (("Hanoi", "perhaps", "0"), Reply("Hanoi", appropriate=False)),
    ],
)
async def test_a_person_at_a_terminal_marks_the_question_after_the_answer(typed: tuple[str, ...], reply: Reply) -> None:
    console, lines = Console(file=io.StringIO(), width=80), Typist(*typed, stays=True)
    assert await ask(console, lines, Page(console, question(), 1, 1)) == reply
    assert lines.keys[0] == "" and lines.keys[-1] == "10u", "one key is enough for the mark, and for nothing else"


async def test_a_command_is_typed_to_its_end_where_one_key_is_enough() -> None:
    with create_pipe_input() as keyboard:
        keyboard.send_text("/help\r1")
        session: PromptSession[str] = PromptSession(input=keyboard, output=DummyOutput())
        assert [await session.prompt_async("", key_bindings=_ending_keys("10u")) for _ in range(2)] == ["/help", "1"]
