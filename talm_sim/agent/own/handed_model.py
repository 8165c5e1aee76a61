"""Models of the user's own agent: the run's model, handed over as a chat model, and a watcher of those that the agent brings."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.openai_tools import JsonOutputKeyToolsParser, PydanticToolsParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_openai_function, convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr

from talm_sim.agent.graph import added_text, as_message
from talm_sim.agent.own.own_session import AgentSession
from talm_sim.agent.own.own_texts import drop_surrogates
from talm_sim.errors import ProviderError
from talm_sim.models.langchain_chat import turn_in
from talm_sim.models.metering import current_meter, generation_bound
from talm_sim.types import ModelTurn, ToolSpec, Usage

_OURS = "talm-sim"
_SET = frozenset({"temperature", "max_tokens", "max_completion_tokens", "seed", "model", "ls_structured_output_format"})
"""What an agent may give with a turn and the run sets, and what is only for tracers."""
_CHOICES = {"any": "required", True: "required"}


class HandedModel(BaseChatModel):
    """The run's model as the agent gets it, a chat model: its turns are recorded or replayed.

    What the agent asks of a turn goes on to the model, in the words of chat completions; the run sets temperature, tokens and seed.
    """

    _session: AgentSession = PrivateAttr()

    def __init__(self, session: AgentSession) -> None:
        super().__init__()
        self._session = session

    @property
    def _llm_type(self) -> str:
        return _OURS

    @property
    def model_name(self) -> str:
        """The model's own name, by which frameworks decide what it can do."""
        return self._session.context.model.name.rpartition("/")[2]

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Offer tools with every turn, those of the environment as it describes them; what else is given goes on to the model."""
        specs = [self._spec(tool) for tool in tools]
        names = {spec.name for spec in specs}
        if isinstance(tool_choice, str) and tool_choice in names:
            tool_choice = {"type": "function", "function": {"name": tool_choice}}
        chosen = (
            {}
            if tool_choice in (None, False)
            else {"tool_choice": _CHOICES.get(tool_choice, tool_choice) if _is_word(tool_choice) else tool_choice}
        )
        return self.bind(tools=specs, **chosen, **{key: value for key, value in kwargs.items() if value is not None})

    def with_structured_output(
        self, schema: Any = None, *, method: str = "json_schema", include_raw: bool = False, strict: bool | None = None, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """Ask for an answer in a form: by a `response_format`, or by a call that is forced (`method="function_calling"`)."""
        is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
        if method == "function_calling":
            name = convert_to_openai_tool(schema)["function"]["name"]
            bound = self.bind_tools([schema], tool_choice=name, parallel_tool_calls=False, strict=strict, **kwargs)
            tools_parser = PydanticToolsParser(tools=[schema], first_tool_only=True) if is_model else None
            parser: Runnable[Any, Any] = tools_parser or JsonOutputKeyToolsParser(key_name=name, first_tool_only=True)
        else:
            form = {"type": "json_object"} if method == "json_mode" else _response_format(schema, strict)
            bound = self.bind(response_format=form, **kwargs)
            parser = PydanticOutputParser(pydantic_object=schema) if is_model else JsonOutputParser()
        if not include_raw:
            return bound | parser
        parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
        failed = RunnablePassthrough.assign(parsed=lambda _: None)
        return RunnableMap(raw=bound) | parsed.with_fallbacks([failed], exception_key="parsing_error")

    def _spec(self, tool: Any) -> ToolSpec:
        described = drop_surrogates(convert_to_openai_tool(tool)["function"])
        known = {spec.name: spec for spec in self._session.context.offered}
        name = described["name"]
        return known.get(name) or ToolSpec(
            name=name,
            description=described.get("description", ""),
            parameters=described.get("parameters", {"type": "object", "properties": {}}),
        )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = {key: value for key, value in {**kwargs, "stop": stop or kwargs.get("stop")}.items() if value is not None and key not in _SET}
        form = asked.get("response_format")
        if form is not None and not isinstance(form, dict):
            asked["response_format"] = _response_format(form, asked.get("strict"))
        turn = await self._session.generate(messages, asked.pop("tools", ()), asked)
        message = as_message(turn)
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


def _is_word(choice: Any) -> bool:
    return isinstance(choice, str | bool)


def _response_format(schema: Any, strict: bool | None) -> dict[str, Any]:
    """Return the form of an answer as the OpenAI SDK writes it of a schema."""
    if isinstance(schema, dict) and schema.get("type") == "json_schema":
        return schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        from openai.lib._parsing._completions import type_to_response_format_param  # as LangChain's own model of OpenAI does

        form: Any = type_to_response_format_param(schema)
        return dict(form)
    function = convert_to_openai_function(schema, strict=strict)
    named = {"name": function.pop("name"), "schema": function.pop("parameters", {}), **function}
    return {"type": "json_schema", "json_schema": named}


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

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any) -> None:
        """Check that there is a turn left."""
        self._session.check()
        self._prompts[run_id] = messages[0]
        settings = kwargs.get("invocation_params") or {}
        if current_meter.get() is not None and settings.get("_type") != _OURS:
            self._bounds[run_id] = generation_bound([messages, settings])

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
