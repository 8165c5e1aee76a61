"""Show results in a notebook's cell as HTML. Every text is escaped: it may be a model's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

_RENDERERS: list[Callable[[Any], str]] = []


def render_episodes_with(render: Callable[[Any], str]) -> None:
    """Register what renders episodes and transcripts, so that lower layers need not import it."""
    _RENDERERS[:] = [render]


def render_episode(value: Any) -> str | None:
    """Return an episode or a transcript as an element of a page; None if nothing renders them, so that a notebook prints the value."""
    return _RENDERERS[0](value) if _RENDERERS else None


def html_table(heads: Mapping[str, str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table.

    Args:
        heads: Head of each column, to what it means.
        rows: The cells of each row.
    """
    head = "".join(f'<th title="{escape(meaning)}">{escape(text)}</th>' for text, meaning in heads.items())
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
