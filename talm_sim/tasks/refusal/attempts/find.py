"""Decide whether an answer attempts a tool call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.attempts.answer import Attempt, ShownAnswer, is_placeholder
from talm_sim.tasks.refusal.attempts.calls import find_call
from talm_sim.tasks.refusal.attempts.marks import find_mark
from talm_sim.tasks.refusal.attempts.objects import find_object
from talm_sim.tasks.refusal.attempts.shown import NO_TOOLS, Parameters, ShownTools
from talm_sim.types import JsonObject

__all__ = ["find_attempt", "find_in"]


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


def find_lines(answer: ShownAnswer) -> Attempt | None:
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
    given = _GIVEN.match(answer.text, named.end())
    if given is None:
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
    brace = re.compile(r"\s*\{").match(answer.text, place)
    if brace:
        return brace.end()
    value = _VALUE.match(answer.text, place)
    if value is None or (tool is not None and value[1] not in tool.all):
        return 0
    written = value[2].strip()
    described = _DESCRIBED.search(written) or is_placeholder(written) or len(written.split()) > 6
    return 0 if described else value.end()


_FINDERS = (find_mark, find_object, find_lines, find_call)
_NAMES = re.compile(r"[\[(\"'`\s]*([^\W\d][\w.:/-]{0,255}(?:[\"'`\s]*,[\"'`\s]*[^\W\d][\w.:/-]{0,255}){0,20})[\])\"'`\s]*")


def find_attempt(text: str, tools: Sequence[JsonObject] = ()) -> Attempt | None:
    """Return the first attempt at a tool call in what a model wrote, by the rules of docs/refusal.md.

    Args:
        text: The raw output; thoughts in it are skipped.
        tools: Specifications of the shown tools.

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
    found = [one for find in _FINDERS if (one := find(answer))]
    if found:
        return min(found, key=lambda one: one.start)
    return _find_names(answer) or _find_read(answer)


def _find_read(answer: ShownAnswer) -> Attempt | None:
    """Return a call that the reader of calls reads, whatever surrounds it: a system would run it."""
    written = read_calls(answer.text, answer.shown.tools)
    return answer.attempt("read", *written.place) if written.calls else None


def _find_names(answer: ShownAnswer) -> Attempt | None:
    """Return an answer that is nothing but names of shown tools, by the rule `shape`."""
    start, end = answer.body_span
    names = _NAMES.fullmatch(answer.text, start, end) if answer.shown.by_name and end - start < 1000 else None
    if names is None or not all(name.strip("\"'` \t\r\n") in answer.shown for name in names[1].split(",")):
        return None
    return answer.attempt("shape", start, end)
