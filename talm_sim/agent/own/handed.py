"""Objects handed to the user's own agent: our tools as LangChain's, the model as a chat model, and a watcher of other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt import ToolNode
from pydantic import PrivateAttr

from talm_sim.agent.graph import added_text, as_message
from talm_sim.agent.own.own_session import CURRENT, AgentSession
from talm_sim.agent.own.own_texts import drop_surrogates
from talm_sim.errors import ProviderError
from talm_sim.models.langchain_chat import turn_in
from talm_sim.models.metering import current_meter, generation_bound
from talm_sim.types import HumanEvent, ModelTurn, ToolEvent, ToolSpec, Usage

_OURS = "talm-sim"


class HandedTool(BaseTool):
    """A tool of the environment as the agent gets it: each call passes its perturbations and its recording, and is written down."""

    _session: AgentSession = PrivateAttr()

    def __init__(self, spec: ToolSpec, session: AgentSession) -> None:
        super().__init__(name=spec.name, description=spec.description, args_schema=spec.parameters)
        self._session = session

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool: of a tool call the answer is a message, of bare arguments its text."""
        return await _call_tool(self._session, self.name, input)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool as `ainvoke` does, from a thread without an event loop."""
        return self._session.wait_for(_call_tool(self._session, self.name, input))

    async def arun(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Call the tool with bare arguments."""
        return await _call_tool(self._session, self.name, tool_input, tool_call_id)

    def run(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Call the tool as `arun` does, from a thread without an event loop."""
        return self._session.wait_for(_call_tool(self._session, self.name, tool_input, tool_call_id))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(kwargs)


async def _call_tool(session: AgentSession, name: str, given: Any, call_id: str | None = None) -> Any:
    called = isinstance(given, dict) and given.get("type") == "tool_call"
    call_id = given.get("id") if called else call_id
    event = await session.call(name, given["args"] if called else given, call_id)
    text = event.answer if isinstance(event, HumanEvent) else event.result
    if not called and call_id is None:
        return text
    failed = not event.ok if isinstance(event, ToolEvent) else event.decision is not None and event.decision.action == "reject"
    return ToolMessage(text, tool_call_id=call_id or event.call_id, name=name, status="error" if failed else "success")


class _InPlace(BaseTool):
    """Stands in a graph's ToolNode for a tool of the graph's own: within an episode ours of that name is called, else its own."""

    _own: BaseTool = PrivateAttr()

    def __init__(self, own: BaseTool) -> None:
        super().__init__(name=own.name, description=own.description, args_schema=own.args_schema)
        self._own = own

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        session = self._session()
        return await (self._own.ainvoke(input, config, **kwargs) if session is None else _call_tool(session, self.name, input))

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        session = self._session()
        if session is None:
            return self._own.invoke(input, config, **kwargs)
        return session.wait_for(_call_tool(session, self.name, input))

    def _session(self) -> AgentSession | None:
        """Return the episode that it answers in; None outside of one, and if the environment has no such tool: then it is the graph's alone."""
        session = CURRENT.get()
        return session if session is not None and session.has_tool(self.name) else None

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self.invoke(kwargs)


def put_in_place(node: ToolNode) -> None:
    """Let our tools answer the calls that a graph's node executes, by their names."""
    for name, tool in node.tools_by_name.items():
        if not isinstance(tool, _InPlace | HandedTool):
            node.tools_by_name[name] = _InPlace(tool)


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
