"""Explain why a request cannot be replayed: the nearest recording, and where it differs first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

from vcr.matchers import get_matchers_results
from vcr.request import Request

from talm_sim.recordings.differences import common_prefix_length, first_difference
from talm_sim.recordings.matching import MATCHERS, canonical_body

__all__ = ["explain_miss"]

_URL_SHOWN = 160


def explain_miss(asked: Request, recorded: Sequence[Request], hide: Callable[[str], str]) -> str:
    """Say in one line which of `recorded` is nearest to `asked`, and where the two differ first.

    Args:
        asked: The request, without secrets.
        recorded: The recorded requests, without secrets.
        hide: Removes secrets from a text: a value of a body may spell in plain letters what was escaped in the body.
    """
    shown = f"{asked.method} {asked.uri[:_URL_SHOWN]}"
    if not recorded:
        return f"{shown} was not recorded; the recording is empty or absent."
    place, failed = _nearest(asked, recorded)
    nearest = recorded[place]
    if not failed:
        times = sum(not get_matchers_results(asked, request, MATCHERS)[1] for request in recorded)
        return f"{shown} was recorded {times} time(s) and requested once more."
    what = "; ".join(f"{name} differs{_difference(name, asked, nearest, hide)}" for name in failed)
    # An address that differs in its query alone is not repeated: the message is printed on few lines, and the difference matters most.
    address = "" if {"query", "body"}.issuperset(failed) else f", {nearest.method} {nearest.uri[:_URL_SHOWN]}"
    return f"{shown} was not recorded. Nearest: number {place + 1:,} of {len(recorded):,}{address} ({what})."


def _nearest(asked: Request, recorded: Sequence[Request]) -> tuple[int, list[str]]:
    """Return the index of the recorded request that fails the fewest matchers and then is the same longest, and what it fails."""
    failures = [[name for name, _ in get_matchers_results(asked, request, MATCHERS)[1]] for request in recorded]
    fewest = min(map(len, failures))
    alike = [place for place, failed in enumerate(failures) if len(failed) == fewest]
    if len(alike) == 1 or not fewest:
        return alike[0], failures[alike[0]]
    wanted = _compared_text(asked)
    place = max(alike, key=lambda one: common_prefix_length(wanted, _compared_text(recorded[one])))
    return place, failures[place]


def _compared_text(request: Request) -> str:
    return f"{request.uri}\n{canonical_body(request.body).decode('utf-8', 'replace')}"


def _difference(name: str, asked: Request, recorded: Request, hide: Callable[[str], str]) -> str:
    """Return where two requests differ in their path, query or body: ` in messages[1].content, at character 3: 'a' against recorded 'b'`."""
    if name not in {"path", "query", "body"}:
        return ""
    one, other = (_part(name, request) for request in (asked, recorded))
    if name == "body" and (isinstance(one, str) or isinstance(other, str)):
        one, other = ((request.body or b"").decode("utf-8", "backslashreplace") for request in (asked, recorded))
    # What a redacted value hides is no difference, unless there is no other one.
    found = first_difference(one, other) or first_difference(one, other, str.__eq__)
    return f" {found.text(hide)}" if found else ""


def _part(name: str, request: Request) -> Any:
    """Return a part of a request as a JSON value; a body that is not JSON is a text."""
    if name == "path":
        return request.path
    if name == "query":
        pairs: dict[str, Any] = {}
        for key, value in parse_qsl(request.parsed_uri.query, keep_blank_values=True):
            pairs.setdefault(key, []).append(value)
        return {key: values[0] if len(values) == 1 else values for key, values in pairs.items()}
    try:
        return json.loads(request.body or b"null")
    except (ValueError, RecursionError):
        return ""
