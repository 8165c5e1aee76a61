"""One episode as a page that a person can read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from talm_sim.cli.report.person_faults import person_sections
from talm_sim.cli.terminal.prose import indent, prose
from talm_sim.cli.terminal.text import count, one_line, strip_control
from talm_sim.config import Scope
from talm_sim.runs.files.comments import Comment
from talm_sim.runs.stored_run import StoredRun
from talm_sim.scenarios.dialogue import request_text
from talm_sim.tasks import AgentOptions
from talm_sim.types import (
    FINISH,
    Approval,
    Episode,
    Event,
    Form,
    HumanEvent,
    Line,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Section,
    TokenLogprob,
    ToolCall,
    ToolEvent,
    Turn,
    Usage,
    Verdict,
)

__all__ = ["call_text", "human_event_lines", "responder_words", "stored_transcript", "tool_event_lines", "transcript"]

_RESULT_WIDTH = 600
_BEGIN, _END = 90, 160
"""Characters of a prompt, and of a line of a task's section, that are shown unless --full is given: its question may be at the end."""
_LIKELIEST = 5
"""First tokens that are shown unless --full is given."""
_RECORDED = re.compile(r"recorded \((.*)\)")
_RESPONDERS = {
    "": "a person",
    "answer": "a person (talm-sim answer)",
    "queue": "a person (answered from Python)",
    "recorded": "a recorded answer",
    "refusing": "the simulated person, who allows nothing",
    "simulated": "the simulated person",
    "terminal": "a person (at the terminal)",
}
"""Who answers, by the name an event keeps."""
_STYLES = {"plain": "", "strong": "bold", "faint": "dim", "good": "green", "bad": "red", "notice": "yellow"}


def stored_transcript(stored: StoredRun, episode: Episode, *, full: bool = False) -> RenderableType:
    """Return the page of an episode of a stored run, with all that the run knows of it."""
    verdicts = [verdict for verdict in stored.verdicts_of_all() if verdict.episode_id == episode.id]
    scenario = next((item for item in stored.scenarios() if item.id == episode.scenario_id), None)
    sections = list(stored.job.task.sections(episode, scenario)) if scenario else []
    agent = str(stored.job.values(Scope.GENERATION).get("agent") or "")
    notes = [] if stored.imported else [f"{name}: {text}" for name, text in stored.manifest.notes.items()]
    acts = isinstance(stored.job.options, AgentOptions)
    if acts and scenario is not None:
        sections += person_sections(stored, episode, scenario)
    comments = stored.comments(episode.id)
    return transcript(episode, scenario, verdicts, sections, comments, agent=agent, notes=notes, led=acts, full=full)


def transcript(
    episode: Episode,
    scenario: Scenario | None,
    verdicts: Sequence[Verdict],
    sections: Sequence[Section] = (),
    comments: Sequence[Comment] = (),
    *,
    agent: str = "",
    notes: Sequence[str] = (),
    led: bool = True,
    full: bool = False,
) -> RenderableType:
    """Return the whole page: what was asked, what its task says of it, every turn with its calls and answers, the end and what it was worth.

    Args:
        episode: The episode to show.
        scenario: Its scenario; None if the run does not have it.
        verdicts: What the judges said.
        sections: What the task adds, shown below the query.
        comments: What readers wrote.
        agent: The user's own agent, if one was run.
        notes: What a reader should know of its run.
        led: Whether an agent was led through the scenario's turns; otherwise the user's last words are the query.
        full: Whether long texts (prompts, awareness questions, tool results) are shown whole.
    """
    parts: list[RenderableType] = [_head(episode, agent), *(Text(strip_control(note), style="dim") for note in notes)]
    user_turns = scenario.user_turns if scenario is not None and led else ()
    if scenario is not None:
        parts += _section("Query", [prose(strip_control(request_text(user_turns[0].messages) if user_turns else scenario.query))])
    for section in sections:
        parts += _section(strip_control(section.title), [_line(line, full) for line in section.lines])
    if episode.model_turns and episode.model_turns[0].raw_prompt.strip():
        parts += _section("Prompt", [_prompt(episode.model_turns[0].raw_prompt, full)])
    parts += _turns_of(episode, user_turns, full)
    if episode.error:
        parts += _section("Error", [prose(strip_control(episode.error), "red")])
    if episode.traceback:
        parts += _section("Traceback", [prose(strip_control(episode.traceback), "dim")])
    scored = bool(episode.details) and not episode.model_turns  # the model was asked about, and said nothing
    if not _ends_in_answer(episode) and (episode.answer.strip() or not (episode.error or scored)):
        parts += _section("Answer", [_answer(episode)])
    if episode.perturbations:
        parts += _section("Perturbations", list(_perturbations(episode)))
    if verdicts or not scored:
        parts += _section("Verdicts", list(_verdicts(verdicts)))
    if comments:
        parts += _section("Comments", [_comment(one, episode) for one in comments])
    return Group(*parts)


