"""Find attempts in JSON and what is almost JSON: a name with arguments, or another shape that names a shown tool in place of a call.

Objects are read as leniently as possible: what is almost JSON, or was cut off, still shows its keys and values. It is one pass over the text,
without recursion: the time is linear in its length, whatever is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from talm_sim.tasks.refusal.attempts.answer_text import SENTENCE_ENDS, Attempt, Parameters, Rule, ShownAnswer, is_placeholder

_NAMES = (
    "name",
    "function",
    "tool",
    "tool_name",
    "function_name",
    "func",
    "api",
    "api_name",
    "action",
    "call",
    "recipient_name",
    "function_call",
)
_ARGUMENTS = ("arguments", "parameters", "args", "kwargs", "params", "action_input", "tool_input", "input", "inputs", "argument", "parameter")
_ONLY_CALLS = frozenset({"arguments", "parameters", "args", "kwargs", "action_input", "tool_input"})
"""Keys that count beside a name of any tool; the others count only beside the name of a shown one, or over an object."""
_BESIDE = frozenset({"id", "type", "index", "call_id", "status"})
_IDENTIFIER = re.compile(r"[^\W\d][\w.:/-]{0,255}")
_TELLING = frozenset((*_NAMES, *_ARGUMENTS))
"""Keys without which an inner object is not an attempt, unless a tool's name is a key."""
_MOST_VALUES = 100
"""Values of a call that are checked for being placeholders."""
_JOINING = " \t`*_\"'[(:,=->"
"""What may be between a name and the object after it."""
_BEHIND_SENTENCE = re.compile(r"[.!?:]\s*([^\W\d][\w/-]{0,255})[ \t]*\Z")
"""A name at the end of a line, after a whole sentence."""
_NO_VALUE = frozenset({"", "=null", "=none"})
"""Values that name nothing; unlike a text that says none, which a system would look up."""
_TOKEN = re.compile(
    r"""(?P<space>\s++)|(?P<text>"(?>(?:[^"\\]++|\\.)*)(?:"|\Z)|'(?>(?:[^'\\]++|\\.)*)(?:'|\Z))|(?P<mark>[{}\[\],:=])|(?P<word>[^\s{}\[\],:="]++)|(?P<stray>.)""",
    re.DOTALL,
)
_VALUE_FOLLOWS = frozenset("{[,:=")
_MOST_WORDS = 300
"""Characters of words without quotes that are joined into one value."""


def find_object(answer: ShownAnswer) -> Attempt | None:
    """Return the first attempt by the rules `pair` and `shape`."""
    if "{" not in answer.text:
        return None
    for nodes in read_objects(answer.text):
        outermost = nodes[0]
        for node in nodes:
            if node is not outermost and _TELLING.isdisjoint(node.keys) and not any(map(answer.shown.keyed, node.keys)):
                continue
            rule: Rule | None = "pair" if _is_pair(answer, node) else "shape" if _is_shape(answer, node, node is outermost) else None
            if rule and _is_talk(answer, outermost):
                break
            if rule:
                return answer.attempt(rule, node.start, _node_end(answer, node))
    return None


def _node_end(answer: ShownAnswer, node: _Node) -> int:
    return node.end if node.closed else len(answer.text)


def _is_pair(answer: ShownAnswer, node: _Node) -> bool:
    """Return whether a name is beside arguments, and the object is not a specification."""
    name = _name_of(answer, node)
    key = next((one for one in _ARGUMENTS if one in node.keys), "")
    if not name or not key or "description" in node.keys:
        return False
    if isinstance(given := node.keys[key], _Node):
        return not _is_schema(given) and not _all_placeholders(given)
    return key in _ONLY_CALLS or name in answer.shown


def _name_of(answer: ShownAnswer, node: _Node) -> str:
    """Return the name that is called in this place; empty if it is not a tool's name."""
    for key in _NAMES:
        if isinstance(value := node.keys.get(key), str) and value.strip().lower() not in _NO_VALUE:
            name = value.removeprefix("=").strip()
            return name if _IDENTIFIER.fullmatch(name) or name in answer.shown else ""
    return ""


def _is_shape(answer: ShownAnswer, node: _Node, is_outermost: bool) -> bool:
    """Return whether an object without a name beside arguments still names a shown tool where a call would, or is its arguments."""
    if not answer.shown.by_name or "description" in node.keys:
        return False
    if any(_is_keyed(name, value, answer) for name, value in node.keys.items()) or (is_outermost and _is_behind_name(answer, node)):
        return True
    key = next((one for one in _NAMES if isinstance(node.keys.get(one), str)), "")
    named = answer.shown.get(_name_of(answer, node)) if key else None
    if named is not None:
        others = node.keys.keys() - {key} - _BESIDE
        return all(other in _lower_names(named) for other in others) and not (node.items and not others)
    if not is_outermost:
        return False
    start, end = answer.body_span
    return (
        node.start == start and _node_end(answer, node) >= end and any(_is_arguments_of(tool, node) for tool in answer.shown.by_name.values())
    )


def _is_keyed(name: str, value: str | _Node | None, answer: ShownAnswer) -> bool:
    """Return whether the object has the form `{"get_weather": {"city": "Hanoi"}}`."""
    tool = answer.shown.keyed(name)
    if tool is None or not isinstance(value, _Node) or not value.is_object or _is_schema(value) or "description" in value.keys:
        return False
    return not value.keys or (not _all_placeholders(value) and any(key in _lower_names(tool) for key in value.keys))


