"""Read traces from the spans of OTLP/JSON, and join those of one agent to one conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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


class SpanReader:
    """Collects spans from the documents of a file, and returns the traces that they make.

    Attributes:
        unread: How many spans are of kinds that are not read, by kind.
        silent: Places of traces whose spans contain no messages.
    """

    def __init__(self) -> None:
        self.unread: Counter[str] = Counter()
        self.silent: list[str] = []
        self._spans: list[_Span] = []

    def add(self, document: Mapping[str, Any], where: str) -> None:
        """Add the spans of an OTLP/JSON document, or of one of its `resourceSpans`."""
        resources = document.get("resourceSpans", [document])
        for resource in _objects(resources, where, "resourceSpans"):
            about = resource.get("resource")
            shared = _decode(about.get("attributes") if isinstance(about, dict) else None, f"{where}, resource")
            for scope in _objects(resource.get("scopeSpans", resource.get("instrumentationLibrarySpans")), where, "scopeSpans"):
                self._spans += [_read_span(span, shared, where) for span in _objects(scope.get("spans"), where, "spans")]

    def traces(self) -> Iterator[Trace]:
        """Yield the traces in the order of their first spans in the file."""
        self.unread = Counter(span.kind for span in self._spans if span.kind not in _READ)
        for unit in _units(self._spans):
            trace = _trace(unit)
            if any(one.role != "system" for one in trace.said):
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


def _time(value: Any, where: str) -> int:
    try:
        return int(value or 0) if len(str(value)) < 25 else int("no time")
    except (TypeError, ValueError):
        raise PrerequisiteError(f"{where}: a time is not a number of nanoseconds; this is not OTLP/JSON.") from None


@dataclass(slots=True, eq=False)
class _Unit:
    """The spans of one trace: those of an outermost agent, or those that no agent contains.

    Attributes:
        agent: The agent's own span; None if there is no agent.
        above: The spans that contain it.
        spans: The spans, the agent's own among them.
    """

    agent: _Span | None
    above: list[_Span]
    spans: list[_Span]


def _units(spans: Sequence[_Span]) -> Iterator[_Unit]:
    known = {(span.trace, span.id): span for span in spans}
    units: dict[tuple[str, str], _Unit] = {}
    for span in spans:
        path: list[_Span] = []
        place: _Span | None = span
        while place is not None and place not in path:  # a file may make a circle
            path.append(place)
            place = known.get((place.trace, place.parent))
        top = max((number for number, one in enumerate(path) if one.kind == "agent"), default=-1)
        agent = path[top] if top >= 0 else None
        unit = units.setdefault((span.trace, "" if agent is None else agent.id), _Unit(agent, path[top + 1 :] if agent else [], []))
        unit.spans.append(span)
    with_agents = {trace for trace, agent_id in units if agent_id}
    for (trace, agent_id), unit in units.items():
        if agent_id or trace not in with_agents or any(span.kind in _READ for span in unit.spans):
            yield unit


def _trace(unit: _Unit) -> Trace:
    """Put the spans of one agent together."""
    agent = unit.agent
    ordered = sorted(unit.spans, key=lambda span: span.begin)
    chats = [span for span in ordered if span.kind == "chat"]
    head = agent or next((span for span in ordered if not span.parent), ordered[0])
    told, answered = head.messages()
    said = _conversation(ordered)
    if not any(one.role == "assistant" and not one.given for one in said):
        said = _whole(told, answered) + [one for one in said if one.role == "tool"]
    elif not any(one.role == "user" for one in said):
        said = [one for one in told if one.role != "assistant"] + said
    model = next((found for span in (*chats, head) if isinstance(found := first(span.attributes, MODEL), str)), "")
    last = next((one for one in reversed(head.messages(values=False)[1] if agent else []) if one.role == "assistant"), None)
    counted = [usage for span in chats if (usage := usage_in(span.attributes)) is not None]
    whole = usage_in(head.attributes) or (sum(counted, Usage()) if counted else None)
    return Trace(
        f"{head.where.partition(', span ')[0]}, trace {escape_control(head.trace[:40])}",
        said,
        next((named for span in (head, *unit.above, *ordered) if (named := _named(span))), ""),
        model,
        answer=last.text if last is not None and not last.calls else None,
        error=head.failure or "failed" if head.failure is not None else "",
        usage=whole,
        started_at=head.begin / 1e9,
        elapsed_s=head.elapsed_s,
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
    for span in spans:
        if span.kind == "tool":
            said.append(result_in(span.attributes, span.name, span.failure, span.elapsed_s * 1000))
        elif span.kind == "chat":
            told, answered = span.messages()
            new = _new(heard, told)
            if not heard:
                for one in new:
                    one.given = one.role == "assistant"
            said += new
            own = next((one for one in answered if one.role == "assistant"), None)
            if own is not None:
                own.usage = usage_in(span.attributes) or own.usage
                said.append(own)
            heard = [one for one in (*told, own) if one is not None and one.role != "system"] or heard
    return said


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
    return (one.role, one.text, one.answers, [call[1] for call in one.calls]) == (
        other.role,
        other.text,
        other.answers,
        [call[1] for call in other.calls],
    )


def _whole(told: Sequence[Said], answered: Sequence[Said]) -> list[Said]:
    """Return the conversation of an agent's own span, whose output may repeat its input."""
    begins = len(answered) >= len(told) and all(map(_alike, told, answered))
    return list(answered) if begins else [*told, *answered]
