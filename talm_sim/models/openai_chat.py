"""The OpenAI protocol: chat completions, and completions of a raw prompt.

The answer is read field by field, as compatible servers do not all answer in the SDK's exact types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from talm_sim.errors import ProviderError
from talm_sim.models.answers import check_bounds, first_tokens, openai_usage, read, stop_of, text_in, token_logprobs
from talm_sim.models.base import GenerationSettings
from talm_sim.models.chat import Completion
from talm_sim.models.endpoint import Endpoint
from talm_sim.models.parsing import parse_calls, split_reasoning
from talm_sim.models.wire_messages import model_turns_in, openai_messages, openai_tools
from talm_sim.types import ModelTurn, ToolSpec

_STOPS: dict[Any, Literal["stop", "length", "refusal"]] = {"length": "length", "content_filter": "refusal"}


class OpenAIChat:
    """A model that chats with native tool calls, and continues prompts where its server offers `/completions`.

    Args:
        name: `provider/name`, as given by the user.
        model: The server's name of the model.
        endpoint: The line to the servers.
        max_tokens_field: `max_completion_tokens` for OpenAI, whose reasoning models take nothing else; `max_tokens` for compatible servers.
        send_temperature: Whether requests name a temperature.
        most_alternatives: Most first tokens that a request asks for; None for as many as its settings say.
        fields: Further fields of every request body.
    """

    def __init__(
        self,
        name: str,
        model: str,
        endpoint: Endpoint,
        *,
        max_tokens_field: str = "max_tokens",
        send_temperature: bool = True,
        most_alternatives: int | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._endpoint = endpoint
        self._max_tokens_field = max_tokens_field
        self._send_temperature = send_temperature
        self._most_alternatives = most_alternatives
        self._fields = fields or {}

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        fields = {"tools": openai_tools(tools)} if tools else {}
        completion = await self.chat(openai_messages(messages), settings, fields)
        text, thought = split_reasoning(completion.text)
        calls, broken = parse_calls(completion.calls, model_turns_in(messages))
        called = bool(calls or broken) and completion.stop == "stop"
        return ModelTurn(
            raw_text=completion.text,
            text=text,
            reasoning=completion.reasoning or thought,
            tool_calls=calls,
            unparsable_calls=broken,
            logprobs=completion.logprobs,
            first_tokens=completion.first_tokens,
            stop="tool_calls" if called else completion.stop,
            usage=completion.usage,
        )

    async def chat(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        """Send one chat-completions request.

        Args:
            messages: In the wire format.
            settings: Sampling settings.
            fields: Fields of this request, such as `tools` or `response_format`.
        """
        asked = self._alternatives(settings)
        alternatives = {"logprobs": True, "top_logprobs": asked} if asked else {}
        body = self._body({"messages": messages, **fields}, self._max_tokens_field, settings, alternatives)
        return read(self.name, await self._endpoint.post("/chat/completions", body), lambda answer: _completion(self.name, answer, asked))

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue the raw `prompt`; see `CompletionModel.complete`."""
        asked = self._alternatives(settings)
        body = self._body({"prompt": prompt}, "max_tokens", settings, {"logprobs": asked} if asked else {})
        return read(self.name, await self._endpoint.post("/completions", body), lambda answer: _continuation(self.name, answer, asked))

    def _alternatives(self, settings: GenerationSettings) -> int:
        most = self._most_alternatives
        return settings.alternatives if most is None else min(settings.alternatives, most)

    def _body(self, start: dict[str, Any], max_tokens_field: str, settings: GenerationSettings, end: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a request. Recordings are found by it, so it has nothing that was not asked for."""
        body = {"model": self._model, **start}
        if self._send_temperature and settings.temperature is not None:
            body["temperature"] = settings.temperature
        body[max_tokens_field] = settings.max_new_tokens
        if settings.seed is not None:
            body["seed"] = settings.seed
        return body | end | self._fields | settings.options

    async def aclose(self) -> None:
        """Release the connections."""
        await self._endpoint.aclose()


def choice_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first choice of an answer; empty if it has none."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _completion(name: str, answer: dict[str, Any], alternatives: int) -> Completion:
    choice = choice_of(answer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ProviderError(f"{name}: the server's answer has no message.")
    refusal = message.get("refusal")
    written = message.get("tool_calls") or ()
    functions = [(call.get("id"), call.get("function")) for call in written if isinstance(call, dict)]
    text = text_in(message.get("content")) or text_in(refusal)
    reasoning = text_in(message.get("reasoning_content")) or text_in(message.get("reasoning"))
    check_bounds(name, (text, reasoning), functions)
    return Completion(
        text=text,
        reasoning=reasoning,
        calls=tuple((call_id, one.get("name"), one.get("arguments")) for call_id, one in functions if isinstance(one, dict)),
        stop="refusal" if refusal else stop_of(choice.get("finish_reason"), _STOPS, "stop"),
        logprobs=token_logprobs(choice.get("logprobs")),
        usage=openai_usage(answer.get("usage")),
        first_tokens=first_tokens(choice.get("logprobs"), alternatives),
    )


def _continuation(name: str, answer: dict[str, Any], alternatives: int) -> ModelTurn:
    choice = choice_of(answer)
    if not isinstance(choice.get("text"), str):
        raise ProviderError(f"{name}: the server's answer has no text.")
    raw_text = text_in(choice["text"])
    check_bounds(name, (raw_text,), ())
    text, thought = split_reasoning(raw_text)
    return ModelTurn(
        raw_text=raw_text,
        text=text,
        reasoning=thought,
        logprobs=token_logprobs(choice.get("logprobs")),
        first_tokens=first_tokens(choice.get("logprobs"), alternatives),
        stop=stop_of(choice.get("finish_reason"), _STOPS, "stop"),
        usage=openai_usage(answer.get("usage")),
    )
