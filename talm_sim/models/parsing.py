"""Read what a model wrote: tool-call arguments and reasoning blocks, also those of models that mark channels with special tokens.

A model's mistakes are data. Nothing here raises on what a model may write.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from talm_sim.types import ToolCall, UnparsableCall

MAX_REASON_CHARS = 200
MOST_DEEP = 64
"""Levels of arrays and objects that arguments may have: no tool takes more, and no store keeps any number of them."""
MOST_LONG = 2**18
"""Characters that the arguments of one call may have."""
_NO_ARGUMENTS = frozenset({"", "null"})
MOST_NAMED = 256
"""Characters of a tool's name, and of the id of a call; no server takes longer ones back."""
_KIND = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
_THOUGHT = re.compile(
    r"(?:<\|?|\u25c1)\s*+(?P<end>/|end_(?:of_)?)?\s*+(?:begin_of_)?(?P<name>(?:(?:\w[\w.]{0,40}?)?[:._\d-]|ant)?"
    rf"{_KIND})(?:_never_used_\w{{1,64}})?(?:\s++[\w-]++=[^<>]{{0,200}}+)?\s*+(?:\|?>|\u25b7)"
    r"|\[(?P<last>/)?(?P<mark>THINK)\]|(?P<over><\|end\|>)(?:<\|begin\|>assistant<\|content\|>)?",
    re.IGNORECASE,
)
"""Tags of thoughts: with a model's prefix (`seed:think`, `longcat_think`, `antThinking`) or attributes, between bars or triangles; and Solar's
end of one."""
_SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>")
_CALL = re.compile(
    r"(?<![`\"'])(?:<\|?(?:\w{1,20}[:_])?tool_?calls?(?:_start|_begin|_section_begin)?\|?>\s*+(?=[\[{<]|call:|[^\W\d][\w.:-]{0,255}+\s*+(?:[(<]|:\d))"
    r"|<\uff5c(?:tool\u2581calls?\u2581begin\uff5c>|\uff5c?DSML\uff5c)|<(?:\w{1,20}:)?(?:function_calls?>|invoke\s+name\s*=|function=\w)|\[TOOL_CALLS\]"
    r"|<\|(?:python_tag|python_start|START_ACTION|tools_prefix)\|>|<start_function_call>)",
    re.IGNORECASE,
)
"""Marks that only calls have, where something of a call follows: a thought that never closes ends before one."""
_DECORATION = " \t\r\n*_`~#>\"'\u201c\u201d\u2018\u2019\u00ab\u00bb([{-\u2013\u2014:.,"
_CHANNELS = re.compile(
    r"<\|channel>|<channel\|>|<\|channel\|>|<\|(?:START|END)_(?:THINKING|RESPONSE|TEXT)\|>|<\|inner_(?:prefix|suffix)\|>|<unused9[45]>"
)
_BARE = re.compile(
    r"\s*+(?:assistant)?(?:(?:analysis|commentary|(?<=assistant)final)(?=[A-Z\d\"'“*]|[^\x00-\x7f])"
    r"|analysis\b(?=.*assistantfinal)|commentary to=)",
    re.DOTALL,
)
"""How an answer of gpt-oss begins whose special tokens were left out: the channel's name runs into its text."""
_BARE_HEAD = re.compile(r"(?:\A\s*+(?:assistant)?|assistant)(analysis|commentary|final)(?: to=([\w.-]+)\s*(?:code|json)?\s*(?=\{))?")
_HARMONY = re.compile(r"<\|(?P<mark>start|channel|message|end|call|return)\|>")
_LED = re.compile(r"\s*+(?>(?:assistant\s*+)?)(?>(?:to=[^\s<]++\s*+)?)")
_NAMED = re.compile(r"<\|channel\|>\s*(\w+)")
_ANSWER = re.compile(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>")
_MARKED_THOUGHT = re.compile(
    r"(?P<open><\|channel>(?:thought\b)?|<\|START_THINKING\|>|<\|inner_prefix\|>|<unused94>(?:thought\b)?)"
    r"|(?P<close><channel\|>|<\|END_THINKING\|>|<\|inner_suffix\|>|<unused95>)"
    r"|(?P<call><\|tools_prefix\|>)|(?P<called><\|tools_suffix\|>)"
)


def replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON escapes can smuggle in and no UTF-8 file or request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_reasoning(text: str) -> tuple[str, str]:
    """Take thinking blocks out of `text`: between tags of any family (`<think>`, `<seed:think>`, `[THINK]`), and those of `_split_channels`.

    A block that never closes runs to the end (the turn was cut short), or to a call with a mark of its own; one that never opens starts at
    the beginning (some chat templates write the opening tag into the prompt).

    Returns:
        The text without reasoning, and the reasoning.

    >>> split_reasoning("<think>Paris is in France.</think>Yes, I know it.")
    ('Yes, I know it.', 'Paris is in France.')
    >>> split_reasoning("It is in France.</reasoning>Yes.")
    ('Yes.', 'It is in France.')
    """
    said, thought, _ = _split(text)
    return said, "\n\n".join(part.strip() for part in thought if part.strip())


def open_thought(text: str) -> str:
    """Return the thought with which a text ends if it never closes and no marked call ends it; otherwise nothing."""
    _, thought, is_open = _split(text)
    return thought[-1] if is_open else ""


def holds_call(reasoning: str) -> bool:
    """Return whether reasoning holds the mark of a call, with something of the call."""
    return _CALL.search(reasoning) is not None


def _split(text: str) -> tuple[str, list[str], bool]:
    said: list[str] = []
    whole = text
    text, thought = _split_channels(text)
    tags = list(_THOUGHT.finditer(text))
    closings = {_name(tag): tag.start() for tag in tags if tag["end"] or tag["last"]}
    at, inside = 0, ""
    for tag in tags:
        ends = bool(tag["end"] or tag["last"] or tag["over"])
        if (tag["over"] and not inside) or (inside and (not ends or (_name(tag) != inside and closings.get(inside, -1) > tag.start()))):
            continue  # a tag that a thought mentions
        (thought if inside else said).append(text[at : tag.start()])
        if ends and not inside:
            thought.append("".join(said))
            said = []
        at, inside = tag.end(), "" if ends else _name(tag)
    if not at and text is whole:
        return text, [], False
    called = _CALL.search(text, at) if inside else None
    if called:
        thought.append(text[at : called.start()])
    (thought if inside and not called else said).append(text[called.start() if called else at :])
    return _SOLUTION.sub("", "".join(said)).strip(), thought, bool(inside) and not called


def _name(tag: re.Match[str]) -> str:
    return (tag["name"] or tag["mark"] or "").lower()


def first_words(raw: str, lead: re.Pattern[str]) -> str:
    """Return the opening words of an answer: thinking blocks, quotes, markdown and a `lead` ("Answer:") are skipped.

    >>> first_words("**Answer:** 'Yes', I do.", re.compile("answer", re.IGNORECASE))
    "Yes', I do."
    """
    text = split_reasoning(raw)[0].lstrip(_DECORATION)
    found = lead.match(text)
    return text[found.end() :].lstrip(_DECORATION) if found else text


def read_object(raw: str) -> dict[str, Any]:
    """Read a JSON object as strictly as the standard writes it: no NaN, no Infinity, no number that overflows, no lone surrogate.

    Raises:
        ValueError: It is not one; the message says why.
    """
    try:
        value = _STRICT.decode(raw)
    except json.JSONDecodeError as err:
        raise ValueError(f"not valid JSON: {err.msg} at character {err.pos}") from None
    except RecursionError:
        raise ValueError("not valid JSON: nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {_json_type(value)}, not an object")
    if _is_deep(value):
        raise ValueError(f"nested deeper than {MOST_DEEP} levels")
    if not raw.isascii() or "\\" in raw:
        try:
            _LENIENT.encode(value).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("not valid JSON: holds half of a surrogate pair") from None
    return value


def parse_call(call_id: str, name: Any, arguments: Any) -> ToolCall | UnparsableCall:
    """Turn one call as a provider reports it into a `ToolCall`, or say why it is not one.

    Args:
        call_id: The provider's id of the call.
        name: The tool's name; anything but a non-empty string is a mistake of the model.
        arguments: JSON text, also encoded twice, or an object already parsed by a lenient reader. Empty text and "null" mean "no arguments":
            some servers write that for tools without parameters.
    """
    raw = arguments if isinstance(arguments, str) else _dump(arguments)
    label = replace_surrogates(name) if isinstance(name, str) else ""
    try:
        if not label.strip():
            raise ValueError("no tool name")
        if len(raw) > MOST_LONG:
            raise ValueError(f"longer than {MOST_LONG:,} characters")
        if len(label) > MOST_NAMED:
            raise ValueError(f"a name of {len(label):,} characters")
        plain = _decode_twice(raw)
        return ToolCall(id=call_id, name=label, arguments={} if plain in _NO_ARGUMENTS else read_object(plain))
    except ValueError as err:
        return UnparsableCall(id=call_id, name=label[:MOST_NAMED], raw=replace_surrogates(raw[:MOST_LONG]), reason=str(err)[:MAX_REASON_CHARS])


def _decode_twice(raw: str) -> str:
    """Return the JSON text of arguments: some servers encode it as a text of JSON once more."""
    raw = raw.strip()
    if raw.startswith('"'):
        try:
            inner = json.loads(raw)
        except ValueError:
            return raw
        return inner.strip() if isinstance(inner, str) and (inner.strip() in _NO_ARGUMENTS or inner.strip().startswith("{")) else raw
    return raw


def parse_calls(written: Iterable[tuple[Any, Any, Any]], turn: int) -> tuple[tuple[ToolCall, ...], tuple[UnparsableCall, ...]]:
    """Parse the calls of one turn, given as (id, name, arguments).

    An id that is absent or used twice is replaced by `call-<turn>-<n>`, so that every call can be answered, and always under the same id.
    """
    calls: list[ToolCall] = []
    broken: list[UnparsableCall] = []
    seen: set[str] = set()
    for number, (given, name, arguments) in enumerate(written):
        own = replace_surrogates(given) if isinstance(given, str) and len(given) <= MOST_NAMED else ""
        call_id = own if own and own not in seen else f"call-{turn}-{number}"
        seen.add(call_id)
        if isinstance(call := parse_call(call_id, name, arguments), ToolCall):
            calls.append(call)
        else:
            broken.append(call)
    return tuple(calls), tuple(broken)


def _dump(value: Any) -> str:
    """Return the JSON text of a value that a lenient reader let in; NaN stays NaN, so that the strict reader sees it."""
    if value is None:
        return ""
    try:
        return _LENIENT.encode(value)
    except (TypeError, ValueError):
        return str(value)
    except RecursionError:
        return "(nested too deeply)"


def _is_deep(value: Any) -> bool:
    """Return whether JSON is nested deeper than `MOST_DEEP`; level by level, as recursion would not return from some of it."""
    level = [value]
    for _ in range(MOST_DEEP):
        level = [item for one in level if isinstance(one, dict | list) for item in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"not valid JSON: {constant} is no number")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"not valid JSON: {digits[:20]} is too large a number")
    return number


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)
_LENIENT = json.JSONEncoder(ensure_ascii=False)
"""Both are made once, because making one takes longer than reading a call."""


