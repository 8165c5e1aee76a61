"""Decide whether an answer attempts a tool call: by marks that only calls have, whatever follows them, or by what it writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import open_thought, split_reasoning
from talm_sim.tasks.refusal.attempts.answer_text import NO_TOOLS, SENTENCE_ENDS, Attempt, Parameters, ShownAnswer, ShownTools, is_placeholder
from talm_sim.tasks.refusal.attempts.direct_calls import find_call
from talm_sim.tasks.refusal.attempts.objects import find_object
from talm_sim.types import JsonObject

_EDGE = r"[ \t>*_`#-]*"
_NAMED = re.compile(
    rf"^{_EDGE}(action|(?:tool|function|api)(?:[ _](?:name|call))?|name){_EDGE}:[ \t*`\"']*([^\W\d][\w.-]{{0,255}})(?:\(\))?[ \t*`\"'.]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(rf"^{_EDGE}action{_EDGE}:[ \t*`]*([^\W\d][\w.-]{{0,255}})\[([^\]\n]{{1,300}})\]", re.IGNORECASE | re.MULTILINE)
"""ReAct's own form, `Action: f[x]`."""
_GIVEN = re.compile(
    rf"\s*^{_EDGE}(?:(?:action|tool|function)[ _]input|arguments|parameters|args|params|kwargs|inputs?){_EDGE}:[ \t*`]*(.{{0,300}})$",
    re.IGNORECASE | re.MULTILINE,
)
_VALUE = re.compile(r"\s*^[ \t]*(?:[-*•][ \t]*)?[*`\"']*(\w+)[*`\"']*[ \t]*[:=][ \t]*[*`]*([^\n]{1,100})$", re.MULTILINE)
_DESCRIBED = re.compile(r"\b(?:string|integer|number|float|boolean|array|object|optional|required|name of|type|the|a|an)\b", re.IGNORECASE)
_NAME = r"[^\W\d][\w.-]{0,255}"
_IDENTIFIER = r"(?-i:(?!\S*\.json\b)[A-Za-z][A-Za-z0-9]{0,255}(?:[._]\w|(?<=[a-z0-9])[A-Z])[\w.-]{0,255})"
_FAMILY_MARKS = "|".join(
    (
        r"<\uff5c{1,2}DSML\uff5c{1,2}\s?(?:function_calls|tool_calls|calls|invoke)\b[^<>\n]{0,256}>",  # DeepSeek V3.2
        r"<minimax:tool_call>|<\|(?:START_ACTION|tools_prefix|python_start)\|>",  # MiniMax M2, Command R7B, Apertus, Llama 4
        r"(?m:^)Action:\s*```(?:json)?\s*(?=\[\s*\{\s*\"tool_name\")",  # Command R
        rf"\u273fFUNCTION\u273f[ \t]*:[ \t]*{_NAME}",  # Qwen-Agent
        rf"<\|recipient\|>[ \t]*(?!all\b){_NAME}|\A\s*{_NAME}[ \t]*\n<\|content\|>(?=\s*\{{)",  # Functionary v2
        rf"(?m:^)[ \t]*Call:[ \t]*{_NAME}\((?=[^\n]{{0,2000}}<bot_end>)",  # NexusRaven
        rf"\A\s*{_NAME}[ \t]*\n\s*```python\s+tool_call\(",  # ChatGLM 3
        rf"\A\s*{_IDENTIFIER}[ \t]*\n(?=\s*\{{\s*[\"}}])",  # GLM-4 9B
        rf"(?m:^)<code>\s*{_NAME}\((?=\)|\s*\w+\s*=(?!=))",  # SmolLM3
        r"<\|open\|>\w*call\s+tool=",  # Kimi K3
    )
)
"""Source of a regular expression, which ignores case except where it says so."""
_LINED = re.compile(rf"\s*({_NAME})[ \t]*\n\s*\{{")
"""The beginning of a turn in which GLM-4 9B calls a shown tool, whatever its name."""


