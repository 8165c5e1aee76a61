"""Readers of calls, one for each way in which they begin; a text may have several, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from talm_sim.models.formats.base import ParsedCall, Piece
from talm_sim.models.formats.families import OPENINGS
from talm_sim.models.formats.literals import BrokenError, read_json, skip_space
from talm_sim.models.formats.python_calls import BARE_CALL, CALL_LIST, read_bare, read_list
from talm_sim.models.formats.shown import ShownParameters

_TAG_FORMS = {
    "<|tool_call|>": "phi",
    "<TOOLCALL>": "nemotron",
    "<toolcall>": "nemotron4",
    "<|tool_call_start|>": "lfm2",
    "<functioncall>": "hermes",
}
_OF = r"(?:[a-z]{1,20}[:_])?"
"""A family's name before its tags: LongCat's, Seed's."""
_TAG = rf"<\|?(?i:{_OF}tool_?calls?)(?>(?:_start|_begin)?)\|?>|<functioncall>"
CLOSING = re.compile(rf"</(?i:{_OF}tool_?calls?|functioncall|function)>|<\|/tool_?calls?\|>|<\|tool_?calls?_end\|>|<\|python_end\|>")
"""Tags that end calls."""
_TAG_STOP = re.compile(rf"{CLOSING.pattern}|{_TAG}")
_FUNCTION = re.compile(r"<function=(?P<name>[^<>\s]++)>")
_FUNCTION_STOP = re.compile(r"</function>|</tool_call>|<tool_call>|<function=")
_PARAMETER = re.compile(r"\s*+<parameter=(?P<key>[^<>\n]++)>")
_PARAMETER_END = re.compile(r"</parameter>(?=\s*+(?:<parameter=|</function>|</tool_call>|\Z))|<parameter=|<function=|</function>|</tool_call>")
_PARAMETERS_END = re.compile(r"\s*+(?:</function>|(?=</tool_call>))")
_PAIRS = re.compile(
    r"\s*+(?!(?i:null|none)\s*+</tool_call>)(?P<name>[^\W\d][^\s<>{}\[\]()\"']*+)\s*+(?=<(?:longcat_)?arg_key>|</(?:longcat_)?tool_call>)"
)
_LONGCAT = "(?:longcat_)?"
_PAIR = re.compile(rf"\s*+<{_LONGCAT}arg_key>(?P<key>[^<>]*+)</{_LONGCAT}arg_key>\s*+<{_LONGCAT}arg_value>")
_PAIR_END = re.compile(
    rf"(?P<end></{_LONGCAT}arg_value>)(?=\s*+(?:<{_LONGCAT}arg_key>|</{_LONGCAT}tool_call>|\Z))|<{_LONGCAT}arg_key>|</?{_LONGCAT}tool_call>"
)
_PAIRS_END = re.compile(rf"\s*+</{_LONGCAT}tool_call>")
_FENCE = re.compile(r"\s*+```\w*+\s*+")
_FENCE_END = re.compile(r"\s*+```")
_ENDS = re.compile(r"\s*+(?>(?:```\s*+)?)(?:\Z|</s>|<\||\[TOOL_CALLS\]|```)")
_MISTRAL = re.compile(r"\s*+(?P<name>[^\s\[\]{}\"]++)\s*+(?>(?:\[CALL_ID\][^\[\]]*+)?)(?>(?:\[ARGS\])?)\s*+(?=\{)")
_LED_STOP = re.compile(r"```|\[TOOL_CALLS\]|<\|python_(?:tag|start|end)\|>")
_NAMED = re.compile(r"[\"']name[\"']\s*+:\s*+[\"']([^\"']*+)[\"']")
_KEYWORD = re.compile(r"\s*+[\w$@][\w.$@-]*+\s*+=(?!=)")
_LIST_BEHIND = re.compile(rf"[ \t,;]*+{CALL_LIST.pattern}")
_LINE_ENDS = re.compile(r"[ \t]*+(?:$|```|<\||</)", re.MULTILINE)
_FENCED_BEFORE = re.compile(r"```\w*+\s*+\Z")
_FENCE_CHARS = 20
_Q = "[\"']"
_JSON_CALL = rf"[\[{{]\s*+(?>(?:\{{\s*+)?){_Q}(?:name|type|function|tool_calls|arguments|parameters|id){_Q}\s*+:"
"""The beginning of a value that may be a call, as the source of a regular expression."""
_MEANT = re.compile(
    rf"[\[{{]\s*+(?>(?:\{{\s*+)?){_Q}(?:tool_calls{_Q}\s*+:\s*+\[\s*+\{{"
    rf"|(?>(?:type{_Q}\s*+:\s*+{_Q}function{_Q}\s*+,\s*+{_Q})?)(?>(?:function{_Q}\s*+:\s*+\{{\s*+{_Q})?)name{_Q}\s*+:\s*+{_Q}[^\"'\n]{{1,256}}+"
    rf"(?:{_Q}\s*+,\s*+{_Q}(?:arguments|parameters|args){_Q}|(?>(?:{_Q}\s*+(?>(?:,\s*+(?>(?:{_Q}\w*+)?))?))?)\Z))"
)
"""The beginning of a value that is meant as a call, however it ends; one that ends with the name counts as one."""
_ARGUMENTS = ("arguments", "parameters", "args")


