"""Read the lines that a person types to decide about a call or to fill in a form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from rich.console import Console

from talm_sim.agent.decide import explain_misfit
from talm_sim.cli.person.question_page import Page, describe_field
from talm_sim.cli.person.replies import CLOSED, LATER, SLASH, UNDO, Reply, Said, is_command, read_words
from talm_sim.cli.person.typed_lines import LineSource
from talm_sim.cli.terminal.console import say
from talm_sim.cli.terminal.text import as_json, count, one_line, safe_text, strip_control
from talm_sim.errors import PrerequisiteError
from talm_sim.store.forms import FormField, actions_of, form_fields, parse_object
from talm_sim.types import Action, Approval, Decision, Form, PersonRequest

_WORDS: Final[Mapping[Action, Sequence[str]]] = {
    "approve": ("a", "approve", "y", "yes"),
    "edit": ("e", "edit"),
    "reject": ("r", "reject", "n", "no"),
    "respond": ("s", "say", "respond"),
    "accept": ("a", "accept", "y", "yes"),
    "decline": ("d", "decline", "n", "no"),
    "cancel": ("c", "cancel"),
}
"""What a person types for each decision; the first is the one that is offered."""
_MEANINGS: Final[Mapping[Action, str]] = {
    "approve": "approve",
    "edit": "edit",
    "reject": "reject",
    "respond": "send your own result instead",
    "accept": "accept",
    "decline": "decline",
    "cancel": "cancel",
}
_HELP: Final[Mapping[Action, str]] = {
    "approve": "the call runs as it is",
    "edit": "change its arguments one by one, or all at once: e {JSON}",
    "reject": "the call does not run; r WHY gives the agent the reason",
    "respond": "s TEXT; the call does not run",
    "accept": "fill in the fields one by one; or all of them at once: a {JSON}",
    "decline": "you do not want to give this",
    "cancel": "you give no decision, as if you closed the form",
}
_MORE_HELP: Final = """\
  /later  ask again at the end; after that it stays open
  /undo   take back your last answer, until its episode continues
  /more   the next page of a long text
  /back   at a field: leave the fields, and decide anew
  Ctrl-C  stop; all answers are kept, and you are told how to continue"""
_ASKED_FOR: Final[Mapping[Action, str]] = {
    "reject": "Why? The agent reads it. Enter alone: no reason.",
    "respond": "What does the agent read in place of the call's result?",
}
"""Decisions that take words, and how they are asked for."""
_LONGEST_LINE: Final = 2_000
"""Characters of a value that is put into the line to be changed."""
_BACK: Literal["back"] = "back"


async def decide(console: Console, lines: LineSource, page: Page, request: PersonRequest, *, undo: bool) -> Said:
    """Wait for the person's decision about what the page shows."""
    offered = ", ".join(f"{_WORDS[action][0]} {_meaning(action, request)}" for action in _offered(request))
    commands = ", ".join((*(["/more"] if page.pages > 1 else []), *(["/undo"] if undo else []), "/later", "/help"))
    while True:
        console.print(f"{offered}, or {commands}", style="dim")
        words = await read_words(lines, "> ", remember=False)
        match None if words is None else words.lower():
            case None:
                return CLOSED
            case "/later":
                return LATER
            case "/undo":
                return UNDO
            case "/more":
                page.show_more()
                continue
            case "/help":
                say(console, "\n".join(_help(request)))
                continue
        decision = await _DecisionReader(console, lines, request).read(words or "")
        if decision == CLOSED:
            return CLOSED
        if isinstance(decision, Decision):
            if not (misfit := explain_misfit(request, decision)):
                return Reply(decision=decision)
            console.print(f"not sent: {one_line(misfit, 300)}", style="yellow")


def _offered(request: PersonRequest) -> list[Action]:
    return [action for action in _WORDS if action in actions_of(request)]


def _meaning(action: Action, request: PersonRequest) -> str:
    number = sum(1 for _ in form_fields(request)) if isinstance(request, Form) and action == "accept" else 0
    return f"{_MEANINGS[action]} and fill in {count(number, 'field')}" if number else _MEANINGS[action]


def _help(request: PersonRequest) -> Iterator[str]:
    for action in _offered(request):
        yield f"  {_WORDS[action][0]}  {_MEANINGS[action]}: {_HELP[action]}"
    yield _MORE_HELP


