"""Appendix A's quality list as automatic checks of the answers: each a small function that says what is wrong, or nothing.

The authors read their items by hand for these faults; here every generated text passes them before a person sees it. They look at words, so
they miss what only understanding would find: `talm-sim scenarios review` is for that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from talm_sim.scenarios.leaks import mentions, tokens
from talm_sim.scenarios.missing import question_is_about
from talm_sim.scenarios.tool_texts import required_of
from talm_sim.schemas import NotChecked, Schema, fault_of_schema
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.tasks.when2call.making.wording import (
    asks,
    declines,
    find_confirmation,
    find_disclaimer,
    find_request_for_details,
    find_tool_talk,
    is_english,
    names_new_things,
    words,
)
from talm_sim.types import Behaviour, Missing, MissingKind

__all__ = ["LIMITS", "OPTION_CHECKS", "RULES_VERSION", "Check", "asks_for_given", "differs", "failures"]

RULES_VERSION = 4
"""One more whenever a check, a fixed phrasing or the taking apart of a question changes: a generation that was begun keeps to one set."""

Check = Callable[[str, Item], str]
"""Looks at a text of an item; returns what is wrong with it, or an empty text. Its name is the function's."""
LIMITS = {Behaviour.DIRECT: 50, Behaviour.REQUEST_FOR_INFO: 50, Behaviour.CANNOT_ANSWER: 40}
"""Most words of an option (appendix C)."""
_LABEL = (
    r"^\W*(?:\w+ ){0,2}(?:question|answer|response|request|follow-up|user|assistant|rewritten|refusal)\s*:"
    r"|\b(?:rewritten|rephrased) (?:question|request|version)\b|\bit (?:can|cannot) serve\s*:"
    r"|[.?!]\W{1,20}(?:it lacks|leave out|new request|request|answer|question|user|assistant)\s*:"
)
_LABELS = re.compile(_LABEL, re.IGNORECASE)
_PREAMBLE = re.compile(r"^\W*(?:sure|certainly|of course|okay|ok|here(?:'s| is| are))\b[^.?!]*:|" + _LABEL, re.IGNORECASE)
_MARKUP = re.compile(r'\{\s*"|"\s*:\s*[{\["]|</?[A-Za-z_]\w*>|<\|\w*')


def says_something(text: str, item: Item) -> str:
    """An empty text is no option."""
    return "" if text.strip() else "it is empty"


def is_the_text_alone(text: str, item: Item) -> str:
    """No label, no announcement: a model under test would not write them."""
    match = _PREAMBLE.search(text)
    if match and match[0] in item.source.question:
        return ""
    return f"it announces the text ('{match[0].strip()[:40]}')" if match else ""


def direct_has_no_label(text: str, item: Item) -> str:
    """A direct answer may open with "Sure, here are three:", which announces what follows; a label is no part of an answer."""
    match = _LABELS.search(text)
    return f"it announces the text ('{match[0].strip()[:40]}')" if match and match[0] not in item.source.question else ""


def is_in_words(text: str, item: Item) -> str:
    """No JSON, no tags: a call, or a piece of the prompt, is no answer in words."""
    found = _MARKUP.search(text)
    return f"it holds markup ('{found[0][:40]}')" if found and found[0] not in item.source.question else ""


def is_in_english(text: str, item: Item) -> str:
    """The language of the question: English, where that is English."""
    return "" if is_english(text) or not is_english(item.source.question) else "it is not English"


def speaks_of_no_tool(text: str, item: Item) -> str:
    """The person at the other end knows nothing of tools."""
    found = find_tool_talk(text, item.source.spec.name, item.source.question)
    return f"it speaks of the machinery ('{found}')" if found else ""


def direct_is_short(text: str, item: Item) -> str:
    """At most 50 words."""
    return _length_fault(text, Behaviour.DIRECT)


def follow_up_is_short(text: str, item: Item) -> str:
    """At most 50 words."""
    return _length_fault(text, Behaviour.REQUEST_FOR_INFO)


def refusal_is_short(text: str, item: Item) -> str:
    """At most 40 words."""
    return _length_fault(text, Behaviour.CANNOT_ANSWER)


def _length_fault(text: str, behaviour: Behaviour) -> str:
    long = len(words(text))
    return f"it has {long} words, more than {LIMITS[behaviour]}" if long > LIMITS[behaviour] else ""


def direct_asks_nothing(text: str, item: Item) -> str:
    """A direct answer answers."""
    found = find_request_for_details(text)
    return f"it asks or requests ('{found}')" if found else ""


def direct_has_no_disclaimer(text: str, item: Item) -> str:
    """A direct answer claims to know."""
    found = find_disclaimer(text)
    return f"it takes its answer back ('{found}')" if found else ""


