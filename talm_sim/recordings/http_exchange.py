"""One HTTP exchange in the form that recordings have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FAULT_HEADER = "talm-sim-fault"
"""Header of a response that says why it could not be taken as it came."""
STATE_HEADER = "talm-sim-state"
"""Header with the digests of the state of the episode's own tools before and after the call."""
PLAIN_HEADER = "talm-sim-plain"
"""Header of a result that is a text, which is the body as it stands, though the body is JSON."""
TEXT_HEADER = "talm-sim-text"
"""Header with the text, as JSON, that LangChain writes of a result that is no JSON value."""
WORDED_HEADER = "talm-sim-worded"
"""Header of a result in which a LangChain tool has put its failure into words itself."""
ARTIFACT_HEADER = "talm-sim-artifact"
"""Header with the artifact, as JSON, of a LangChain tool that returns one beside its content."""
OWN_HEADERS = frozenset({ARTIFACT_HEADER, FAULT_HEADER, PLAIN_HEADER, STATE_HEADER, TEXT_HEADER, WORDED_HEADER})
"""Headers of ours, which a recording keeps."""


class Returned(NamedTuple):
    """What a tool that runs in this process returned."""

    value: Any
    artifact: Any = None
    failed: bool = False
    """Whether the tool has put a failure into words itself."""


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
    live: Returned | BaseException | None = field(default=None, compare=False, repr=False)
    """What the tool itself returned or raised, if it ran in this process; a recording does not have it."""

    def header(self, name: str) -> str:
        """Return a header of ours; empty where there is none."""
        return next((value for one, value in self.headers if one.lower() == name), "")