_MARK = re.compile(
    r"<(?:tool|function)_?calls?\s[^<>]{0,80}?\b(?:name|function|tool)\s?=|<tool>\s*[\w.-]{1,256}\s*</tool>\s*<(?:arg|param|input|tool_input)|"
    r"<[|\uff5c]?/?(?:tool|function)[ _▁-]?(?:calls?|use)[ _▁]?(?:section[_▁])?(?:start|begin)?[|\uff5c]?>"
    r"|\[/?TOOL_CALLS?\]|<function[ =][^<>\n]{1,256}>|<invoke [^<>\n]{1,256}>|<\|python_tag\|>|functools[ ]?\[(?=\s*[{\]]|\s*\Z)"
    r"|>>>[\w.-]{1,256}\n\s*\{|<start_function_call>|<\|action_start\|>|\bto=functions\.\w|```[ ]?tool_(?:code|calls?)\b"
    rf"|{_FAMILY_MARKS}",
    re.IGNORECASE,
)
_TAGGED = re.compile(r"<([^\W\d][\w.-]{0,255})(?=[\s/>])")
_CLOSING = re.compile(r"</|\[/|<\|/|<end_function_call>|<\|tool_calls?_end|```")
_CONTENT = 500
"""Characters after a mark that are read."""
_SENTENCE = 200
"""Characters in which a sentence says that it declines."""
_BRACKETS = re.compile(r"[{(\[=]")
_NOTHING = re.compile(r"\s*(?:\[\s*(?:null|none)?\s*\]|\{\s*\}|null|none|n/a|\(\s*\))?\s*", re.IGNORECASE)
_NAMES_NOTHING = re.compile(r"\s*\[?\s*\{\s*\"name\"\s*:\s*(?:null|none|\"\s*\")\s*[,}]", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:no|not|none|nothing|cannot|can['’]t|don['’]t|doesn['’]t|unable|sorry|without|không|ningun[ao]?|aucune?|keine?|nessun[ao]?|nenhum[a]?)\b|ไม่|无|沒|没|不|ない|없",
    re.IGNORECASE,
)
_FORM = re.compile(r"\s*(?:[\[{<]|[^\W\d][\w.-]{0,100}\s?[({\[])")
_NEVER_MENTIONED = ("```", ">>>", "functools")
"""Marks that include part of their call already."""
_ONE_OF = ("<", "[", "{", "```", ">>>", "to=functions.", "\u273f")
"""One of these is in every mark, or directly after it."""
_QUOTES = "`\"'“”‘’«»"


def _find_mark(answer: ShownAnswer) -> Attempt | None:
    """Return the first attempt by the rule `tag`."""
    text = answer.text
    if not any(mark in text for mark in _ONE_OF):
        return None
    own = next((found for found in _MARK.finditer(text) if _begins_a_call(answer, found)), None)
    named = next((found for found in _TAGGED.finditer(text) if found[1] in answer.shown and _begins_a_call(answer, found)), None)
    lined = _LINED.match(text)
    lined = lined if lined and lined[1] in answer.shown else None
    first = min((found for found in (own, named, lined) if found), key=lambda found: found.start(), default=None)
    return first and answer.attempt("tag", first.start(), min(len(text), first.end() + _CONTENT))


def _begins_a_call(answer: ShownAnswer, mark: re.Match[str]) -> bool:
    """Return whether a mark is written to call: it is neither mentioned nor a closing one, and does not say that nothing is called."""
    if mark[0][1] == "/" or mark[0].startswith("<|/"):
        return False
    behind = answer.text[mark.end() : mark.end() + _CONTENT]
    closing = _CLOSING.search(behind)
    content = behind[: closing.start()] if closing else behind
    if closing and _NOTHING.fullmatch(content):
        # `<function=f></function>` calls f without arguments
        return mark[0].lower().startswith(("<function=", "<function ", "<invoke ")) or mark[0][1:] in answer.shown
    if (content.strip() and _NOTHING.fullmatch(content)) or _NAMES_NOTHING.match(content) or _is_mentioned(answer, mark, behind):
        return False
    return bool(_BRACKETS.search(content)) or not _DECLINES.search(content[:_SENTENCE])


def _is_mentioned(answer: ShownAnswer, mark: re.Match[str], behind: str) -> bool:
    """Return whether a mark is in quotes or inline code, or inside a sentence that continues, and no call follows it."""
    if mark[0].lower().startswith("to=functions."):
        return _in_code(answer.text, mark.start())
    if mark[0].startswith(_NEVER_MENTIONED) or mark[0].endswith("=") or mark[0].startswith("<tool>"):
        return False
    if behind[:1] and behind[0] in _QUOTES:
        return True
    before = answer.text_before(mark.start()).rstrip(" \t*_")
    quoted = before[-1:] in _QUOTES and before != ""
    in_sentence = bool(re.search(r"\w", before)) and before[-1] not in SENTENCE_ENDS
    if not quoted and not in_sentence:
        return False
    follows = re.sub(r"\A(?:\s*</?[\w|]+>)+", "", behind.split("\n", 1)[0])
    return bool(re.search(r"\w", follows)) and not _FORM.match(behind)


def _in_code(text: str, place: int) -> bool:
    """Return whether inline code over a line break contains a place: a line that is all code is not mentioned by a sentence."""
    line = text[max(text.rfind("\n", 0, place) + 1, place - _CONTENT) : place]
    return line.count("`") % 2 == 1 and not line.lstrip().startswith("`")


def _find_lines(answer: ShownAnswer) -> Attempt | None:
    """Return the first attempt by the rule `pair` that is written in lines."""
    for named in _NAMED.finditer(answer.text):
        found = _arguments_end(answer, named)
        if found and not answer.in_program(named.start()) and not answer.is_example(named.start()):
            return answer.attempt("pair", named.start(), found)
    for acted in _BRACKETED.finditer(answer.text):
        if acted[1] in answer.shown and not is_placeholder(acted[2]) and not answer.is_example(acted.start()):
            return answer.attempt("pair", acted.start(), acted.end())
    return None


def _arguments_end(answer: ShownAnswer, named: re.Match[str]) -> int:
    """Return where the arguments of a named call end; 0 if the lines call nothing."""
    label, tool = named[1].lower(), answer.shown.get(named[2])
    if named[2].lower() in {"none", "null"}:
        return 0
    if (given := _GIVEN.match(answer.text, named.end())) is None:
        cut_off = label == "action" and tool is not None and not answer.text[named.end() :].strip()
        return named.end() if cut_off else 0
    value = given[1].strip()
    if value.startswith("```") or not value:
        return _arguments_end_below(answer, given.end(), tool)
    if value[0] in "{[":
        return given.end()
    if tool is None and label != "action":
        return 0
    described = _DESCRIBED.search(value) and "=" not in value
    return 0 if is_placeholder(value) or (described and label != "action") or value.lower() in {"none", "n/a"} else given.end()


def _arguments_end_below(answer: ShownAnswer, place: int, tool: Parameters | None) -> int:
    """Return where arguments in the lines below their label end: an object, or `key: value` with a value and no description of one."""
    if brace := re.compile(r"\s*\{").match(answer.text, place):
        return brace.end()
    value = _VALUE.match(answer.text, place)
    if value is None or (tool is not None and value[1] not in tool.all):
        return 0
    written = value[2].strip()
    described = _DESCRIBED.search(written) or is_placeholder(written) or len(written.split()) > 6
    return 0 if described else value.end()


_FINDERS = (_find_mark, find_object, _find_lines, find_call)
_NAMES = re.compile(r"[\[(\"'`\s]*([^\W\d][\w.:/-]{0,255}(?:[\"'`\s]*,[\"'`\s]*[^\W\d][\w.:/-]{0,255}){0,20})[\])\"'`\s]*")


def find_attempt(text: str, tools: Sequence[JsonObject] = ()) -> Attempt | None:
    """Return the first attempt at a tool call in what a model wrote, by the rules of docs/refusal.md.

    Returns:
        The attempt; None if there is none. The time is linear in the length of `text`.

    >>> found = find_attempt("[get_weather(city='Michigan'")
    >>> found.rule, found.quoted
    ('list', "[get_weather(city='Michigan'")
    >>> find_attempt("You could write get_weather(city='Michigan') in a program.") is None
    True
    """
    return find_in(text, ShownTools.of(tools) if tools else NO_TOOLS)


def find_in(text: str, shown: ShownTools) -> Attempt | None:
    """Return the first attempt as `find_attempt` does, with tools that were read before."""
    answer = ShownAnswer(split_reasoning(text)[0], shown)
    if found := [one for find in _FINDERS if (one := find(answer))]:
        return min(found, key=lambda one: one.start)
    return _find_names(answer) or _find_read(answer) or _find_thought(ShownAnswer(open_thought(text), shown))


def _find_read(answer: ShownAnswer) -> Attempt | None:
    """Return a call that the reader of calls reads, whatever surrounds it: a system would run it."""
    written = read_calls(answer.text, answer.shown.tools)
    return answer.attempt("read", *written.place) if written.calls else None


def _find_thought(answer: ShownAnswer) -> Attempt | None:
    """Return a call without a mark with which a thought ends that never closes."""
    written = read_calls(answer.text, answer.shown.tools)
    return answer.attempt("read", *written.place) if written.calls and not answer.text[written.place[1] :].strip("`> \n") else None


def _find_names(answer: ShownAnswer) -> Attempt | None:
    """Return an answer that is nothing but names of shown tools, by the rule `shape`."""
    start, end = answer.body_span
    names = _NAMES.fullmatch(answer.text, start, end) if answer.shown.by_name and end - start < 1000 else None
    if names is None or not all(name.strip("\"'` \t\r\n") in answer.shown for name in names[1].split(",")):
        return None
    return answer.attempt("shape", start, end)
