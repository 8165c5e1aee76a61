"""What a person types to decide about a call, or to fill in a form."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from rich.console import Console

from talm_sim.cli.person.prompt import ask
from talm_sim.cli.person.question_page import Page
from talm_sim.cli.person.replies import CLOSED, LATER, UNDO, Reply, Said
from talm_sim.store.questions import Question
from talm_sim.types import Action, Approval, Decision, Form, HumanEvent, PersonRequest
from tests.cli.person.test_prompt import text_on
from tests.cli.person.typist import KEPT, Typist

CALL = Approval(name="pay", arguments={"to": "Ada", "sum": 10, "now": True, "note": "a\nb", "of": {"a": 1}}, description="It costs money.")
EVIL = "\x1b]52;c;eA==\x07\x9b2J\u2028\x00bad"
FORM = Form(
    message="Who are you?",
    source="hotel",
    fields={
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Full name", "description": "As on the card."},
            "age": {"type": "integer", "minimum": 18},
            "size": {"type": "string", "enum": ["S", "M"], "default": "M"},
            "news": {"type": "boolean"},
        },
        "required": ["name", "age"],
    },
)


def asked(request: PersonRequest, progress: list[dict[str, Any]] | None = None) -> Question:
    return Question("geo-01", 1, "i", 1, request.text, 0.0, "geo-01", "perfect", "Pay it.", progress or [], "", request)


def screen(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, height=50, markup=False, emoji=False, highlight=False)


async def say(request: PersonRequest, *typed: str, **how: Any) -> tuple[Said, str, Typist]:
    """Type these lines; what that says, the screen, and the person."""
    console, lines = screen(), Typist(*typed, **how)
    said = await ask(console, lines, Page(console, asked(request), 1, 1))
    return said, text_on(console), lines


def decided(action: Action, **more: Any) -> Reply:
    return Reply(decision=Decision(action=action, **more))


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        (("a",), decided("approve")),
        (("YES!",), decided("approve")),
        (("r too much",), decided("reject", message="too much")),
        (("no, too much",), decided("reject", message="too much")),
        (("reject", "Too much."), decided("reject", message="Too much.")),
        (("n", ""), decided("reject")),
        (("s It is paid.",), decided("respond", message="It is paid.")),
        (("respond", "//paid"), decided("respond", message="/paid")),
        (("s", "", "s", "/back", "a"), decided("approve")),
        (('e {"sum": 9}',), decided("edit", name="pay", arguments={"sum": 9})),
        (("e {", "e []", "a please", "", "what", "/what", "a"), decided("approve")),
        (("/help", "/later"), LATER),
        (("/undo",), UNDO),
        ((), CLOSED),
        (("r",), CLOSED),
    ],
)
async def test_a_call_is_decided_about(typed: tuple[str, ...], reply: Said) -> None:
    assert (await say(CALL, *typed))[0] == reply


async def test_an_edit_goes_through_the_arguments_one_by_one() -> None:
    said, _, person = await say(CALL, "e", "Bob", "x", "12.5", "n", KEPT, '{"a": 2}')
    assert said == decided("edit", name="pay", arguments={"to": "Bob", "sum": 12.5, "now": False, "note": "a\nb", "of": {"a": 2}})
    lines = [("to", "Ada"), ("sum", "10"), ("sum", "x"), ("now", "true"), ("note", r'"a\nb"'), ("of", '{"a": 1}')]
    assert person.prompts[1:] == [(f"{name}> ", begun) for name, begun in lines]


async def test_an_edit_that_changes_nothing_or_goes_back_decides_nothing() -> None:
    said, shown, _ = await say(CALL, "e", *[KEPT] * 5, "e", "Bob", "/back", "r", "")
    assert said == decided("reject") and "nothing was changed" in shown


async def test_a_text_is_typed_as_it_is_or_in_quotation_marks() -> None:
    call = Approval(name="say", arguments={"a": "1", "b": "/x", "c": "y", "d": ""})
    said, _, person = await say(call, "e", "true", KEPT, r'"two\nlines"', "//etc")
    assert said == decided("edit", name="say", arguments={"a": "true", "b": "/x", "c": "two\nlines", "d": "/etc"})
    assert [begun for _, begun in person.prompts[1:]] == ["1", '"/x"', "y", '""']
    emptied = (await say(Approval(name="say", arguments={"a": "x"}), "e", ""))[0]
    assert emptied == decided("edit", name="say", arguments={"a": ""})


async def test_a_value_that_is_too_long_for_a_line_is_kept_or_replaced() -> None:
    call = Approval(name="pay", arguments={"a": "x" * 100_000, "b": ["y"] * 10_000, "c": 1})
    said, shown, person = await say(call, "e", "", "[]", "2")
    assert said == decided("edit", name="pay", arguments={"a": "x" * 100_000, "b": [], "c": 2})
    assert [begun for _, begun in person.prompts[1:]] == ["", "", "1"] and "Enter alone keeps it" in shown


async def test_only_what_is_allowed_is_offered() -> None:
    said, shown, _ = await say(CALL.model_copy(update={"allowed": ("approve", "reject")}), "e", "s x", "r no")
    assert said == decided("reject", message="no")
    assert "a approve, r reject, or /undo" in shown and "Type one of a, r;" in shown


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        (("a", "Ada", "20", KEPT, "y"), decided("accept", content={"name": "Ada", "age": 20, "size": "M", "news": True})),
        (("a", "", "Ada", "17", "18", "1", ""), decided("accept", content={"name": "Ada", "age": 18, "size": "S"})),
        (("accept", "Ada", "20", "", ""), decided("accept", content={"name": "Ada", "age": 20})),
        (("a", "Ada", "/back", "d"), decided("decline")),
        (("c",), decided("cancel")),
        (('a {"name": "Ada"}', 'a {"name": "Ada", "age": 20}'), decided("accept", content={"name": "Ada", "age": 20})),
        (("a", "Ada"), CLOSED),
        (("a", "/later", "/back", "/later"), LATER),
    ],
)
async def test_a_form_is_filled_in(typed: tuple[str, ...], reply: Said) -> None:
    assert (await say(FORM, *typed))[0] == reply


async def test_the_pages_say_what_they_are() -> None:
    done = HumanEvent(
        turn=0, call_id="1", question=CALL.text, answer="approve", responder="me", request=CALL, decision=Decision(action="approve")
    )
    for plain in (False, True):
        console = screen()
        Page(console, asked(CALL, [done.model_dump(mode="json")]), 2, 3, plain=plain).show()
        text = " ".join(text_on(console).replace("│", " ").split())
        for part in ("Approval 2 of 3", 'pay to = "Ada" sum = 10 now = true', r'note = "a\nb"', "It costs money.", "approve"):
            assert part in text
    assert "approval: Allow pay(" in text and "Decision: approve" in text
    console = screen()
    Page(console, asked(FORM), 2, 3).show()
    text = text_on(console)
    for part in (
        "Form 2 of 3",
        "The agent asks you (from hotel)",
        "Full name (text): As on the card.",
        "size (one of 1 S, 2 M; may be left out; default M)",
    ):
        assert part in text


@pytest.mark.parametrize("plain", [False, True])
async def test_nothing_that_a_request_says_steers_the_screen(plain: bool) -> None:
    call = Approval(name=EVIL, arguments={EVIL: EVIL, "x": [EVIL]}, description=EVIL)
    schema = {"type": "object", "properties": {EVIL: {"type": "string", "title": EVIL, "description": EVIL, "enum": [EVIL], "default": EVIL}}}
    for request, typed in ((call, ("e", KEPT, f"{EVIL}!", "e {")), (Form(message=EVIL, source=EVIL, fields=schema), ("a", EVIL, "x", KEPT))):
        console, lines = screen(), Typist(*typed)
        await asyncio.wait_for(ask(console, lines, Page(console, asked(request), 1, 1, plain=plain)), 10)
        shown = text_on(console) + "".join(prompt + begun for prompt, begun in lines.prompts)
        assert "bad" in shown
        assert not set("\x1b\x07\x9b\u2028\x00") & set(shown)
