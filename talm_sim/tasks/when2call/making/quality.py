"""The paper's quality list (Table 6, 20 kinds of faults): what looks for each, a rule or the judge; and the judge's answer.

Rules keep to what words show: lengths, schemas, a value that is still there, a name that was not. Whether a follow-up is irrelevant or a
request can be served is a matter of meaning, which one prompt (`[judge]` of `prompts.toml`) puts to a model: it names the worst fault or none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from talm_sim.models.parsing import read_object, split_reasoning
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.types import Behaviour

__all__ = ["KINDS", "NONE", "FaultKind", "judge_choices", "judged_kinds", "read_fault"]

Part = Literal["follow-up", "direct answer", "refusal", "question that cannot be served", "question that lacks a value"]
NONE = "none"
"""What the judge names where it finds no fault."""
_OBJECT = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A row of the paper's list.

    Attributes:
        name: What the judge calls it.
        part: The text that may have it.
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
