"""The OpenAI protocol: chat completions, and completions of a raw prompt.

The answer is read field by field, as compatible servers do not all answer in the SDK's exact types.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from langchain_core.messages import BaseMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import arguments_in, error_in, first_tokens, openai_usage, text_in, token_logprobs
from talm_sim.models.asked import ASKED, BLOCKS
from talm_sim.models.base import GenerationSettings
from talm_sim.models.endings import Answer, check_answer, turn_of
from talm_sim.models.endpoint import Endpoint, EndpointModel
from talm_sim.models.wire_messages import THOUGHT_FIELDS, model_turns_in, openai_messages, openai_tools
from talm_sim.types import JsonObject, ModelTurn, ToolSpec


class OpenAIChat(EndpointModel):
    """A model that chats with native tool calls, and continues prompts where its server offers `/completions`.

    Args:
        max_tokens_field: `max_completion_tokens` for OpenAI, whose reasoning models take nothing else; `max_tokens` for compatible servers.
        most_alternatives: Most first tokens that a request asks for; None for as many as its settings say.
    """

    passes_on = frozenset({*ASKED, BLOCKS})

    def __init__(
        self,
        name: str,
        model: str,
        endpoint: Endpoint,
        *,
        max_tokens_field: str = "max_tokens",
        most_alternatives: int | None = None,
        fields: dict[str, Any] | None = None,
        room: int = 0,
    ) -> None:
        super().__init__(name, model, endpoint, fields=fields, room=room)
        self._max_tokens_field = max_tokens_field
        self._most_alternatives = most_alternatives

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        asked = dict(settings.asked)
        offered = openai_tools(tools, asked.pop("strict", None))
        fields = ({"tools": offered} if tools else {}) | asked
        answer = await self.chat(openai_messages(messages, self.name), settings, fields)
        return turn_of(self.name, answer, model_turns_in(messages))

    async def chat(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Answer:
        """Send one chat-completions request."""
        asked = self._alternatives(settings)
        alternatives = {"logprobs": True, "top_logprobs": asked} if asked else {}
        body = self._body({"messages": messages, **fields}, self._max_tokens_field, settings, alternatives)
        return await self._endpoint.post("/chat/completions", body, lambda answer: _chat_answer(self.name, answer, asked))

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue the raw `prompt`; see `CompletionModel.complete`."""
        asked = self._alternatives(settings)
        body = self._body({"prompt": prompt}, "max_tokens", settings, {"logprobs": asked} if asked else {})
        answer = await self._endpoint.post("/completions", body, lambda answer: _continuation(self.name, answer, asked))
        return turn_of(self.name, answer, 0)

    def _alternatives(self, settings: GenerationSettings) -> int:
        most = self._most_alternatives
        return settings.alternatives if most is None else min(settings.alternatives, most)

    def _body(self, start: dict[str, Any], max_tokens_field: str, settings: GenerationSettings, end: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a request. Recordings are found by it, so it has nothing that was not asked for."""
        body = {"model": self._model, **start}
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        body[max_tokens_field] = settings.max_new_tokens + self._room
        if settings.seed is not None:
            body["seed"] = settings.seed
        return body | end | self._fields | settings.options


def choice_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first choice of an answer; empty if it has none."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _chat_answer(name: str, answer: dict[str, Any], alternatives: int) -> Answer:
    choice = choice_of(answer)
    message = choice.get("message")
    error = error_in(answer) or error_in(choice) or (error_in(message) if isinstance(message, dict) else "")
    if not isinstance(message, dict):
        if not error:
            raise ProviderError(f"{name}: the server's answer has no message.")
        message = {}
    refusal, content = text_in(message.get("refusal")), message.get("content")
    parts = content if isinstance(content, list) else [content]
    found = Answer(
        text=text_in(content) or refusal,
        reasoning=text_in(message.get("reasoning_content")) or text_in(message.get("reasoning")),
        calls=tuple(map(_call_in, _calls_in(message))),
        word=choice.get("finish_reason"),
        error=error,
        declined=bool(refusal) or any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts),
        logprobs=token_logprobs(choice.get("logprobs")),
        usage=openai_usage(answer.get("usage")),
        first_tokens=first_tokens(choice.get("logprobs"), alternatives),
        state=_state_in(name, message),
    )
    return check_answer(name, found)


def _calls_in(message: dict[str, Any]) -> list[Any]:
    """Return the calls of a message in any of the forms that servers give them: the field of today, one object, or the protocol's first one."""
    calls = _decoded(message.get("tool_calls") or message.get("function_call") or [])
    if isinstance(calls, dict) and not any(value not in (None, "", "{}") for value in _function_of(calls).values()):
        return []  # a gateway that writes an empty object where there is none
    return calls if isinstance(calls, list) else [calls]


def _decoded(value: Any) -> Any:
    """Return what a text of JSON says, where it is an object or a list: some gateways write calls so."""
    with suppress(ValueError, RecursionError):
        found = json.loads(value) if isinstance(value, str) else value
        return found if isinstance(found, dict | list) else value
    return value


def _function_of(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function", call)
    return function if isinstance(function, dict) else {"": call}


def _call_in(call: Any) -> tuple[Any, Any, Any]:
    """Return (id, name, arguments) of a call; one that cannot be read has no name, and its text as arguments."""
    if not isinstance(call := _decoded(call), dict):
        return None, None, call
    function = _function_of(call)
    return call.get("id"), function.get("name"), arguments_in(function)


def _state_in(name: str, message: dict[str, Any]) -> JsonObject | None:
    """Return the message as it goes back, if it holds thought that its server wants to see again."""
    calls = message.get("tool_calls")
    signed = isinstance(calls, list) and any(isinstance(call, dict) and call.get("extra_content") for call in calls)
    kept = {field: message[field] for field in THOUGHT_FIELDS if message.get(field)}
    if not kept and not signed:
        return None
    own = {field: message[field] for field in ("content", "tool_calls") if field in message}
    return {"model": name, "message": {"role": "assistant", **own, **kept}}


def _continuation(name: str, answer: dict[str, Any], alternatives: int) -> Answer:
    choice = choice_of(answer)
    error = error_in(answer) or error_in(choice)
    if not isinstance(choice.get("text"), str) and not error:
        raise ProviderError(f"{name}: the server's answer has no text.")
    found = Answer(
        text=text_in(choice.get("text")),
        word=choice.get("finish_reason"),
        error=error,
        logprobs=token_logprobs(choice.get("logprobs")),
        first_tokens=first_tokens(choice.get("logprobs"), alternatives),
        usage=openai_usage(answer.get("usage")),
    )
    return check_answer(name, found)
