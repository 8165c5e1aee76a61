"""Check answers by appendix A's quality list: each check is a small function that says what is wrong, or nothing.

The authors read their items by hand for these faults; here every generated text passes them before a person sees it. They look at words, so
they miss what only understanding would find: `talm-sim scenarios review` is for that.

The paper's list (Table 6) has 20 kinds of faults, and says here what looks for each: a rule, which keeps to what words show, or the judge, whom
one prompt (`[judge]` of `prompts.toml`) asks for the worst fault or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from talm_sim.language.about_missing import question_is_about
from talm_sim.language.leaks import mentions, tokens
from talm_sim.models.parsing import read_object, split_reasoning
from talm_sim.scenarios.item_tools import required_of
from talm_sim.schemas import NotChecked, Schema, fault_of_schema
from talm_sim.tasks.when2call.making.faulty_wording import (
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
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.splitting import mentions_value
from talm_sim.types import Behaviour

RULES_VERSION = 6
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
Part = Literal["follow-up", "direct answer", "refusal", "question that cannot be served", "question that lacks a value"]
NONE = "none"
"""What the judge names where it finds no fault."""
_OBJECT = re.compile(r"\{[^{}]*\}")


def says_something(text: str, item: Item) -> str:
    """Reject an empty text: it is no option."""
    return "" if text.strip() else "it is empty"


def is_the_text_alone(text: str, item: Item) -> str:
    """Reject a label or an announcement: a model under test would not write them."""
    match = _PREAMBLE.search(text)
    if match and match[0] in item.source.question:
        return ""
    return f"it announces the text ('{match[0].strip()[:40]}')" if match else ""


def direct_has_no_label(text: str, item: Item) -> str:
    """Reject a label before a direct answer. "Sure, here are three:" may open one, as it announces what follows."""
    match = _LABELS.search(text)
    return f"it announces the text ('{match[0].strip()[:40]}')" if match and match[0] not in item.source.question else ""


def is_in_words(text: str, item: Item) -> str:
    """Reject JSON and tags: a call, or a piece of the prompt, is no answer in words."""
    found = _MARKUP.search(text)
    return f"it holds markup ('{found[0][:40]}')" if found and found[0] not in item.source.question else ""


def is_in_english(text: str, item: Item) -> str:
    """Require the language of the question: English, if that is English."""
    return "" if is_english(text) or not is_english(item.source.question) else "it is not English"


def speaks_of_no_tool(text: str, item: Item) -> str:
    """Reject talk of tools: the person at the other end knows nothing of them."""
    found = find_tool_talk(text, item.source.spec.name, item.source.question)
    return f"it speaks of the machinery ('{found}')" if found else ""


def direct_is_short(text: str, item: Item) -> str:
    """Allow at most 50 words."""
    return _length_fault(text, Behaviour.DIRECT)


def follow_up_is_short(text: str, item: Item) -> str:
    """Allow at most 50 words."""
    return _length_fault(text, Behaviour.REQUEST_FOR_INFO)


def refusal_is_short(text: str, item: Item) -> str:
    """Allow at most 40 words."""
    return _length_fault(text, Behaviour.CANNOT_ANSWER)


def _length_fault(text: str, behaviour: Behaviour) -> str:
    long = len(words(text))
    return f"it has {long} words, more than {LIMITS[behaviour]}" if long > LIMITS[behaviour] else ""


def direct_asks_nothing(text: str, item: Item) -> str:
    """Reject a direct answer that asks for something."""
    found = find_request_for_details(text)
    return f"it asks or requests ('{found}')" if found else ""


def direct_has_no_disclaimer(text: str, item: Item) -> str:
    """Reject a disclaimer in a direct answer, which claims to know."""
    found = find_disclaimer(text)
    return f"it takes its answer back ('{found}')" if found else ""


def direct_is_no_echo(text: str, item: Item) -> str:
    """Reject a repeated question, which answers nothing."""
    return "it only repeats the question" if tokens(text) == tokens(item.question) else ""


def follow_up_is_a_question(text: str, item: Item) -> str:
    """Require a follow-up to ask something."""
    return "" if _is_question(text) else "it is not a question"


def follow_up_asks_for_the_missing(text: str, item: Item) -> str:
    """Require a follow-up to ask for the thing that is missing, if it is a single one."""
    if item.missing is None or not _is_question(text) or question_is_about(text, item.missing, item.argument_description(item.missing.name)):
        return ""
    return f"it does not ask for the missing '{item.missing.name}'"


def follow_up_confirms_nothing(text: str, item: Item) -> str:
    """Reject the paper's commonest fault: a follow-up that has the user confirm given values. In words, the value itself must be there."""
    confirming = find_confirmation(text)
    if item.gold is not Behaviour.REQUEST_FOR_INFO or not confirming:
        return ""
    given = next((name for name, value in item.given.items() if mentions_value(item.question, value) and _names(text, value)), "")
    return f"it has the given '{given}' confirmed ('{confirming}')" if given else ""


