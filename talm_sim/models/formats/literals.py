"""Write values as JSON and Python do, without changing them, and read them without ever evaluating them.

Reading is lenient about what models mix up: `true` and `True`, quotes of both kinds, commas at the end, raw line breaks in a string. It is one
pass over the text, whatever the text holds.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from talm_sim.models.parsing import MOST_DEEP

_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s*+")
_STRING = re.compile(  # not (...)*+, which Python 3.11 before 3.11.5 matches wrongly
    r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)"""' r"|'''(?>(?:[^'\\]++|\\.|'(?!''))*)'''" r'|"(?>(?:[^"\\]++|\\.)*)"' r"|'(?>(?:[^'\\]++|\\.)*)'",
    re.DOTALL,
)
_PREFIXED = re.compile(r"(?i:[ur])(?=[\"'])")
_NUMBER = re.compile(
    r"[+-]?[ \t]*+(?:0[xX][0-9a-fA-F]++|0[oO][0-7]++|0[bB][01]++|\d(?>(?:_?\d)*)(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.])"
)
_WORD = re.compile(r"[A-Za-z_]\w*+")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_NONFINITE = {"NaN": float("nan"), "Infinity": float("inf")}
_ESCAPE = re.compile(r"\\(N\{[A-Za-z0-9 -]{1,100}\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": "", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_PLAIN = re.compile(r"""[^\[\](){}"',]++""")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_LONGEST_NUMBER = 400
"""Digits of a number; no tool takes longer ones, and Python refuses to print the longest."""
_LONGEST_EXPRESSION = 500
"""Characters of an expression; a longer bare word, sum or call is not meant as an argument's value."""
_WINDOW = 4096
"""Characters that are decoded at first: an error counts the lines before it, which takes very long in a long text with many errors."""
_TOKEN = 20
"""Characters within which an error may come from where a part was cut off."""
_DECODER = json.JSONDecoder(strict=False)


class BrokenError(ValueError):
    """The text is not such a value; `at` is how far it was read, or its length if it ends too early."""

    def __init__(self, at: int) -> None:
        super().__init__(f"cannot be read at character {at}")
        self.at = at


def json_text(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> str:
    r"""Write JSON as chat templates expect of `tojson`: neither HTML nor, unless asked, ASCII escapes.

    >>> json_text({"city": "Zürich", "sign": "<"})
    '{"city": "Zürich", "sign": "<"}'
    """
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys, default=default)
    # Half a surrogate pair has no UTF-8 form: no tokenizer takes it.
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def python_text(value: Any) -> str:
    """Write a Python literal; a string is in double quotes.

    >>> python_text("x"), python_text(True), python_text(["a", None])
    ('"x"', 'True', "['a', None]")
    """
    return json_text(value) if isinstance(value, str) else repr(value)


def read_json(text: str, at: int) -> tuple[Any, int]:
    """Read the JSON value that begins at `at`, or one in Python's spelling; return it, and where it ends."""
    size = _WINDOW
    while True:
        part, last = text[at : at + size], at + size >= len(text)
        try:
            value, end = _DECODER.raw_decode(part)
            if last or end < len(part):
                return value, at + end
        except RecursionError:
            raise BrokenError(len(text)) from None
        except json.JSONDecodeError as err:
            if last or not (err.msg.startswith("Unterminated") or err.pos > len(part) - _TOKEN):
                return _literal(text, at, MOST_DEEP + 2)
        except ValueError:  # a number of too many digits
            return _literal(text, at, MOST_DEEP + 2)
        size *= 8


def read_whole(text: str) -> Any:
    """Read a text that is one value and nothing else."""
    value, end = read_json(text, skip_space(text, 0))
    if skip_space(text, end) != len(text):
        raise BrokenError(end)
    return value


def read_expression(text: str, at: int) -> tuple[Any, int]:
    """Read an argument's value in Python's syntax up to the comma or bracket after it.

    Anything but a literal is taken as text: a bare word, a sum, even a call.
    """
    try:
        value, end = _literal(text, at, MOST_DEEP + 2, python=True)
        if text[(ahead := skip_space(text, end)) : ahead + 1] in (",", ")", "]", "}"):
            return value, ahead
    except BrokenError as err:
        if err.at >= len(text):
            raise
    end = _expression_end(text, at)
    if not (source := text[at:end].strip()):
        raise BrokenError(end)
    return source, end


def skip_space(text: str, at: int) -> int:
    """Return the place of the next character that is not white space."""
    if not text[at : at + 1].isspace():  # most often: a search takes three times as long
        return at
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _literal(text: str, at: int, deep: int, *, python: bool = False) -> tuple[Any, int]:
    """Read a value; only `python` has prefixes of texts, and adjacent texts that are one."""
    if not deep or at >= len(text):
        raise BrokenError(len(text))
    first = text[at]
    if first in "\"'" or (python and _PREFIXED.match(text, at)):
        return _texts(text, at) if python else _text(text, at)
    if first in _CLOSING:
        return (_read_mapping if first == "{" else _sequence)(text, at, deep - 1, python)
    if found := _NUMBER.match(text, at):
        return _number(found[0], at), found.end()
    if (found := _WORD.match(text, at)) and found[0] in _WORDS:
        return _WORDS[found[0]], found.end()
    if found and found[0] in _NONFINITE:
        return _NONFINITE[found[0]], found.end()
    raise BrokenError(found.end() if found else at)


def _texts(text: str, at: int) -> tuple[str, int]:
    """Read texts with nothing but space between them, which Python takes as one."""
    parts = []
    while True:
        prefix = _PREFIXED.match(text, at)
        part, end = _text(text, at + bool(prefix), raw=bool(prefix) and text[at] in "rR")
        parts.append(part)
        at = skip_space(text, end)
        if text[at : at + 1] not in ('"', "'") and not _PREFIXED.match(text, at):
            return "".join(parts), end


def _text(text: str, at: int, *, raw: bool = False) -> tuple[str, int]:
    if (found := _STRING.match(text, at)) is None:
        raise BrokenError(len(text))
    return _unescaped(found[0], raw), found.end()


def _number(written: str, at: int) -> float:
    if len(written) > _LONGEST_NUMBER:
        raise BrokenError(at + len(written))
    digits = "".join(written.split())
    if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b"):
        return int(digits, 0)
    return float(digits) if any(mark in digits for mark in ".eE") else int(digits)


def _sequence(text: str, at: int, deep: int, python: bool) -> tuple[Any, int]:
    """Read a list, a tuple (as a list), or a value in parentheses."""
    closing, values, commas = _CLOSING[text[at]], [], 0
    at = skip_space(text, at + 1)
    while text[at : at + 1] != closing:
        value, at = _literal(text, at, deep, python=python)
        values.append(value)
        at, more = _after_value(text, at, closing)
        commas += more
    alone = closing == ")" and len(values) == 1 and not commas
    return (values[0] if alone else values), at + 1


def _read_mapping(text: str, at: int, deep: int, python: bool) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    at = skip_space(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = _literal(text, at, deep, python=python)
        at = skip_space(text, at)
        if isinstance(key, dict | list) or text[at : at + 1] != ":":
            raise BrokenError(at)
        values[key if isinstance(key, str) else json.dumps(key)], at = _literal(text, skip_space(text, at + 1), deep, python=python)
        at, _ = _after_value(text, at, "}")
    return values, at + 1


def _after_value(text: str, at: int, closing: str) -> tuple[int, bool]:
    """Return the place after a value's comma, or of the closing bracket; and whether there was a comma."""
    at = skip_space(text, at)
    comma = text[at : at + 1] == ","
    at = skip_space(text, at + 1) if comma else at
    if at >= len(text) or not (comma or text[at] == closing):
        raise BrokenError(at)
    return at, comma


def _unescaped(written: str, raw: bool = False) -> str:
    size = 3 if len(written) >= 6 and written[:3] == written[0] * 3 else 1
    body = written[size:-size]
    if raw or "\\" not in body:
        return body
    text = _ESCAPE.sub(lambda found: _character(found[1]), body)
    # Two halves of a pair that were escaped one by one are one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if _SURROGATES.search(text) else text


def _character(escape: str) -> str:
    if escape[0] == "N" and len(escape) > 1:
        try:
            return unicodedata.lookup(escape[2:-1])
        except KeyError:
            return "\\" + escape
    if escape[0] in "xuU" and len(escape) > 1:
        number = int(escape[1:], 16)
        return chr(number) if number < 0x110000 else "\\" + escape
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ESCAPED.get(escape, "\\" + escape)


def _expression_end(text: str, at: int) -> int:
    """Return where a source text ends, before a comma or a bracket that it did not open."""
    opened: list[str] = []
    longest = at + _LONGEST_EXPRESSION
    while at < len(text):
        if at > longest:
            raise BrokenError(at)
        mark = text[at]
        found = _PLAIN.match(text, at) or (_STRING.match(text, at) if mark in "\"'" else None)
        if found:
            at = found.end()
            continue
        if mark in _CLOSING:
            opened.append(_CLOSING[mark])
        elif mark == "," and not opened:
            return at
        elif mark in ")]}":
            if not opened:
                return at
            if opened.pop() != mark:
                raise BrokenError(at)
        elif mark != ",":
            raise BrokenError(len(text))
        at += 1
    raise BrokenError(len(text))