def _comment(comment: Comment, episode: Episode) -> RenderableType:
    """Render what a reader wrote, with the attempt that they saw if it is not this one."""
    other = f", on attempt {comment.attempt}" if comment.attempt != episode.attempt else ""
    who = f"{one_line(comment.attribution)}{other}: "
    return Padding(Text.assemble((who, "magenta"), strip_control(comment.text)), (0, 0, 0, 2), expand=False)


def _section(title: str, lines: Sequence[RenderableType]) -> list[RenderableType]:
    return [Text(), Text(title, style="bold"), *map(indent, lines)]


def _perturbations(episode: Episode) -> Iterator[Text]:
    """Render what each perturbation of the episode did; of one of the model, in how many generations."""
    for log in episode.perturbations:
        noun = "eligible generation" if episode.watched_model(log) else "eligible call"
        error = "" if log.injected is None else f"; the error was: {one_line(log.injected)}"
        left = f"; not applicable to {log.not_applicable}" if log.not_applicable else ""
        yield Text(f"{strip_control(log.name)}: injected in {log.fired} of {count(log.armed, noun)}, seen in {log.seen}{left}{error}")


def _turns_of(episode: Episode, user_turns: Sequence[Turn], full: bool) -> Iterator[RenderableType]:
    """Render the turns; of several identical ones in a row, for example of an agent in a loop, only one unless `full`.

    Later messages of the user are shown where they came, and unanswered ones below the turns.
    """
    turns = episode.model_turns
    told = 0
    answer = len(turns) - 1 if _ends_in_answer(episode) else None
    for _, alike in groupby(range(len(turns)), lambda index: index if full or index == answer else _likeness(episode, index)):
        first, *others = alike
        for said in user_turns[told + 1 : turns[first].user_turn + 1]:
            yield from _section("The user", [prose(strip_control(request_text(said.messages)))])
        told = max(told, turns[first].user_turn)
        title = f"Turns {first + 1} to {others[-1] + 1}, all identical" if others else f"Turn {first + 1}"
        yield from _section(f"{title}, the answer" if first == answer else title, list(_turn(episode, first, turns[first], full)))
    for said in user_turns[told + 1 :]:
        yield from _section("The user, unanswered", [prose(strip_control(request_text(said.messages)))])


def _likeness(episode: Episode, index: int) -> Any:
    """Return a key that is equal for turns that a reader cannot tell apart."""
    turn = episode.model_turns[index]
    calls = [(call.name, call.arguments) for call in turn.tool_calls]
    broken = [(call.name, call.raw, call.reason) for call in turn.unparsable_calls]
    return (
        turn.user_turn,
        turn.reminded,
        turn.text,
        turn.reasoning,
        turn.stop,
        turn.perturbations,
        calls,
        broken,
        turn.first_tokens,
        [_display_key(one) for one in episode.events if one.turn == index],
    )


def _display_key(event: Event) -> Any:
    """Return a key that is equal for events that a reader cannot tell apart, ignoring their times."""
    return event.model_dump(exclude={"turn", "call_id", "elapsed_ms", "asked_at", "answered_at"})


def _ends_in_answer(episode: Episode) -> bool:
    """Return whether the last turn is the final answer, so that it need not be printed again."""
    return bool(episode.model_turns) and episode.answer.strip() == episode.model_turns[-1].said.strip() != ""


def _head(episode: Episode, agent: str) -> Text:
    epoch = f", epoch {episode.epoch}" if episode.epoch > 1 else ""
    attempt = f", attempt {episode.attempt}" if episode.attempt > 1 else ""
    own = f"agent {strip_control(agent)}, " if agent and not episode.model.endswith(agent) else ""
    return Text.assemble(
        (strip_control(episode.id), "bold"),
        f"  ({strip_control(episode.group)}{epoch}{attempt})\n",
        f"{own}model {strip_control(episode.model)}, human {strip_control(episode.human)}\n",
        f"ended: {episode.termination.value} after {_turns(episode)}, {episode.elapsed_s:.1f} s",
    )


def _turns(episode: Episode) -> str:
    """Return the number of turns and tokens, if a model was seen: a plain function may have none."""
    number, usage = len(episode.model_turns), episode.usage
    if episode.model.startswith("agent/") and not episode.saw_model:
        return f"{count(number, 'turn')}, no model seen"
    return f"{count(number, 'model turn')}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{_describe_uncounted(usage)}"


