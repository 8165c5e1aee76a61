"""Make the transcript of an episode. Only this module reads its events for a reader, so every transcript says it in the same words."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any, Final, Protocol

from talm_sim.config import Scope
from talm_sim.scenarios.dialogue import heard_before, request_text
from talm_sim.store.files.comments import Comment
from talm_sim.store.files.manifest import RunManifest
from talm_sim.store.transcripts.outcome_section import outcome_section
from talm_sim.store.transcripts.transcript import Asked, Broken, Call, Fault, Transcript, TurnPart
from talm_sim.tasks import AgentOptions, RunView
from talm_sim.tasks.acting.person_faults import read_person
from talm_sim.types import (
    FINISH,
    Approval,
    Episode,
    Event,
    Form,
    HumanEvent,
    Line,
    ModelTurn,
    Origin,
    PerturbationLog,
    Scenario,
    Section,
    ToolCall,
    ToolEvent,
    Verdict,
)
from talm_sim.types.steps import steps_of

_PLACES = {"number", "steps", "elapsed_ms"}
"""What differs between turns and events that a reader cannot tell apart."""
_RECORDED = re.compile(r"recorded \((.*)\)")
_RESPONDERS: Final = {
    "": "a person",
    "answer": "a person (talm-sim answer)",
    "queue": "a person (answered from Python)",
    "recorded": "a recorded answer",
    "refusing": "the simulated person, who allows nothing",
    "simulated": "the simulated person",
    "terminal": "a person (at the terminal)",
}
"""Who answers, by the name an event keeps."""
_DECLINED: Final = {
    "idk": "does not know",
    "skip": "will not answer",
    "timeout": "no answer in time (answer_timeout)",
    "limit": "not asked (a limit of questions was reached)",
}
"""Why there is no answer, behind who answers; of the last two that is nobody."""


class ShownRun(RunView, Protocol):
    """A stored run whose episodes are shown."""

    @property
    def manifest(self) -> RunManifest:
        """What its `run.json` says."""

    def verdicts_of_all(self) -> list[Verdict]:
        """Return the verdicts of its judges, and people's."""

    def comments(self, episode: str = "") -> list[Comment]:
        """Return what readers wrote, on one episode or on all."""


def read_transcript(
    stored: ShownRun,
    episode: Episode,
    scenario: Scenario | None = None,
    verdicts: Sequence[Verdict] | None = None,
    comments: Sequence[Comment] | None = None,
) -> Transcript:
    """Return the transcript of an episode of a stored run, with all that the run knows of it.

    Args:
        stored: The run.
        episode: One of its finished episodes.
        scenario: Its scenario; it is looked for if it is not given.
        verdicts: What was said of the episode; it is looked for if it is not given.
        comments: What readers wrote on it; likewise.
    """
    if scenario is None:
        scenario = next((item for item in stored.scenarios() if item.id == episode.scenario_id), None)
    if verdicts is None:
        verdicts = [verdict for verdict in stored.verdicts_of_all() if verdict.episode_id == episode.id]
    sections = [*outcome_section(stored, episode, scenario, verdicts), *stored.job.task.sections(episode, scenario)] if scenario else []
    agent = str(stored.job.values(Scope.GENERATION).get("agent") or "")
    notes = [] if stored.imported else [f"{name}: {text}" for name, text in stored.manifest.notes.items()]
    if episode.model == stored.job.config.model:
        episode = episode.model_copy(update={"model": stored.job.config.model_and_adapter})
    if scenario is not None and scenario.source.translation_of:
        notes.append(f"says the same as {scenario.source.translation_of}, in language {scenario.language} ({scenario.source.name})")
    acts = stored.job.task.acts(scenario)
    if isinstance(stored.job.options, AgentOptions) and scenario is not None:
        sections += _person_sections(stored, episode, scenario)
    if comments is None:
        comments = stored.comments(episode.id)
    return make_transcript(episode, scenario, verdicts, sections, comments, agent=agent, notes=notes, led=acts)