def _calls_of(value: Any, *, tagged: bool) -> list[ParsedCall]:
    """Return the calls in a JSON value; none if it is something else.

    Args:
        value: An object with `name` and `arguments` or `parameters`, perhaps inside `function`; a list of such; or a list as `tool_calls`.
        tagged: Whether its surroundings say that it is a call: then arguments may be left out, and a tool's specification is a bad call.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = [_call_of(one, tagged) for one in (value if isinstance(value, list) else [value])]
    found = [call for call in calls if call is not None]
    return found if len(found) == len(calls) else []


def _form_of(value: Any) -> str:
    """Return the name of the format that writes such a value."""
    if isinstance(value, list):
        return "xlam"
    if "tool_calls" in value:
        return "xlam-tool-calls"
    return "llama-json" if "parameters" in value and "arguments" not in value else "json"


def _call_of(value: Any, tagged: bool) -> ParsedCall | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name = value.get("name", value.get("function"))
    if not isinstance(name, str) or not name or (not tagged and _specifies(value)):
        return None
    for key in _ARGUMENTS:
        if key in value:
            return ParsedCall(name, {} if value[key] is None else value[key])
    return ParsedCall(name, {}) if tagged and len(value) == 1 else None


def _specifies(value: dict[str, Any]) -> bool:
    """Return whether the object repeats a tool's specification."""
    parameters = value.get("parameters")
    return "description" in value or (
        isinstance(parameters, dict) and parameters.get("type") in ("object", "dict") and "properties" in parameters
    )


