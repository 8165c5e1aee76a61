"""Models of the user's own agent: the run's model, handed over as a chat model, and a watcher of those that the agent brings."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr, SecretStr

from talm_sim.agent.graph import added_text, as_message
from talm_sim.agent.own.handed_tools import is_played
from talm_sim.agent.own.own_session import AgentSession
from talm_sim.agent.own.own_texts import drop_surrogates
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.models.langchain_chat import turn_in
from talm_sim.models.metering import current_meter, generation_bound
from talm_sim.models.openai_chat import OpenAIChat
from talm_sim.models.openai_responses import OpenAIResponses
from talm_sim.types import ModelTurn, ToolSpec, Usage

_OURS = "talm-sim"
_SET = frozenset({"temperature", "max_tokens", "max_completion_tokens", "seed", "model", "ls_structured_output_format"})
"""What an agent may give with a turn and the run sets, and what is only for tracers."""


class _Handed:
    """The run's model as the agent gets it, a chat model: its turns are recorded or replayed.

    What the agent asks of a turn goes on to the model, in the words of chat completions; the run sets temperature, tokens and seed.
    """

    _session: AgentSession

    @property
    def _llm_type(self) -> str:
        return _OURS

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = {key: value for key, value in {**kwargs, "stop": stop or kwargs.get("stop")}.items() if value is not None and key not in _SET}
        if (form := asked.get("response_format")) is not None:
            asked["response_format"] = _response_format(form)
        specs, strict = _read_tools(asked.pop("tools", ()))
        turn = await self._session.generate(messages, specs, asked | strict)
        message = as_message(turn)
        if isinstance(form, type) and issubclass(form, BaseModel) and turn.text:
            message.additional_kwargs["parsed"] = form.model_validate_json(turn.text)
        message.response_metadata = {"model_provider": _OURS, "model_name": self._session.context.model.name, "finish_reason": turn.stop}
        used = turn.usage
        message.usage_metadata = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        }
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        return self._session.wait_for(self._agenerate(messages, stop, None, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._session.remark("streamed")
        for piece in _pieces(await self._agenerate(messages, stop, None, **kwargs)):
            if run_manager is not None and piece.text:
                await run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        self._session.remark("streamed")
        for piece in _pieces(self._generate(messages, stop, None, **kwargs)):
            if run_manager is not None and piece.text:
                run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece


class HandedModel(_Handed, BaseChatModel):
    """The same where nothing is known of the client that the model has elsewhere."""

    _session: AgentSession = PrivateAttr()

    def __init__(self, session: AgentSession) -> None:
        super().__init__()
        self._session = session

    @property
    def model_name(self) -> str:
        """The model's own name, by which frameworks decide what it can do."""
        return _name_of(self._session)

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, strict: bool | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Offer tools with every turn; what else is given goes on to the model."""
        offered = [convert_to_openai_tool(tool, strict=strict) for tool in tools]
        if tool_choice in [tool["function"]["name"] for tool in offered]:
            tool_choice = {"type": "function", "function": {"name": tool_choice}}
        elif tool_choice == "any" or tool_choice is True:
            tool_choice = "required"
        return self.bind(tools=offered, **{"tool_choice": tool_choice} if tool_choice else {}, **kwargs)


@cache
def _class_of_openai() -> type[BaseChatModel]:
    """Return the same as LangChain's model of OpenAI, which frameworks treat otherwise than any other."""
    from langchain_openai import ChatOpenAI

    class HandedChatOpenAI(_Handed, ChatOpenAI):
        _session: AgentSession = PrivateAttr()

        def __init__(self, session: AgentSession) -> None:
            nothing: Any = object()  # it asks nobody itself
            clients = {"client": nothing, "async_client": nothing, "root_client": nothing, "root_async_client": nothing}
            super().__init__(model=_name_of(session), api_key=SecretStr("none"), **clients)
            self._session = session

    return HandedChatOpenAI


def hand_model(session: AgentSession) -> BaseChatModel:
    """Return the run's model as the agent of an episode gets it."""
    speaks_openai = isinstance(session.context.model, OpenAIChat | OpenAIResponses)
    made: Any = _class_of_openai() if speaks_openai and find_spec("langchain_openai") is not None else HandedModel
    return made(session)  # type: ignore[no-any-return]


