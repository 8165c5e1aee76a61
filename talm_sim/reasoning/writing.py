"""Write reasoning forms, and draw some by seed: forms that decide nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from talm_sim.reasoning.fields import FIELDS, LISTS, Decision, Value, trim

__all__ = ["begin_form", "draw_form", "write_form"]

_LONGEST = 200
"""Characters of a summary that is begun for a model."""
_BREAKS_ITEM = re.compile(r"[,;|\[\]{}()\n\uff0c、\uff1b]")
_HEAD = re.compile(rf"\b({'|'.join(FIELDS)}|{'|'.join(name.replace('_', ' ') for name in FIELDS)})(\W{{0,3}}\s?)[:=]", re.IGNORECASE)
_KINDS = ("lookup", "action", "calculation", "knowledge", "multi_intent")
_BLOCKERS = ("tool_unavailable", "missing_argument", "fresh_data", "ambiguous_request", "no_permission")
_LEVELS = ("low", "medium", "high")


def write_form(fields: Mapping[str, Value]) -> str:
    """Write a form in the study's order, one line per field, without a line break at its end; fields without a value are left out.

    Values are put on one line, and what would read as a further field or item is taken out of them.

    >>> print(write_form({"task_summary": "time in Hue", "relevant_tools_sorted": ("clock",), "decision": "call"}))
    task_summary: time in Hue
    relevant_tools_sorted: [clock]
    decision: call
    """
    written = [f"{name}: {said}" for name in FIELDS if name in fields and (said := _text(name, fields[name]))]
    return "\n".join(written)


def begin_form(fields: Mapping[str, Value]) -> str:
    """Write a form up to its last field, `why`, which a model then continues."""
    return f"{write_form({name: value for name, value in fields.items() if name != FIELDS[-1]})}\n{FIELDS[-1]}:"


def draw_form(random: Random, summary: str, tools: Sequence[str]) -> dict[str, Value]:
    """Draw a form whose decision fields are independent of the request, each evenly from its values; `why` is left out.

    Args:
        random: What draws.
        summary: The request, which becomes the summary, cut if it is long.
        tools: Names of the shown tools, from which the relevant ones are drawn.
    """
    relevant = random.sample(list(tools), random.randint(0, len(tools)))
    return {
        "task_summary": trim(summary)[:_LONGEST],
        "task_type": random.choice(_KINDS),
        "ambiguity_level": random.choice(_LEVELS),
        "relevant_tools_sorted": tuple(relevant),
        "tool_needed": random.choice(("true", "false")),
        "tool_sufficiency": random.choice(("yes", "no", "partial")),
        "blockers": tuple(random.sample(_BLOCKERS, random.randint(0, 2))),
        "decision": random.choice([one.value for one in Decision]),
        "hallucination_risk": random.choice(_LEVELS),
    }


def _text(name: str, value: Value) -> str:
    if name not in LISTS:
        return _plain(value if isinstance(value, str) else ", ".join(value))
    items = (value,) if isinstance(value, str) else value
    return f"[{', '.join(filter(None, (_plain(_BREAKS_ITEM.sub(' ', one)) for one in items)))}]"


def _plain(text: str) -> str:
    """Return a text in which no field begins."""
    return trim(_HEAD.sub(r"\1\2 -", trim(text)))
