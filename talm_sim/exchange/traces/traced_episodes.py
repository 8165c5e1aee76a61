"""Make episodes from traces: tell the model's turns, the tools' results and the questions to a person apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from talm_sim.exchange.traces.trace import Said, Trace
from talm_sim.language.asking import asking_sentences
from talm_sim.models.base import ASK_HUMAN
from talm_sim.models.parsing import parse_call, parse_calls, split_reasoning
from talm_sim.scenarios.tool_names import match_name
from talm_sim.types import (
    FINISH,
    Episode,
    Event,
    HumanEvent,
    ModelTurn,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    Turn,
    UnparsableCall,
    Usage,
    episode_id,
)

ELSEWHERE: Final = "elsewhere"
"""Responder of a person's answers that a trace contains."""
_UNMATCHED: Final = "unmatched"
"""Group of the traces that belong to no scenario."""
_ASKING_TOOLS: Final = frozenset({ASK_HUMAN, "askuser", "askhuman", "humanassistance", "human", "humaninput", "requesthumaninput"})
"""Names of tools that ask a person, without what separates their words."""
_QUESTION: Final = ("question", "query", "prompt", "message", "text")
_STOPS: Final[Mapping[str, Literal["stop", "length", "refusal"]]] = {
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "SAFETY"), "refusal"),
}
_MODEL_PARTS: Final = re.compile(r"[^A-Za-z0-9._:/@+-]+")


def model_name(trace: Trace) -> str:
    """Return the name that the run gives to a trace's model."""
    return f"traces/{_MODEL_PARTS.sub('-', trace.model)[:100].strip('-/') or 'unknown'}"


def scenario_of(trace: Trace, task: str, name: str) -> Scenario:
    """Make the scenario of a trace that belongs to none: what its user said, nothing that would be right."""
    turns: list[Turn] = []
    before: Said | None = None
    for one in trace.said:
        if one.role == "user" and not (before is not None and asking_sentences(before.text)):
            turns.append(Turn(messages=({"role": "user", "content": one.text},)))
        before = one if one.role == "assistant" else before
    return Scenario(id=name, task=task, group=_UNMATCHED, turns=tuple(turns) or (Turn(messages=({"role": "user", "content": ""},)),))


def _asks_person(name: str, scenario: Scenario) -> bool:
    """Return whether a tool asks a person, by its name, and is not one that the scenario offers."""
    plain = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    return (name == ASK_HUMAN or plain in _ASKING_TOOLS) and name not in scenario.tools


def episode_of(trace: Trace, scenario: Scenario, epoch: int) -> Episode:
    """Return a trace as an episode of a scenario.

    An error of the trace is the agent's; a trace that only ends before there is an answer is `cancelled`, so it enters no rate.
    """
    reader = _Reader(scenario)
    for one in _after_what_was_given(trace.said, scenario, reader):
        reader.read(one)
    known = {*scenario.tools, *(call.name for call in scenario.gold_calls)}
    turns = reader.turns
    # The agent that ran elsewhere may have its tools under names that no model takes here.
    events = [one.model_copy(update={"name": match_name(one.name, known)}) if isinstance(one, ToolEvent) else one for one in reader.events]
    for number, question in enumerate(trace.asks, 1):
        asked = {"question": question, "answer": "", "responder": ELSEWHERE, "declined": "skip"}
        events.append(HumanEvent(turn=max(len(turns) - 1, 0), call_id=f"interrupt-{number}", by="interrupt", **asked))
    answer = trace.answer if trace.answer is not None else _answer(turns)
    end, error = _termination(trace, answer, waits=bool(trace.asks))
    return Episode(
        id=episode_id(scenario.id, epoch),
        scenario_id=scenario.id,
        group=scenario.group,
        epoch=epoch,
        model=model_name(trace),
        model_turns=tuple(turns),
        events=tuple(events),
        answer=answer or "",
        termination=end,
        error=error,
        usage=_usage(trace, turns),
        started_at=trace.started_at,
        elapsed_s=trace.elapsed_s,
    )