def _describe_uncounted(usage: Usage) -> str:
    """Return a note if a server gave no counts: the sum then covers only the other generations."""
    return f" (not counted by the server: {count(usage.uncounted, 'generation')})" if usage.uncounted else ""


def _prompt(text: str, full: bool) -> RenderableType:
    """Render what the model read before its first turn: system text, request, and what its template adds."""
    return prose(strip_control(text).strip() if full else _shorten(" ".join(text.split())), "dim")


def _shorten(text: str) -> str:
    text = strip_control(text)
    return text if len(text) <= _BEGIN + _END else f"{text[:_BEGIN].rstrip()} [… use --full to see everything …] {text[-_END:].lstrip()}"


def _line(parts: Sequence[Line], full: bool) -> RenderableType:
    """Render parts side by side; a wrapped line keeps its indentation."""
    texts = [" ".join(strip_control(part.text).splitlines()) for part in parts]
    said = [(text if full else _shorten(text), _STYLES[part.style]) for text, part in zip(texts, parts, strict=True)]
    text = Text.assemble(*said)
    begins = len(text.plain) - len(text.plain.lstrip(" "))
    return Padding(text[begins:], (0, 0, 0, begins), expand=False) if begins and begins < len(text) else text


def _turn(episode: Episode, index: int, turn: ModelTurn, full: bool) -> Iterator[RenderableType]:
    for log in (log for log in turn.perturbations if log.fired):
        answered = " in place of the model's answer" if log.replaced is None else ""
        yield Text(f"injected: {one_line(log.name)}{answered}{'' if log.seen else ', not seen by the agent'}", style="yellow")
    if turn.reasoning.strip():
        yield prose("thinks: " + strip_control(turn.reasoning).strip(), "dim italic")
    if turn.text.strip():
        yield prose(strip_control(turn.text).strip())
    for broken in turn.unparsable_calls:
        yield Text(f"! not a valid call: {one_line(broken.name)} {one_line(broken.raw)}: {one_line(broken.reason)}", style="yellow")
    events = [event for event in episode.events if event.turn == index]
    for _, alike in groupby(enumerate(events), lambda item: item[0] if full or isinstance(item[1], HumanEvent) else _display_key(item[1])):
        (_, event), *others = alike
        if isinstance(event, HumanEvent):
            yield from human_event_lines(event)
        else:
            yield from tool_event_lines(event, len(event.result) + 1 if full else _RESULT_WIDTH, times=1 + len(others))
    yield from _ending_calls(episode, index, turn)
    if turn.first_tokens:
        yield Text(_format_first_tokens(turn.first_tokens if full else turn.first_tokens[:_LIKELIEST]), style="dim")
    if turn.stop == "length":
        yield Text("(cut off at the token limit of one turn)", style="yellow")


def _ending_calls(episode: Episode, index: int, turn: ModelTurn) -> Iterator[RenderableType]:
    """Render the answer that a call of `Finish` gives, the reminder to give one, and the calls that were not executed."""
    if turn.final_answer is not None:
        yield Text.assemble("→ ", (FINISH, "cyan"))
        yield indent(prose(strip_control(turn.final_answer).strip() or "(empty)"))
    if turn.reminded:
        yield Text(f"(no call: reminded to call {FINISH})", style="yellow")
    done = {event.call_id for event in episode.events if event.turn == index}
    for call in turn.tool_calls:
        if call.name == FINISH and turn.final_answer is not None:
            continue
        if call.id not in done:
            said = f"  {_explain_no_event(episode, index, call)}"
            yield Text.assemble("→ ", (call_text(call), "cyan"), (said, "yellow"))


def _explain_no_event(episode: Episode, index: int, call: ToolCall) -> str:
    """Explain why a call of a turn was not executed, as far as the episode shows."""
    for event in episode.human_events:
        asked, decided = event.request, event.decision
        same = event.turn == index and isinstance(asked, Approval) and (asked.name, asked.arguments) == (call.name, call.arguments)
        if same and decided is not None and decided.action in ("reject", "respond"):
            return f"not executed: {'rejected' if decided.action == 'reject' else 'answered in its place'}"
    ended = index == len(episode.model_turns) - 1
    return "not executed: the episode ended here" if ended else "a tool of the agent's own, not called through talm-sim"


def _format_first_tokens(tokens: Sequence[TokenLogprob]) -> str:
    """Return the likeliest first tokens of the turn, with their probabilities."""
    said = (f"{one_line(repr(one.token))} {math.exp(one.logprob):.3f}" for one in tokens)
    return f"first token: {', '.join(said)}"


