"""Write spans in the JSON of OpenTelemetry's protocol (OTLP)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.common.digests import digest

INTERNAL: Literal[1] = 1
CLIENT: Literal[3] = 3
_ERROR = 2
_FLAGS = 0x100
"""The parent's context is known not to be remote."""


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    at: float
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One operation of a trace.

    Attributes:
        key: What tells it from the other spans of its trace; empty for the first one, whose children all others are.
        kind: `INTERNAL`, or `CLIENT` for a request to a server.
        begin: Start, in Unix seconds.
        end: End, in Unix seconds.
        attributes: Values by name; None is left out.
    """

    key: str
    name: str
    kind: Literal[1, 3]
    begin: float
    end: float
    attributes: Mapping[str, Any]
    events: Sequence[SpanEvent] = ()
    failure: str | None = None


def _span_id_of(trace: Sequence[Any], key: str) -> str:
    return digest([*trace, "span", key], 16)


def encode_span(span: TraceSpan, trace: Sequence[Any]) -> dict[str, Any]:
    """Return a span of a trace as JSON; its ids depend only on what names it, so a second export is the same trace."""
    found: dict[str, Any] = {"traceId": digest([*trace, "trace"], 32), "spanId": _span_id_of(trace, span.key)}
    if span.key:
        found["parentSpanId"] = _span_id_of(trace, "")
    found |= {
        "flags": _FLAGS,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": _nanoseconds(span.begin),
        "endTimeUnixNano": _nanoseconds(span.end),
        "attributes": encode_attributes(span.attributes),
    }
    if span.events:
        found["events"] = [
            {"timeUnixNano": _nanoseconds(one.at), "name": one.name, "attributes": encode_attributes(one.attributes)} for one in span.events
        ]
    return found | {"status": {} if span.failure is None else {"code": _ERROR, "message": span.failure}}


def encode_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return attributes as JSON; values are texts, numbers, truth values and lists of one kind of these."""
    return [{"key": str(key), "value": _value(value)} for key, value in attributes.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


def _nanoseconds(seconds: float) -> str:
    return str(round(seconds * 1e6) * 1000)
