"""Write training rows: as When2Call published them, and as TRL's trainers read them.

When2Call: tools as JSON texts, a call as `<TOOLCALL>[...]</TOOLCALL>` in the response. TRL: conversational rows; a call is in
`tool_calls`, which the model's chat template writes in its own form; `tools` is one JSON text, which the trainers parse, so that no loader
has to give the schemas of all tools one type.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from talm_sim.scenarios.tool_texts import json_schema, required_of, spec_of
from talm_sim.types import Behaviour, JsonObject

__all__ = ["FORMS", "Answer", "Example", "Form", "function_tool"]

Form = Literal["when2call", "trl"]
Answer = str | tuple[JsonObject, ...]
"""A response: words, or tool calls."""
CHOSEN_REWARD, REJECTED_REWARD = 1.0, 0.0
"""Of every preference row, for reward-aware preference optimization (section 3.3.2)."""


@dataclass(frozen=True, slots=True)
class Example:
    """A training row's content, before it has a form."""

    scenario: str
    """Id of the scenario it was made of."""
    tools: tuple[str, ...]
    messages: tuple[dict[str, str], ...]
    gold: Behaviour
    chosen: Answer
    rejected: Answer | None = None
    """None in an SFT row."""
    rejected_as: str = ""
    """The behaviour it shows, or what is wrong with its call."""


def function_tool(tool: str) -> JsonObject:
    """Return a tool as chat templates take it: wrapped, its parameters in JSON Schema."""
    spec = spec_of(tool)
    schema = json_schema(spec.get("parameters"))
    schema |= {"type": "object", "properties": schema.get("properties", {})}
    if required := required_of(spec):
        schema["required"] = list(required)
    return {
        "type": "function",
        "function": {"name": spec.get("name", ""), "description": spec.get("description", ""), "parameters": schema},
    }


def _as_when2call(example: Example) -> JsonObject:
    row: JsonObject = {"tools": list(example.tools), "messages": [dict(message) for message in example.messages]}
    if example.rejected is None:
        row["messages"].append(_marked_message(example.chosen))
        return row
    row |= {"chosen_response": _marked_message(example.chosen), "rejected_response": _marked_message(example.rejected)}
    return row | {"chosen_reward": CHOSEN_REWARD, "rejected_reward": REJECTED_REWARD}


def _as_trl(example: Example) -> JsonObject:
    said: list[JsonObject] = [dict(message) for message in example.messages]
    # None, not []: some chat templates announce tools even for an empty list.
    tools = json.dumps([function_tool(tool) for tool in example.tools], ensure_ascii=False) if example.tools else None
    if example.rejected is None:
        return {"messages": [*said, _call_message(example.chosen)], "tools": tools}
    row: JsonObject = {"prompt": said, "chosen": [_call_message(example.chosen)], "rejected": [_call_message(example.rejected)]}
    return row | {"tools": tools, "chosen_reward": CHOSEN_REWARD, "rejected_reward": REJECTED_REWARD}


FORMS: dict[str, Callable[[Example], JsonObject]] = {"when2call": _as_when2call, "trl": _as_trl}


def _marked_message(answer: Answer) -> JsonObject:
    text = answer if isinstance(answer, str) else f"<TOOLCALL>{json.dumps(answer, ensure_ascii=False)}</TOOLCALL>"
    return {"role": "assistant", "content": text}


def _call_message(answer: Answer) -> JsonObject:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    calls = [{"type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}} for call in answer]
    return {"role": "assistant", "content": "", "tool_calls": calls}
