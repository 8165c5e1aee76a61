"""One HTTP exchange in the form that recordings have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FAULT_HEADER = "talm-sim-fault"
"""Header of a response that says why it could not be taken as it came."""
STATE_HEADER = "talm-sim-state"
"""Header with the digests of the state of the episode's own tools before and after the call."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to a logical host: recordings contain no real address."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response whose body is decoded, so that no gzip is left."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
