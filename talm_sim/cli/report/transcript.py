"""Print one episode as a page that a person can read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from talm_sim.cli.report.printed_screen import STYLES
from talm_sim.cli.terminal.text import count, one_line, safe_text
from talm_sim.store.files.comments import Comment
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.transcripts import Asked, Call, Transcript, TurnPart, event_part, fold_turns, likeness, make_transcript, read_transcript
from talm_sim.types import FINISH, Episode, HumanEvent, Line, Scenario, Section, TokenLogprob, ToolCall, ToolEvent, Verdict

_RESULT_WIDTH = 600
_BEGIN, _END = 90, 160
"""Characters of a prompt, and of a line of a task's section, that are shown unless --full is given: its question may be at the end."""
_LIKELIEST = 5
"""First tokens that are shown unless --full is given."""


def stored_transcript(stored: StoredRun, episode: Episode, *, full: bool = False) -> RenderableType:
    """Return the page of an episode of a stored run, with all that the run knows of it."""
    return _render(read_transcript(stored, episode), full)


def transcript(
    episode: Episode,
    scenario: Scenario | None,
    verdicts: Sequence[Verdict],
    sections: Sequence[Section] = (),
    *,
    agent: str = "",
    notes: Sequence[str] = (),
    led: bool = True,
    full: bool = False,
) -> RenderableType:
    """Return the whole page: what was asked, what its task says of it, every turn with its calls and answers, the end and what it was worth.

    Args:
        episode: See `make_transcript`, and so for the others.
        scenario: Its scenario; None if the run does not have it.
        verdicts: What the judges said.
        sections: What the task adds, shown below the query.
        agent: The user's own agent, if one was run.
        notes: What a reader should know of its run.
        led: Whether an agent was led through the scenario's turns; otherwise the user's last words are the query.
        full: Whether long texts (prompts, awareness questions, tool results) are shown whole.
    """
    return _render(make_transcript(episode, scenario, verdicts, sections, agent=agent, notes=notes, led=led), full)


def _render(one: Transcript, full: bool) -> RenderableType:
    parts: list[RenderableType] = [_head(one), *(Text(safe_text(note), style="dim") for note in one.notes)]
    if one.query is not None:
        parts += _section("Query", [Text(safe_text(one.query))])
    for section in one.sections:
        parts += _section(safe_text(section.title), [_line(line, full) for line in section.lines])
    if one.prompt.strip():
        text = safe_text(one.prompt).strip() if full else _shorten(" ".join(one.prompt.split()))
        parts += _section("Prompt", [Text(text, style="dim")])
    parts += _turns(one, full)
    for said in one.unanswered:
        parts += _section("The user, unanswered", [Text(safe_text(said))])
    if one.error:
        parts += _section("Error", [Text(safe_text(one.error), style="red")])
    if one.traceback:
        parts += _section("Traceback", [Text(safe_text(one.traceback), style="dim")])
    if one.answer is not None:
        answer = safe_text(one.answer).strip()
        parts += _section("Answer", [Text(answer) if answer else Text("(none)", style="dim")])
    if one.faults:
        parts += _section("Perturbations", [Text(safe_text(fault)) for fault in one.faults])
    if one.verdicts is not None:
        parts += _section("Verdicts", list(_verdicts(one.verdicts)))
    if one.comments:
        parts += _section("Comments", [_comment(comment, one) for comment in one.comments])
    return Group(*parts)


def _comment(comment: Comment, one: Transcript) -> RenderableType:
    """Render what a reader wrote, with the attempt that they saw if it is not this one."""
    other = f", on attempt {comment.attempt}" if comment.attempt != one.attempt else ""
    who = f"{one_line(comment.attribution)}{other}: "
    return _indent(Text.assemble((who, "magenta"), safe_text(comment.text)))


def _section(title: str, lines: Sequence[RenderableType]) -> list[RenderableType]:
    return [Text(), Text(title, style="bold"), *map(_indent, lines)]


def _indent(line: RenderableType) -> RenderableType:
    return Padding(line, (0, 0, 0, 2), expand=False)


