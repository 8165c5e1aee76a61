"""Tool calls in the text of a local model, read: every family writes them in its own way.

Understood are `<tool_call>{...}</tool_call>` (Hermes, Qwen), `<function=NAME>{...}</function>` (Llama 3.1, Functionary), JSON alone: an object
or a list of objects with `name` and `arguments` or `parameters` (Llama 3, xLAM, Mistral), perhaps in a code fence or behind a special token;
`[f(a=1), g()]` (Llama 3.2). A model's mistakes are data: nothing here raises, and text is never evaluated. What is clearly meant as a call but
cannot be read becomes an `UnparsableCall`; anything else is text.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from talm_sim.models.parsing import clean, parse_call
from talm_sim.types import ToolCall, UnparsableCall

__all__ = ["read_tool_calls"]

Found = tuple[str, Any]
"""Name and arguments; arguments that are a string are JSON still to be read."""


class _Unreadable(str):
    """The text of a call that is none."""


_TAGGED = re.compile(r"<tool_call>(?P<body>.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=(?P<name>[^<>\s]+?)>(?P<body>.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL)
_LEAD = re.compile(r"\A\s*(?:<\|python_tag\|>|\[TOOL_CALLS\]|\[AVAILABLE_TOOLS\]|<TOOLCALL>|<functioncall>)\s*")
_TRAIL = re.compile(r"\s*(?:</TOOLCALL>|<\|[a-z_]+\|>|</s>)\s*\Z")
_FENCED = re.compile(r"\A\s*```(?:json|python|tool_call)?\s*\n(?P<body>.*?)\n?\s*```\s*\Z", re.DOTALL)
_NAMED = re.compile(r'"name"\s*:\s*"(?P<name>[^"]*)"')
_JSON_CALL = re.compile(r'\A[\[{]\s*(?:\{\s*)?"(?:name|type|function|tool_calls)"\s*:')
_PYTHON_CALL = re.compile(r"\A\[\s*(?P<name>[A-Za-z_][\w.]*)\s*\(")
_PYTHON_CHARS = 20_000
"""Longer text is no list of calls that a person would have meant, and would only strain Python's parser."""


def read_tool_calls(written: str, turn: int) -> tuple[str, tuple[ToolCall, ...], tuple[UnparsableCall, ...]]:
    """Read the calls in what a model wrote.

    Args:
        written: Without reasoning.
        turn: How many turns the model had before; part of the calls' ids.

    Returns:
        The text without its calls, the calls, and those that could not be read.

    >>> text, calls, _ = read_tool_calls('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', 0)
    >>> calls[0].name, calls[0].arguments
    ('f', {'a': 1})
    """
    text, found = _found(written)
    if not found:
        return written, (), ()
    read = [_read(f"call-{turn}-{number}", name, arguments) for number, (name, arguments) in enumerate(found)]
    calls = tuple(call for call in read if isinstance(call, ToolCall))
    return text.strip(), calls, tuple(call for call in read if isinstance(call, UnparsableCall))


def _read(call_id: str, name: str, arguments: Any) -> ToolCall | UnparsableCall:
    if isinstance(arguments, _Unreadable):
        return UnparsableCall(
            id=call_id, name=clean(name), raw=clean(str(arguments)), reason="not a call: it needs a name and an object of arguments"
        )
    return parse_call(call_id, name, arguments)


def _found(written: str) -> tuple[str, list[Found]]:
    found: list[Found] = []
    text = written
    if "<tool_call>" in text:
        for match in _TAGGED.finditer(text):
            found += _tagged(match["body"])
        text = _TAGGED.sub("", text)
    if "<function=" in text:
        found += [_function(match) for match in _FUNCTION.finditer(text)]
        text = _FUNCTION.sub("", text)
    if not found and (alone := _alone(written)):
        return "", alone
    return text, found


def _tagged(body: str) -> list[Found]:
    inner = _FUNCTION.search(body)
    if inner:
        return [_function(inner)]
    values = _json_values(body.strip()) or []
    read = [_calls_of(value, sure=True) for value in values]
    return [call for calls in read for call in calls] if read and all(read) else [_unreadable(body)]


def _function(match: re.Match[str]) -> Found:
    return match["name"], match["body"].strip()


def _alone(written: str) -> list[Found]:
    """Calls of a text that is nothing but calls."""
    body = _LEAD.sub("", written)
    led = body != written
    body = _TRAIL.sub("", body).strip()
    fenced = _FENCED.match(body)
    if fenced:
        body = fenced["body"].strip()
    if body.startswith(("{", "[")):
        values = _json_values(body)
        if values is not None:
            read = [_calls_of(value, sure=led) for value in values]
            return [call for calls in read for call in calls] if all(read) else []
        if _PYTHON_CALL.match(body):
            return _python_calls(body)
    return [_unreadable(body)] if body and (_JSON_CALL.match(body) or (led and body.startswith(("{", "[")))) else []


def _json_values(text: str) -> list[Any] | None:
    """JSON values one after another, apart by white space, commas or semicolons; None where the text is something else."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    at = 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            while at < len(text) and text[at] in " \t\r\n,;":
                at += 1
    except (ValueError, RecursionError):
        return None
    return values


def _calls_of(value: Any, *, sure: bool) -> list[Found]:
    """The calls a JSON value holds, none where it is something else; `sure` that calls are meant, arguments may be left out."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if not isinstance(value, list):
        value = [value]
    calls = [_call_of(one, sure) for one in value]
    return [call for call in calls if call is not None] if all(calls) else []


def _call_of(value: Any, sure: bool) -> Found | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    for key in ("arguments", "parameters"):
        if key in value:
            return value["name"], {} if value[key] is None else value[key]
    return (value["name"], {}) if sure and len(value) == 1 else None


def _python_calls(text: str) -> list[Found]:
    """Calls in Python's syntax with literal arguments, read from the syntax tree."""
    if len(text) > _PYTHON_CHARS:
        return [_unreadable(text)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
            if not isinstance(tree, ast.List):
                return [_unreadable(text)]
            return [_python_call(node) for node in tree.elts]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return [_unreadable(text)]


def _python_call(node: ast.expr) -> Found:
    if not isinstance(node, ast.Call) or node.args or any(keyword.arg is None for keyword in node.keywords):
        raise ValueError("not a call with named arguments")
    arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return _dotted(node.func), json.dumps(arguments, ensure_ascii=False)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    raise ValueError("not a name")


def _unreadable(body: str) -> Found:
    named = _NAMED.search(body) or _PYTHON_CALL.match(body.strip())
    return (named["name"] if named else "") or "unknown", _Unreadable(body.strip())
