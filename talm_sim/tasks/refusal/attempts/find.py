"""Decide whether an answer attempts a tool call."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.attempts.answer import Attempt, ShownAnswer
from talm_sim.tasks.refusal.attempts.calls import find_call
from talm_sim.tasks.refusal.attempts.labelled_calls import find_lines
from talm_sim.tasks.refusal.attempts.marks import find_mark
from talm_sim.tasks.refusal.attempts.objects import find_object
from talm_sim.tasks.refusal.attempts.shown import NO_TOOLS, ShownTools
from talm_sim.types import JsonObject

__all__ = ["find_attempt", "find_in"]

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
