"""Sends traces to an OpenTelemetry collector: OTLP over HTTP, with JSON bodies."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from talm_sim.common.credentials import Hider, checked_credential, credentials_in_environment, credentials_in_headers
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.exports.spans import Trace

if TYPE_CHECKING:
    import requests

__all__ = ["Sent", "headers_from_environment", "send", "traces_address"]

_PATH = "/v1/traces"
_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
"""Variables with headers, `name=value,name=value`, as OpenTelemetry's own exporters read them; those of the last one count."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LARGEST_BODY = 4 * 2**20
"""Bytes after which the next episode begins a new request; an episode is never split."""
_LARGEST_ANSWER = 2**16
_TIMEOUT_S = 30.0
_TRIES = 4
_RETRIED = frozenset({429, 502, 503, 504})
"""Statuses after which the protocol lets a client try again; equal spans have equal ids, so nothing is counted twice."""
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Sent:
    """What a collector took.

    Attributes:
        episodes: Traces sent.
        spans: Spans sent.
        requests: Requests that it took to send them.
        rejected: Spans that the collector took the request for, but not the span.
        why: The collector's words about those.
    """

    episodes: int
    spans: int
    requests: int
    rejected: int = 0
    why: str = ""


def traces_address(endpoint: str) -> str:
    """Return the address that traces are sent to.

    >>> traces_address("http://localhost:4318"), traces_address("https://host/otel/v1/traces")
    ('http://localhost:4318/v1/traces', 'https://host/otel/v1/traces')

    Raises:
        PrerequisiteError: It is not an address, or it contains what belongs into a header.
    """
    try:
        parts = urlsplit(endpoint)
        fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fine = False
    if not fine or not endpoint.isprintable() or " " in endpoint:
        raise PrerequisiteError("--endpoint: is not the address of a collector; write for example http://localhost:4318.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise PrerequisiteError(f"--endpoint: contains more than host and path; put credentials into {_HEADERS[0]}.")
    return endpoint if parts.path.endswith(_PATH) else endpoint.rstrip("/") + _PATH


def headers_from_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers that the environment gives for a collector.

    Raises:
        PrerequisiteError: A variable has another form; the message does not show its value.
    """
    variables = os.environ if environ is None else environ
    found: dict[str, str] = {}
    for variable in _HEADERS:
        for number, entry in enumerate(filter(str.strip, variables.get(variable, "").split(",")), 1):
            name, equals, value = entry.partition("=")
            if not equals or not _NAME.fullmatch(name.strip()):
                raise PrerequisiteError(f"{variable}: entry {number} is not a header; write name=value, with commas between entries.")
            found[name.strip().lower()] = checked_credential(variable, unquote(value))
    return found


def send(traces: Iterable[Trace], endpoint: str, *, wait: Callable[[float], None] = time.sleep) -> Sent:
    """Send traces to a collector.

    Args:
        traces: What is sent, episode by episode.
        endpoint: The collector's address.
        wait: Waits for some seconds before a request is tried again.

    Raises:
        PrerequisiteError: The address is wrong, the collector cannot be reached, or it refuses a request.
    """
    import requests

    address, headers = traces_address(endpoint), headers_from_environment()
    hider = Hider((*credentials_in_environment(), *credentials_in_headers(headers.items()), *filter(None, headers.values())))
    sent = Sent(0, 0, 0)
    with requests.Session() as session:
        for batch in _batches(traces):
            body = f'{{"resourceSpans":[{",".join(one.text for one in batch)}]}}'.encode()
            rejected, why = _post(session, address, headers, body, wait, hider)
            spans = sum(one.spans for one in batch)
            sent = Sent(sent.episodes + len(batch), sent.spans + spans, sent.requests + 1, sent.rejected + rejected, sent.why or why)
    return sent


def _batches(traces: Iterable[Trace]) -> Iterator[list[Trace]]:
    batch: list[Trace] = []
    size = 0
    for one in traces:
        if batch and size + len(one.text) > _LARGEST_BODY:
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.text)
    if batch:
        yield batch


def _post(
    session: requests.Session, address: str, headers: Mapping[str, str], body: bytes, wait: Callable[[float], None], hider: Hider
) -> tuple[int, str]:
    """Send one request; return how many spans were rejected, and why."""
    import requests

    given = {**headers, "content-type": "application/json"}
    for number in range(1, _TRIES + 1):
        try:
            # Neither a redirect nor a password file may carry the headers, or replace them.
            with session.post(
                address, data=body, headers=given, timeout=_TIMEOUT_S, allow_redirects=False, stream=True, auth=_as_given
            ) as answer:
                status, text = answer.status_code, _read(answer)
                again = answer.headers.get("retry-after", "")
        except (requests.RequestException, OSError) as err:
            status, text, again = 0, type(err).__name__, ""
        if 200 <= status < 300:
            rejected, why = _rejected(text)
            return rejected, hider.text(why)
        if (status and status not in _RETRIED) or number == _TRIES:
            break
        wait(min(float(again) if again.isdecimal() else 2.0 ** (number - 1), _LONGEST_WAIT_S))
    if not status:
        raise PrerequisiteError(f"--endpoint {address}: cannot be reached ({text}); is a collector for OTLP over HTTP running there?")
    said = " ".join(hider.text(text).split())[:200]
    raise PrerequisiteError(f"--endpoint {address}: the collector answered {status}{f' ({said})' if said else ''}; {_fix(status)}.")


def _as_given(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave a request as it is: with an authentication of its own, it takes none from a password file."""
    return request


def _read(answer: requests.Response) -> str:
    return next(iter(answer.iter_content(_LARGEST_ANSWER)), b"").decode("utf-8", "replace")


def _fix(status: int) -> str:
    if status in {401, 403}:
        return f"give its credentials in {_HEADERS[0]}"
    if status in {404, 405, 301, 302, 307, 308}:
        return "check the address"
    if status == 413:
        return "raise its largest body, or export without --content"
    return "see its log"


def _rejected(text: str) -> tuple[int, str]:
    """Read an answer; one that is not the protocol's rejects nothing."""
    try:
        told: Any = json.loads(text)["partialSuccess"]
        number = int(told.get("rejectedSpans", 0))
        return max(number, 0), " ".join(str(told.get("errorMessage", "")).split())[:200]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return 0, ""
