"""The screen of a question, a call to approve or a form, as far as it fits.

Titled texts are whole if there is room, else as much of each is shown as fits, and the rest page by page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.segment import Segment, SegmentLines
from rich.text import Text

from talm_sim.cli.report.transcript import call_text, human_event_lines, tool_event_lines
from talm_sim.cli.terminal.text import as_json, clip, count, one_line, strip_control
from talm_sim.scenarios.stand_ins import StandIn
from talm_sim.store.forms import FormField, form_fields
from talm_sim.store.questions import Question
from talm_sim.types import Approval, Event, Form, HumanEvent

NOTHING_MORE = "only what the request says"
_RESULT_WIDTH = 160
_CHOICES_WIDTH = 1_000
_MAY_HAVE_RUN = "It was approved before, and the process was killed since: the call may have run already."
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_KINDS = {
    "text": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "choice": "one of",
    "choices": "any of, with commas:",
    "other": "JSON",
}
_ROWS_ELSEWHERE = 40
"""Rows of a page if no terminal says how many it has."""
_ROWS_AROUND = 5
"""Rows of a page that are not text: its frame, the hint and the line that is typed."""
_FEWEST = 2
"""Minimum number of lines that each part keeps on a crowded page."""
_Part = tuple[str, list[list[Segment]]]


class FittedPage:
    """A page on the screen: all of it if it fits, else as much of each part as fits.

    Args:
        parts: The texts, each under its title.
        matters: Titles of the parts, the most important first, which are kept as long as possible; parts that are not among them come last.
        last: Titles of the parts of which the end matters alone.
        more: What the person types to see the rest.
        around: Rows of the screen that are needed besides those of a line that is typed.
        plain: Whether to leave out frames and signs, for screen readers.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        parts: Sequence[tuple[str, Sequence[RenderableType]]],
        *,
        matters: Sequence[str] = (),
        last: Sequence[str] = (),
        more: str,
        around: int = 0,
        plain: bool = False,
    ) -> None:
        self._console = console
        self._title = title
        self._matters = tuple(matters)
        self._last = last
        self._more = more
        self._plain = plain
        rows = (console.height if console.is_terminal else _ROWS_ELSEWHERE) - _ROWS_AROUND - around
        self._rows = max(4 * (_FEWEST + 1), rows)
        self._parts = [(title, self._lines(content)) for title, content in parts]
        everything = self._join_parts(self._parts, blank=True)
        self._pages = [everything[start : start + self._rows] for start in range(0, len(everything), self._rows)]
        self._next = 0

    def _importance(self, title: str) -> int:
        return self._matters.index(title) if title in self._matters else len(self._matters)

    @property
    def pages(self) -> int:
        """How many pages the whole takes; more than one if the first view leaves something out."""
        return len(self._pages)

    def show(self) -> None:
        """Print the first view."""
        self._print(self._fit_parts() if self.pages > 1 else self._pages[0], self._title)

    def show_more(self) -> None:
        """Print the next page of the whole."""
        where = f", page {self._next + 1} of {len(self._pages)}" if self.pages > 1 else ""
        self._print(self._pages[self._next], self._title + where)
        self._next = (self._next + 1) % len(self._pages)

    def _fit_parts(self) -> list[list[Segment]]:
        """Return every part, the most important ones as long as possible."""
        left = self._rows - len(self._parts)
        lengths = {title: len(lines) for title, lines in self._parts}
        kept = {title: min(_FEWEST, length) for title, length in lengths.items()}
        for title in sorted(lengths, key=self._importance):
            kept[title] += min(lengths[title] - kept[title], max(0, left - sum(kept.values())))
        return self._join_parts([(title, self._cut(title, lines, kept[title])) for title, lines in self._parts], blank=False)

    def _cut(self, title: str, lines: list[list[Segment]], keep: int) -> list[list[Segment]]:
        """Return the beginning and the end, where the question usually is; of what the agent did, only the end."""
        if len(lines) <= keep:
            return lines
        head = 0 if title in self._last else keep // 2
        tail = keep - head - 1
        note = self._lines([Text(f"[… {count(len(lines) - keep + 1, 'line')} more: {self._more} …]", style="dim")])[:1]
        return [*lines[:head], *note, *lines[len(lines) - tail :]]

    def _join_parts(self, parts: Sequence[_Part], *, blank: bool) -> list[list[Segment]]:
        found: list[list[Segment]] = []
        for title, lines in parts:
            head = self._lines([Text(f"{title}:" if self._plain else title, style="bold")])
            found += [*([[]] if blank and found and not self._plain else []), *head, *lines]
        return found

    def _lines(self, content: Sequence[RenderableType]) -> list[list[Segment]]:
        width = self._console.width if self._plain else self._console.width - 4
        return self._console.render_lines(Group(*content), self._console.options.update(width=width, height=None), pad=False)

    def _print(self, lines: list[list[Segment]], title: str) -> None:
        text = SegmentLines(lines, new_lines=True)
        if self._plain:
            self._console.print(Text(title))
            self._console.print(text, end="")
        else:
            self._console.print(Panel(text, title=Text(title), title_align="left", border_style="magenta", padding=(0, 1)))


