"""`anthropic/<model>`: the Messages protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import anthropic_usage, arguments_in, error_in, text_in
from talm_sim.models.asked import of_anthropic
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endings import Answer, check_answer, turn_of
from talm_sim.models.endpoint import LOGICAL_HOST, Endpoint, EndpointModel
from talm_sim.models.request import ModelRequest, body_fields, check_headers, required_key, server_urls
from talm_sim.models.request_facts import RequestFacts, known_of, room_for, without_none
from talm_sim.models.sdks import send_by_sdk
from talm_sim.models.wire_messages import THOUGHT_BLOCKS, anthropic_messages, anthropic_tools, model_turns_in
from talm_sim.types import ModelTurn, ToolSpec

_ANTHROPIC_URL = "https://api.anthropic.com"
_HIGHEST_TEMPERATURE = 1.0
"""The protocol's own default, and the end of its range."""
_RESERVED = frozenset({"model", "messages", "system", "tools", "stream"})


class AnthropicMessages(EndpointModel):
    """A model behind the Messages protocol.

    The protocol has no seed, and no temperature above 1: a higher one is cut to 1. Temperature 1 is left out of the request, as it is the
    protocol's default and newer models refuse the field.

    Args:
        facts: Room for thought, which is added to the limit of each answer; what is out of range is noted there.
    """

    passes_on = frozenset({"tool_choice", "stop", "parallel_tool_calls"})

    def __init__(self, name: str, model: str, endpoint: Endpoint, *, facts: RequestFacts, fields: dict[str, Any] | None = None) -> None:
        super().__init__(name, model, endpoint, fields=fields)
        self._facts = facts

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        body = self._body(messages, tools, settings)
        answer = await self._endpoint.post("/v1/messages", body, lambda answer: _answer_in(self.name, answer))
        return turn_of(self.name, answer, model_turns_in(messages))

    def _body(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> dict[str, Any]:
        system, turns = anthropic_messages(messages, self.name)
        body: dict[str, Any] = {"model": self._model, "max_tokens": settings.max_new_tokens + (self._facts.room or 0), "messages": turns}
        if system:
            body["system"] = system
        if tools:
            body["tools"] = anthropic_tools(tools)
        if settings.temperature is not None and settings.temperature < _HIGHEST_TEMPERATURE:
            body["temperature"] = settings.temperature
        elif settings.temperature is not None and settings.temperature > _HIGHEST_TEMPERATURE:
            self._facts.out_of_range.add(f"a temperature of {settings.temperature:g}, above 1")
        return body | of_anthropic(settings.asked) | self._fields | settings.options


def _answer_in(name: str, answer: dict[str, Any]) -> Answer:
    content = answer.get("content")
    error = error_in(answer)
    if not isinstance(content, list | str) and not error and not answer.get("stop_reason"):
        raise ProviderError(f"{name}: the server's answer has no content.")
    written = [{"type": "text", "text": content}] if isinstance(content, str) else content if isinstance(content, list) else ()
    blocks = [block for block in written if isinstance(block, dict)]
    thinks = any(block.get("type") in THOUGHT_BLOCKS for block in blocks)
    found = Answer(
        text="".join(_of_type(blocks, "text", "text")),
        reasoning="\n\n".join(_of_type(blocks, "thinking", "thinking")),
        calls=tuple((block.get("id"), block.get("name"), arguments_in(block)) for block in blocks if block.get("type") == "tool_use"),
        word=answer.get("stop_reason"),
        error=error,
        usage=anthropic_usage(answer.get("usage")),
        state={"model": name, "blocks": blocks} if thinks else None,
    )
    return check_answer(name, found)


def open_anthropic(request: ModelRequest) -> Model:
    """Open `anthropic/<model>`; reads ANTHROPIC_API_KEY and, if set, ANTHROPIC_BASE_URL, which may name several servers."""
    variables = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    options, told = without_none(request.options)
    told_room = options.pop("room", None)
    fields, left_out = body_fields(request.name, options, _RESERVED), (*told, *known_of(request.model).refuses)
    room_for(request.model, fields, request.facts, told_room)
    if request.replay:
        endpoint = Endpoint.of(request, (LOGICAL_HOST,), variables=variables, left_out=left_out)
    else:
        urls = server_urls("ANTHROPIC_BASE_URL", request.environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC_URL)
        key = required_key(request, "ANTHROPIC_API_KEY")
        check_headers(request, "ANTHROPIC_AUTH_TOKEN")
        endpoint = Endpoint.of(request, urls, variables=variables, left_out=left_out)
        from anthropic import AsyncAnthropic  # not at the top: it takes a third of a second, and a replay needs none

        send_by_sdk(endpoint, AsyncAnthropic, api_key=key, base_url=urls[0])
    return AnthropicMessages(request.name, request.model, endpoint, facts=request.facts, fields=fields)


def _of_type(blocks: list[dict[str, Any]], kind: str, field: str) -> list[str]:
    return [text_in(block.get(field)) for block in blocks if block.get("type") == kind]
