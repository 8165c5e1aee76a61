"""Read objects in a text as leniently as possible: what is almost JSON, or was cut off, still shows its keys and values.

It is one pass over the text, without recursion: the time is linear in its length, whatever is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Node", "read_objects"]

_TOKEN = re.compile(
    r"""(?P<space>\s++)|(?P<text>"(?>(?:[^"\\]++|\\.)*)(?:"|\Z)|'(?>(?:[^'\\]++|\\.)*)(?:'|\Z))|(?P<mark>[{}\[\],:=])|(?P<word>[^\s{}\[\],:="]++)|(?P<stray>.)""",
    re.DOTALL,
)
_VALUE_FOLLOWS = frozenset("{[,:=")
_MOST_WORDS = 300
"""Characters of words without quotes that are joined into one value."""


@dataclass(slots=True)
class Node:
    """An object, or an array whose items have no keys."""

    start: int
    is_object: bool
    end: int = -1
    """Place after its closing bracket; -1 while it is open, and if it never closes."""
    keys: dict[str, str | Node | None] = field(default_factory=dict)
    """Keys to texts, inner nodes, or None if the value was cut off. Numbers, booleans and null are texts as written, after a `=`."""
    items: list[str | Node] = field(default_factory=list)
    key: str | None = None
    """The key whose value comes next."""
    pending: str | None = None
    """A text that is a key if a colon follows, otherwise an item."""

    @property
    def closed(self) -> bool:
        """Whether its closing bracket was found."""
        return self.end >= 0

    def add_value(self, value: str | Node) -> None:
        """Add a value that was read."""
        if self.key is not None:
            self.keys.setdefault(self.key, value)
            self.key = None
        else:
            self.items.append(value)

    def settle(self) -> None:
        """Settle the text that was waiting for a colon, and mark a key that waits for its value as cut off."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            self.add_value(pending)
        if self.key is not None:
            self.keys.setdefault(self.key, None)
            self.key = None


def read_objects(text: str) -> Iterator[list[Node]]:
    """Yield the outermost objects in `text`, each followed by all objects within it, in the order in which they open."""
    place = text.find("{")
    while place >= 0:
        nodes, end = _read_outermost(text, place)
        yield nodes
        place = text.find("{", end)


def _read_outermost(text: str, place: int) -> tuple[list[Node], int]:
    """Read from an opening brace to the bracket that closes it, or to the end of the text."""
    found: list[Node] = []
    stack: list[Node] = []
    open_objects = 0
    last = ""
    while place < len(text):
        kind, written, place = _token(text, place, last)
        if kind == "space":
            continue
        last = written if kind == "mark" else ""
        if last and last in "{[":
            node = _open(stack, place - 1, last == "{")
            open_objects += node.is_object
            if node.is_object:
                found.append(node)
        elif last and last in "}]":
            open_objects -= _close(stack, last == "}", open_objects, place)
            if not stack:
                return found, place
        elif last:
            _read_separator(stack[-1], last)
        else:
            _read_value(stack[-1], written, kind)
    for node in stack:
        node.settle()
    return found, place


def _token(text: str, place: int, last: str) -> tuple[str, str, int]:
    """Return the kind of the next token, the token, and where it ends. A single quote opens a text only where a value may be."""
    token = _TOKEN.match(text, place)
    assert token is not None
    if token.lastgroup == "text" and text[place] == "'" and last not in _VALUE_FOLLOWS:
        return "word", "'", place + 1
    return token.lastgroup or "", token.group(), token.end()


def _open(stack: list[Node], start: int, is_object: bool) -> Node:
    node = Node(start, is_object)
    if stack:
        stack[-1].pending = None
        stack[-1].add_value(node)
    stack.append(node)
    return node


def _close(stack: list[Node], is_object: bool, open_objects: int, end: int) -> int:
    """Close the innermost node of this kind and all within it; return those. A bracket that closes nothing is skipped."""
    if (open_objects == 0) if is_object else (len(stack) == open_objects):
        return 0
    closed = 0
    while True:
        node = stack.pop()
        node.settle()
        closed += node.is_object
        if node.is_object == is_object:
            node.end = end
            return closed


def _read_separator(node: Node, mark: str) -> None:
    if mark == ",":
        node.settle()
    elif node.key is None and node.pending is not None:
        node.key, node.pending = node.pending.removeprefix("=").strip().lower(), None


def _read_value(node: Node, written: str, kind: str) -> None:
    quoted = kind == "text"
    value = written[1:].removesuffix(written[0]) if quoted else written
    if quoted and node.pending is not None:
        node.settle()  # a comma is missing, or a comment precedes the key
    if node.pending is None:
        node.pending = value if quoted else f"={value}"
    elif len(node.pending) < _MOST_WORDS:
        node.pending += f" {value}"