def _name_of(session: AgentSession) -> str:
    return session.context.model.name.partition("/")[2].rpartition("/")[2]


def _read_tools(tools: Sequence[Any]) -> tuple[list[ToolSpec], dict[str, Any]]:
    """Return tools as an agent's framework wrote them, and which are strict, if any is said to be."""
    for tool in tools:
        if tool.get("type") != "function":
            raise PrerequisiteError(f"your agent offers its model the tool '{tool.get('type')}', which no run can replay; leave it out.")
    functions = [drop_surrogates(tool["function"]) for tool in tools]
    strict = {one["name"]: one["strict"] for one in functions if one.get("strict") is not None}
    empty = {"type": "object", "properties": {}}
    return [ToolSpec(name=one["name"], description=one.get("description", ""), parameters=one.get("parameters", empty)) for one in functions], {
        "strict": strict
    } if strict else {}


def _response_format(schema: type[BaseModel] | dict[str, Any]) -> dict[str, Any]:
    """Return the form of an answer as the OpenAI SDK writes it."""
    if isinstance(schema, dict):
        return schema
    from openai.lib._parsing._completions import type_to_response_format_param  # as LangChain's own model of OpenAI does

    form: Any = type_to_response_format_param(schema)
    return dict(form)


def _pieces(result: ChatResult) -> Iterator[ChatGenerationChunk]:
    """Yield a finished turn word by word, then its calls, then what it took."""
    message = result.generations[0].message
    assert isinstance(message, AIMessage)
    for word in re.findall(r"\S+\s*|\s+", str(message.content)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    calls = [{"name": one["name"], "args": json.dumps(one["args"]), "id": one["id"], "index": at} for at, one in enumerate(message.tool_calls)]
    broken = [
        {"name": one["name"], "args": one["args"], "id": one["id"], "index": len(calls) + at}
        for at, one in enumerate(message.invalid_tool_calls)
    ]
    last = AIMessageChunk(
        content="",
        tool_call_chunks=[*calls, *broken],
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=last)


class TurnWatcher(BaseCallbackHandler):
    """Records the turns of models that the agent brings itself, as far as they are LangChain's, and holds them to the limits."""

    raise_error = True
    run_inline = True

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._prompts: dict[UUID, list[BaseMessage]] = {}
        self._bounds: dict[UUID, Usage] = {}
        self._outside: dict[UUID, tuple[str, int]] = {}

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        """Check that there is a turn left."""
        self._session.check()
        self._prompts[run_id] = messages[0]
        settings = kwargs.get("invocation_params") or {}
        if current_meter.get() is not None and settings.get("_type") != _OURS:
            self._bounds[run_id] = generation_bound([messages, settings])

    def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Note a tool that has the name of one of the environment's and is another object."""
        if not is_played() and (name := self._session.name_of_tool(str(serialized.get("name")))):
            self._outside[run_id] = name, len(self._session.events)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Count it as run past the environment, unless it has called the one that was handed over."""
        name, before = self._outside.pop(run_id, ("", 0))
        if name and name not in [getattr(event, "name", "") for event in self._session.events[before:]]:
            self._session.remark(f"past {name}")

    on_tool_error = on_tool_end  # type: ignore[assignment]

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Count the request: nobody says what it took."""
        self._prompts.pop(run_id, None)
        self._count(run_id)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Record the turn."""
        prompt = self._prompts.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if prompt is None or not isinstance(message, AIMessage) or message.response_metadata.get("model_provider") == _OURS:
            return
        session = self._session
        try:
            turn = turn_in("the agent's model", message, len(session.turns), session.hide)
        except ProviderError as err:
            self._count(run_id)
            raise ValueError(str(err)) from None
        self._count(run_id, turn)
        session.note(turn.model_copy(update={"raw_prompt": session.text(added_text(prompt))}))  # type: ignore[arg-type]

    def _count(self, run_id: UUID, turn: ModelTurn | None = None) -> None:
        bound, meter = self._bounds.pop(run_id, None), current_meter.get()
        if bound is not None and meter is not None:
            meter.add_turn(self._session.context.model.name, turn, bound)
