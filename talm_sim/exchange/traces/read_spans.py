"""Read traces from the spans of OTLP/JSON, and join those of one agent to one conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.exchange.traces.attributes import ERROR_TYPE, MODEL, decode, first, json_in, kind_of, usage_in
from talm_sim.exchange.traces.framework_messages import named_scenario
from talm_sim.exchange.traces.span_messages import Event, messages_in, result_in
from talm_sim.exchange.traces.trace import SCENARIO, Said, Trace
from talm_sim.foreign.error_text import escape_control
from talm_sim.types import Usage

_READ = frozenset({"agent", "chat", "tool"})


@dataclass(slots=True, eq=False)
class _Span:
    """A span, its attributes taken apart."""

    where: str
    trace: str
    id: str
    parent: str
    name: str
    kind: str
    begin: int
    end: int
    attributes: dict[str, Any]
    resource: dict[str, Any]
    events: Sequence[Event]
    failure: str | None
    """The description of its status; None if it did not fail."""

    @property
    def elapsed_s(self) -> float:
        return max(self.end - self.begin, 0) / 1e9

    def messages(self, *, values: bool = True) -> tuple[list[Said], list[Said]]:
        return messages_in(self.attributes, self.events, self.where, values=values)


def is_observation(value: Any) -> bool:
    """Return whether a value has the form of an observation of Langfuse, or of a trace of it."""
    forms = ({"id", "observations"}, {"id", "traceId", "type"}, {"id", "input", "output", "metadata", "name"})
    return isinstance(value, dict) and any(names <= value.keys() for names in forms)


class SpanReader:
    """Collects spans from the documents of a file, and returns the traces that they make."""

    def __init__(self) -> None:
        self.unread: Counter[str] = Counter()
        self.silent: list[str] = []
        self._spans: list[_Span] = []

    def add(self, document: Mapping[str, Any], where: str) -> None:
        """Add the spans of an OTLP/JSON document, or of one of its `resourceSpans`."""
        for resource in _objects(document.get("resourceSpans", [document]), where, "resourceSpans"):
            about = resource.get("resource")
            shared = _decode(about.get("attributes") if isinstance(about, dict) else None, f"{where}, resource")
            for scope in _objects(resource.get("scopeSpans", resource.get("instrumentationLibrarySpans")), where, "scopeSpans"):
                self._spans += [_read_span(span, shared, where) for span in _objects(scope.get("spans"), where, "spans")]

    def add_observations(self, value: Mapping[str, Any], where: str) -> bool:
        """Add an observation of Langfuse, or a trace of it with all of its own; return True."""
        inner = [one for one in value.get("observations") or () if isinstance(one, dict)]
        is_trace = "traceId" not in value
        top = [{"startTime": value.get("timestamp"), **value, "traceId": value.get("id"), "type": "AGENT"}] if is_trace else [value]
        self._spans += [_read_observation(one, value, where) for one in (*top, *inner)]
        return True

    def traces(self) -> Iterator[Trace]:
        """Yield the traces in the order of their first spans in the file."""
        self.unread = Counter(span.kind for span in self._spans if span.kind not in _READ)
        for unit in _units(self._spans):
            trace = _trace(unit)
            if any(one.role != "system" and (one.text or one.calls or one.arguments) for one in trace.said):
                yield trace
            elif any(span.kind in _READ for span in unit.spans):
                self.silent.append(trace.where)


def _objects(value: Any, where: str, key: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise PrerequisiteError(f"{where}: `{key}` is not a list of objects; this is not OTLP/JSON.")
    return value


def _decode(value: Any, where: str) -> dict[str, Any]:
    try:
        return decode(value)
    except ValueError as err:
        raise PrerequisiteError(f"{where}: {err}; this is not OTLP/JSON.") from None


def _read_span(span: dict[str, Any], shared: dict[str, Any], where: str) -> _Span:
    trace, own, parent, name = (str(span.get(key) or "") for key in ("traceId", "spanId", "parentSpanId", "name"))
    where = f"{where}, span {escape_control((own or name)[:40]) or 'without an id'}"
    if not trace or not own:
        raise PrerequisiteError(f"{where}: has no `traceId` and `spanId`; this is not OTLP/JSON.")
    attributes = _decode(span.get("attributes"), where)
    events = [(str(one.get("name") or ""), _decode(one.get("attributes"), where)) for one in _objects(span.get("events"), where, "events")]
    status = span.get("status")
    failed = isinstance(status, dict) and status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    failure = str(status.get("message") or attributes.get(ERROR_TYPE) or "") if isinstance(status, dict) and failed else None
    begin, end = (_time(span.get(key), where) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    kind = kind_of(name, attributes)
    return _Span(where, trace, own, parent, name, kind, begin, end, attributes, shared, events, failure)


def _read_observation(told: Mapping[str, Any], trace: Mapping[str, Any], where: str) -> _Span:
    """Return an observation of Langfuse as a span; an exported trace is the outermost one."""
    own, name, kind = (str(told.get(key) or "") for key in ("id", "name", "type"))
    counted = next((one for key in ("usageDetails", "usage") if isinstance(one := told.get(key), dict)), {})
    tokens = {f"gen_ai.usage.{key}_tokens": counted.get(key, counted.get(f"{key}Tokens")) for key in ("input", "output")}
    about = {"langfuse.observation.type": kind, "gen_ai.request.model": told.get("model", told.get("providedModelName")), **tokens}
    about |= {f"langfuse.observation.{key}": told.get(key) for key in ("input", "output")}
    about |= {"gen_ai.tool.name": name if kind == "TOOL" else None, "metadata": told.get("metadata")}
    failure = str(told.get("statusMessage") or "") if told.get("level") == "ERROR" else None
    begin, end = (_time(told.get(key), where) for key in ("startTime", "endTime"))
    parent = told.get("parentObservationId") or (trace.get("id") if told.get("id") != trace.get("id") else "") or ""
    where = f"{where}, span {escape_control((own or name)[:40])}"
    number = str(told.get("traceId") or trace.get("id") or "")
    return _Span(where, number, own, str(parent), name, kind_of(name, about), begin, end or begin, about, {}, (), failure)


def _time(value: Any, where: str) -> int:
    """Return a time in nanoseconds; Langfuse writes it as text."""
    try:
        if isinstance(value, str) and "T" in value:
            return int(datetime.fromisoformat(value[:40]).timestamp() * 1e9)
        return int(value or 0) if len(str(value)) < 25 else int("no time")
    except (TypeError, ValueError, OverflowError):
        raise PrerequisiteError(f"{where}: a time is not a number of nanoseconds; this is not OTLP/JSON.") from None


@dataclass(slots=True, eq=False)
class _Unit:
    """The spans of one trace: those of outermost agents that hand over to one another, or those that no agent contains.

    Attributes:
        scenario: The scenario that the first agent's span or one above it names; empty if none does.
    """

    scenario: str
    agents: list[_Span]
    spans: list[_Span] = field(default_factory=list)

    @property
    def head(self) -> _Span:
        return next(iter(self.agents), None) or next((span for span in self.spans if not span.parent), self.spans[0])

    def request(self) -> str:
        """Return what the user says first; empty if nothing."""
        chats = (span for span in self.spans if span.kind == "chat")
        told = (span.messages()[0] for span in (*self.agents, *chats))
        return next((one.text for messages in told for one in messages if one.role == "user"), "")

    def answer(self) -> str | None:
        """Return the answer that the last agent's own span has; None if it has none."""
        own = self.agents[-1].messages(values=False)[1] if self.agents else []
        last = next((one for one in reversed(own) if one.role == "assistant"), None)
        return last.text if last is not None and not last.calls else None