def _split_channels(text: str) -> tuple[str, list[str]]:
    """Take out thoughts that special tokens separate from answers; remove what frames an answer, and leave calls as they were written.

    A thought without an end runs to the end, or to a call; one without a beginning starts at the beginning.

    Returns:
        The text without thoughts, and the thoughts; text without such tokens comes back unchanged.

    >>> _split_channels("<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>Yes.")
    ('Yes.', ['Easy.'])
    """
    if _BARE.match(text):
        text = _BARE_HEAD.sub(_tokens, text)
    elif not _CHANNELS.search(text):
        return text, []
    if "<|channel|>" in text:
        return _split_harmony(text)
    return _split_thoughts(_ANSWER.sub("", text))


def _tokens(head: re.Match[str]) -> str:
    to = f" to={head[2]} <|constrain|>json" if head[2] else ""
    return f"<|start|>assistant<|channel|>{head[1]}{to}<|message|>"


def _split_harmony(text: str) -> tuple[str, list[str]]:
    """Yield messages up to what ends them, each with a header that names its channel and perhaps a tool."""
    said: list[str] = []
    thoughts: list[str] = []
    begun, headed, body = 0, False, -1
    for mark in _HARMONY.finditer(text):
        kind, at = mark["mark"], mark.start()
        if kind == "message":
            body = mark.end() if body < 0 else body
        elif kind not in ("start", "channel"):
            _keep(text, begun, body, at, mark.end(), said, thoughts)
            begun, headed, body = mark.end(), False, -1
        elif body >= 0:  # a new message, although nothing ended the last one
            _keep(text, begun, body, at, at, said, thoughts)
            begun, headed, body = at, True, -1
        elif not headed:
            if _LED.fullmatch(text, begun, at) is None:  # the prompt opened this message
                said.append(text[begun:at])
                begun = at
            headed = True
    _keep(text, begun, body, len(text), len(text), said, thoughts)
    return "".join(said), thoughts


