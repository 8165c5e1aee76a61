"""`<invoke name="f">` with `<parameter name="k">` inside: Anthropic's XML, MiniMax M2, Step 3 and DeepSeek V3.2, each with tags of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from talm_sim.models.formats.base import CallToWrite, ParsedCall, Piece
from talm_sim.models.formats.families.base import Opening, cut
from talm_sim.models.formats.literals import BrokenError, json_text, read_json, read_whole, skip_space
from talm_sim.models.formats.shown import ShownParameters

_DSML = r"\uff5c{1,2}DSML\uff5c{1,2}\s?"
_PREFIX = rf"(?:antml:|steptml:|{_DSML})?"
_CALLS = rf"(?:minimax:tool_call|(?:antml:|{_DSML})?function_calls|{_DSML}(?:tool_)?calls)"
_INVOKE = rf"<{_PREFIX}invoke\s++name\s*+=\s*+"
_STEP = r"(?>(?:<\uff5ctool_calls_begin\uff5c>\s*+)?)(?>(?:<\uff5ctool_call_begin\uff5c>function<\uff5ctool_sep\uff5c>\s*+)?)"
_WRAPPED = rf"(?>(?:<{_CALLS}>\s*+)?){_STEP}"
_NAMED = re.compile(r"(?P<quote>[\"']?)(?P<name>[^\"'<>\n]{1,256}+)(?P=quote)\s*+>")
_PARTLY = re.compile(r"[\"']?(?P<name>[\w.-]{1,256}+)")
_PARAMETER = re.compile(
    rf"\s*+<{_PREFIX}parameter\s++name\s*+=\s*+\"(?P<key>[^\"<>\n]{{1,256}}+)\"(?>(?:\s++string\s*+=\s*+\"(?P<string>true|false)\")?)[^<>\n]{{0,40}}+>"
)
_VALUE_ENDS = re.compile(
    rf"(?P<end></{_PREFIX}parameter>)(?=\s*+(?:</?{_PREFIX}(?:parameter|invoke)\b|\Z))|<{_PREFIX}parameter\s|</?{_PREFIX}invoke\b"
)
_ENDS = re.compile(rf"\s*+</{_PREFIX}invoke>(?>(?:\s*+<\uff5ctool_calls?_end\uff5c>){{0,2}})(?>(?:\s*+</{_CALLS}>)?)")
_STRAY = re.compile(rf"\s*+</{_PREFIX}parameter>")
_STOP = re.compile(rf"(?P<end></{_PREFIX}invoke>(?>(?:\s*+</{_CALLS}>)?))|<{_PREFIX}invoke\b")


class Family(NamedTuple):
    """The tags of one of these formats."""

    name: str
    before: str
    """Text before the first call."""
    after: str
    prefix: str = ""
    """Prefix of the tags' names."""
    line: str = "\n"
    """Text after each tag."""
    each: tuple[str, str] = ("", "")
    """Text around each call."""
    typed: bool = False
    """Whether a tag says that its value is a text."""

    def write(self, calls: Sequence[CallToWrite]) -> str:
        """Write calls."""
        return f"{self.before}{''.join(map(self._write_call, calls))}{self.after}"

    def _write_call(self, call: CallToWrite) -> str:
        inner = "".join(map(self._parameter, call.arguments.items()))
        invoke = f"{self.prefix}invoke"
        return f'{self.each[0]}<{invoke} name="{call.name}">{self.line}{inner}</{invoke}>{self.each[1]}{self.line}'

    def _parameter(self, item: tuple[str, Any]) -> str:
        key, value = item
        tag, text = f"{self.prefix}parameter", isinstance(value, str)
        typed = f' string="{"true" if text else "false"}"' if self.typed else ""
        return f'<{tag} name="{key}"{typed}>{value if text else json_text(value)}</{tag}>{self.line}'


_BAR = "\uff5c"
ANTHROPIC = Family("anthropic-xml", "<function_calls>\n", "</function_calls>")
MINIMAX = Family("minimax-m2", "<minimax:tool_call>\n", "</minimax:tool_call>")
STEP = Family(
    "step3",
    f"<{_BAR}tool_calls_begin{_BAR}>",
    f"<{_BAR}tool_calls_end{_BAR}>",
    "steptml:",
    "",
    (f"<{_BAR}tool_call_begin{_BAR}>function<{_BAR}tool_sep{_BAR}>", f"<{_BAR}tool_call_end{_BAR}>"),
)
DSML = Family("deepseek-v3.2", f"<{_BAR}DSML{_BAR}function_calls>\n", f"</{_BAR}DSML{_BAR}function_calls>", f"{_BAR}DSML{_BAR}", typed=True)


def _form(mark: str) -> str:
    if "DSML" in mark:
        return DSML.name
    if "steptml:" in mark or "tool_sep" in mark:
        return STEP.name
    return MINIMAX.name if "minimax:" in mark else ANTHROPIC.name


def _invoke(match: re.Match[str], shown: ShownParameters) -> Piece:
    text, form = match.string, _form(match[0])
    if (named := _NAMED.match(text, match.end())) is None:
        partly = _PARTLY.match(text, match.end())
        return cut(match, match.end(), _STOP, form, partly["name"] if partly else "")
    try:
        arguments, end = _parameters(text, named.end(), named["name"], shown)
    except BrokenError:
        return cut(match, named.end(), _STOP, form, named["name"])
    return Piece(match.start(), end, (ParsedCall(named["name"], arguments),), form)


def _parameters(text: str, at: int, name: str, shown: ShownParameters) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    if text[(inside := skip_space(text, at)) : inside + 1] == "{":
        arguments, at = read_json(text, inside)
        stray = _STRAY.match(text, at)
        at = stray.end() if stray else at
    while parameter := _PARAMETER.match(text, at):
        if (end := _VALUE_ENDS.search(text, parameter.end())) is None or not end["end"]:
            raise BrokenError(len(text))
        arguments[parameter["key"]] = _value(parameter, text[parameter.end() : end.start()], name, shown)
        at = end.end()
    if (closed := _ENDS.match(text, at)) is None:
        raise BrokenError(at)
    return arguments, closed.end()


def _value(parameter: re.Match[str], written: str, name: str, shown: ShownParameters) -> Any:
    if parameter["string"] == "true":
        return written
    if parameter["string"] == "false":
        return read_whole(written)
    return shown.parse_bare(name, parameter["key"], written)


OPENINGS: tuple[Opening, ...] = ((_WRAPPED + _INVOKE, _invoke),)
