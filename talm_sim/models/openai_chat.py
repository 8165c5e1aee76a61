"""`openai/<model>` and `openai-api/<service>/<model>`: the chat-completions protocol through the official SDK.

The SDK builds, signs and sends the request; its typed resource method is stepped over, because building and validating its models costs six
times as much as the rest of a replayed turn, and because compatible servers do not all answer in the exact types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from openai import AsyncOpenAI, Omit

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endpoint import LOGICAL_HOST, Endpoint
from talm_sim.models.messages import model_turns_in, openai_messages, openai_tools
from talm_sim.models.parsing import clean, parse_calls, split_reasoning
from talm_sim.models.request import REPLAY_KEY, ModelRequest, body_options, is_loopback, required_variable, server_url
from talm_sim.models.retries import RetryPolicy
from talm_sim.types import ModelTurn, ToolSpec, Usage

__all__ = ["Completion", "OpenAIChat", "open_compatible", "open_openai", "service_variables"]

LOGICAL_BASE = f"{LOGICAL_HOST}/v1"
OPENAI_URL = "https://api.openai.com/v1"
_RESERVED = frozenset({"model", "messages", "tools", "n", "stream", "stream_options", "response_format"})
_FIXED_TEMPERATURE = re.compile(r"o\d|gpt-5(?!.*chat)")
"""OpenAI's reasoning models refuse any temperature but their own."""
_STOPS: dict[Any, Literal["stop", "length", "refusal"]] = {"length": "length", "content_filter": "refusal"}


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of the server, as far as it is the same for every tool format."""

    text: str
    """What the model wrote, unchanged."""
    reasoning: str
    """From the server's own reasoning field, where it has one."""
    calls: tuple[tuple[Any, Any, Any], ...]
    """(id, name, arguments) as reported."""
    stop: Literal["stop", "length", "refusal"]
    logprobs: tuple[float, ...] | None
    usage: Usage


