"""Objects handed to the user's own agent: our tools as LangChain's, the model as a chat model, and a watcher of other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from talm_sim.agent.graph import added_text, as_message
from talm_sim.agent.own.own_session import AgentSession
from talm_sim.agent.own.own_texts import drop_surrogates
from talm_sim.errors import ProviderError
from talm_sim.models.langchain_chat import turn_in
from talm_sim.models.metering import current_meter, generation_bound
from talm_sim.types import ModelTurn, ToolSpec, Usage

_OURS = "talm-sim"


class HandedModel(BaseChatModel):
    """The run's model as the agent gets it, a chat model: its turns are recorded or replayed."""

    _session: AgentSession = PrivateAttr()

    def __init__(self, session: AgentSession) -> None:
        super().__init__()
        self._session = session

    @property
    def _llm_type(self) -> str:
        return _OURS

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Offer tools with every turn; those of the environment as it describes them."""
        return self.bind(tools=[self._spec(tool) for tool in tools], **kwargs)

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
        turn = await self._session.generate(messages, kwargs.get("tools", ()))
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