def make_transcript(
    episode: Episode,
    scenario: Scenario | None,
    verdicts: Sequence[Verdict],
    sections: Sequence[Section] = (),
    comments: Sequence[Comment] = (),
    *,
    agent: str = "",
    notes: Sequence[str] = (),
    led: bool = True,
) -> Transcript:
    """Return the transcript of an episode.

    Args:
        episode: The episode.
        scenario: Its scenario; None if the run does not have it.
        verdicts: What the judges said of it.
        sections: What its task adds.
        comments: What readers wrote.
        agent: The user's own agent, if one was run.
        notes: What a reader should know of its run.
        led: Whether an agent was led through the scenario's turns; otherwise the user's last words are the query.
    """
    said = scenario.user_turns if scenario is not None and led else ()
    query = None if scenario is None else request_text(said[0].messages) if said else scenario.query
    steps = _Steps(episode)
    turns, heard, answering = [], heard_before(said, episode), _answering_turn(episode)
    told = max((turn.user_turn for turn in episode.model_turns), default=0)
    for index, turn in enumerate(episode.model_turns):
        user = tuple(request_text(one.messages) for one in next(heard))
        turns.append(_turn(episode, index, turn, user, steps, answers=index == answering))
    scored = bool(episode.details) and not turns  # the model was asked about, and said nothing
    no_answer = answering is not None or (not episode.answer.strip() and bool(episode.error or scored))
    return Transcript(
        episode=episode.id,
        scenario=episode.scenario_id,
        group=episode.group,
        epoch=episode.epoch,
        attempt=episode.attempt,
        agent="" if episode.model.endswith(agent) else agent,
        model=episode.model,
        human=episode.human,
        termination=episode.termination.value,
        turns_seen=_describe_turns(episode),
        elapsed_s=episode.elapsed_s,
        notes=tuple(notes),
        query=query,
        sections=tuple(sections),
        awareness_steps=steps.take(*(f"awareness, {one.kind.value}" for one in episode.awareness for _ in (*one.unread, one.raw))),
        prompt=episode.model_turns[0].raw_prompt if turns else "",
        turns=tuple(turns),
        unanswered=tuple(request_text(one.messages) for one in said[told + 1 :]),
        error=episode.error,
        traceback=episode.traceback,
        answer=None if no_answer else episode.answer,
        answer_steps=steps.take("answer", "values", "end"),
        faults=tuple(_describe_log(episode, log) for log in episode.perturbations),
        verdicts=tuple(verdicts) if verdicts or not scored else None,
        comments=tuple(comments),
    )


class _Steps:
    """The numbers of an episode's steps, as `steps_of` counts them, by what the step is."""

    def __init__(self, episode: Episode) -> None:
        self._numbers: dict[str, deque[int]] = {}
        for number, step in enumerate(steps_of(episode), 1):
            self._numbers.setdefault(step.what, deque()).append(number)

    def take(self, *whats: str) -> tuple[int, ...]:
        """Return the next number of each step that is left."""
        return tuple(self._numbers[what].popleft() for what in whats if self._numbers.get(what))


def _answering_turn(episode: Episode) -> int | None:
    """Return the index of the last turn that says the final answer, after which an own agent may ask a model again; None if none does."""
    answer = episode.answer.strip()
    return max((index for index, turn in enumerate(episode.model_turns) if answer and turn.said.strip() == answer), default=None)


