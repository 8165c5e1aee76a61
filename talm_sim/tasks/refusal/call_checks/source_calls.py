"""Calls written in Java or JavaScript: `[Type.method(name=value, ...)]`, each value the text of its source."""

from __future__ import annotations

import re

from talm_sim.models.parsing import parse_call
from talm_sim.types import ToolCall

__all__ = ["read_source_calls"]

_FENCE = re.compile(r"\A```[a-zA-Z]*\s")
_NAME = re.compile(r"[,;\s]*([A-Za-z_$][\w$.]*)\s*\(\s*")
_ARGUMENT = re.compile(r"\s*([A-Za-z_$][\w$]*)\s*=(?![=>])")
_TOKEN = re.compile(r"""["'`()\[\]{},]""")
_TEXT_ENDS = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*(?:{quote}|\Z)", re.DOTALL) for quote in "\"'`"}
_LITERAL = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def read_source_calls(text: str) -> tuple[ToolCall, ...]:
    """Read an answer that is nothing but calls.

    The quotes of a text or character are removed if it is the whole value; what is between them is kept unchanged, as in BFCL.
    An argument without a name has an empty name.

    Returns:
        The calls; none if the answer is anything else.

    >>> read_source_calls("[Files.open(path='/tmp', sizes=new int[]{1, 2})]")[0].arguments
    {'path': '/tmp', 'sizes': 'new int[]{1, 2}'}
    """
    body = _FENCE.sub("", text.strip(), count=1).strip("` \t\r\n")
    body = body[1:-1] if body.startswith("[") and body.endswith("]") else body
    calls: list[ToolCall] = []
    at = 0
    while opened := _NAME.match(body, at):
        read = _arguments(body, opened.end())
        if read is None:
            return ()
        arguments, at = read
        call = parse_call(f"call-0-{len(calls)}", opened.group(1), arguments)
        if not isinstance(call, ToolCall):
            return ()
        calls.append(call)
    return () if body[at:].strip("; \t\r\n") else tuple(calls)


def _arguments(body: str, start: int) -> tuple[dict[str, str], int] | None:
    """Return arguments by name, and where the call ends; None if it never does, or an argument is given twice."""
    arguments: dict[str, str] = {}
    opened: list[str] = []
    at = start
    while token := _TOKEN.search(body, at):
        at, mark = token.end(), token.group()
        if mark in _TEXT_ENDS:
            ended = _TEXT_ENDS[mark].match(body, at)
            at = ended.end() if ended else at
        elif mark in "([{":
            opened.append(mark)
        elif mark != "," and opened:
            if opened.pop() != _PAIRS[mark]:
                return None
        elif mark == ")" or (mark == "," and not opened and _ARGUMENT.match(body, at)):
            name, value = _argument(body[start : at - 1])
            if name in arguments:
                return None
            if name or value:
                arguments[name] = value
            if mark == ")":
                return arguments, at
            start = at
        elif mark != ",":
            return None
    return None


def _argument(written: str) -> tuple[str, str]:
    named = _ARGUMENT.match(written)
    value = written[named.end() if named else 0 :].strip()
    return named.group(1) if named else "", value[1:-1] if _LITERAL.fullmatch(value) else value