def _units(spans: Sequence[_Span]) -> list[_Unit]:
    known = {(span.trace, span.id): span for span in spans}
    above: dict[_Span, tuple[_Span | None, str]] = {}
    traces: dict[str, dict[_Span | None, _Unit]] = {}
    for span in spans:
        path: dict[_Span, None] = {}
        place: _Span | None = span
        while place is not None and place not in above and place not in path:  # a file may make a circle
            path[place] = None
            place = known.get((place.trace, place.parent))
        agent, named = above.get(place, (None, "")) if place is not None else (None, "")
        for one in reversed(path):
            if agent is None:
                named = _named(one) or named
                agent = one if one.kind == "agent" else None
            above[one] = agent, named
        agent, named = above[span]
        unit = traces.setdefault(span.trace, {}).setdefault(agent, _Unit(named if agent else "", [agent] if agent else []))
        unit.spans.append(span)
    return [unit for units in traces.values() for unit in _joined(list(units.values()))]


def _joined(units: list[_Unit]) -> list[_Unit]:
    """Join agents beside each other: those whose request is an earlier one's, or quotes what that one answered, or that have none."""
    for unit in units:
        unit.spans.sort(key=lambda span: span.begin)
    if len(units) == 1:
        return units
    units = [unit for unit in units if unit.agents or any(span.kind in _READ for span in unit.spans)]
    found: list[tuple[_Unit, set[str], set[str]]] = []
    for unit in sorted(units, key=lambda one: one.head.begin):
        chats = [span for span in unit.spans if span.kind == "chat"]
        said = [one.text for one in (chats or unit.agents)[-1].messages()[1]] if chats or unit.agents else []
        request = unit.request()
        if unit.agents and not chats:
            unit.agents[0].kind = "chat"  # its own span says all
        for before, requests, answers in found:
            quotes = bool(unit.agents) and any(one in request for one in answers)
            if unit.scenario in ("", before.scenario) and (not request or request in requests or quotes):
                before.agents += unit.agents
                before.spans += unit.spans
                break
        else:
            found.append((unit, requests := set(), answers := set()))
        requests.add(request)
        answers |= {unit.answer() or "", *said} - {""}
    for unit, _, _ in found:
        unit.spans.sort(key=lambda span: span.begin)
    return [unit for unit, _, _ in found]