class Page(FittedPage):
    """The page of a question, a call or a form."""

    def __init__(self, console: Console, question: Question, number: int, of: int, *, plain: bool = False) -> None:
        self.question = question
        title = f"{question.kind.capitalize()} {number} of {of}"
        if question.knows is not None:  # the names of episode and group say what is missing
            title += f", {one_line(question.episode_id)} ({one_line(question.group)})"
        parts = [(ASKED if name.startswith(ASKED) else name, name, content) for name, content in _parts(question, plain)]
        matters = [name for known in _MATTERS for kind, name, _ in parts if kind == known]
        shown = [(name, content) for _, name, content in parts]
        super().__init__(console, title, shown, matters=matters, last=(_SO_FAR,), more="/more", plain=plain)


REQUEST, KNOWN, ASKED, CALL = "You are the user. You asked", "You know", "The agent asks you", "The agent wants to call"
ABOUT_CALL, FIELDS, STANDS_IN = "About the call", "The form", "You stand in for"
_SO_FAR, _SAID = "The agent so far", "The agent writes to you"
_MATTERS = (KNOWN, ASKED, CALL, FIELDS, STANDS_IN, REQUEST, _SAID, ABOUT_CALL, _SO_FAR)


def _parts(question: Question, plain: bool) -> Iterator[tuple[str, list[RenderableType]]]:
    """Return what a person needs to answer: the user's request, what the user knows, what the agent has done, what it asks."""
    yield REQUEST, [Text(strip_control(question.query).strip())]
    if question.knows is not None:
        yield KNOWN, [Text(strip_control(question.knows).strip() or NOTHING_MORE, style="green")]
    done = [line for item in question.progress if "type" in item for line in _event(_EVENT.validate_python(item), plain)]
    if done:
        yield _SO_FAR, done
    if message := _message(question):
        yield _SAID, [Text(message)]
    if isinstance(question.request, Approval):
        yield from _parts_of_call(question.request)
    elif isinstance(question.request, Form):
        yield from _parts_of_form(question.request)
    else:
        yield ASKED, [Text(strip_control(question.question).strip() or "(an empty question)", style="magenta")]
        if question.stands_in is not None:
            yield STANDS_IN, [Text(line) for line in stand_in_lines(question.stands_in)]


def _parts_of_call(call: Approval) -> Iterator[tuple[str, list[RenderableType]]]:
    arguments = [Text.assemble(f"  {one_line(name)} = ", (as_json(value), "magenta")) for name, value in call.arguments.items()]
    notice = [Text(_MAY_HAVE_RUN, style="yellow")] if call.may_have_run else []
    yield CALL, [Text(one_line(call.name), style="bold magenta"), *(arguments or [Text("  without arguments")]), *notice]
    if call.description.strip():
        yield ABOUT_CALL, [Text(strip_control(call.description).strip())]


def _parts_of_form(form: Form) -> Iterator[tuple[str, list[RenderableType]]]:
    by = f"{ASKED} (from {one_line(form.source, 60)})" if form.source else ASKED
    yield by, [Text(strip_control(form.message).strip() or "(no message)", style="magenta")]
    yield FIELDS, [Text(describe_field(field)) for field in form_fields(form)] or [Text("without fields: you accept or decline")]


def stand_in_lines(tool: StandIn) -> list[str]:
    """Return what a person should know of the tool whose work they do: what it takes, what it answers, and how to answer for it."""
    about = one_line(" ".join(tool.description.split()), 200)
    answers = [f"answers {one_line(tool.answer, 600)}", "Answer with such JSON, or in words."] if tool.answer else ["Answer in words or JSON."]
    return [f"{one_line(tool.tool)}: {about}".rstrip(": "), f"takes {one_line(tool.arguments, 600)}", *answers]


def describe_field(field: FormField, *, default: bool = True) -> str:
    """Return what a person should know of a field of a form, on one line; with its default, unless that is shown where they type."""
    titles = clip(", ".join(f"{number} {one_line(title, 60)}" for number, (_, title) in enumerate(field.choices, 1)), _CHOICES_WIDTH)
    kind = f"{_KINDS[field.kind]} {titles}".rstrip()
    given = f"; default {one_line(field.default, 60)}" if default and field.default is not None else ""
    about = f": {one_line(field.description)}" if field.description.strip() else ""
    return f"{one_line(field.title, 80)} ({kind}{'' if field.required else '; may be left out'}{given}){about}"


def _message(question: Question) -> str:
    """Return the message that asks in plain words, if it says more than the question: options may follow there."""
    turns = [item for item in question.progress if "type" not in item]
    message = "" if not turns or turns[-1]["tool_calls"] else strip_control(turns[-1]["text"]).strip()
    return message if message != question.question else ""


def _event(event: Event, plain: bool) -> Iterator[RenderableType]:
    if isinstance(event, HumanEvent):
        said = {"question": one_line(event.question, _RESULT_WIDTH), "answer": one_line(event.answer, _RESULT_WIDTH)}
        if plain:
            asked, answered = ("asked", "Answer") if event.request is None else (event.kind, "Decision")
            yield Text(f"{asked}: {said['question']} {answered}: {said['answer']}")
        else:
            yield from human_event_lines(event.model_copy(update=said))
    elif plain:
        outcome = "" if event.ok else f"failed {event.status or one_line(event.error)}".rstrip() + ", "
        yield Text(f"called {call_text(event)}: {outcome}{one_line(event.result, _RESULT_WIDTH) or 'no result'}")
    else:
        yield from tool_event_lines(event, _RESULT_WIDTH)
