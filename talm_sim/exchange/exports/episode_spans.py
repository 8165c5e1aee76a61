"""`talm-sim export otel`: each episode of a stored run as a trace, in OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.exports.exchanged_messages import Message, conversation, event_name
from talm_sim.exchange.exports.otlp import CLIENT, INTERNAL, SpanEvent, TraceSpan, encode_attributes, encode_span
from talm_sim.exchange.exports.safe_texts import Cleaner, as_line
from talm_sim.exchange.exports.span_values import (
    COMMENT,
    EVALUATION,
    FAILED,
    FINISH,
    Key,
    Operation,
    definition_of,
    error_type_of,
    estimated,
    finish_of,
    message_of,
    model_of,
    perturbations_of,
    printable,
    provider_of,
    question_of,
    usage_of,
)
from talm_sim.exchange.exports.times import Span, Times, times_of
from talm_sim.models.registry import has_traffic
from talm_sim.store.files.comments import Comment
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import (
    Approval,
    AwarenessAnswer,
    Episode,
    Event,
    HumanEvent,
    Origin,
    PersonRequest,
    Row,
    Scenario,
    ToolEvent,
    Usage,
    Verdict,
)
from talm_sim.version import __version__

_SCOPE = "talm_sim"


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one episode."""

    text: str
    spans: int


def traces(stored: StoredRun, *, content: bool) -> Iterator[Trace]:
    """Yield a trace for each finished episode of a run, in planned order; with `content`, of what was said too, without credentials."""
    if not (rows := {row.episode: row for row in stored.rows()}):
        raise PrerequisiteError(f"{stored.path}: has no finished episode; there is nothing to export.")
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in stored.verdicts():
        verdicts.setdefault(verdict.episode_id, []).append(verdict)
    scenarios = {scenario.id: scenario for scenario in stored.scenarios()}
    run = _Run(stored, content)
    for episode in stored.episodes():
        scenario = scenarios.get(episode.scenario_id)
        yield run.trace(_Played(episode, scenario, rows[episode.id], verdicts.get(episode.id, ()), times_of(episode, run.created)))


@dataclass(frozen=True)
class _Played:
    """An episode with all that is known of it."""

    episode: Episode
    scenario: Scenario | None
    row: Row
    verdicts: Sequence[Verdict]
    times: Times


