"""A table of HTML, for a notebook cell's result. Every text is escaped: it may be a model's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

__all__ = ["html_table"]


def html_table(heads: Mapping[str, str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table.

    Args:
        heads: Head of each column, to what it means.
        rows: The cells of each row.
    """
    head = "".join(f'<th title="{escape(meaning)}">{escape(text)}</th>' for text, meaning in heads.items())
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