def refusal_declines(text: str, item: Item) -> str:
    """Require a refusal to say that it cannot be done."""
    return "" if declines(text) else "it does not say that it cannot be done"


def refusal_asks_nothing(text: str, item: Item) -> str:
    """Reject a refusal that asks back: it is a follow-up, too."""
    return "it asks something" if "?" in text else ""


def refusal_stays_with_the_question(text: str, item: Item) -> str:
    """Reject names in a refusal that the question does not have: the refusal saw no tool."""
    found = names_new_things(text, [item.question])
    return f"it names '{found}', which is not in the question" if found else ""


def call_is_complete(text: str, item: Item) -> str:
    """Require the tool call to name the tool, to give what it requires, and to keep to its schema."""
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


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A row of the paper's list.

    Attributes:
        about: What is wrong, for the judge and the docs.
        check: Name of the rule that looks for it; empty where the judge does.
    """

    name: str
    part: Part
    about: str
    check: str = ""


_UNABLE: Part = "question that cannot be served"
_LACKING: Part = "question that lacks a value"
KINDS: tuple[FaultKind, ...] = (
    FaultKind("asks_for_format", "follow-up", "asks how the answer should be written or laid out"),
    FaultKind("confirms_given", "follow-up", "has a value confirmed that the request gives", "follow_up_confirms_nothing"),
    FaultKind("asks_for_given", "follow-up", "asks for what the request says already"),
    FaultKind("asks_for_reason", "follow-up", "asks why it is wanted, or what for"),
    FaultKind("asks_for_more_input", "follow-up", "asks for further settings of the tool that nobody needs"),
    FaultKind("asks_beside_the_point", "follow-up", "asks for something that has nothing to do with the request"),
    FaultKind("follow_up_invents", "follow-up", "states something that neither the request nor the tool says"),
    FaultKind("direct_asks", "direct answer", "asks the person for information", "direct_asks_nothing"),
    FaultKind("refusal_adds", "refusal", "names something that the request does not", "refusal_stays_with_the_question"),
    FaultKind("explains_the_tool", _UNABLE, "explains what the tool can or cannot do", "speaks_of_no_tool"),
    FaultKind("tool_can_answer", _UNABLE, "can be served with a tool that is shown"),
    FaultKind("vague", _UNABLE, "is general, without particular values"),
    FaultKind("refers_to_unsaid", _UNABLE, "refers to something as known that was not mentioned"),
    FaultKind("unrelated", _UNABLE, "has nothing to do with the subject of the tool"),
    FaultKind("needs_no_tool", _UNABLE, "can be answered from general knowledge"),
    FaultKind("partly_answerable", _UNABLE, "can be answered in part without any tool"),
    FaultKind("lacks_nothing", _LACKING, "still gives the value that should be missing", "leaks_nothing"),
    FaultKind("vague_value", _LACKING, "has a vague word in place of the value, as 'a specific date'"),
    FaultKind("says_it_lacks", _LACKING, "says that a value is not given", "hides_the_gap"),
    FaultKind("speaks_of_tool", _LACKING, "speaks of a tool", "speaks_of_no_tool"),
)
"""All rows, in the paper's order; none is left unchecked."""


def judged_kinds(item: Item) -> tuple[FaultKind, ...]:
    """Return the faults of meaning that an item may have. A wrong follow-up may ask for anything, and a question that is unchanged has none.

    A removed tool leaves one question open, whether another tool that is shown can serve the request.
    """
    parts = {Behaviour.REQUEST_FOR_INFO: ("follow-up", _LACKING), Behaviour.CANNOT_ANSWER: (_UNABLE,)}.get(item.gold, ())
    kinds = tuple(kind for kind in KINDS if kind.part in parts and not kind.check)
    return tuple(kind for kind in kinds if kind.name == "tool_can_answer") if item.removed else kinds


def judge_choices(item: Item) -> tuple[str, ...]:
    """Return the answers that the judge may give of an item."""
    return tuple(f'{{"fault": "{name}"}}' for name in (NONE, *(kind.name for kind in judged_kinds(item))))


def read_fault(reply: str, item: Item) -> FaultKind | str | None:
    """Return the fault that a reply names, `NONE`, or None where it names none of the item's or more than one.

    The object may be alone, fenced or amid words.
    """
    known: dict[str, FaultKind | str] = {NONE: NONE, **{kind.name: kind for kind in judged_kinds(item)}}
    found = set()
    for match in _OBJECT.finditer(split_reasoning(reply)[0]):
        try:
            name = read_object(match[0]).get("fault")
        except ValueError:
            continue
        if isinstance(name, str):
            found.add(re.sub(r"[\s-]+", "_", name.strip().casefold()))
    return known.get(found.pop()) if len(found) == 1 else None
