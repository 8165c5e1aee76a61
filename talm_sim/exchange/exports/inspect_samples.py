"""Write one episode as a sample of Inspect's log, version 2."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.exchange.exports.exchanged_messages import Message, conversation, event_name, target_texts
from talm_sim.exchange.exports.times import Span, Times, times_of
from talm_sim.store.files.comments import Comment
from talm_sim.tasks import Job
from talm_sim.types import (
    Action,
    Approval,
    Decision,
    Episode,
    Event,
    HumanEvent,
    ModelTurn,
    Row,
    Scenario,
    Termination,
    ToolCall,
    UnparsableCall,
    Usage,
    Verdict,
)

_UNSCORED = math.nan
"""The value of a score that Inspect keeps and leaves out of every metric."""
_ODD = re.compile(r"[^\w.@+=,~() -]|^\.+")
_LONGEST_ID = 200
"""Bytes of an id that is part of a file's name."""
_SHORT, _LONG = 1000, 5000
"""Characters of a text, and of an input, that the list of samples shows."""
_STOPS = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls", "refusal": "content_filter"}
_ERRORS = frozenset(
    {Termination.AGENT_ERROR, Termination.BLOCKED, Termination.TOOL_ERROR, Termination.INFRASTRUCTURE_ERROR, Termination.REPLAY_MISS}
)
_OUTCOMES: dict[Action, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_DECISIONS: dict[Action, str] = {"approve": "approve", "edit": "modify", "reject": "reject", "respond": "reject"}
"""What a person decides about a call, to Inspect's word: a call that they answer in its place does not run."""
_CALL_ERRORS = {"timeout": "timeout", "invalid_arguments": "parsing", "unknown_tool": "parsing"}
"""Why a call failed, to Inspect's word; `unknown` for the others."""
_NO_LIMIT = -1.0
"""Inspect's number for a limit without a value."""


def iso(seconds: float) -> str:
    """Return Unix seconds as an ISO 8601 time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def model_name(model: str) -> str:
    """Return how the log names a model: a control is never presented as one."""
    return f"control: {model}" if model.startswith("sim/") else model


def sample_id(scenario_id: str) -> str:
    """Return a scenario's id as an id that can name an entry of an archive; most stay as they are.

    >>> sample_id("calendar-01.underspecified"), sample_id("a/b")
    ('calendar-01.underspecified', 'a_b-1cf15b63a822')
    """
    plain = _ODD.sub("_", scenario_id).encode()[:_LONGEST_ID].decode(errors="ignore")
    return plain if plain == scenario_id else f"{plain}-{digest(scenario_id.encode('utf-8', 'surrogatepass').hex())}"


def usage_record(usage: Usage) -> dict[str, int]:
    """Return token counts; Inspect counts the cached tokens of a prompt apart from the others."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    record = {"input_tokens": usage.input_tokens - cached, "output_tokens": usage.output_tokens}
    return record | {"total_tokens": usage.input_tokens + usage.output_tokens, "input_tokens_cache_read": cached}


@dataclass(frozen=True, slots=True)
class SampleMaker:
    """Makes the samples of a run.

    Attributes:
        created: When, in Unix seconds.
        success: Name of the score that says whether an episode succeeded; empty if its task does not say.
        sampling: How the model was sampled, in Inspect's words; empty where that is not known.
    """

    run: str
    job: Job[Any]
    created: float
    success: str
    sampling: Mapping[str, Any]

    def sample(self, episode: Episode, scenario: Scenario | None, row: Row, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """Return an episode as a sample; its texts are as they were stored."""
        acts, times = self.job.task.acts(scenario), times_of(episode, self.created)
        messages = conversation(episode, scenario, acts=acts)
        written = [_message(message, f"m{place}", episode) for place, message in enumerate(messages)]
        scores = self._scores(row, verdicts, episode)
        model = model_name(episode.model)
        last = _last_said(episode, messages, written)
        found: dict[str, Any] = {
            "id": sample_id(episode.scenario_id),
            "epoch": episode.epoch,
            "uuid": digest([self.run, episode.id, episode.attempt], 22),
            "input": scenario.query if scenario is not None else "",
            "target": target_texts(scenario),
            "messages": written,
            "output": _output(episode, last),
            "scores": scores,
            "metadata": _metadata(episode, scenario, row),
            "model_usage": {model: usage_record(episode.usage)} if episode.saw_model else {},
            "started_at": iso(times.whole.begin),
            "completed_at": iso(times.whole.end),
            "total_time": episode.elapsed_s,
            "turn_count": len(episode.model_turns),
            "events": [*self._events(episode, messages, times), *_score_events(scores, times.whole)],
            "events_data": {"messages": written, "calls": []},
        }
        if episode.termination in _ERRORS and not episode.injected:
            message = f"{episode.termination.value}: {episode.error}"
            found["error"] = {"message": message, "traceback": episode.traceback, "traceback_ansi": episode.traceback}
        elif (limit := self._limit(episode)) is not None:
            found["limit"] = limit
        return found

    def _limit(self, episode: Episode) -> dict[str, Any] | None:
        options, end = self.job.options, episode.termination
        kinds = {
            Termination.TURN_LIMIT: ("turn", getattr(options, "turn_limit", None)),
            Termination.TOKEN_LIMIT: ("token", getattr(options, "token_limit", None)),
            Termination.CONTEXT_OVERFLOW: ("context", None),
            Termination.CANCELLED: ("operator", None),
        }
        if end not in kinds:
            return None
        kind, limit = kinds[end]
        return {"type": kind, "limit": float(limit) if limit else _NO_LIMIT, "reason": episode.error or end.value}

    def _scores(self, row: Row, verdicts: Sequence[Verdict], episode: Episode) -> dict[str, dict[str, Any]]:
        """Return what the task and each judge say; what is not in the rates has no value here either, and says why."""
        found: dict[str, dict[str, Any]] = {}
        if self.success:
            value = self.job.task.succeeded(row)
            why = row.not_scored or ("" if value is not None else "the task does not say")
            found[self.success] = {"value": _letter(value), "answer": episode.answer, "explanation": why}
        for verdict in verdicts:
            score: dict[str, Any] = {"value": _letter(verdict.value if row.scored else None), "explanation": verdict.explanation}
            if not row.scored:
                score["reason"] = row.not_scored
            votes = {"votes": list(verdict.votes)} if verdict.votes else {}
            score["metadata"] = {"verdict": verdict.value, "label": verdict.label, "judge": verdict.judge_config_digest, **votes}
            found[verdict.judge] = score | ({"answer": verdict.label} if verdict.label else {})
        return found

    def _events(self, episode: Episode, messages: Sequence[Message], times: Times) -> Iterator[dict[str, Any]]:
        begin = times.whole.begin
        for number, asked in enumerate(episode.awareness):
            data = {
                "kind": asked.kind.value,
                "question": asked.question,
                "raw": asked.raw,
                "read_as": asked.value.value,
                "unread": asked.unread,
            }
            yield {"event": "info", "source": "awareness", "data": data, **_when(f"a{number}", times.awareness, begin)}
        pending = list(times.events)
        for index, (turn, span) in enumerate(zip(episode.model_turns, times.turns, strict=True)):
            place = next(place for place, message in enumerate(messages) if message.turn == index)
            yield self._model_event(episode, turn, span, place, messages[place]) | _when(f"t{index}", span, begin)
            while pending and pending[0][0].turn == index:
                yield from _acts(*pending.pop(0), len(pending), begin)
        while pending:
            yield from _acts(*pending.pop(0), len(pending), begin)

    def _model_event(self, episode: Episode, turn: ModelTurn, span: Span, place: int, message: Message) -> dict[str, Any]:
        choice = {"message": _message(message, f"m{place}", episode), "stop_reason": _STOPS[turn.stop]}
        usage = {} if turn.usage.uncounted else {"usage": usage_record(turn.usage)}
        return {
            "event": "model",
            "model": model_name(episode.model),
            "input": [],
            "input_refs": [[0, place]] if place else [],
            "tools": [],
            "tool_choice": "auto",
            "config": {**self.sampling},
            "output": {"model": model_name(episode.model), "choices": [choice], **usage},
            "call": {"request": {"added": turn.raw_prompt}, "response": None if turn.raw_text == turn.text else {"text": turn.raw_text}},
            "completed": iso(span.end),
        }


def comments_record(comments: Sequence[Comment]) -> dict[str, Any]:
    """Return what readers wrote on an episode, as metadata: a comment is no score. Without comments, nothing."""
    said = [{"name": one.name, "time": iso(one.written_at), "attempt": one.attempt, "text": one.text} for one in comments]
    return {"comments": said} if said else {}


def summary_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the list of samples shows of one: short texts, and only what is small of its metadata."""
    kept = ("id", "epoch", "uuid", "model_usage", "started_at", "completed_at", "total_time", "turn_count")
    scores = {
        name: {key: _cut(value) if isinstance(value, str) else value for key, value in score.items() if key != "metadata"}
        for name, score in sample["scores"].items()
    }
    found = {key: sample[key] for key in kept} | {"input": _cut(sample["input"], _LONG), "scores": scores}
    found["target"] = [_cut(text) for text in sample["target"]]
    found["metadata"] = {
        key: _cut(value) if isinstance(value, str) else value
        for key, value in sample["metadata"].items()
        if isinstance(value, str | int | float | bool)
    }
    if error := sample.get("error"):
        found["error"] = _cut(error["message"])
    if limit := sample.get("limit"):
        found |= {"limit": limit["type"], "limit_reason": _cut(limit["reason"])}
    return found | {"completed": True, "message_count": len(sample["messages"])}


def _cut(text: str, size: int = _SHORT) -> str:
    return text if len(text) <= size else f"{text[:size]}…"


def _letter(value: bool | None) -> str | float:
    return _UNSCORED if value is None else "C" if value else "I"


def _metadata(episode: Episode, scenario: Scenario | None, row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {
        "scenario": episode.scenario_id,
        "episode": episode.id,
        "group": episode.group,
        "base": row.base,
        "attempt": episode.attempt,
        "termination": episode.termination.value,
        "human": episode.human,
        "questions": len(episode.questions),
        "tools": episode.tools,
        "not_scored": row.not_scored,
        "values": row.values,
        "labels": row.labels,
        "why": row.why,
        "perturbations": [log.model_dump(mode="json") for log in episode.perturbations],
    }
    if scenario is not None and scenario.missing:
        found |= scenario.model_dump(mode="json", include={"missing"})
    if episode.usage.uncounted:
        found["generations_without_token_counts"] = episode.usage.uncounted
    return found | ({"details": episode.details} if episode.details else {})


def _message(message: Message, name: str, episode: Episode) -> dict[str, Any]:
    found: dict[str, Any] = {"id": name, "role": message.role, "content": message.text}
    if message.role == "assistant":
        if message.reasoning:
            found["content"] = [{"type": "reasoning", "reasoning": message.reasoning}, {"type": "text", "text": message.text}]
        if message.calls:
            found["tool_calls"] = [_call(call) for call in message.calls]
        if message.turn is not None:
            found |= {"source": "generate", "model": model_name(episode.model)}
    if message.role == "tool":
        found |= {"tool_call_id": message.answers, "function": message.name}
        if message.error:
            found["error"] = _call_error(message.error)
    return found


def _call(call: ToolCall | UnparsableCall) -> dict[str, Any]:
    found = {"id": call.id, "function": call.name, "type": "function"}
    if isinstance(call, ToolCall):
        return found | {"arguments": call.arguments}
    return found | {"arguments": {"raw": call.raw}, "parse_error": call.reason}


def _call_error(error: str) -> dict[str, str]:
    return {"type": _CALL_ERRORS.get(error, "unknown"), "message": error}


def _last_said(episode: Episode, messages: Sequence[Message], written: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the agent's own last message; None if it said nothing."""
    own = [one for one, message in zip(written, messages, strict=True) if message.turn is not None]
    if own or not messages or episode.model_turns or messages[-1].role != "assistant":
        return own[-1] if own else None
    return written[-1]


def _output(episode: Episode, last: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the final output: the last message of the agent, if there is one, with why it stopped."""
    model = model_name(episode.model)
    if last is None:
        return {"model": model, "choices": [], "completion": episode.answer}
    choice = {"message": last, "stop_reason": _STOPS[episode.model_turns[-1].stop] if episode.model_turns else "unknown"}
    usage = {"usage": usage_record(episode.usage)} if episode.saw_model else {}
    return {"model": model, "choices": [choice], "completion": episode.answer, **usage}


def _when(name: str, span: Span, begin: float) -> dict[str, Any]:
    times = "measured" if span.measured else "estimated"
    return {"uuid": name, "timestamp": iso(span.begin), "working_start": span.begin - begin, "metadata": {"times": times}}


def _acts(event: Event, span: Span, left: int, begin: float) -> Iterator[dict[str, Any]]:
    """Yield a call or a question, and what perturbations did to the call."""
    when = _when(f"e{left}", span, begin)
    if isinstance(event, HumanEvent):
        data = {"responder": event.responder, "by": event.by, "declined": event.declined, "appropriate": event.appropriate}
        if event.name:
            data["name"] = event.name
        when["metadata"] |= data
        yield {**(_approval(event, event.request) if isinstance(event.request, Approval) else _input(event)), **when}
        return
    when["metadata"] |= {"origin": event.origin.value, "status": event.status}
    call = {"id": event.call_id, "function": event_name(event), "arguments": event.arguments, "result": event.result, "failed": not event.ok}
    error = {} if event.ok else {"error": _call_error(event.error or "failed")}
    yield {"event": "tool", **call, **error, "completed": iso(span.end), "working_time": span.end - span.begin, **when}
    for number, log in enumerate(event.perturbations):
        data = {"call": event.call_id, **log.model_dump(mode="json")}
        yield {"event": "info", "source": "perturbation", "data": data, **_when(f"e{left}p{number}", span, begin)}


def _input(event: HumanEvent) -> dict[str, Any]:
    """Return a question, or a form, and what the person said."""
    content = None if event.decision is None or event.decision.content is None else event.decision.content
    said = event.answer if content is None else json.dumps(content, ensure_ascii=False)
    outcome = "declined" if event.declined else "accepted" if event.decision is None else _OUTCOMES[event.decision.action]
    return {"event": "input", "message": event.question, "input": said, "input_ansi": said, "outcome": outcome}


def _approval(event: HumanEvent, asked: Approval) -> dict[str, Any]:
    """Return a call that a person decided about, with the call that ran in its place, if they edited it."""
    decision = event.decision or Decision(action="reject")
    call = {"id": event.call_id, "function": asked.name, "arguments": asked.arguments}
    edited = {"id": event.call_id, "function": decision.name or asked.name, "arguments": decision.arguments or {}}
    return {
        "event": "approval",
        "message": asked.description or event.question,
        "call": call,
        "approver": event.name or event.responder,
        "decision": _DECISIONS[decision.action],
        "modified": edited if decision.action == "edit" else None,
        "explanation": decision.message or None,
    }


def _score_events(scores: Mapping[str, Mapping[str, Any]], whole: Span) -> Iterator[dict[str, Any]]:
    after = Span(whole.end, whole.end)
    for number, (name, score) in enumerate(scores.items()):
        yield {"event": "score", "scorer": name, "score": score, **_when(f"s{number}", after, whole.begin)}