class OpenAIChat:
    """A chat-completions model with native tool calls.

    Args:
        name: `provider/name`, as given by the user.
        model: The server's name of the model.
        endpoint: The line to the server.
        client: The SDK's client, on the endpoint's HTTP client.
        max_tokens_field: `max_completion_tokens` for OpenAI, whose reasoning models take nothing else; `max_tokens` for compatible servers.
        fields: Further fields of every request body.
    """

    def __init__(
        self,
        name: str,
        model: str,
        endpoint: Endpoint,
        client: AsyncOpenAI,
        *,
        max_tokens_field: str = "max_tokens",
        send_temperature: bool = True,
        fields: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._endpoint = endpoint
        self._client = client
        self._max_tokens_field = max_tokens_field
        self._send_temperature = send_temperature
        self._fields = fields or {}

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        fields = {"tools": openai_tools(tools)} if tools else {}
        completion = await self.complete(openai_messages(messages), settings, fields)
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
            stop="tool_calls" if called else completion.stop,
            usage=completion.usage,
        )

    async def complete(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Completion:
        """Send one chat-completions request.

        Args:
            messages: In the wire format.
            settings: Sampling settings.
            fields: Fields of this request, such as `tools` or `response_format`.
        """
        body: dict[str, Any] = {"model": self._model, "messages": messages, **fields}
        if self._send_temperature:
            body["temperature"] = settings.temperature
        body[self._max_tokens_field] = settings.max_new_tokens
        if settings.seed is not None:
            body["seed"] = settings.seed
        body |= self._fields | settings.options
        answer = await self._endpoint.call(lambda: self._client.post("/chat/completions", body=body, cast_to=object))
        return _completion(self.name, answer)

    async def aclose(self) -> None:
        """Release the connections."""
        await self._endpoint.aclose()


def open_openai(request: ModelRequest) -> Model:
    """Open `openai/<model>`; reads OPENAI_API_KEY and, where set, OPENAI_BASE_URL."""
    url = request.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key = REPLAY_KEY if request.replay else required_variable(request, "OPENAI_API_KEY")
    client, endpoint = _connect(request, server_url("OPENAI_BASE_URL", url), key)
    own_temperature = _FIXED_TEMPERATURE.match(request.model) is not None
    return _open(request, request.model, client, endpoint, "max_completion_tokens", send_temperature=not own_temperature)


def open_compatible(request: ModelRequest) -> Model:
    """Open `openai-api/<service>/<model>`; reads <SERVICE>_BASE_URL and <SERVICE>_API_KEY (a server on this machine needs no key)."""
    service, _, model = request.model.partition("/")
    if not service or not model:
        raise PrerequisiteError(f"{request.name}: write openai-api/SERVICE/MODEL, e.g. openai-api/vllm/smollm2-135m.")
    url_variable, key_variable = service_variables(service)
    if request.replay:
        url, key = LOGICAL_BASE, REPLAY_KEY
    else:
        url = server_url(url_variable, required_variable(request, url_variable))
        key = request.environ.get(key_variable, "") if is_loopback(url) else required_variable(request, key_variable)
    client, endpoint = _connect(request, url, key or "none")
    return _open(request, model, client, endpoint, "max_tokens", send_temperature=True)


def service_variables(service: str) -> tuple[str, str]:
    """Names of the variables that hold a service's address and key.

    >>> service_variables("my-server")
    ('MY_SERVER_BASE_URL', 'MY_SERVER_API_KEY')
    """
    prefix = re.sub(r"\W", "_", service).upper()
    return f"{prefix}_BASE_URL", f"{prefix}_API_KEY"


def _open(
    request: ModelRequest, model: str, client: AsyncOpenAI, endpoint: Endpoint, max_tokens_field: str, *, send_temperature: bool
) -> Model:
    fields = body_options(request, _RESERVED)
    max_tokens_field = str(fields.pop("max_tokens_field", max_tokens_field))
    length = fields.pop("answer_chars", None)
    chat = OpenAIChat(
        request.name, model, endpoint, client, max_tokens_field=max_tokens_field, send_temperature=send_temperature, fields=fields
    )
    if not request.constrained:
        return chat
    from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel

    if length is not None and (not isinstance(length, int) or length < 1):
        raise PrerequisiteError(f"-M answer_chars={length}: must be a number of characters, such as {ANSWER_CHARS}.")
    return ConstrainedModel(chat, answer_chars=length or ANSWER_CHARS)


def _connect(request: ModelRequest, url: str, key: str) -> tuple[AsyncOpenAI, Endpoint]:
    base_url = LOGICAL_BASE if request.replay else url
    endpoint = Endpoint(
        request.name,
        base_url,
        logical_base=LOGICAL_BASE,
        transport=request.transport_factory() if request.transport_factory else None,
        retries=RetryPolicy(max_retries=0 if request.replay else request.max_retries),
        max_connections=request.max_connections,
        timeout=request.timeout,
        secrets=(key,),
    )
    # The SDK reads organization and project from the environment: they are OpenAI's own, and no other server's business.
    headers = {} if base_url == OPENAI_URL else {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
    client = AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        timeout=request.timeout,
        http_client=endpoint.client,
        default_headers=headers,  # type: ignore[arg-type]  # Omit is the SDK's way to drop a header, its annotation forgets it here
    )
    return client, endpoint


def _completion(name: str, answer: dict[str, Any]) -> Completion:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProviderError(f"{name}: the server's answer holds no message.")
    refusal = message.get("refusal")
    written = message.get("tool_calls") or ()
    functions = [(call.get("id"), call.get("function") or {}) for call in written if isinstance(call, dict)]
    return Completion(
        text=clean(str(message.get("content") or refusal or "")),
        reasoning=clean(str(message.get("reasoning_content") or message.get("reasoning") or "")),
        calls=tuple((call_id, function.get("name"), function.get("arguments")) for call_id, function in functions),
        stop="refusal" if refusal else _STOPS.get(choice.get("finish_reason"), "stop"),
        logprobs=_logprobs(choice.get("logprobs")),
        usage=_usage(answer.get("usage")),
    )


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        input_tokens=int(usage.get("prompt_tokens") or 0),
        output_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(cached or 0),
    )


def _logprobs(logprobs: Any) -> tuple[float, ...] | None:
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(float(token["logprob"]) for token in tokens) if isinstance(tokens, list) else None