def _head(one: Transcript) -> Text:
    epoch = f", epoch {one.epoch}" if one.epoch > 1 else ""
    attempt = f", attempt {one.attempt}" if one.attempt > 1 else ""
    own = f"agent {safe_text(one.agent)}, " if one.agent else ""
    return Text.assemble(
        (safe_text(one.episode), "bold"),
        f"  ({safe_text(one.group)}{epoch}{attempt})\n",
        f"{own}model {safe_text(one.model)}, human {safe_text(one.human)}\n",
        f"ended: {one.termination} after {one.turns_seen}, {one.elapsed_s:.1f} s",
    )


def _shorten(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN].rstrip()} [… use --full to see everything …] {text[-_END:].lstrip()}"


def _line(parts: Sequence[Line], full: bool) -> RenderableType:
    """Render parts side by side; a wrapped line keeps its indentation."""
    texts = [" ".join(safe_text(part.text).splitlines()) for part in parts]
    said = [(text if full else _shorten(text), STYLES[part.style]) for text, part in zip(texts, parts, strict=True)]
    text = Text.assemble(*said)
    begins = len(text.plain) - len(text.plain.lstrip(" "))
    return Padding(text[begins:], (0, 0, 0, begins), expand=False) if begins and begins < len(text) else text


def _turns(one: Transcript, full: bool) -> Iterator[RenderableType]:
    """Render the turns; of several identical ones in a row, for example of an agent in a loop, only one unless `full`.

    Later messages of the user are shown where they came.
    """
    earlier: dict[str, int] = {}
    for first, *others in [[turn] for turn in one.turns] if full else fold_turns(one.turns):
        for number, said in enumerate(first.user, first.request - len(first.user) + 1):
            yield from _section(f"The user, request {number}", [Text(safe_text(said))])
        title = f"Turns {first.number} to {others[-1].number}, all identical" if others else f"Turn {first.number}"
        yield from _section(f"{title}, the answer" if first.answers else title, list(_turn(first, full, earlier)))


def _turn(turn: TurnPart, full: bool, earlier: dict[str, int]) -> Iterator[RenderableType]:
    """Render a turn; a call that an `earlier` turn made with the same outcome is shown without its result, unless `full`."""
    for fault in turn.faults:
        yield Text(f"{fault.said.replace('injected', f'injected: {one_line(fault.name)}', 1)}", style="yellow")
    if turn.reasoning.strip():
        yield Text("thinks: " + safe_text(turn.reasoning).strip(), style="dim italic")
    if turn.text.strip():
        yield Text(("answers: " if turn.reasoning.strip() else "") + safe_text(turn.text).strip())
    for broken in turn.broken:
        yield Text(f"! not a valid call: {one_line(broken.name)} {one_line(broken.raw)}: {one_line(broken.reason)}", style="yellow")
    for _, alike in groupby(enumerate(turn.events), lambda item: item[0] if full or isinstance(item[1], Asked) else likeness(item[1])):
        (_, event), *others = alike
        if isinstance(event, Asked):
            yield from _asked_lines(event)
        else:
            said_in = None if full else earlier.setdefault(repr(likeness(event)), turn.number)
            again = said_in if said_in != turn.number else None
            yield from _call_lines(event, len(event.result) + 1 if full else _RESULT_WIDTH, times=1 + len(others), again=again)
    yield from _ending(turn)
    if turn.first_tokens:
        yield Text(_format_first_tokens(turn.first_tokens if full else turn.first_tokens[:_LIKELIEST]), style="dim")
    if turn.cut:
        yield Text("(cut off at the token limit of one turn)", style="yellow")


def _ending(turn: TurnPart) -> Iterator[RenderableType]:
    """Render the answer that a call of `Finish` gives, the reminder to give one, and the calls that were not executed."""
    if turn.finish is not None:
        yield Text.assemble("→ ", (FINISH, "cyan"))
        yield _indent(Text(safe_text(turn.finish).strip() or "(empty)"))
    if turn.reminded:
        yield Text(f"(no call: reminded to call {FINISH})", style="yellow")
    for call in turn.left:
        yield Text.assemble("→ ", (call_text(call), "cyan"), (f"  {call.why_not}", "yellow"))


