"""What a page holds, for whoever tests pages: its tags, and its data as a reader's browser reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

from talm_sim.cli.pages import build_index, render_page
from talm_sim.cli.report.layout import Block


class Seen(HTMLParser):
    """The tags of a page with their attributes, and its data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        """The text of each `<script>` and `<style>`, by its id or its tag."""
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inside[self._open] = self.inside.get(self._open, "") + data

    @property
    def index(self) -> dict[str, Any]:
        """The index."""
        found: dict[str, Any] = json.loads(self.inside["index"])
        return found

    @property
    def transcripts(self) -> Any:
        """The transcripts."""
        return json.loads(self.inside["transcripts"])

    @property
    def text(self) -> str:
        """All words of the data, in their order."""
        return " ".join(" ".join(map(str, words_in([self.index, self.transcripts]))).split())


def words_in(value: Any) -> Iterator[Any]:
    """Yield the values in JSON, but for nothing and yes or no."""
    if isinstance(value, dict):
        for item in value.values():
            yield from words_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from words_in(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def page_of(blocks: Sequence[Block]) -> str:
    """Return a page with these tables and no runs."""
    return render_page(build_index([], blocks=blocks), None)