def _answer(turns: Sequence[ModelTurn]) -> str | None:
    """Return the agent's last words; None if it was still calling tools."""
    last = turns[-1] if turns else None
    if last is None or (last.final_answer is None and (last.tool_calls or last.unparsable_calls)):
        return None
    return last.said


def _termination(trace: Trace, answer: str | None, *, waits: bool) -> tuple[Termination, str]:
    if trace.error:
        return Termination.AGENT_ERROR, trace.error
    if waits:
        return Termination.CANCELLED, "the trace ends with a question that nobody answered"
    if answer is None:
        return Termination.CANCELLED, "the trace ends before an answer"
    return Termination.ANSWERED, ""


def _usage(trace: Trace, turns: Sequence[ModelTurn]) -> Usage:
    total = sum((turn.usage for turn in turns), Usage())
    return trace.usage if total.uncounted and trace.usage is not None else total


def _after_what_was_given(said: Sequence[Said], scenario: Scenario, reader: _Reader) -> Sequence[Said]:
    """Return what follows the messages that the scenario begins with; those become the first prompt."""
    given = scenario.user_turns[0].messages
    spoken = [one for one in said if one.role != "system"]
    alike = len(spoken) >= len(given) and all(
        (one.role, one.text) == (message["role"], message["content"]) for one, message in zip(spoken, given, strict=False)
    )
    if not alike:
        return said
    places = [place for place, one in enumerate(said) if one.role != "system"]
    end = places[len(given) - 1] + 1
    for one in said[:end]:
        reader.hear(one)
    reader.asked = True
    return said[end:]


