"""Tools handed to the user's own agent: each call passes its perturbations and its recording, and is written down."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from talm_sim.agent.own.own_session import CURRENT, AgentSession
from talm_sim.recordings import Returned
from talm_sim.tools_env.handed_answers import PlayedCall
from talm_sim.tools_env.sources.base import CALL_ID, INJECTED
from talm_sim.tools_env.sources.injected import injected_arguments
from talm_sim.tools_env.tool_answers import is_cut
from talm_sim.types import HumanEvent, ToolSpec


@dataclass(slots=True)
class _Call:
    """A call while LangChain makes it: its arguments as they were written, its id, and whether it has come to the episode."""

    arguments: Any
    id: str | None
    played: bool = False


@dataclass(frozen=True, slots=True)
class _Joined:
    """What a tool that is played has besides: its episode, the user's own tool, which checks arguments, and those that a graph gives."""

    session: AgentSession | None
    own: BaseTool | None
    injected: frozenset[str]


_CALL: ContextVar[_Call] = ContextVar("talm_sim_tool_call")


class _Played:
    """Plays the calls of a LangChain tool in an episode. What the agent gets of a result or an error is made by the tool's own class."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool: of a tool call the answer is a message, of bare arguments the value."""
        if (session := _session_of(self)) is None:
            return await _own_of(self).ainvoke(input, config, **kwargs)
        if not _is_readable(input):
            return await _play(self, session, _read(input))
        return await BaseTool.ainvoke(self, input, config, **kwargs)  # type: ignore[arg-type]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the tool as `ainvoke` does, from a thread without an event loop."""
        if (session := _session_of(self)) is None:
            return _own_of(self).invoke(input, config, **kwargs)
        if _is_readable(input):
            return super().invoke(input, config, **kwargs)  # type: ignore[misc]
        return session.wait_for(_play(self, session, _read(input)))

    async def arun(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Call the tool with bare arguments, or with those of a call that has an id."""
        with _calling(tool_input, tool_call_id) as call:
            try:
                found = await super().arun(tool_input, *args, tool_call_id=tool_call_id, **kwargs)  # type: ignore[misc]
            except ValidationError as err:
                if refusal := _refuse(self, call, err):
                    await refusal
                raise
            if refusal := _refuse(self, call, found):  # which the tool has put into words itself
                await refusal
            return found

    def run(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:
        """Call the tool as `arun` does, from a thread without an event loop."""
        with _calling(tool_input, tool_call_id) as call:
            try:
                found = super().run(tool_input, *args, tool_call_id=tool_call_id, **kwargs)  # type: ignore[misc]
            except ValidationError as err:
                if refusal := _refuse(self, call, err):
                    _playing_in(self).wait_for(refusal)
                raise
            if refusal := _refuse(self, call, found):
                _playing_in(self).wait_for(refusal)
            return found

    def _parse_input(self, tool_input: Any, tool_call_id: str | None) -> Any:
        own = self._talm_sim.own  # type: ignore[attr-defined]
        return own._parse_input(tool_input, tool_call_id) if own is not None else super()._parse_input(tool_input, tool_call_id)  # type: ignore[misc]

    async def _arun(self, /, *args: Any, **kwargs: Any) -> Any:
        return await _play(self, _playing_in(self), _CALL.get())

    def _run(self, /, *args: Any, **kwargs: Any) -> Any:
        session = _playing_in(self)
        return session.wait_for(_play(self, session, _CALL.get()))


class _HandedTool(_Played, BaseTool):
    """A tool that is none of LangChain's where it is, as the agent gets it."""


def hand_tool(spec: ToolSpec, session: AgentSession) -> Any:
    """Return a tool of the environment as the agent of an episode gets it; one of LangChain, or of Python, keeps its class."""
    tools = session.context.tools
    found = tools.native(spec.name) if tools is not None else None
    shown: dict[str, Any] = {"name": spec.name, "description": spec.description}
    own_check = found is not None and found.same and not session.rules.text_errors  # else it has other arguments, or raises what is wrong
    if found is None or found.made or not own_check:
        shown["args_schema"] = spec.whole or spec.parameters
    elif found.tool.args_schema is None:  # LangChain reads the signature of `_run`, which is ours in the copy
        shown["args_schema"] = found.tool.get_input_schema()
    if found is None:
        more: Any = {"return_direct": spec.return_direct, "response_format": "content_and_artifact"}
        return _join(_HandedTool(**shown, **more), session=session)
    copy = found.tool.model_copy(update=shown | {"callbacks": None})
    return _join(copy, injected=found.injected, session=session, own=found.tool if own_check else None)


def put_in_place(node: ToolNode) -> None:
    """Let the calls that a graph's node executes be played, by the names of its tools: within an episode that has a tool of that name."""
    for name, tool in node.tools_by_name.items():
        if not isinstance(tool, _Played):
            known = {} if tool.args_schema else {"args_schema": tool.get_input_schema()}
            node.tools_by_name[name] = _join(tool.model_copy(update=known), own=tool, injected=injected_arguments(tool))


def _join(tool: BaseTool, *, session: AgentSession | None = None, own: BaseTool | None = None, injected: frozenset[str] = frozenset()) -> Any:
    """Let the calls of a tool be played, in this episode or in the one that runs."""
    object.__setattr__(tool, "_talm_sim", _Joined(session, own, injected))
    if not isinstance(tool, _Played):
        object.__setattr__(tool, "__class__", _played_class(type(tool)))
    return tool


@cache
def _played_class(kind: type[BaseTool]) -> type:
    return type(kind.__name__, (_Played, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


def _session_of(tool: Any) -> AgentSession | None:
    """Return the episode that a tool is called in; None outside of one, and where the environment has no such tool: it is the graph's alone."""
    if tool._talm_sim.session is not None:
        return tool._talm_sim.session  # type: ignore[no-any-return]
    session = CURRENT.get()
    return session if session is not None and session.name_of_tool(tool.name) else None


def _playing_in(tool: Any) -> AgentSession:
    session = _session_of(tool)
    assert session is not None
    return session


def _refuse(tool: Any, call: _Call, why: Any) -> Coroutine[Any, Any, None] | None:
    """Return what records a call that the tool's own class has refused; None where it was played."""
    if (session := _session_of(tool)) is None or call.played:
        return None
    return session.refuse(tool.name, call.arguments, call.id, str(getattr(why, "content", why)))


def _own_of(tool: Any) -> BaseTool:
    """Return the graph's own tool, and note in the running episode, if there is one, that it runs: unrecorded, and met by no fault."""
    if (session := CURRENT.get()) is not None:
        session.remark(f"past {tool.name}")
    return tool._talm_sim.own  # type: ignore[no-any-return]


def is_played() -> bool:
    """Return whether a tool runs that is played, or one within it."""
    return _CALL.get(None) is not None


@contextmanager
def _calling(arguments: Any, call_id: str | None) -> Iterator[_Call]:
    token = _CALL.set(call := _Call(arguments, call_id))
    try:
        yield call
    finally:
        _CALL.reset(token)


def _is_readable(given: Any) -> bool:
    return isinstance(given, dict) and (given.get("type") != "tool_call" or isinstance(given.get("args"), dict))


def _read(given: Any) -> _Call:
    return _Call(given["args"], given.get("id")) if isinstance(given, dict) else _Call(given, None)


async def _play(tool: Any, session: AgentSession, call: _Call) -> Any:
    call.played, given = True, call.arguments
    apart = {}
    if injected := tool._talm_sim.injected:
        apart = {name: given[name] for name in injected & given.keys()} | {CALL_ID: call.id or "call"}
        given = {name: value for name, value in given.items() if name not in injected}
    token = INJECTED.set({**INJECTED.get(), **apart})
    try:
        played = await session.play(session.name_of_tool(tool.name) or tool.name, given, call.id)
    finally:
        INJECTED.reset(token)
    return _handed(tool, played, call, as_text=session.rules.text_errors)


def _handed(tool: Any, played: PlayedCall | HumanEvent, call: _Call, *, as_text: bool) -> Any:
    """Return what the tool's own class makes a result of, or raise what the tool itself would."""
    paired = tool.response_format == "content_and_artifact"
    if isinstance(played, HumanEvent):
        text, failed = played.answer, played.decision is not None and played.decision.action == "reject"
    else:
        if (raised := played.failure()) is None:
            returned, written = (Returned(played.event.result), None) if is_cut(played.event.result) else played.read()
            value = returned.value
            if written is not None and call.id is not None and not isinstance(value, ToolOutputMixin):
                value = written
            if returned.failed and call.id is not None:
                value = ToolMessage(value, tool_call_id=call.id, name=tool.name, artifact=returned.artifact, status="error")
            return (value, returned.artifact) if paired else value
        if not as_text:
            raise _refusal(tool, call, str(raised)) if played.event.mistaken else raised
        text, failed = played.event.result, True
    found: Any = text
    if call.id is not None:
        found = ToolMessage(text, tool_call_id=call.id, name=tool.name, status="error" if failed else "success")
    return (found, None) if paired else found


def _refusal(tool: Any, call: _Call, why: str) -> ValidationError:
    """Return the error by which LangChain refuses arguments: a graph's node tells its model."""
    required = tool.args_schema.get("required", ()) if isinstance(tool.args_schema, dict) else ()
    lacking = [name for name in required if isinstance(call.arguments, dict) and name not in call.arguments]
    fault = PydanticCustomError("invalid_arguments", "{why}", {"why": why})
    faults: Any = [{"type": "missing", "loc": (name,), "input": call.arguments} for name in lacking]
    return ValidationError.from_exception_data(tool.name, faults or [{"type": fault, "loc": ("arguments",), "input": call.arguments}])
