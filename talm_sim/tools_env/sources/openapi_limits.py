"""Refuse parts of an OpenAPI document: requests that are not what they seem, and more than can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from talm_sim.common.credentials import names_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import leads_away

_MOST_PARTS = 30_000
"""Most parts of all operations, with references written out: a short document can have endlessly many. GitHub's has 25,300."""
_MOST_PARTS_EACH = 10_000
"""Most parts of one operation."""
_LETTERS = 200
"""Letters of a text in a schema that count as one part."""
_LONGEST_PATH = 2_000
_TRANSPORT_HEADERS = frozenset(
    (
        *("accept", "content-type"),
        *("accept-encoding", "connection", "content-encoding", "content-length", "expect", "http2-settings", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("forwarded", "host", "x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"),
    )
)
"""Headers that are never arguments. OpenAPI says so of the first two and of `Authorization`; the others say how a request is written, or
turn it into another request to another host.
"""


class Reading:
    """A document that is being read, with how many parts all its operations, and the current one, may still take."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = _MOST_PARTS
        self.left_of_one = _MOST_PARTS_EACH
        self._sizes: dict[int, tuple[int, Any]] = {}

    def begin(self) -> None:
        """Start another operation."""
        self.left_of_one = _MOST_PARTS_EACH
        self.spend(1)

    def spend(self, parts: int) -> None:
        """Take a number of further parts."""
        self.left_of_one -= parts
        self.left -= parts
        if self.left < 0:
            raise PrerequisiteError(f"the operations of the document contain more than {_MOST_PARTS:,} parts; choose one tag: ,only=TAG.")
        if self.left_of_one < 0:
            raise PrerequisiteError(f"its schemas contain more than {_MOST_PARTS_EACH:,} parts.")

    def size(self, value: Any) -> int:
        """Return the parts of a value that is copied unchanged; one that many operations refer to is counted once, and added each time."""
        if isinstance(value, str):
            return len(value) // _LETTERS
        if not isinstance(value, list | dict):
            return 0
        if id(value) not in self._sizes:
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            self._sizes[id(value)] = len(value) + sum(map(self.size, inner)), value  # kept, so that no other has its identity
        return self._sizes[id(value)][0]

    @cached_property
    def proofs(self) -> frozenset[tuple[str, str]]:
        """Return where the document's credentials are sent, and under which name, in small letters."""
        components = self.root.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
        found = [one for one in schemes.values() if isinstance(one, Mapping)] if isinstance(schemes, Mapping) else []
        return frozenset((str(one.get("in")), str(one.get("name")).lower()) for one in found if one.get("type") == "apiKey")


def check_path(path: str) -> None:
    """Check that a path stays below the server's address, whoever reads it."""
    if not path.startswith("/") or path.startswith("//"):
        raise PrerequisiteError("its path does not begin with one '/', so it could lead to another host.")
    if len(path) > _LONGEST_PATH or re.search(r"[\s\\?#\x00-\x1f\x7f\ud800-\udfff]", path):
        raise PrerequisiteError(f"its path contains '?', '#', '\\\\' or a space, or is longer than {_LONGEST_PATH:,} characters.")
    if leads_away(path):
        raise PrerequisiteError("its path contains '.' or '..', so it could lead to another path.")


def is_transport(where: str, name: str) -> bool:
    """Return whether a parameter is a header of the transport: one with credentials, or one on how and where a request is sent."""
    if where != "header":
        return False
    if not is_header_name(name):
        raise PrerequisiteError(f"no header can be called '{name}'.")
    return is_reserved(name) or names_credential(name)


def is_reserved(name: str) -> bool:
    """Return whether only the transport may write a header; headers with credentials are not among these."""
    return name.lower() in _TRANSPORT_HEADERS or name.lower().startswith("proxy-")


def is_header_name(name: str) -> bool:
    """Return whether HTTP allows a header of this name."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None