class _Run:
    """Makes the traces of a run."""

    def __init__(self, stored: StoredRun, content: bool) -> None:
        self._stored, self._job, self._content = stored, stored.job, content
        self._clean = Cleaner()
        self._comments: dict[str, list[Comment]] = {}
        for one in stored.comments() if content else ():
            self._comments.setdefault(one.episode_id, []).append(one)
        self._tools = stored.tools()
        self._replayed = (self._job.config.models is Traffic.REPLAY and has_traffic(self._job.config.model)) or None
        self.created = datetime.fromisoformat(stored.manifest.created).timestamp()

    def trace(self, played: _Played) -> Trace:
        """Return the trace of an episode."""
        episode = played.episode
        named = (self._stored.id, self._stored.manifest.created, episode.id, episode.attempt)
        spans = [encode_span(self._clean_span(span), named) for span in self._spans(played)]
        resource = {Key.SERVICE: "talm-sim", Key.RUN: self._stored.id, Key.TASK_NAME: self._job.config.task}
        scope = {"name": _SCOPE, "version": __version__}
        attributes = encode_attributes(self._clean.value(resource))
        text = as_line({"resource": {"attributes": attributes}, "scopeSpans": [{"scope": scope, "spans": spans}]})
        return Trace(text, len(spans))

    def _clean_span(self, span: TraceSpan) -> TraceSpan:
        clean = self._clean
        events = [SpanEvent(one.name, one.at, clean.value(dict(one.attributes))) for one in span.events]
        failure = None if span.failure is None else clean.text(span.failure)
        return TraceSpan(span.key, clean.text(span.name), span.kind, span.begin, span.end, clean.value(dict(span.attributes)), events, failure)

    def _spans(self, played: _Played) -> Iterator[TraceSpan]:
        episode, times = played.episode, played.times
        messages = conversation(episode, played.scenario, acts=self._job.task.acts(played.scenario))
        yield self._episode_span(played, messages)
        for number, asked in enumerate(episode.awareness):
            yield self._awareness_span(played, number, asked)
        for index, (turn, span) in enumerate(zip(episode.model_turns, times.turns, strict=True)):
            place = next(place for place, message in enumerate(messages) if message.turn == index)
            yield self._chat_span(played, f"turn {index}", span, turn.usage, turn.stop, messages[:place], messages[place])
        for number, (event, span) in enumerate(times.events):
            yield self._event_span(number, event, span)

    def _episode_span(self, played: _Played, messages: Sequence[Message]) -> TraceSpan:
        episode, whole = played.episode, played.times.whole
        failed = episode.termination.value if episode.termination in FAILED else None
        attributes: dict[str, Any] = {
            Key.OPERATION: Operation.AGENT,
            Key.AGENT_NAME: self._agent_name,
            Key.AGENT_VERSION: None if self._own_agent else __version__,
            Key.CONVERSATION: f"{self._stored.id}/{episode.id}",
            **self._request(episode),
            **usage_of(episode.usage),
            Key.ERROR_TYPE: failed,
            Key.SCENARIO: episode.scenario_id,
            Key.GROUP: episode.group,
            Key.EPOCH: episode.epoch,
            Key.ATTEMPT: episode.attempt,
            Key.TERMINATION: episode.termination.value,
            Key.NOT_SCORED: played.row.not_scored or None,
            Key.CONTROL: True if episode.model.startswith("sim/") else None,
            Key.IMPORTED: True if self._stored.imported else None,
            **perturbations_of(episode.perturbations),
            **estimated(whole),
        }
        if self._content:
            asked = [message for message in messages if message.role == "user"]
            system = [{"type": "text", "content": message.text} for message in messages if message.role == "system"]
            attributes[Key.INPUT_MESSAGES] = self._json([message_of(one) for one in asked])
            attributes[Key.SYSTEM_INSTRUCTIONS] = self._json(system) if system else None
            attributes[Key.OUTPUT_MESSAGES] = self._json(
                [message_of(Message("assistant", episode.answer)) | {"finish_reason": finish_of(episode)}]
            )
            attributes[Key.TOOL_DEFINITIONS] = self._definitions(played.scenario)
        failure = None if failed is None else (episode.error or failed) if self._content else failed
        events = [*self._verdict_events(played, whole.end), *self._comment_events(episode.id)]
        name = f"{Operation.AGENT} {self._agent_name}"
        return TraceSpan("", name, INTERNAL, whole.begin, whole.end, attributes, events, failure)

    def _verdict_events(self, played: _Played, at: float) -> Iterator[SpanEvent]:
        """Yield what the task and each judge say; when they said it is not stored."""
        if (succeeded := self._job.task.succeeded(played.row)) is not None:
            yield self._verdict_event("success", succeeded, "", "", at)
        for one in played.verdicts:
            yield self._verdict_event(one.judge, one.value, one.label, one.explanation, at)

    def _verdict_event(self, judge: str, value: bool | None, label: str, why: str, at: float) -> SpanEvent:
        attributes: dict[str, Any] = {
            Key.EVALUATION_NAME: judge,
            Key.EVALUATION_VALUE: None if value is None else float(value),
            Key.EVALUATION_LABEL: label or {True: "pass", False: "fail", None: "no_verdict"}[value],
            Key.EVALUATION_EXPLANATION: (why or None) if self._content else None,
        }
        return SpanEvent(EVALUATION, at, attributes)

    def _comment_events(self, episode_id: str) -> Iterator[SpanEvent]:
        """Yield what readers wrote, if there is to be content."""
        for one in self._comments.get(episode_id, ()):
            yield SpanEvent(COMMENT, one.written_at, {Key.COMMENT_NAME: one.name or None, Key.COMMENT_TEXT: one.text})

    def _awareness_span(self, played: _Played, number: int, asked: AwarenessAnswer) -> TraceSpan:
        question, answer = Message("user", asked.question), Message("assistant", asked.raw)
        more: dict[str, Any] = {Key.AWARENESS_KIND: asked.kind.value, Key.AWARENESS_VALUE: asked.value.value}
        key = f"awareness {number}"
        return self._chat_span(played, key, played.times.awareness, asked.usage, "stop", [question], answer, more)

    def _chat_span(
        self,
        played: _Played,
        key: str,
        span: Span,
        usage: Usage,
        stop: str,
        before: Sequence[Message],
        said: Message,
        more: Mapping[str, Any] | None = None,
    ) -> TraceSpan:
        request = self._request(played.episode)
        attributes: dict[str, Any] = {
            Key.OPERATION: Operation.CHAT,
            Key.PROVIDER: provider_of(played.episode.model),
            **request,
            Key.FINISH_REASONS: [FINISH[stop]],
            **usage_of(usage),
            Key.REPLAYED: self._replayed,
            **(more or {}),
            **estimated(span),
        }
        if self._content:
            attributes[Key.INPUT_MESSAGES] = self._json([message_of(one) for one in before])
            attributes[Key.OUTPUT_MESSAGES] = self._json([message_of(said) | {"finish_reason": FINISH[stop]}])
        return TraceSpan(key, f"{Operation.CHAT} {request[Key.REQUEST_MODEL]}", CLIENT, span.begin, span.end, attributes)

    def _decision_span(self, number: int, event: HumanEvent, request: PersonRequest, span: Span) -> TraceSpan:
        """Return the span of a call to approve or of a form: it is no call of a tool, and no question."""
        attributes: dict[str, Any] = {**question_of(event, span), **estimated(span)}
        if self._content:
            attributes[Key.PERSON] = event.name or None
            attributes[Key.REQUEST] = self._json(request.model_dump(mode="json"))
            attributes[Key.DECISION] = None if event.decision is None else self._json(event.decision.model_dump(mode="json"))
        of = request.name if isinstance(request, Approval) else request.source
        known = self._content or of in self._tools
        name = f"{request.kind} {printable(of) if known else ''}".rstrip()
        return TraceSpan(f"{request.kind} {number}", name, INTERNAL, span.begin, span.end, attributes)

    def _event_span(self, number: int, event: Event, span: Span) -> TraceSpan:
        if isinstance(event, HumanEvent) and event.request is not None:
            return self._decision_span(number, event, event.request, span)
        human = isinstance(event, HumanEvent)
        name = event_name(event) if isinstance(event, HumanEvent) else self._tool_name(event)
        attributes: dict[str, Any] = {
            Key.OPERATION: Operation.TOOL,
            Key.TOOL_NAME: name,
            Key.TOOL_TYPE: "function",
            Key.CALL_ID: printable(event.call_id) or None,
            **(question_of(event, span) if isinstance(event, HumanEvent) else self._called(event)),
            **estimated(span),
        }
        if self._content:
            arguments = {"question": event.question} if isinstance(event, HumanEvent) else event.arguments
            attributes[Key.CALL_ARGUMENTS] = self._json(arguments)
            attributes[Key.CALL_RESULT] = event.answer if isinstance(event, HumanEvent) else event.result
            if isinstance(event, HumanEvent):
                attributes[Key.PERSON] = event.name or None
        failure = attributes.get(Key.ERROR_TYPE)
        key = f"{'question' if human else 'call'} {number}"
        return TraceSpan(key, f"{Operation.TOOL} {name}", INTERNAL, span.begin, span.end, attributes, failure=failure)

    def _called(self, event: ToolEvent) -> dict[str, Any]:
        spec = self._tools.get(event.name)
        return {
            Key.TOOL_DESCRIPTION: spec.description or None if spec is not None else None,
            Key.ERROR_TYPE: None if event.ok else error_type_of(event),
            Key.REPLAYED: True if event.origin is Origin.RECORDED else None,
            **perturbations_of(event.perturbations),
        }

    def _tool_name(self, event: ToolEvent) -> str:
        """Return the tool's name; one that a model made up is content."""
        return printable(event.name) if self._content or event.error != "unknown_tool" else "unknown_tool"

    def _request(self, episode: Episode) -> dict[str, Any]:
        """Return the request's settings; those of an imported run and of an own agent are not known."""
        found: dict[str, Any] = {Key.REQUEST_MODEL: model_of(episode.model)}
        if self._stored.imported or self._own_agent:
            return found
        settings, options = self._job.settings(), self._job.config.model_options
        top_p = options.get("top_p")
        seed = None if settings.seed is None else derive_seed(settings.seed, episode.scenario_id, episode.epoch)
        return found | {
            Key.TEMPERATURE: None if settings.temperature is None else float(settings.temperature),
            Key.TOP_P: float(top_p) if isinstance(top_p, int | float) else None,
            Key.MAX_TOKENS: settings.max_new_tokens,
            Key.SEED: seed,
        }

    @cached_property
    def _own_agent(self) -> str:
        return getattr(self._job.options, "agent", None) or ""

    @property
    def _agent_name(self) -> str:
        return self._own_agent or "talm-sim"

    def _definitions(self, scenario: Scenario | None) -> str | None:
        """Return the tools that the scenario offers, before perturbations."""
        if scenario is None:
            return None
        specs = [self._tools[name] for name in scenario.tools if name in self._tools]
        found = [definition_of(spec) for spec in specs] + [{"type": "function", "definition": text} for text in scenario.shown_tools]
        return self._json(found) if found else None

    def _json(self, value: Any) -> str:
        """Return a value as the text of an attribute, without credentials, however its texts will be escaped."""
        return json.dumps(self._clean.value(value), ensure_ascii=False)