def _keep(text: str, begun: int, body: int, at: int, end: int, said: list[str], thoughts: list[str]) -> None:
    """File a message as what it is: a thought, an answer, or a call, which keeps its header."""
    header = text[begun:body] if body >= 0 else ""
    channel = _NAMED.search(header)
    if "to=" in header:
        said.append(text[begun:end])
    elif channel and channel[1] == "analysis":
        thoughts.append(text[body:at])
    else:
        said.append(text[max(begun, body) : at])


def _split_thoughts(text: str) -> tuple[str, list[str]]:
    said: list[str] = []
    thoughts: list[str] = []
    at, inside, calling, known = 0, False, False, False
    for mark in _MARKED_THOUGHT.finditer(text):
        if mark["call"] or mark["called"]:
            if inside and not calling and mark["call"]:
                thoughts.append(text[at : mark.start()])
                at, calling = mark.start(), True
            elif calling and mark["called"]:
                said.append(text[at : mark.end()])
                at, calling = mark.end(), False
            continue
        written = text[at : mark.start()]
        if mark["close"] and not known:
            thoughts.append("".join(said) + written)
            said = []
        else:
            (thoughts if inside and not calling else said).append(written)
        at, inside, calling, known = mark.end(), bool(mark["open"]), False, True
    called = _CALL.search(text, at) if inside and not calling else None
    if called:
        thoughts.append(text[at : called.start()])
    (thoughts if inside and not calling and not called else said).append(text[called.start() if called else at :])
    return "".join(said), thoughts
