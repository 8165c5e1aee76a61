"""Refuse parts of an OpenAPI document: requests that are not what they seem."""

from __future__ import annotations

import re

from talm_sim.common.credentials import names_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import leads_away

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
    if where not in ("header", "cookie"):
        return False
    if not is_header_name(name):
        raise PrerequisiteError(f"no {where} can be called '{name}'.")
    return (where == "header" and is_reserved(name)) or names_credential(name)


def is_reserved(name: str) -> bool:
    """Return whether only the transport may write a header; headers with credentials are not among these."""
    return name.lower() in _TRANSPORT_HEADERS or name.lower().startswith("proxy-")


def is_header_name(name: str) -> bool:
    """Return whether HTTP allows a header of this name."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None