def _turn(episode: Episode, index: int, turn: ModelTurn, user: tuple[str, ...], steps: _Steps, *, answers: bool) -> TurnPart:
    place = f"turn {index + 1}"
    own = steps.take(f"{place}: text") if turn.text else ()
    called = {call.id: steps.take(f"{place}: call of {call.name}") for call in turn.tool_calls}
    broken = [
        Broken(name=one.name, raw=one.raw, reason=one.reason, steps=steps.take(f"{place}: unreadable call of {one.name}"))
        for one in turn.unparsable_calls
    ]
    events = [_placed(event, place, called, steps) for event in episode.events if event.turn == index]
    done = {event.call_id for event in episode.events if event.turn == index}
    left = [
        Call(name=call.name, arguments=call.arguments, executed=False, why_not=_explain_left(episode, index, call), steps=called[call.id])
        for call in turn.tool_calls
        if call.id not in done and not (call.name == FINISH and turn.final_answer is not None)
    ]
    finished = [number for call in turn.tool_calls if call.name == FINISH for number in called[call.id]]
    return TurnPart(
        number=index + 1,
        user=user,
        request=turn.user_turn + 1,
        answers=answers,
        faults=tuple(_fault(log, in_place="the model's answer") for log in turn.perturbations if log.fired),
        reasoning=turn.reasoning,
        text=turn.text,
        broken=tuple(broken),
        events=tuple(events),
        finish=turn.final_answer,
        reminded=turn.reminded,
        left=tuple(left),
        first_tokens=turn.first_tokens,
        cut=turn.stop == "length",
        steps=(*own, *(finished if turn.final_answer is not None else ())),
    )


def _placed(event: Event, place: str, called: Mapping[str, tuple[int, ...]], steps: _Steps) -> Call | Asked:
    """Return an event with the steps that it holds: its call, and what came of it."""
    if isinstance(event, ToolEvent):
        whats = [f"{place}: result of {event.name}"]
    else:
        whats = [f"{place}: {event.kind}", f"{place}: {'reply' if event.request is None else 'decision'}"]
    return event_part(event, (*called.get(event.call_id, ()), *steps.take(*whats)))


def event_part(event: Event, steps: tuple[int, ...] = ()) -> Call | Asked:
    """Return one event as a transcript has it."""
    if isinstance(event, HumanEvent):
        return Asked(
            kind=event.kind,
            how=_describe_asking(event),
            question=event.question,
            who=", ".join(filter(None, (event.name, _responder_words(event.responder)))),
            reply=_reply_of(event),
            declined=bool(event.declined),
            appropriate=event.appropriate,
            steps=steps,
        )
    return Call(
        name=event.name,
        arguments=event.arguments,
        ok=event.ok,
        status=event.status,
        error=event.error,
        origin=_origin_of(event),
        elapsed_ms=event.elapsed_ms,
        result=event.result,
        faults=tuple(_fault(log) for log in event.perturbations),
        steps=steps,
    )


def _origin_of(event: ToolEvent) -> str:
    """Return where a call's result came from; one whose arguments were refused was never sent."""
    refused = event.origin is Origin.PERTURBED and not any(log.fired for log in event.perturbations)
    return "not sent" if refused else event.origin.value


def likeness(part: TurnPart | Call | Asked) -> Any:
    """Return a key that is equal for turns or events that a reader cannot tell apart."""
    every: Any = {"__all__": _PLACES}
    if isinstance(part, TurnPart):
        return part.model_dump(
            exclude={"number": True, "steps": True, "user": True, "request": True, "events": every, "broken": every, "left": every}
        )
    return part.model_dump(exclude=_PLACES)


def fold_turns(turns: Sequence[TurnPart]) -> Iterator[list[TurnPart]]:
    """Yield the turns in groups of neighbours that a reader cannot tell apart; the answer is alone, and so is what follows a message."""
    heard = list(accumulate(len(turn.user) for turn in turns))
    for _, alike in groupby(turns, lambda turn: turn.number if turn.answers else (heard[turn.number - 1], likeness(turn))):
        yield list(alike)


def _fault(log: PerturbationLog, in_place: str = "") -> Fault:
    outcome = (
        "withheld" if log.withheld else "not_applicable" if log.not_applicable else "seen" if log.seen else "unseen" if log.fired else "missed"
    )
    said = _describe_fault(log)
    if in_place:
        said = f"injected{f' in place of {in_place}' if log.replaced is None else ''}{'' if log.seen else ', not seen by the agent'}"
    return Fault.model_validate({"name": log.name, "outcome": outcome, "said": said, "replaced": log.replaced})


