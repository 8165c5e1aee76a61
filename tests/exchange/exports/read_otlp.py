"""Read traces with OpenTelemetry's own protocol, and send the same spans by its official exporter, to a receiver on loopback.

python read_otlp.py FILE  prints one JSON document; run by the Python of an environment that has the SDK and the exporter. `ours` is the file's
spans as the protocol reads them, `equal` whether the official exporter's bytes decode to the very same, line by line.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

BODIES: list[bytes] = []


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        BODIES.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def parse(line: str) -> Any:
    """Parse a line as the protocol says: its JSON has ids as hex digits, where JSON of protocol buffers has base64."""
    document = json.loads(line)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    service = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    return import_module("google.protobuf.json_format").ParseDict(document, service.ExportTraceServiceRequest())


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, kind)


def attributes_of(attributes: Any) -> dict[str, Any]:
    return {one.key: value_of(one.value) for one in attributes}


def as_sdk_spans(request: Any) -> list[Any]:
    """Make the spans of a request with the official SDK."""
    sdk, api = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.trace")
    resources, util = import_module("opentelemetry.sdk.resources"), import_module("opentelemetry.sdk.util.instrumentation")
    found = []
    for resource_spans in request.resource_spans:
        resource = resources.Resource(attributes_of(resource_spans.resource.attributes))
        for scope_spans in resource_spans.scope_spans:
            scope = util.InstrumentationScope(scope_spans.scope.name, scope_spans.scope.version)
            for span in scope_spans.spans:
                trace = int.from_bytes(span.trace_id, "big")

                def context(identity: bytes, trace: int = trace) -> Any:
                    return api.SpanContext(trace, int.from_bytes(identity, "big"), is_remote=False)

                events = [sdk.Event(one.name, attributes_of(one.attributes), one.time_unix_nano) for one in span.events]
                status = api.Status(api.StatusCode(span.status.code), span.status.message or None)
                found.append(
                    sdk.ReadableSpan(
                        name=span.name,
                        context=context(span.span_id),
                        parent=context(span.parent_span_id) if span.parent_span_id else None,
                        resource=resource,
                        attributes=attributes_of(span.attributes),
                        events=events,
                        kind=api.SpanKind(span.kind - 1),
                        status=status,
                        start_time=span.start_time_unix_nano,
                        end_time=span.end_time_unix_nano,
                        instrumentation_scope=scope,
                    )
                )
    return found


def main(file: Path) -> dict[str, Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter(
        endpoint=f"http://127.0.0.1:{server.server_port}/v1/traces"
    )
    ours = [parse(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for request in ours:
        exporter.export(as_sdk_spans(request))
    official = [type(ours[0]).FromString(body) for body in BODIES]
    spans = [span for request in ours for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
    return {
        "equal": [one == other for one, other in zip(ours, official, strict=True)],
        "spans": [
            {
                "trace": span.trace_id.hex(),
                "id": span.span_id.hex(),
                "parent": span.parent_span_id.hex(),
                "name": span.name,
                "kind": span.kind,
                "begin": span.start_time_unix_nano,
                "end": span.end_time_unix_nano,
                "attributes": attributes_of(span.attributes),
                "events": [{"name": one.name, "attributes": attributes_of(one.attributes)} for one in span.events],
                "status": [span.status.code, span.status.message],
            }
            for span in spans
        ],
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
