"""What of an OpenAPI document is not taken: requests that are not what they seem, and more than can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from talm_sim.common.credentials import names_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import leads_away

__all__ = ["Reading", "check_path", "is_header_name", "is_reserved", "is_transport"]

_MOST_PARTS = 30_000
"""Parts of all operations, their references written out: a short document can hold one without end. All of GitHub's hold 25,300."""
_MOST_PARTS_EACH = 10_000
"""Parts of one operation."""
_LETTERS = 200
"""Letters of a text in a schema that count as a part."""
_LONGEST_PATH = 2_000
_TRANSPORT_HEADERS = frozenset(
    (
        *("accept", "content-type"),
        *("accept-encoding", "connection", "content-encoding", "content-length", "expect", "http2-settings", "keep-alive"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
        *("forwarded", "host", "x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"),
    )
)
"""Headers that are never arguments. Of the first two OpenAPI says so, as it does of `Authorization`; the others say how a request is written,
or make of it another request to another host."""


class Reading:
    """A document that is being read, and how many parts all its operations, and the one that is read, may still take."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = _MOST_PARTS
        self.left_of_one = _MOST_PARTS_EACH
        self._sizes: dict[int, tuple[int, Any]] = {}

    def begin(self) -> None:
        """Begin with another operation."""
        self.left_of_one = _MOST_PARTS_EACH
        self.spend(1)

    def spend(self, parts: int) -> None:
        """Take so many parts more.

        Raises:
            PrerequisiteError: They are too many.
        """
        self.left_of_one -= parts
        self.left -= parts
        if self.left < 0:
            raise PrerequisiteError(f"the operations of the document contain more than {_MOST_PARTS:,} parts; choose one tag: ,only=TAG.")
        if self.left_of_one < 0:
            raise PrerequisiteError(f"its schemas contain more than {_MOST_PARTS_EACH:,} parts.")

    def size(self, value: Any) -> int:
        """Parts of a value that is copied as it stands; one that many operations refer to is counted once, and added each time."""
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
        """Where the document's credentials travel, and under which name, in small letters."""
        components = self.root.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
        found = [one for one in schemes.values() if isinstance(one, Mapping)] if isinstance(schemes, Mapping) else []
        return frozenset((str(one.get("in")), str(one.get("name")).lower()) for one in found if one.get("type") == "apiKey")


def check_path(path: str) -> None:
    """See that a path stays below the server's address, whoever reads it.

    Raises:
        PrerequisiteError: It does not.
    """
    if not path.startswith("/") or path.startswith("//"):
        raise PrerequisiteError("its path does not begin with one '/', so it could lead to another host.")
    if len(path) > _LONGEST_PATH or re.search(r"[\s\\?#\x00-\x1f\x7f\ud800-\udfff]", path):
        raise PrerequisiteError(f"its path contains '?', '#', '\\\\' or a space, or is longer than {_LONGEST_PATH:,} characters.")
    if leads_away(path):
        raise PrerequisiteError("its path contains '.' or '..', so it could lead to another path.")


def is_transport(where: str, name: str) -> bool:
    """Whether a parameter is a header that is the transport's affair: it proves the sender, or says how a request is written and where it goes.

    Raises:
        PrerequisiteError: It is a header that HTTP does not have.
    """
    if where != "header":
        return False
    if not is_header_name(name):
        raise PrerequisiteError(f"no header can be called '{name}'.")
    return is_reserved(name) or names_credential(name)


def is_reserved(name: str) -> bool:
    """Whether a header is one that nobody but the transport writes; what proves the sender is none of these."""
    return name.lower() in _TRANSPORT_HEADERS or name.lower().startswith("proxy-")


def is_header_name(name: str) -> bool:
    """Whether HTTP takes a header of this name."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None