def _trace(unit: _Unit) -> Trace:
    """Put the spans of a unit together."""
    head, ordered = unit.head, unit.spans
    chats = [span for span in ordered if span.kind == "chat"]
    said = _conversation(ordered)
    told, answered = head.messages()
    if not any(one.role == "assistant" and not one.given for one in said):
        said = _whole(told, answered) + [one for one in said if one.role == "tool"]
    elif not any(one.role == "user" for one in said):
        said = [one for one in told if one.role != "assistant"] + said
    last = unit.agents[-1] if unit.agents else head
    model = next((found for span in (*chats, head) if isinstance(found := first(span.attributes, MODEL), str)), "")
    counted = [usage for span in chats if (usage := usage_in(span.attributes)) is not None]
    whole = usage_in(head.attributes) or (sum(counted, Usage()) if counted else None)
    return Trace(
        f"{head.where.partition(', span ')[0]}, trace {escape_control(head.trace[:40])}",
        said,
        unit.scenario or next((named for span in (head, *ordered) if (named := _named(span))), ""),
        model,
        answer=unit.answer(),
        error=last.failure or "failed" if last.failure is not None else "",
        usage=whole,
        started_at=head.begin / 1e9,
        elapsed_s=max(max(span.end for span in unit.agents or [head]) - head.begin, 0) / 1e9,
    )


def _named(span: _Span) -> str:
    """Return the scenario that a span names, by an attribute of its own, of its resource, or in its metadata."""
    for attributes in (span.attributes, span.resource):
        for name, value in attributes.items():
            if isinstance(value, str) and (name == SCENARIO or name.endswith(f".{SCENARIO}")):
                return value
    return named_scenario(json_in(span.attributes.get("metadata")))


def _conversation(spans: Sequence[_Span]) -> list[Said]:
    """Return what was said, from the models' turns and the tools' results in the order of their times."""
    said: list[Said] = []
    heard: list[Said] = []
    bare: list[Said] = []  # results that may stand in the next prompt only
    names: dict[str, str] = {}
    for span in spans:
        if span.kind == "tool" and span.name != "execute_tool (merged)":
            said.append(result_in(span.attributes, span.name, span.failure, span.elapsed_s * 1000))
            bare += [] if said[-1].text or said[-1].error else said[-1:]
        elif span.kind == "chat":
            told, answered = span.messages()
            new = _new(heard, told)
            if not heard:
                for one in new:
                    one.given = one.role == "assistant"
            said += [one for one in new if one.role != "tool" or not _complete(bare, one, names)]
            # Of several answers to choose from, the first; one with results of its server's tools is several turns.
            places = [place for place, one in enumerate(answered) if one.role == "assistant"]
            end = next((place for place, before in zip(places[1:], places, strict=False) if place == before + 1), len(answered))
            own = answered[places[0] : end] if places else []
            if own:
                own[0].usage = usage_in(span.attributes) or own[0].usage
                said += own
                names |= {str(call[0]): str(call[1]) for one in own for call in one.calls}
            heard = [one for one in (*told, *own) if one.role != "system"] or heard
    return said


def _complete(bare: list[Said], told: Said, names: Mapping[str, str]) -> bool:
    """Put a result of a prompt into that of the span that has none; return whether there is one."""
    name = told.name or names.get(told.answers, "")
    for one in bare:
        if one.answers == told.answers if one.answers and told.answers else not (name and one.name) or one.name == name:
            one.text, one.error, one.answers = told.text, told.error, one.answers or told.answers
            bare.remove(one)
            return True
    return False


def _new(heard: Sequence[Said], told: Sequence[Said]) -> list[Said]:
    """Return what a model is told that the turns before did not contain.

    Of an input that does not continue the conversation, as of a model within a tool, only results of tools are new.
    """
    if not heard:
        return list(told)
    rest = [one for one in told if one.role != "system"]
    if len(rest) >= len(heard) and all(map(_alike, heard, rest)):
        return rest[len(heard) :]
    last = max((place for place, one in enumerate(rest) if one.role == "assistant"), default=-1)
    continues = last >= 0 and any(_alike(one, rest[last]) for one in heard)
    return [one for one in rest[last + 1 :] if one.role == "tool" or continues]


def _alike(one: Said, other: Said) -> bool:
    return _key(one) == _key(other)


def _key(one: Said) -> tuple[str, ...]:
    return one.role, one.text, one.answers, *(str(call[1]) for call in one.calls)


def _whole(told: Sequence[Said], answered: Sequence[Said]) -> list[Said]:
    """Return the conversation of an agent's own span, whose output may repeat its input."""
    begins = len(answered) >= len(told) and all(map(_alike, told, answered))
    return list(answered) if begins else [*told, *answered]
