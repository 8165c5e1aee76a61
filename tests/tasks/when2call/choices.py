"""Multiple-choice rows made up for tests."""

from __future__ import annotations

import json
from typing import Any

from talm_sim.tasks.when2call.published import scenario_of
from talm_sim.types import Scenario

TOOL = {
    "name": "book_table",
    "description": "Books a table.",
    "parameters": {
        "type": "dict",
        "required": ["place", "guests"],
        "properties": {
            "place": {"type": "string"},
            "guests": {"type": "integer", "minimum": 1},
            "terrace": {"type": "boolean", "default": False},
            "budget": {"type": "float"},
            "days": {"type": "tuple", "items": {"type": "string"}},
            "extra": {"type": "any"},
        },
    },
}
OTHER = {"name": "show_map", "description": "Shows a map.", "parameters": {"type": "dict", "properties": {}, "required": []}}
CALL = {"name": "book_table", "arguments": {"place": "Luna", "guests": 4, "terrace": True}}


def row(uuid: str = "u-1", gold: str = "tool_call", **fields: Any) -> dict[str, Any]:
    """A row as published; `fields` replace or add keys, None takes one away."""
    made: dict[str, Any] = {
        "uuid": uuid,
        "source": "made up",
        "source_id": f"src-{uuid}",
        "question": "A table for 4 at Luna, please.",
        "correct_answer": gold,
        "answers": {
            "direct": "Done, you have a table.",
            "tool_call": json.dumps(CALL),
            "request_for_info": "For how many people?",
            "cannot_answer": "I have no way to book tables.",
        },
        "target_tool": json.dumps(TOOL) if gold != "cannot_answer" else None,
        "tools": [json.dumps(TOOL if gold != "cannot_answer" else OTHER), json.dumps(OTHER | {"name": "show_route"})],
    }
    return {key: value for key, value in (made | fields).items() if value is not None or (key == "target_tool" and key not in fields)}


def scenario(uuid: str = "u-1", gold: str = "tool_call", call: Any = None, **fields: Any) -> Scenario:
    """The scenario of such a row; `call` replaces its tool-call answer."""
    made = row(uuid, gold, **fields)
    if call is not None:
        made["answers"] = made["answers"] | {"tool_call": call if isinstance(call, str) else json.dumps(call)}
    return scenario_of(made)


def mixture(each: int = 6) -> list[Scenario]:
    """`each` scenarios of every gold behaviour that occurs, all different."""
    places = ("Luna", "Marais", "Osteria Nord", "Kantine", "Pavillon", "Sakura", "Drei Linden", "Harbour Inn")
    made: list[Scenario] = []
    for gold in ("tool_call", "request_for_info", "cannot_answer"):
        for number in range(each):
            place = places[number % len(places)]
            call = {"name": "book_table", "arguments": {"place": place, "guests": number + 2, "terrace": number % 2 == 0}}
            made.append(scenario(f"{gold}-{number}", gold, call, question=f"A table for {number + 2} at {place}, please."))
    return made