def _is_behind_name(answer: ShownAnswer, node: _Node) -> bool:
    """Return whether the form is `get_weather {"city": "Hanoi"}`: only a shown tool's name, or a sentence and the name, precedes it."""
    before = answer.text_before(node.start)
    if not before.strip(_JOINING) and node.start > len(before):
        before = answer.text_before(node.start - len(before) - 1)
    last = _BEHIND_SENTENCE.search(before)
    tool = answer.shown.get(before.strip(_JOINING)) or (answer.shown.get(last[1]) if last else None)
    return tool is not None and not _is_schema(node) and not _all_placeholders(node) and _lower_names(tool) >= node.keys.keys()


def _is_arguments_of(tool: Parameters, node: _Node) -> bool:
    """Return whether an object is nothing but arguments of a tool, including all required ones."""
    required = {name.lower() for name in tool.required}
    return bool(node.keys) and _lower_names(tool) >= node.keys.keys() >= required and not _is_schema(node) and not _all_placeholders(node)


def _lower_names(tool: Parameters) -> frozenset[str]:
    return frozenset(name.lower() for name in tool.all)


def _is_schema(node: _Node) -> bool:
    """Return whether arguments describe parameters and give no value."""
    kind = node.keys.get("type")
    if isinstance(node.keys.get("properties"), _Node) or (isinstance(kind, str) and kind in {"object", "dict"}):
        return True
    inner = list(node.keys.values())
    return bool(inner) and all(
        isinstance(one, _Node)
        and one.is_object
        and bool(one.keys.keys() & {"type", "description"})
        and not one.keys.keys() & {"value", "values"}
        for one in inner
    )


def _all_placeholders(node: _Node) -> bool:
    values = list(islice(_leaf_texts(node), _MOST_VALUES))
    return bool(values) and all(is_placeholder(value) for value in values)


def _leaf_texts(node: _Node) -> Iterator[str]:
    """Yield texts in a node, without recursion, as it may be nested endlessly."""
    waiting: list[str | _Node | None] = [node]
    while waiting:
        if isinstance(one := waiting.pop(), _Node):
            waiting.extend((*one.keys.values(), *one.items))
        elif isinstance(one, str):
            yield one.removeprefix("=")


def _is_talk(answer: ShownAnswer, outermost: _Node) -> bool:
    """Return whether an object is inside a sentence that continues after it, is introduced as an example, or belongs to a program."""
    if answer.in_program(outermost.start):
        return True
    before = answer.text_before(outermost.start).rstrip(" \t`*_\"'[(")
    after = answer.text_after(outermost.end) if outermost.closed else ""
    goes_on = bool(re.search(r"\w", after)) and bool(re.search(r"\w", before)) and before[-1] not in f"{SENTENCE_ENDS}>="
    return goes_on or answer.is_example(outermost.start)


@dataclass(slots=True)
class _Node:
    """An object, or an array whose items have no keys."""

    start: int
    is_object: bool
    end: int = -1
    """Place after its closing bracket; -1 while it is open, and if it never closes."""
    keys: dict[str, str | _Node | None] = field(default_factory=dict)
    """Keys to texts, inner nodes, or None if the value was cut off. Numbers, booleans and null are texts as written, after a `=`."""
    items: list[str | _Node] = field(default_factory=list)
    key: str | None = None
    """The key whose value comes next."""
    pending: str | None = None
    """A text that is a key if a colon follows, otherwise an item."""

    @property
    def closed(self) -> bool:
        """Whether its closing bracket was found."""
        return self.end >= 0

    def add_value(self, value: str | _Node) -> None:
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


def read_objects(text: str) -> Iterator[list[_Node]]:
    """Yield the outermost objects in `text`, each followed by all objects within it, in the order in which they open."""
    place = text.find("{")
    while place >= 0:
        nodes, end = _read_outermost(text, place)
        yield nodes
        place = text.find("{", end)


def _read_outermost(text: str, place: int) -> tuple[list[_Node], int]:
    """Read from an opening brace to the bracket that closes it, or to the end of the text."""
    found: list[_Node] = []
    stack: list[_Node] = []
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


def _open(stack: list[_Node], start: int, is_object: bool) -> _Node:
    node = _Node(start, is_object)
    if stack:
        stack[-1].pending = None
        stack[-1].add_value(node)
    stack.append(node)
    return node


def _close(stack: list[_Node], is_object: bool, open_objects: int, end: int) -> int:
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


def _read_separator(node: _Node, mark: str) -> None:
    if mark == ",":
        node.settle()
    elif node.key is None and node.pending is not None:
        node.key, node.pending = node.pending.removeprefix("=").strip().lower(), None


def _read_value(node: _Node, written: str, kind: str) -> None:
    quoted = kind == "text"
    value = written[1:].removesuffix(written[0]) if quoted else written
    if quoted and node.pending is not None:
        node.settle()  # a comma is missing, or a comment precedes the key
    if node.pending is None:
        node.pending = value if quoted else f"={value}"
    elif len(node.pending) < _MOST_WORDS:
        node.pending += f" {value}"
