"""Read a file of traces, in whichever form: OTLP/JSON, LangChain messages, or chat messages; as one document or one per line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.traces.conversation import Trace
from talm_sim.runs.traces.messages import is_message, read_trace
from talm_sim.runs.traces.spans import SpanReader
from talm_sim.scenarios.jsonl import COMMENT, parse

__all__ = ["TraceFile", "read_traces"]

_GIVE = "give OTLP/JSON spans, LangChain messages or chat messages"
_OTHER_SIGNALS = {"resourceLogs": "logs", "resourceMetrics": "metrics", "resourceProfiles": "profiles"}


@dataclass(slots=True)
class TraceFile:
    """What a file holds.

    Attributes:
        traces: Its traces, in order.
        unread: How many spans, or documents of another signal, are not read, by kind.
        silent: Places of traces whose spans contain no messages, so that nothing can be judged.
    """

    traces: list[Trace]
    unread: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)


def read_traces(file: Path) -> TraceFile:
    """Read a file's traces; credentials are hidden in all that is read.

    Raises:
        PrerequisiteError: It cannot be read, or something in it is neither a span nor a message; the message names the line or the span.
    """
    hide = Hider(credentials_in_environment())
    spans, found, unread = SpanReader(), list[Trace](), Counter[str]()
    for where, raw in _documents(file):
        value = hide.value(raw)
        if isinstance(value, dict) and ("resourceSpans" in value or "scopeSpans" in value):
            spans.add(value, where)
        elif isinstance(value, dict) and (signals := _OTHER_SIGNALS.keys() & value.keys()):
            unread.update(_OTHER_SIGNALS[signal] for signal in signals)
        else:
            found += [read_trace(one, place) for one, place in _listed(value, where)]
    found += list(spans.traces())
    if not found:
        if spans.silent:
            hint = "let the agent's instrumentation capture content (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
            raise PrerequisiteError(
                f"{spans.silent[0]}: no span contains a message, as in all {len(spans.silent):,} traces of the file; {hint}."
            )
        raise PrerequisiteError(f"{file}: contains no trace; {_GIVE}.")
    return TraceFile(found, unread + spans.unread, spans.silent)


def _listed(value: Any, where: str) -> Iterator[tuple[Any, str]]:
    """Yield each trace in a document: a list of messages is one, a list of anything else one per entry."""
    if isinstance(value, list) and not any(map(is_message, value)):
        for number, one in enumerate(value, 1):
            yield one, f"{where}, entry {number}"
    else:
        yield value, where


def _documents(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values of a file, each with its place: one per line if the first line is a value, else the whole file."""
    lines = _lines(file)
    if not lines:
        raise PrerequisiteError(f"{file}: is empty; {_GIVE}.")
    try:
        parse(lines[0][1])
    except ValueError as err:
        if len(lines) == 1:
            raise PrerequisiteError(f"{lines[0][0]}: not JSON ({err}).") from None
        yield str(file), _whole(file, "\n".join(line for _, line in lines), [where for where, _ in lines])
        return
    for where, line in lines:
        try:
            yield where, parse(line)
        except ValueError as err:
            raise PrerequisiteError(f"{where}: not JSON ({err}); write one trace per line.") from None


def _lines(file: Path) -> list[tuple[str, str]]:
    """Return the lines that are not blank, each with its place."""
    try:
        text = read_text(file, LARGEST_DATA, "utf-8-sig")
    except OSError as err:
        raise PrerequisiteError(f"{file}: cannot be read: {err.strerror}; {_GIVE}.") from None
    except UnicodeDecodeError as err:
        raise PrerequisiteError(f"{file}:{err.object.count(10, 0, err.start) + 1}: is not UTF-8 text; save the file as UTF-8.") from None
    lines = enumerate(text.split("\n"), 1)
    return [(f"{file}:{number}", line) for number, line in lines if line.strip() and not line.lstrip().startswith(COMMENT)]


def _whole(file: Path, text: str, places: list[str]) -> Any:
    try:
        return parse(text)
    except ValueError as err:
        try:
            json.loads(text)
        except json.JSONDecodeError as fault:
            raise PrerequisiteError(f"{places[min(fault.lineno, len(places)) - 1]}: not JSON ({err}).") from None
        except (ValueError, RecursionError):
            pass
        raise PrerequisiteError(f"{file}: not JSON ({err}).") from None