def _format_first_tokens(tokens: Sequence[TokenLogprob]) -> str:
    said = (f"{one_line(repr(one.token))} {math.exp(one.logprob):.3f}" for one in tokens)
    return f"first token: {', '.join(said)}"


def call_text(call: ToolCall | ToolEvent | Call) -> str:
    """Return a tool call as code, on one line."""
    arguments = (f"{one_line(name)}={one_line(repr(value) if isinstance(value, str) else value)}" for name, value in call.arguments.items())
    return f"{one_line(call.name)}({', '.join(arguments)})"


def tool_event_lines(event: ToolEvent, width: int = _RESULT_WIDTH) -> Iterator[RenderableType]:
    """Render a tool call, its outcome and the first `width` characters of its result."""
    call = event_part(event)
    assert isinstance(call, Call)
    yield from _call_lines(call, width)


def _call_lines(call: Call, width: int, *, times: int = 1, again: int | None = None) -> Iterator[RenderableType]:
    """Render a call, made so many `times` in a row; of one that was made `again`, the number of the earlier turn in place of the result."""
    same = f"  {times:,} times the same call" if times > 1 else "  the same call" if again else ""
    yield Text.assemble("→ ", (call_text(call), "cyan"), (f"{same}{f' as in turn {again}, with the same result' if again else ''}", "yellow"))
    if call.origin == "not sent":
        facts = [f"not sent: {one_line(call.error).replace('_', ' ') or 'refused'}"]
    else:
        status = [str(call.status)] if call.status is not None else []
        facts = ["ok" if call.ok else "failed", *status, *filter(None, [one_line(call.error)]), call.origin, f"{call.elapsed_ms:.0f} ms"]
    line = Text("  ".join(facts), style="green" if call.ok else "red")
    for fault in call.faults:
        line.append(f"  perturbation {one_line(fault.name)} {fault.said}", style="yellow")
    yield _indent(line)
    if again:
        return
    if call.result:
        yield _indent(Text(one_line(call.result, width), style="dim"))
    for fault in call.faults:
        if fault.replaced is not None:
            yield _indent(Text.assemble(("in place of: ", "yellow"), (one_line(fault.replaced, width), "dim")))


def human_event_lines(event: HumanEvent) -> Iterator[RenderableType]:
    """Render a question to the human and the answer, or a call to approve or a form and the decision."""
    asked = event_part(event)
    assert isinstance(asked, Asked)
    yield from _asked_lines(asked)


def _asked_lines(event: Asked) -> Iterator[RenderableType]:
    yield Text.assemble("? ", (f"{one_line(event.how)}: ", "magenta"), safe_text(event.question).strip())
    reply = safe_text(event.reply).strip() if event.kind == "question" or event.declined else one_line(event.reply, _RESULT_WIDTH)
    said = Text(reply, style="italic" if event.declined else "")
    if event.appropriate is not None:
        said.append(f"  (question marked as {'' if event.appropriate else 'not '}appropriate)", style="dim")
    yield _indent(Text.assemble((f"{one_line(event.who)}: ", "magenta"), said))


def _verdicts(verdicts: Sequence[Verdict]) -> Iterator[Text]:
    for verdict in verdicts:
        word, style = {True: ("pass", "green"), False: ("fail", "red"), None: ("no verdict", "yellow")}[verdict.value]
        votes = f" ({sum(verdict.votes)} of {count(len(verdict.votes), 'vote')})" if verdict.votes else ""
        label = f" ({safe_text(verdict.label)})" if verdict.label else ""
        line = Text.assemble(f"{safe_text(verdict.judge)}: ", (word, style), label, votes)
        if verdict.explanation:
            line.append(f"  {safe_text(verdict.explanation).strip()}")
        yield line
    if not verdicts:
        yield Text("(none yet; score the run with: talm-sim judge)", style="dim")
