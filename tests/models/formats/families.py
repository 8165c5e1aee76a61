"""Families of models, and how each writes four cases of calls: one, two at once, nested values, and quotes and brackets inside a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from talm_sim.models.formats import CallToWrite, json_text, python_text

TRIP = {"legs": [{"from": "Bern", "stops": [1, 2.5, None]}, {"from": "Chur", "return": True}]}
TEXT = "It's \"{here}\", [there](now), and 'so' = on: a, b=c; d) \\ e\nf"
CASES: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "one": (("get_fare", {"to": "Bern", "seats": 2}),),
    "parallel": (("get_fare", {"to": "Bern", "seats": 2}), ("list_stations", {"near": "Zürich"})),
    "nested": (("book_trip", {"trip": TRIP, "tags": ["a", "b"], "n": -3, "ok": False}),),
    "quotes": (("add_note", {"text": TEXT, "n": 1}),),
}
TYPES = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}
TOOLS = [
    {"name": name, "parameters": {"type": "object", "properties": {key: {"type": TYPES[type(value)]} for key, value in arguments.items()}}}
    for name, arguments in (*CASES["parallel"], *CASES["nested"], *CASES["quotes"])
]
WRITTEN: Mapping[str, Mapping[str, str]] = {
    row["family"]: {case: row[case] for case in CASES}
    for row in map(json.loads, (Path(__file__).parent / "families.jsonl").read_text(encoding="utf-8").splitlines())
}
"""What a family's own chat template writes of each case, or what its documentation has it write; `source` of the file says which."""


def _python(call: CallToWrite) -> str:
    return ", ".join(f"{key}={python_text(value)}" for key, value in call.arguments.items())


TOLD: Mapping[str, Callable[[CallToWrite], str]] = {
    "Qwen-Agent": lambda call: f"✿FUNCTION✿: {call.name}\n✿ARGS✿: {json_text(call.arguments)}",
    "NexusRaven": lambda call: f"Call: {call.name}({_python(call)})<bot_end> \nThought: The user asks for it.",
    "ChatGLM 3": lambda call: f"{call.name}\n ```python\ntool_call({_python(call)})\n```",
    "Functionary v2": lambda call: f"<|from|>assistant\n<|recipient|>{call.name}\n<|content|>{json_text(call.arguments)}<|stop|>",
    "Functionary v2, behind its prompt": lambda call: f"{call.name}\n<|content|>{json_text(call.arguments)}<|stop|>",
    "ReAct": lambda call: f"Thought: I look it up.\nAction: {call.name}\nAction Input: {json_text(call.arguments)}",
}
"""Families that are seen as attempts and not read."""