def direct_is_no_echo(text: str, item: Item) -> str:
    """Repeating the question answers nothing."""
    return "it only repeats the question" if tokens(text) == tokens(item.question) else ""


def follow_up_is_a_question(text: str, item: Item) -> str:
    """A follow-up asks."""
    return "" if _is_question(text) else "it is not a question"


def follow_up_asks_for_the_missing(text: str, item: Item) -> str:
    """Where one thing is missing, that is what must be asked for."""
    if item.missing is None or not _is_question(text) or question_is_about(text, item.missing, item.argument_description(item.missing.name)):
        return ""
    return f"it does not ask for the missing '{item.missing.name}'"


def follow_up_confirms_nothing(text: str, item: Item) -> str:
    """The paper's commonest fault: a right follow-up has values confirmed that the user gave. In words, the value itself must be there."""
    confirming = find_confirmation(text)
    if item.gold is not Behaviour.REQUEST_FOR_INFO or not confirming:
        return ""
    given = next((name for name, value in item.given.items() if mentions_value(item.question, value) and _names(text, value)), "")
    return f"it has the given '{given}' confirmed ('{confirming}')" if given else ""


def asks_for_given(text: str, item: Item) -> str:
    """Return the first argument that a follow-up asks for though the question gives its value; empty where there is none."""
    for name, value in item.given.items():
        if question_is_about(text, Missing(kind=MissingKind.ARGUMENT, name=name, value=value), item.argument_description(name)):
            return name
    return ""


def refusal_declines(text: str, item: Item) -> str:
    """A refusal says that it cannot be done."""
    return "" if declines(text) else "it does not say that it cannot be done"


def refusal_asks_nothing(text: str, item: Item) -> str:
    """A refusal that asks back is a follow-up, too."""
    return "it asks something" if "?" in text else ""


def refusal_stays_with_the_question(text: str, item: Item) -> str:
    """The refusal saw no tool, so it can name nothing but what the question names."""
    found = names_new_things(text, [item.question])
    return f"it names '{found}', which is not in the question" if found else ""


def call_is_complete(text: str, item: Item) -> str:
    """The tool call names the tool, gives what it requires, and keeps to its schema."""
    try:
        call = json.loads(text)
        name, arguments = call["name"], call["arguments"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return "it is no tool call"
    if name != item.source.spec.name:
        return "it calls another tool"
    schema = item.source.spec.parameters
    try:
        faults = Schema(schema).faults(arguments, most=1) if fault_of_schema(schema) is None else None
    except NotChecked:
        faults = None
    if faults is None:
        # Published schemas say "dict", which JSON Schema does not know.
        lacking = [one for one in required_of({"parameters": schema}) if not isinstance(arguments, dict) or one not in arguments]
        return f"it lacks '{lacking[0]}'" if lacking else ""
    return f"its arguments do not fit the tool: {faults[0].message[:120]}" if faults else ""


def differs(text: str, others: Sequence[str]) -> str:
    """Check that an option is not the same as another one; the name is written into `rejected.jsonl`."""
    return "it equals another option" if any(tokens(text) == tokens(other) for other in others) else ""


def _is_question(text: str) -> bool:
    return bool(asks(text, request=True))


def _names(text: str, value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_names(text, part) for part in value)
    return not isinstance(value, bool) and mentions(text, value)


_WORDS: tuple[Check, ...] = (says_something, is_in_words, is_in_english)
_ALWAYS: tuple[Check, ...] = (*_WORDS, is_the_text_alone)
OPTION_CHECKS: dict[Behaviour, tuple[Check, ...]] = {
    Behaviour.DIRECT: (*_WORDS, direct_has_no_label, direct_is_short, direct_asks_nothing, direct_has_no_disclaimer, direct_is_no_echo),
    Behaviour.TOOL_CALL: (says_something, call_is_complete),
    Behaviour.REQUEST_FOR_INFO: (
        *_ALWAYS,
        speaks_of_no_tool,
        follow_up_is_short,
        follow_up_is_a_question,
        follow_up_asks_for_the_missing,
        follow_up_confirms_nothing,
    ),
    Behaviour.CANNOT_ANSWER: (
        *_ALWAYS,
        speaks_of_no_tool,
        refusal_is_short,
        refusal_declines,
        refusal_asks_nothing,
        refusal_stays_with_the_question,
    ),
}
"""The checks of each option, in the order in which they are made."""


def failures(text: str, item: Item, checks: Sequence[Check]) -> list[tuple[str, str]]:
    """Name and reason of every check that a text fails; of an empty text only that."""
    if not text.strip():
        return [(says_something.__name__, says_something(text, item))]
    return [(check.__name__, reason) for check in checks if (reason := check(text, item))]