_SAID = {
    "contradiction": "gives another value for",
    "false_claim": "claims what no fact says:",
    "leak": "gives away, unasked,",
}


def _person_sections(stored: RunView, episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Yield the section, if the person was at fault."""
    read = read_person(episode, scenario, stored.tools(), stored.job.options.perturb)
    lines = tuple(
        (
            Line(text=f"answer {number}: "),
            Line(text=fault.kind.replace("_", " "), style="bad"),
            Line(text=f"  {_SAID[fault.kind]} {fault.about}", style="faint"),
        )
        for number, answer in enumerate(read, start=1)
        for fault in answer.faults
    )
    if lines:
        yield Section(title="Faults of the person", lines=lines)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _describe_turns(episode: Episode) -> str:
    """Return the number of turns and tokens, if a model was seen: a plain function may have none."""
    number, usage = len(episode.model_turns), episode.usage
    if episode.model.startswith("agent/") and not episode.saw_model:
        return f"{_count(number, 'turn')}, no model seen"
    rest = f" (not counted by the server: {_count(usage.uncounted, 'generation')})" if usage.uncounted else ""
    return f"{_count(number, 'model turn')}, {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{rest}"


def _describe_log(episode: Episode, log: PerturbationLog) -> str:
    """Return what a perturbation did in an episode; of one of the model, in how many generations."""
    noun = "eligible generation" if episode.watched_model(log) else "eligible call"
    error = "" if log.injected is None else f"; the error was: {' '.join(log.injected.split())}"
    left = f"; not applicable to {log.not_applicable}" if log.not_applicable else ""
    return f"{log.name}: hit {log.fired} of {_count(log.armed, noun)}, seen in {log.seen}{left}{error}"


def _describe_fault(log: PerturbationLog) -> str:
    """Return what a perturbation did to a call."""
    if log.not_applicable:
        return "not applicable without --writing" if log.withheld else "not applicable"
    return "fired" if log.seen else "injected, not seen by the model" if log.fired else "could have been hit, was not"


def _describe_asking(event: HumanEvent) -> str:
    """Return the words before what was put to a person, as what it is."""
    if isinstance(event.request, Form):
        return f"a form{f' from {event.request.source}' if event.request.source else ''}"
    if event.request is not None:
        return "a call waits for a person" if event.by == "policy" else "the agent asks for approval"
    return {"words": "asks the human in words", "interrupt": "its graph interrupts"}.get(event.by, "asks the human")


def _reply_of(event: HumanEvent) -> str:
    """Return the answer or the decision; where there is none, why."""
    if event.declined:
        return _DECLINED[event.declined]
    return event.answer if event.decision is None else event.decision.text


def _responder_words(name: str) -> str:
    """Describe who answered, for a reader.

    >>> _responder_words("recorded (terminal)"), _responder_words("answer"), _responder_words("parrot")
    ('a person (at the terminal), recorded', 'a person (talm-sim answer)', 'parrot')
    """
    inner = _RECORDED.fullmatch(name)
    if name.startswith("model:"):
        return f"a person, played by {name.removeprefix('model:')}"
    return f"{_responder_words(inner[1])}, recorded" if inner else _RESPONDERS.get(name, name)


def _explain_left(episode: Episode, index: int, call: ToolCall) -> str:
    """Explain why a call of a turn was not executed, as far as the episode shows."""
    for event in episode.human_events:
        asked, decided = event.request, event.decision
        same = event.turn == index and isinstance(asked, Approval) and (asked.name, asked.arguments) == (call.name, call.arguments)
        if same and decided is not None and decided.action in ("reject", "respond"):
            return f"not executed: {'rejected' if decided.action == 'reject' else 'answered in its place'}"
    ended = index == len(episode.model_turns) - 1
    if any(log.fired and log.name == f"mask:tool={call.name}" for log in episode.perturbations):
        return "not executed: this tool is hidden"
    return "not executed: the episode ended here" if ended else "not called through talm-sim: a tool of the agent's own, or none that it has"
