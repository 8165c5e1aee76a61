"""`langchain/<module>:<factory>`: the user's own chat model, or one passed as an object in the Python API."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import SecretStr

from talm_sim.common.credentials import Hider, credentials_in_environment, is_distinctive
from talm_sim.errors import PrerequisiteError
from talm_sim.models.answers import read, usage_of
from talm_sim.models.asked import ASKED, BLOCKS
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.endings import Answer, turn_of
from talm_sim.models.failures import provider_failure
from talm_sim.models.parsing import replace_surrogates
from talm_sim.models.request import ModelRequest
from talm_sim.models.wire_messages import model_turns_in, openai_tools, text_of
from talm_sim.types import ModelTurn, ToolSpec, Usage

CLIENT_ARGUMENT = "http_async_client"
"""Name of the parameter by which a factory receives the HTTP client that records and replays."""
_SETTINGS = {"temperature": "temperature", "max_tokens": "max_new_tokens", "seed": "seed"}
"""Field of the chat model for each setting; a model without the field keeps its own way."""


class LangChainModel:
    """Wraps a LangChain chat model.

    Retries, limits and keys are left to the chat model; keys are removed from its answers and errors, as from any server's answer.

    Args:
        chat: The chat model. It must take tools (`bind_tools`) if it is to be offered any.
    """

    passes_on = frozenset({*ASKED, BLOCKS})

    def __init__(self, chat: BaseChatModel, name: str = "", *, client: httpx2.AsyncClient | None = None) -> None:
        self.name = name or f"langchain/{type(chat).__name__}"
        self._chat = chat
        self._client = client
        self._hide = Hider.from_environment(credentials_in_environment(), tuple(filter(is_distinctive, _keys_of(chat))), measured=True)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one turn; see `Model.generate`."""
        fields = type(self._chat).model_fields
        bound = {field: getattr(settings, name) for field, name in _SETTINGS.items() if field in fields}
        options = {field: value for field, value in bound.items() if value is not None} | dict(settings.asked) | settings.options
        offered = openai_tools(tools, options.pop("strict", None))
        try:
            chat = self._chat.bind_tools(offered, **options) if tools else self._chat.bind(**options)
            message = await chat.ainvoke(list(messages))
        except Exception as err:
            failure: Exception = _as_failure(self.name, err, self._hide)
        else:
            return read(self.name, message, lambda answer: turn_in(self.name, answer, model_turns_in(messages), self._hide))
        raise failure

    async def aclose(self) -> None:
        """Close the HTTP client that was handed to the factory."""
        if self._client is not None:
            await self._client.aclose()


def open_langchain(request: ModelRequest) -> Model:
    """Open `langchain/<module>:<factory>`; the factory takes the `-M` options as keyword arguments and returns a chat model."""
    factory = _factory(request)
    arguments: dict[str, Any] = dict(request.options)
    client = None
    signature = inspect.signature(factory)
    takes_client = CLIENT_ARGUMENT in signature.parameters
    if request.replay and not takes_client:
        raise PrerequisiteError(
            f"{request.name}: cannot be replayed: its factory takes no '{CLIENT_ARGUMENT}' and would reach the network; "
            f"give it that parameter, or run with --live."
        )
    if takes_client and request.transport_factory is not None:
        client = arguments[CLIENT_ARGUMENT] = httpx2.AsyncClient(transport=request.transport_factory(), timeout=request.timeout)
    try:
        signature.bind(**arguments)
    except TypeError as err:
        raise PrerequisiteError(f"{request.name}: the factory refused its arguments ({err}); check the -M options.") from None
    try:
        chat = factory(**arguments)
    except (Exception, SystemExit) as err:  # the user's function may fail in any way
        raise PrerequisiteError(f"{request.name}: the factory failed: {_summarize_error(err)}.") from err
    if not isinstance(chat, BaseChatModel):
        raise PrerequisiteError(f"{request.name}: returned a {type(chat).__name__}, but must return a LangChain chat model.")
    return LangChainModel(chat, request.name, client=client)


def _factory(request: ModelRequest) -> Callable[..., Any]:
    module_name, colon, attribute = request.model.partition(":")
    if not (colon and module_name and attribute):
        raise PrerequisiteError(f"{request.name}: write langchain/MODULE:FACTORY, e.g. langchain/my_models:make_chat.")
    # A console script's path lacks the current directory, where the user's own module may be.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as err:
        raise PrerequisiteError(f"{request.name}: no module '{err.name}'; install it, or run where it can be imported.") from None
    except (Exception, SystemExit) as err:  # the user's module may fail in any way
        raise PrerequisiteError(f"{request.name}: module '{module_name}' cannot be imported: {_summarize_error(err)}.") from err
    if (found := getattr(module, attribute, None)) is None:
        raise PrerequisiteError(f"{request.name}: module '{module_name}' has no '{attribute}'.")
    if not callable(found):
        raise PrerequisiteError(f"{request.name}: '{attribute}' is not a function that returns a chat model.")
    factory: Callable[..., Any] = found
    return factory


def _summarize_error(err: BaseException) -> str:
    """Return an error of the user's code in a line: its kind, its message, and where it was raised."""
    said = " ".join(str(err).split())
    frames = traceback.extract_tb(err.__traceback__)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames and not isinstance(err, SyntaxError) else ""
    return f"{type(err).__name__}: {said}{where}" if said else f"{type(err).__name__}{where}"


def _keys_of(chat: BaseChatModel) -> Iterator[str]:
    values = (getattr(chat, name, None) for name in type(chat).model_fields)
    return (value.get_secret_value() for value in values if isinstance(value, SecretStr))


def _as_failure(name: str, error: Exception, hide: Hider) -> Exception:
    if isinstance(error, NotImplementedError):
        return PrerequisiteError(f"{name}: this chat model takes no tools (it has no bind_tools); use another.")
    return provider_failure(name, error, hide)


def turn_in(name: str, message: AIMessage, turn: int, hide: Hider) -> ModelTurn:
    """Return a chat model's message as a turn."""
    # Arguments go through the strict reader: LangChain's own lets NaN pass.
    written: list[tuple[Any, Any, Any]] = [(call["id"], call["name"], hide.value(call["args"])) for call in message.tool_calls]
    written += [(call["id"], call["name"] or "", hide.value(call["args"] or "(no arguments)")) for call in message.invalid_tool_calls]
    told = message.response_metadata
    answer = Answer(
        text=replace_surrogates(hide.text(text_of(message))),
        reasoning=hide.text(_reasoning(message)),
        calls=tuple(written),
        # Where a chat model says nothing of the end, it is a normal one: it raises an error if it has failed.
        word=next((told[key] for key in ("finish_reason", "stop_reason", "done_reason", "status") if isinstance(told.get(key), str)), "stop"),
        usage=_usage(message),
    )
    return turn_of(name, answer, turn)


def _reasoning(message: AIMessage) -> str:
    if own := message.additional_kwargs.get("reasoning_content"):
        return replace_surrogates(str(own))
    blocks = [block for block in message.content if isinstance(block, dict)] if isinstance(message.content, list) else []
    kept = [block.get("thinking") or block.get("reasoning") for block in blocks if block.get("type") in {"thinking", "reasoning"}]
    return replace_surrogates("\n\n".join(part if isinstance(part, str) else json.dumps(part) for part in kept if part))


def _usage(message: AIMessage) -> Usage:
    if (usage := message.usage_metadata) is None:
        return Usage(uncounted=1)
    details = usage.get("input_token_details")
    return usage_of(usage.get("input_tokens"), usage.get("output_tokens"), details.get("cache_read") if isinstance(details, dict) else None)