def call_text(call: ToolCall | ToolEvent) -> str:
    """Return a tool call as code, on one line."""
    arguments = (f"{one_line(name)}={one_line(repr(value) if isinstance(value, str) else value)}" for name, value in call.arguments.items())
    return f"{one_line(call.name)}({', '.join(arguments)})"


def tool_event_lines(event: ToolEvent, width: int = _RESULT_WIDTH, *, times: int = 1) -> Iterator[RenderableType]:
    """Render a tool call, its outcome and the first `width` characters of its result; `times` in a row, all identical."""
    yield Text.assemble("→ ", (call_text(event), "cyan"), (f"  {times:,} times, all identical" if times > 1 else "", "yellow"))
    facts = [str(event.status) if event.status is not None else "no status", event.origin.value, f"{event.elapsed_ms:.0f} ms"]
    if event.error:
        facts.insert(1, one_line(event.error))
    line = Text("  ".join(["ok" if event.ok else "failed", *facts]), style="green" if event.ok else "red")
    for log in event.perturbations:
        line.append(f"  perturbation {one_line(log.name)} {_struck(log)}", style="yellow")
    yield indent(line)
    if event.result:
        yield indent(prose(one_line(event.result, width), "dim"))
    for log in event.perturbations:
        if log.replaced is not None:
            yield indent(Text.assemble(("in place of: ", "yellow"), (one_line(log.replaced, width), "dim")))


def _struck(log: PerturbationLog) -> str:
    """Say what a perturbation did to a call."""
    if log.not_applicable:
        return "not applicable without --writing" if log.withheld else "not applicable"
    return "fired" if log.seen else "injected, not seen by the model" if log.fired else "eligible, not injected"


_DECLINED = {
    "idk": "does not know",
    "skip": "will not answer",
    "timeout": "answered in time (--answer-timeout)",
    "limit": "is asked any more (a limit of questions was reached)",
}
"""Why there is no answer, after the name of who answers; of the last two that is nobody."""


def human_event_lines(event: HumanEvent) -> Iterator[RenderableType]:
    """Render a question to the human and the answer, or a call to approve or a form and the decision."""
    yield Text.assemble("? ", (_asked(event), "magenta"), strip_control(event.question).strip())
    who = ", ".join(filter(None, (one_line(event.name), responder_words(strip_control(event.responder)))))
    if event.declined:
        said = Text(_DECLINED[event.declined], style="italic")
    elif event.decision is not None:
        said = Text(one_line(event.decision.text, _RESULT_WIDTH))
    else:
        said = Text(strip_control(event.answer).strip())
    if event.appropriate is not None:
        said.append(f"  (question marked as {'' if event.appropriate else 'not '}appropriate)", style="dim")
    yield Padding(Text.assemble((f"{who}: ", "magenta"), said), (0, 0, 0, 2), expand=False)


def _asked(event: HumanEvent) -> str:
    """Return the words before what was put to a person, as what it is."""
    if isinstance(event.request, Form):
        return f"a form{f' from {one_line(event.request.source, 60)}' if event.request.source else ''}: "
    if event.request is not None:
        return "a call waits for a person: " if event.by == "policy" else "the agent asks for approval: "
    how = {"words": "asks the human in words: ", "interrupt": "its graph interrupts: "}
    return how.get(event.by, "asks the human: ")


def responder_words(name: str) -> str:
    """Describe who answered, for a reader.

    >>> responder_words("recorded (terminal)"), responder_words("answer"), responder_words("parrot")
    ('a person (at the terminal), recorded', 'a person (talm-sim answer)', 'parrot')
    """
    inner = _RECORDED.fullmatch(name)
    if name.startswith("model:"):
        return f"a person, played by {name.removeprefix('model:')}"
    return f"{responder_words(inner[1])}, recorded" if inner else _RESPONDERS.get(name, name)


def _answer(episode: Episode) -> RenderableType:
    return prose(strip_control(episode.answer).strip()) if episode.answer.strip() else Text("(none)", style="dim")


def _verdicts(verdicts: Sequence[Verdict]) -> Iterator[Text]:
    for verdict in verdicts:
        word, style = {True: ("pass", "green"), False: ("fail", "red"), None: ("no verdict", "yellow")}[verdict.value]
        votes = f" ({sum(verdict.votes)} of {count(len(verdict.votes), 'vote')})" if verdict.votes else ""
        label = f" ({strip_control(verdict.label)})" if verdict.label else ""
        line = Text.assemble(f"{strip_control(verdict.judge)}: ", (word, style), label, votes)
        if verdict.explanation:
            line.append(f"  {strip_control(verdict.explanation).strip()}")
        yield line
    if not verdicts:
        yield Text("(none yet; score the run with: talm-sim judge)", style="dim")