class _Reader:
    """Reads the messages of a trace in order."""

    def __init__(self, scenario: Scenario) -> None:
        self.turns: list[ModelTurn] = []
        self.events: list[Event] = []
        self.asked = False
        """Whether the user has said anything."""
        self._scenario = scenario
        self._user_turns = scenario.user_turns
        self._heard: list[str] = []
        self._user_turn = 0
        self._made: dict[str, list[tuple[int, ToolCall | UnparsableCall]]] = {}
        """The calls of each id, with their turns."""
        self._done: set[tuple[int, str]] = set()

    def hear(self, one: Said) -> None:
        """Take down what the next turn is told."""
        speaker = {"user": "human", "assistant": "ai"}.get(one.role, one.role)
        self._heard.append(f"[{speaker}] {one.text}")

    def read(self, one: Said) -> None:
        """Read one message."""
        if one.role == "assistant" and not one.given:
            self._read_turn(one)
            return
        if one.role == "tool" and not self._read_result(one):
            return
        if one.role == "user":
            self._read_user(one)
        self.hear(one)

    def _read_turn(self, one: Said) -> None:
        text, thought = split_reasoning(one.text)
        calls, broken = parse_calls(one.calls, len(self.turns))
        stop = _STOPS.get(one.stop, "stop")
        turn = ModelTurn(
            raw_prompt="\n\n".join(self._heard),
            raw_text=one.text,
            text=text,
            reasoning=one.reasoning or thought,
            tool_calls=calls,
            unparsable_calls=broken,
            stop="tool_calls" if (calls or broken) and stop == "stop" else stop,
            usage=Usage(uncounted=1) if one.usage is None else one.usage,
            user_turn=self._user_turn,
        )
        self._add_turn(turn)

    def _add_turn(self, turn: ModelTurn) -> None:
        self._heard.clear()
        for call in turn.tool_calls + turn.unparsable_calls:
            self._made.setdefault(call.id, []).append((len(self.turns), call))
        self.turns.append(turn)

    def _read_user(self, one: Said) -> None:
        """Read what the user says: a turn of the scenario, or a reply to what the agent asked in words."""
        if not self.asked or not self.turns:
            self.asked = True
            return
        later = self._user_turns[self._user_turn + 1 : self._user_turn + 2]
        if any(message["role"] == "user" and message["content"].strip() == one.text.strip() for turn in later for message in turn.messages):
            self._user_turn += 1
            return
        if asked := asking_sentences(self.turns[-1].text):
            words = {"question": "\n".join(asked), "answer": one.text, "responder": ELSEWHERE}
            self.events.append(HumanEvent(turn=len(self.turns) - 1, call_id=f"words-{len(self.events) + 1}", by="words", **words))

    def _read_result(self, one: Said) -> bool:
        """Add the result of a call; return whether it is new."""
        if (found := self._call_of(one)) is None and one.answers in self._made:
            return False  # the span of the call said so already
        human = _asks_person(found[1].name if found else one.name, self._scenario)
        if found is None and human and self.turns:
            call_id = one.answers or f"interrupt-{len(self.events) + 1}"
            self._made.setdefault(call_id, [])
            self._add_question(one, _question_in(one.arguments), len(self.turns) - 1, call_id, "interrupt")
            return True
        turn, call = found or self._make_turn(one)
        self._done.add((turn, call.id))
        if human:
            arguments = call.arguments if isinstance(call, ToolCall) else call.raw
            self._add_question(one, _question_in(arguments), turn, call.id, "tool")
        elif call.name != FINISH:
            self.events.append(_tool_event(one, call, turn))
        return True

    def _add_question(self, one: Said, question: str, turn: int, call_id: str, by: Literal["tool", "interrupt"]) -> None:
        more = {"answer": one.text, "responder": ELSEWHERE}
        self.events.append(HumanEvent(turn=turn, call_id=call_id, question=question, by=by, **more))

    def _call_of(self, one: Said) -> tuple[int, ToolCall | UnparsableCall] | None:
        """Return the call that a result answers, with its turn: by its id, else by the tool's name, else the first that is open."""
        if one.answers:
            fitting = [(turn, call) for turn, call in self._made.get(one.answers, ()) if (turn, call.id) not in self._done]
            return max(fitting, key=lambda made: made[0], default=None)
        for turn in range(len(self.turns) - 1, -1, -1):
            made = self.turns[turn].tool_calls + self.turns[turn].unparsable_calls
            fitting = [(turn, call) for call in made if (turn, call.id) not in self._done and one.name in ("", call.name)]
            if fitting:
                alike = (pair for pair in fitting if getattr(pair[1], "arguments", None) == one.arguments)
                return next(alike, fitting[0])
        return None

    def _make_turn(self, one: Said) -> tuple[int, ToolCall | UnparsableCall]:
        """Add a turn for a call that no turn of the trace makes."""
        number = len(self.turns)
        call = parse_call(one.answers or f"call-{number}-0", one.name or "unknown", one.arguments)
        calls: dict[str, Any] = {"tool_calls": (call,)} if isinstance(call, ToolCall) else {"unparsable_calls": (call,)}
        self._add_turn(ModelTurn(raw_prompt="\n\n".join(self._heard), stop="tool_calls", user_turn=self._user_turn, **calls))
        return number, call


def _question_in(arguments: Any) -> str:
    """Return what a call asks: its argument of a likely name, else its first text."""
    if not isinstance(arguments, Mapping):
        return arguments if isinstance(arguments, str) else ""
    texts = [arguments.get(name) for name in _QUESTION] + list(arguments.values())
    return next((text for text in texts if isinstance(text, str)), "")


def _tool_event(one: Said, call: ToolCall | UnparsableCall, turn: int) -> ToolEvent:
    broken = isinstance(call, UnparsableCall)
    error = one.error or ("unparsable_arguments" if broken else "")
    status = int(error.removeprefix("http_")) if re.fullmatch(r"http_[1-5][0-9]{2}", error) else None
    return ToolEvent(
        turn=turn,
        call_id=call.id,
        name=call.name,
        arguments=call.arguments if isinstance(call, ToolCall) else {},
        result=one.text,
        ok=not error,
        status=status,
        error=error,
        elapsed_ms=one.elapsed_ms,
    )
