"""The HTML of a page: one file that loads nothing. Data is JSON that the page's own script writes as text; nothing in it can act."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Any, Final

from talm_sim.cli.terminal.text import as_json, one_line_text

__all__ = ["data_size", "render_page"]

_SCRIPTS: Final = ("dom.js", "tables.js", "figures.js", "transcript.js", "episodes.js", "pairs.js", "page.js")
"""The parts of the page's script, in the order they are run, within one function."""
_ESCAPES: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Signs that could end or begin a tag; JSON may write them so."""
_TITLE: Final = 120


def render_page(index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]] | None, nonce: str | None = None, live: bool = False) -> str:
    """Return the page as HTML.

    Args:
        index: What `build_index` returned.
        transcripts: Of each run, its transcripts by episode; None if the page has none, or asks for them.
        nonce: Allows script and style in place of their digests.
        live: Whether the page asks its server for transcripts, at `transcript.json?run=PLACE&episode=ID` beside it.
    """
    script, style = _script(live), _style(live)
    allowed = [f"'nonce-{nonce}'"] * 2 if nonce else [_digest(script), _digest(style)]
    policy = (
        f"default-src 'none'; script-src {allowed[0]}; style-src {allowed[1]}; connect-src {chr(39)}{'self' if live else 'none'}{chr(39)}; "
        "base-uri 'none'; form-action 'none'"
    )
    given = f' nonce="{escape(nonce)}"' if nonce else ""
    title = one_line_text(str(index["title"]))
    return _file("page.html").format(
        policy=escape(policy, quote=False).replace('"', "&quot;"),
        title=escape(title if len(title) <= _TITLE else f"{title[:_TITLE]}…"),
        nonce=given,
        style=style,
        script=script,
        mode="live" if live else "file",
        index=_as_data(index),
        transcripts=_as_data(transcripts),
    )


def data_size(value: Any) -> int:
    """Return how many bytes a value takes on a page."""
    return len(_as_data(value).encode("utf-8"))


def _as_data(value: Any) -> str:
    return as_json(value).translate(_ESCAPES)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def _script(live: bool) -> str:
    parts = "\n".join(map(_file, (*_SCRIPTS, *(["live.js"] if live else []))))
    return f"(() => {{\n'use strict'\n{parts}\n}})()"


@cache
def _style(live: bool) -> str:
    return "\n".join(map(_file, ("page.css", *(["live.css"] if live else []))))


@cache
def _file(name: str) -> str:
    return (resources.files("talm_sim.cli.pages") / "static" / name).read_text(encoding="utf-8").strip()