def _tag(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Read `<tool_call>` and its variants, with JSON, Python, `<function=...>` or `<arg_key>` inside."""
    text, at = match.string, match.end()
    if function := _FUNCTION.match(text, skip_space(text, at)):
        return _function(function, shown)._replace(start=match.start())
    if pairs := _PAIRS.match(text, at):
        return _pairs(match, pairs, shown)
    form = _TAG_FORMS.get(match[0], "hermes")
    try:
        found, end = _body(text, at)
        if _TAG_STOP.match(text, skip_space(text, end)) or _ENDS.match(text, end):
            return Piece(match.start(), end, tuple(found), form)
    except BrokenError:
        pass
    return _broken_piece(match, _TAG_STOP, form)


def _function(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Read `<function=NAME>` with a JSON object, or with `<parameter=KEY>` blocks, inside."""
    text, at, name = match.string, match.end(), match["name"]
    try:
        if text[(inside := skip_space(text, at)) : inside + 1] == "{":
            arguments, end = read_json(text, inside)
            if not (_FUNCTION_STOP.match(text, skip_space(text, end)) or _ENDS.match(text, end)):
                raise BrokenError(end)
            return Piece(match.start(), end, (ParsedCall(name, arguments),), "functionary")
        found, end = _parameters(text, at, name, shown)
        return Piece(match.start(), end, (found,), "qwen3-coder" if found.arguments else "functionary")
    except BrokenError:
        stop = _FUNCTION_STOP.search(text, at)
        end = stop.start() if stop else len(text)
        return Piece(match.start(), end, (ParsedCall(name, raw=text[match.start() : end].strip()),), "functionary")


def _parameters(text: str, at: int, name: str, shown: ShownParameters) -> tuple[ParsedCall, int]:
    arguments = {}
    while parameter := _PARAMETER.match(text, at):
        if (end := _PARAMETER_END.search(text, parameter.end())) is None:
            raise BrokenError(len(text))
        written = text[parameter.end() : end.start()]
        arguments[parameter["key"]] = shown.parse_bare(name, parameter["key"], written.removeprefix("\n").removesuffix("\n"))
        at = end.end() if end[0] == "</parameter>" else end.start()
    if (closed := _PARAMETERS_END.match(text, at)) is None:
        raise BrokenError(at)
    return ParsedCall(name, arguments), closed.end()


def _pairs(match: re.Match[str], named: re.Match[str], shown: ShownParameters) -> Piece:
    """Read a name, then `<arg_key>` and `<arg_value>` in turn."""
    text, at, name = match.string, named.end(), named["name"]
    arguments = {}
    while pair := _PAIR.match(text, at):
        if (end := _PAIR_END.search(text, pair.end())) is None:
            break
        arguments[pair["key"]] = shown.parse_bare(name, pair["key"], text[pair.end() : end.start()])
        at = end.end() if end["end"] else end.start()
    if (closed := _PAIRS_END.match(text, at)) is None:
        return _broken_piece(match, _TAG_STOP, "glm", name)
    return Piece(match.start(), closed.end(), (ParsedCall(name, arguments),), "glm")


def _read_after_mark(form: str) -> Callable[[re.Match[str], ShownParameters], Piece]:
    """Read calls that only a mark before them identifies."""

    def read(match: re.Match[str], _: ShownParameters) -> Piece:
        try:
            found, end = _body(match.string, match.end())
        except BrokenError:
            return _broken_piece(match, _LED_STOP, form)
        fence = _FENCE_END.match(match.string, end) if match[0].startswith("```") else None
        return Piece(match.start(), fence.end() if fence else end, tuple(found), form)

    return read


def _mistral(match: re.Match[str], shown: ShownParameters) -> Piece:
    """Read `[TOOL_CALLS]` with a list of JSON objects, or with a name and `[ARGS]`."""
    text = match.string
    if (named := _MISTRAL.match(text, match.end())) is None:
        spaced = text[match.end() : match.end() + 1] == " "
        return _read_after_mark("mistral" if spaced else "mistral-v3")(match, shown)
    try:
        arguments, end = read_json(text, named.end())
    except BrokenError:
        return _broken_piece(match, _LED_STOP, "mistral-args", named["name"])
    return Piece(match.start(), end, (ParsedCall(named["name"], arguments),), "mistral-args")


def _arrows(match: re.Match[str], _: ShownParameters) -> Piece:
    """Read `>>>NAME`, a line break, and a JSON object."""
    name = match[0].removeprefix(">>>").strip()
    try:
        arguments, end = read_json(match.string, match.end())
    except BrokenError as err:
        end = err.at
        return Piece(match.start(), end, (ParsedCall(name, raw=match.string[match.start() : end].strip()),), "functionary")
    return Piece(match.start(), end, (ParsedCall(name, arguments),), "functionary")


def _json(match: re.Match[str], _: ShownParameters) -> Piece:
    """Read a JSON value without a mark; what is not a call is text."""
    text, start = match.string, match.start()
    try:
        value, end = read_json(text, start)
    except BrokenError as err:
        if _MEANT.match(text, start):
            following = _OPENING.search(text, max(err.at, match.end()))
            end = following.start() if following else len(text)
            return Piece(start, end, (_unreadable_call(text[start:end]),), "json")
        return Piece(start, max(err.at, match.end()), (), "")
    if not (found := _calls_of(value, tagged=False)):
        return Piece(start, end, (), "")
    form = _form_of(value)
    fenced = _FENCED_BEFORE.search(text[max(0, start - _FENCE_CHARS) : start])
    return Piece(start, end, tuple(found), "json-fenced" if form == "json" and fenced else form)


def _python(match: re.Match[str], _: ShownParameters) -> Piece:
    """Read a list of calls in Python's syntax that begins a line."""
    text = match.string
    start = text.index("[", match.start())
    opened = CALL_LIST.match(text, start)
    meant = opened is not None and _KEYWORD.match(text, opened.end()) is not None
    try:
        found, end = read_list(text, start)
    except BrokenError as err:
        whole = not text[:start].strip() and text.rstrip().endswith(")]")
        if not meant and not whole and err.at < len(text):
            return Piece(start, max(err.at, match.end()), (), "")
        following = _OPENING.search(text, max(err.at, match.end()))
        end = following.start() if following else len(text)
        return Piece(start, end, (_unreadable_call(text[start:end]),), "pythonic")
    if not (meant or _LINE_ENDS.match(text, end)):
        return Piece(start, end, (), "pythonic")
    return Piece(start, _lists_behind(text, end, found), tuple(found), "pythonic")


def _lists_behind(text: str, end: int, found: list[ParsedCall]) -> int:
    """Add the calls of further lists on a list's line, `[f(a=1)] [f(a=2)]`, and return where the last one ends."""
    while opened := _LIST_BEHIND.match(text, end):
        start = text.index("[", end)
        try:
            more, end = read_list(text, start)
        except BrokenError as err:
            following = _OPENING.search(text, max(err.at, opened.end()))
            end = following.start() if following else len(text)
            more = [_unreadable_call(text[start:end])]
        found += more
    return end


def read_alone(text: str) -> Piece | None:
    """Read a text that is nothing but calls in Python's syntax without brackets, perhaps in a fence; None if it is something else."""
    fence = _FENCE.match(text)
    start = fence.end() if fence else skip_space(text, 0)
    if (opened := BARE_CALL.match(text, start)) is None:
        return None
    try:
        found, end = read_bare(text, start)
    except BrokenError as err:
        if err.at < len(text) or not _KEYWORD.match(text, opened.end()):
            return None
        return Piece(start, len(text), (_unreadable_call(text[start:]),), "pythonic")
    return Piece(start, end, tuple(found), "pythonic") if _ENDS.match(text, end) else None


def _body(text: str, at: int) -> tuple[list[ParsedCall], int]:
    """Read calls after a mark, as JSON or in Python's syntax, perhaps in a fence."""
    fence = _FENCE.match(text, at)
    at = fence.end() if fence else skip_space(text, at)
    if CALL_LIST.match(text, at):
        found, end = read_list(text, at)
    elif text[at : at + 1] in ("{", "["):
        found, end = _values(text, at)
    else:
        found, end = read_bare(text, at)
    closed = _FENCE_END.match(text, end) if fence else None
    return found, closed.end() if closed else end


def _values(text: str, at: int) -> tuple[list[ParsedCall], int]:
    """Read calls as JSON values, one after the other."""
    found: list[ParsedCall] = []
    while True:
        value, end = read_json(text, at)
        if not (calls := _calls_of(value, tagged=True)):
            raise BrokenError(end)
        found += calls
        at = skip_space(text, end)
        while text[at : at + 1] in (",", ";"):
            at = skip_space(text, at + 1)
        if text[at : at + 1] != "{":
            return found, end


def _broken_piece(match: re.Match[str], stop: re.Pattern[str], form: str, name: str = "") -> Piece:
    """Return a call that its mark identifies and that cannot be read, up to where it ends or another begins."""
    text, at = match.string, match.end()
    found = stop.search(text, at)
    end = found.start() if found else len(text)
    return Piece(match.start(), end, (_unreadable_call(text[at:end], name),), form)


def _unreadable_call(body: str, name: str = "") -> ParsedCall:
    raw = body.strip()
    called = CALL_LIST.match(raw) or BARE_CALL.match(raw)
    named = _NAMED.search(raw)
    return ParsedCall(name or (called["name"] if called else named[1] if named else "") or "unknown", raw=raw or "(empty)")


_QUOTED = r"(?<![^`]`)"
"""Text in single backticks is mentioned, not called."""
_OPENINGS: tuple[tuple[str, Callable[[re.Match[str], ShownParameters], Piece]], ...] = (
    *((f"{_QUOTED}(?:{pattern})", read) for pattern, read in OPENINGS),
    (f"{_QUOTED}(?:{_TAG})", _tag),
    (_QUOTED + r"<function=[^<>\s]++>", lambda match, shown: _function(_rematch(_FUNCTION, match), shown)),
    (_QUOTED + r"\[TOOL_CALLS\]", _mistral),
    (_QUOTED + r"<\|python_tag\|>", _read_after_mark("llama-json")),
    (_QUOTED + r"<\|python_start\|>", _read_after_mark("llama4")),
    (r"functools\s*+(?=\[)", _read_after_mark("phi")),
    (r"```tool_(?:code|call)\b", _read_after_mark("gemma")),
    (r"(?:(?m:^)|(?<=\}))>>>[\w.-]++\n\s*+(?=\{)", _arrows),
    (rf"(?m:^)[ \t]*+{CALL_LIST.pattern.replace('?P<name>', '?:')}", _python),
    (_JSON_CALL, _json),
)
_OPENING = re.compile("|".join(f"(?P<o{number}>{pattern})" for number, (pattern, _) in enumerate(_OPENINGS)))


def _rematch(pattern: re.Pattern[str], match: re.Match[str]) -> re.Match[str]:
    found = pattern.match(match.string, match.start())
    assert found is not None
    return found


def pieces_of(text: str, shown: ShownParameters) -> list[Piece]:
    """Yield the calls in a text, in its order; every character is looked at a bounded number of times."""
    pieces = []
    at = 0
    while match := _OPENING.search(text, at):
        piece = _OPENINGS[int((match.lastgroup or "o0")[1:])][1](match, shown)
        if piece.found:
            pieces.append(piece)
        at = max(piece.end, match.end())
    return pieces
