"""`anthropic/<model>`: the Messages protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from talm_sim.errors import ContextOverflowError, ProviderError
from talm_sim.models.answers import anthropic_usage, check_bounds, read, stop_of, text_in
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endpoint import LOGICAL_HOST, Endpoint, sdk_headers
from talm_sim.models.parsing import parse_calls, replace_surrogates, split_reasoning
from talm_sim.models.request import ModelRequest, body_fields, check_headers, required_key, server_urls
from talm_sim.models.wire_messages import anthropic_messages, anthropic_tools, model_turns_in
from talm_sim.types import ModelTurn, ToolSpec

_ANTHROPIC_URL = "https://api.anthropic.com"
_HIGHEST_TEMPERATURE = 1.0
"""The protocol's own default, and the end of its range."""
_RESERVED = frozenset({"model", "messages", "system", "tools", "stream"})
_STOPS: dict[Any, Literal["stop", "length", "tool_calls", "refusal"]] = {
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}


class AnthropicMessages:
    """A model behind the Messages protocol.

    The protocol has no seed, and no temperature above 1: a higher one is cut to 1. Temperature 1 is left out of the request, as it is the
    protocol's default and newer models refuse the field.

    Args:
        name: `provider/name`, as given by the user.
        model: The server's name of the model.
        endpoint: The connection to the servers.
        fields: Further fields of every request body.
    """

    def __init__(self, name: str, model: str, endpoint: Endpoint, *, fields: dict[str, Any] | None = None) -> None:
        self.name = name
        self._model = model
        self._endpoint = endpoint
        self._fields = fields or {}

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        body = self._body(messages, tools, settings)
        return read(self.name, await self._endpoint.post("/v1/messages", body), lambda answer: self._turn(answer, messages))

    async def aclose(self) -> None:
        """Release the connections."""
        await self._endpoint.aclose()

    def _turn(self, answer: dict[str, Any], messages: Sequence[BaseMessage]) -> ModelTurn:
        content = answer.get("content")
        if not isinstance(content, list):
            raise ProviderError(f"{self.name}: the server's answer has no content.")
        blocks = [block for block in content if isinstance(block, dict)]
        if answer.get("stop_reason") == "model_context_window_exceeded":
            raise ContextOverflowError(f"{self.name}: the conversation and its answer are longer than the model's context.")
        raw_text = replace_surrogates("".join(_of_type(blocks, "text", "text")))
        thinking = replace_surrogates("\n\n".join(_of_type(blocks, "thinking", "thinking")))
        written = [(block.get("id"), block.get("name"), block.get("input")) for block in blocks if block.get("type") == "tool_use"]
        check_bounds(self.name, (raw_text, thinking), written)
        text, thought = split_reasoning(raw_text)
        calls, broken = parse_calls(written, model_turns_in(messages))
        return ModelTurn(
            raw_text=raw_text,
            text=text,
            reasoning=thinking or thought,
            tool_calls=calls,
            unparsable_calls=broken,
            stop=stop_of(answer.get("stop_reason"), _STOPS, "stop"),
            usage=anthropic_usage(answer.get("usage")),
        )

    def _body(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> dict[str, Any]:
        system, turns = anthropic_messages(messages)
        body: dict[str, Any] = {"model": self._model, "max_tokens": settings.max_new_tokens, "messages": turns}
        if system:
            body["system"] = system
        if tools:
            body["tools"] = anthropic_tools(tools)
        if settings.temperature is not None and settings.temperature < _HIGHEST_TEMPERATURE:
            body["temperature"] = settings.temperature
        return body | self._fields | settings.options


def open_anthropic(request: ModelRequest) -> Model:
    """Open `anthropic/<model>`; reads ANTHROPIC_API_KEY and, if set, ANTHROPIC_BASE_URL, which may name several servers."""
    variables = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
    if request.replay:
        endpoint = Endpoint.of(request, (LOGICAL_HOST,), variables=variables)
    else:
        urls = server_urls("ANTHROPIC_BASE_URL", request.environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC_URL)
        key = required_key(request, "ANTHROPIC_API_KEY")
        check_headers(request, "ANTHROPIC_AUTH_TOKEN")
        endpoint = Endpoint.of(request, urls, variables=variables)
        _sign(endpoint, urls[0], key)
    return AnthropicMessages(request.name, request.model, endpoint, fields=body_fields(request.name, request.options, _RESERVED))


def _sign(endpoint: Endpoint, url: str, key: str) -> None:
    """Let all requests say who asks, as the SDK does."""
    from anthropic import AsyncAnthropic  # not at the top: it takes a third of a second, and nobody signs what is replayed

    endpoint.client.headers.update(sdk_headers(AsyncAnthropic(api_key=key, base_url=url, http_client=endpoint.client)))


def _of_type(blocks: list[dict[str, Any]], kind: str, field: str) -> list[str]:
    return [text_in(block.get(field)) for block in blocks if block.get("type") == kind]
