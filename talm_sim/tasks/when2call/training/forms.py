"""Write training rows as When2Call published them: tools as JSON texts, a call as `<TOOLCALL>[...]</TOOLCALL>` in the response."""

from __future__ import annotations

import json

from talm_sim.tasks.training.examples import Answer, Example
from talm_sim.types import JsonObject

__all__ = ["published_row"]

CHOSEN_REWARD, REJECTED_REWARD = 1.0, 0.0
"""Of every preference row, for reward-aware preference optimization (section 3.3.2)."""


def published_row(example: Example) -> JsonObject:
    """Write one example."""
    said = [{"role": message["role"], "content": message["content"]} for message in example.scenario.turns[0].messages]
    row: JsonObject = {"tools": list(example.scenario.shown_tools), "messages": said}
    if example.rejected is None:
        said.append(_message(example.chosen))
        return row
    row |= {"chosen_response": _message(example.chosen), "rejected_response": _message(example.rejected)}
    return row | {"chosen_reward": CHOSEN_REWARD, "rejected_reward": REJECTED_REWARD}


def _message(answer: Answer) -> dict[str, str]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    calls = [{"name": call.name, "arguments": call.arguments} for call in answer]
    return {"role": "assistant", "content": f"<TOOLCALL>{json.dumps(calls, ensure_ascii=False)}</TOOLCALL>"}
