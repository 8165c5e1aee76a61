"""The Responses protocol (`-M api=responses`): the model's encrypted thought goes back to it, whole and in order, with every turn.

Nothing is stored at the server: `store` is false, and no request refers to an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import arguments_in, error_in, text_in, usage_of
from talm_sim.models.asked import of_responses
from talm_sim.models.base import GenerationSettings
from talm_sim.models.endings import Answer, check_answer, turn_of
from talm_sim.models.endpoint import EndpointModel
from talm_sim.models.wire_messages import model_turns_in, openai_messages, state_of, text_of
from talm_sim.types import ModelTurn, ToolSpec, Usage

_ENCRYPTED = "reasoning.encrypted_content"
_CALLS = frozenset({"function_call", "custom_tool_call"})


class OpenAIResponses(EndpointModel):
    """A model behind `/responses`. The protocol has no seed, and reports no probabilities of first tokens."""

    passes_on = frozenset({"tool_choice", "response_format", "parallel_tool_calls", "strict"})

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        asked = [item for message in messages for item in _items(message, self.name)]
        body: dict[str, Any] = {"model": self._model, "input": asked, "store": False, "include": [_ENCRYPTED]}
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": settings.asked.get("strict", {}).get(tool.name, False),
                }
                for tool in tools
            ]
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        body["max_output_tokens"] = settings.max_new_tokens + self._room
        body |= of_responses(settings.asked) | self._fields | settings.options
        answer = await self._endpoint.post("/responses", body, lambda answer: _answer_in(self.name, answer))
        return turn_of(self.name, answer, model_turns_in(messages))


def _items(message: BaseMessage, model: str) -> list[dict[str, Any]]:
    """Return a message as items of the protocol; those that the model sent go back as they came, unless somebody has changed its calls."""
    if isinstance(message, ToolMessage):
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": text_of(message)}]
    if not isinstance(message, AIMessage):
        return [{"role": one["role"], "content": one["content"]} for one in openai_messages([message])]
    [written] = openai_messages([message])
    calls = [
        {"type": "function_call", "call_id": call["id"], "name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in written.get("tool_calls", ())
    ]
    text = text_of(message)
    said = [{"role": "assistant", "content": text}] if text else []
    if (state := state_of(message, model)) is None:
        return [*said, *calls]
    came: list[dict[str, Any]] = state["items"]
    as_sent = {item.get("call_id") for item in came if item.get("type") == "function_call"}
    if text == state["text"] and as_sent == {call["call_id"] for call in calls}:
        return came
    return [*(item for item in came if item.get("type") == "reasoning"), *said, *calls]


def _answer_in(name: str, answer: dict[str, Any]) -> Answer:
    output = answer.get("output")
    error = error_in(answer)
    if not isinstance(output, list) and not error:
        raise ProviderError(f"{name}: the server's answer has no output.")
    items = [item for item in output or () if isinstance(item, dict)]
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or () if isinstance(part, dict)]
    refusal = text_in([part for part in parts if part.get("type") == "refusal"])
    thought = [part for item in items if item.get("type") == "reasoning" for part in (item.get("summary") or item.get("content") or ())]
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    found = Answer(
        text=text_in([part for part in parts if part.get("type") == "output_text"]) or refusal,
        reasoning="\n\n".join(filter(None, (text_in([part]) for part in thought))),
        calls=tuple((item.get("call_id"), item.get("name"), arguments_in(item)) for item in items if item.get("type") in _CALLS),
        word=reason or answer.get("status"),
        error=error,
        declined=bool(refusal),
        usage=_usage(answer.get("usage")),
        state={"model": name, "items": items} if any(item.get("type") == "reasoning" for item in items) else None,
    )
    return check_answer(name, found)


def _usage(usage: Any) -> Usage:
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("input_tokens_details")
    return usage_of(usage.get("input_tokens"), usage.get("output_tokens"), details.get("cached_tokens") if isinstance(details, dict) else None)