class _DecisionReader:
    """Reads one decision; what it needs besides its first word is asked for."""

    def __init__(self, console: Console, lines: LineSource, request: PersonRequest) -> None:
        self._console = console
        self._lines = lines
        self._request = request

    async def read(self, words: str) -> Decision | Literal["closed"] | None:
        """Return the decision that a line begins; None if it is none, which is said, or if the person went back."""
        first, _, rest = words.partition(" ")
        rest = rest.strip()
        known = {word: action for action in _offered(self._request) for word in _WORDS[action]}
        if (action := known.get(first.lower().rstrip(",.;:!"))) is None:
            letters = ", ".join(_WORDS[one][0] for one in _offered(self._request))
            self._say(f"Type one of {letters}; /help says what they mean." if not is_command(words) else "No such command; /help lists them.")
            return None
        try:
            return await self._complete(action, rest)
        except PrerequisiteError as err:
            self._say(str(err))
            return None

    async def _complete(self, action: Action, rest: str) -> Decision | Literal["closed"] | None:
        """Return the decision; `rest` is what was typed behind its word."""
        if action in ("edit", "accept"):
            values = parse_object(rest, _WORDS[action][0]) if rest else await self._values()
            return self._with_values(values) if isinstance(values, dict) else values
        if action in _ASKED_FOR:
            if rest or not self._lines.interactive:
                return Decision(action=action, message=rest)
            return await self._with_words(action)
        if rest:
            self._say(f"{_MEANINGS[action]} takes no text; type {_WORDS[action][0]} alone.")
            return None
        return Decision(action=action)

    def _with_values(self, values: dict[str, Any]) -> Decision:
        if isinstance(self._request, Approval):
            return Decision(action="edit", name=self._request.name, arguments=values)
        return Decision(action="accept", content=values)

    async def _with_words(self, action: Action) -> Decision | Literal["closed"] | None:
        self._console.print(_ASKED_FOR[action], style="dim")
        words = await read_words(self._lines, f"{_WORDS[action][1]}> ")
        if words is None:
            return CLOSED
        return None if words.lower() == "/back" else Decision(action=action, message=_unescaped(words))

    async def _values(self) -> dict[str, Any] | Literal["closed"] | None:
        """Return the arguments of the edited call, or the values of the form; None if the person went back, or changed nothing."""
        if isinstance(self._request, Form):
            return await self._fill_in(list(form_fields(self._request)))
        arguments = await self._fill_in(list(_arguments(self._request)))
        if arguments == self._request.arguments:
            self._say("nothing was changed")
            return None
        return arguments

    async def _fill_in(self, fields: Sequence[FormField]) -> dict[str, Any] | Literal["closed"] | None:
        """Ask for the fields one by one; None if the person went back."""
        values: dict[str, Any] = {}
        if fields:
            how = "Ctrl-U clears a line" if self._lines.edited else "Enter alone takes what is in brackets"
            self._console.print(f"One field after the other. {how}; /back leaves them.", style="dim")
        for field in fields:
            say(self._console, describe_field(field, default=False))
            value = await self._field(field)
            if value is CLOSED or value is _BACK:
                return CLOSED if value is CLOSED else None
            if value is not None:
                values[field.name] = value[0]
        return values

    async def _field(self, field: FormField) -> tuple[Any] | Literal["closed", "back"] | None:
        """Return the value of a field; None if it is left out."""
        kept = begun = "" if field.default is None else _as_typed(field.default)
        if long := len(kept) > _LONGEST_LINE:
            self._say("This value is too long for a line: Enter alone keeps it, and a text replaces it.")
            begun = ""
        while True:
            words = await read_words(self._lines, f"{one_line(field.name, 40)}> ", remember=False, begun=begun)
            if words is None:
                return CLOSED
            if words.lower() == "/back":
                return _BACK
            if kept and words == ("" if long else kept):
                return (field.default,)
            if not words and not (field.kind == "text" and kept):
                if not field.required:
                    return None
                self._say("This field must be filled in.")
                continue
            if is_command(words):
                self._say(f"Only /back is a command here. {SLASH}")
                continue
            try:
                return (field.parse(_as_meant(_unescaped(words), field)),)
            except PrerequisiteError as err:
                self._say(str(err))
                begun = words if self._lines.edited else "" if long else kept

    def _say(self, text: str) -> None:
        say(self._console, safe_text(text), "yellow")


def _unescaped(words: str) -> str:
    return words.removeprefix("/") if words.startswith("//") else words


def _arguments(call: Approval) -> Iterator[FormField]:
    """Yield the arguments of a call as fields to change, then those that it must have and lacks."""
    known = {field.name: field for field in form_fields(Form(message="", fields=call.parameters))}
    for name, value in call.arguments.items():
        plain = FormField(name, name, "", _kind_of(value), (), required=True, default=value, schema={})
        yield replace(known.get(name, plain), default=value, required=True)
    yield from (field for field in known.values() if field.required and field.name not in call.arguments)


def _kind_of(value: Any) -> Literal["text", "number", "boolean", "other"]:
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number" if isinstance(value, int | float) else "other"


def _as_typed(value: Any) -> str:
    """Return a value as a person would type it: a text that a line can hold as it is, all else as JSON."""
    if not isinstance(value, str):
        return as_json(value)
    plain = value and value == strip_control(value).strip() and "\n" not in value and "\t" not in value and value[0] not in '/"'
    return value if plain else as_json(value)


def _as_meant(words: str, field: FormField) -> str:
    """Return the text that a typed text stands for: one in quotation marks is written as JSON, where a text is wanted."""
    if field.kind == "text" and len(words) > 1 and words[0] == words[-1] == '"':
        try:
            return str(json.loads(words))
        except ValueError:
            return words
    return words
