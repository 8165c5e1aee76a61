"""Python tools: functions with type hints and docstrings, tools of LangChain or the OpenAI Agents SDK, what makes tools, or a list of these."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from talm_sim.common.digests import canonical_json, digest
from talm_sim.common.json_values import read_json
from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.foreign.code import in_foreign_code
from talm_sim.foreign.error_text import error_line
from talm_sim.foreign.loop import LoopGivenUp, abandon_loop_of, on_foreign_loop
from talm_sim.foreign.plugins import load_object, looking_at
from talm_sim.foreign.threads import Work, working_for
from talm_sim.foreign.time import in_time
from talm_sim.recordings import ARTIFACT_HEADER, TEXT_HEADER, WORDED_HEADER, HttpResponse, Returned
from talm_sim.tools_env.routes import answer, function_error, posted
from talm_sim.tools_env.sources.base import CALL_ID, INJECTED, EpisodeCalls, NativeTool, NotTaken, SourceRequest, tool_name, tool_spec
from talm_sim.tools_env.sources.factories import EndedError, Made, check_maker, make_tools, makes_tools, name_of, run_apart
from talm_sim.tools_env.sources.injected import filled, injected_arguments
from talm_sim.tools_env.sources.sdk_tools import from_sdk, is_sdk_tool
from talm_sim.tools_env.sources.tool_schemas import read_schema
from talm_sim.types import JsonObject, ToolSpec

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

TIMEOUT_S = 30.0
_LONGEST_MESSAGE = 500
_MOST_ITEMS = 10_000
"""Items that are read of a generator, which may have no end."""
_RESERVED = frozenset({"args", "callbacks", "config", "kwargs", "run_manager", "self"})
"""Parameters that never reach a function under these names: LangChain strips them, fills them in, or renames them."""
_UNSEEN: Any = {"callbacks": []}
"""Tracers see the tool that the agent is handed, and not this one once more."""
_GIVEN_NAME = "tools"
"""Name of the source of tools that were passed as objects."""

_UNDOCUMENTED = "has no docstring; write one, because models read it as the tool's description."

_given: dict[str, Sequence[Any]] = {}


class PythonSource:
    """Tools that run in this process; attributes are those of `ToolSource`. Tools of classes and factories belong to one episode each.

    Args:
        timeout: Seconds a call may take; a function that is not async continues in its thread after that.
    """

    def __init__(self, name: str, objects: Sequence[Any], *, timeout: float = TIMEOUT_S) -> None:
        self.name = name
        self.responses: dict[str, JsonObject] = {}
        self._timeout = timeout
        self._makers = {one: _Toolset() for one in objects if makes_tools(one)}
        """Classes and factories, with what each made when it was looked at."""
        for maker in self._makers:
            check_maker(maker)
        self._tools = _Toolset().read(name, [one for one in objects if not makes_tools(one)])
        self.specs, self.reading, self.not_taken = dict(self._tools.specs), set(self._tools.reading), list(self._tools.not_taken)
        if not self._makers:
            self._finish_setup()

    async def look(self) -> PythonSource:
        """Call each class and factory once, to see what its tools are."""
        for maker, found in self._makers.items():
            made = await make_tools(maker)
            try:
                found.read(self.name, made.tools)
            finally:
                await made.aclose()
            self.not_taken += [*found.not_taken, *(NotTaken(f"{name_of(maker)}.{name}", _UNDOCUMENTED) for name in made.undocumented)]
            if taken := next((name for name in found.specs if name in self.specs), ""):
                raise PrerequisiteError(_duplicate_name_message(taken))
            self.specs |= found.specs
            self.reading |= found.reading
        if self._makers:
            self._finish_setup()
        return self

    def _finish_setup(self) -> None:
        if not self.specs:
            first = self.not_taken[0] if self.not_taken else NotTaken(self.name, "contains no tool.")
            raise PrerequisiteError(f"{first.tool}: {first.reason}")
        self.routes = posted(self.name, self.specs)
        for tool in self.specs.keys() - self._tools.specs.keys():
            self.routes[tool] = self.routes[tool].model_copy(update={"state": "reads" if tool in self.reading else "writes"})

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call of a tool that episodes share; what the tool raises is its failure."""
        return await _answer_call(self._tools.tools[tool], arguments, self._timeout, self._tools.injected.get(tool, frozenset()))

    @property
    def natives(self) -> dict[str, NativeTool]:
        """The tools as LangChain has them."""
        made = [self._tools, *self._makers.values()]
        return {name: NativeTool(tool, one.injected[name], name in one.made) for one in made for name, tool in one.tools.items()}

    def begin(self, start: Mapping[str, Any]) -> EpisodeCalls:
        """Return the tools of one episode; classes and factories are called before the first call of one of their tools."""
        return _Episode(self._makers, self._timeout)

    async def aclose(self) -> None:
        """Do nothing: nothing was started."""


class _Episode:
    """The tools that one episode has of its own; see `EpisodeCalls`."""

    def __init__(self, makers: Mapping[Any, _Toolset], timeout: float) -> None:
        self._makers = makers
        self._timeout = timeout
        self._made: dict[Any, tuple[Made, Mapping[str, BaseTool]]] = {}
        self._making = asyncio.Lock()
        self._closed = False

    async def call(self, tool: str, arguments: Mapping[str, object]) -> HttpResponse:
        maker, looked_at = next((maker, found) for maker, found in self._makers.items() if tool in found.specs)
        async with self._making:  # calls made at the same time are of one instance
            if self._closed:
                raise ProviderError("The episode has ended, and its tools are closed.")
            if maker not in self._made:
                try:
                    made = await make_tools(maker)
                except PrerequisiteError as err:
                    raise ProviderError(str(err)) from err
                self._made[maker] = made, looked_at.rebuild(made.tools)
        tools = self._made[maker][1]
        if tool not in tools:
            raise ProviderError(f"{name_of(maker)} made no tool '{tool}' for this episode.")
        return await _answer_call(tools[tool], arguments, self._timeout, self._makers[maker].injected.get(tool, frozenset()))

    async def aclose(self) -> None:
        async with self._making:
            self._closed = True
            made, self._made = [one for one, _ in self._made.values()], {}
        await asyncio.gather(*(one.aclose() for one in made))


class _Toolset:
    """Objects that can be tools, as tools."""

    def __init__(self) -> None:
        self.specs: dict[str, ToolSpec] = {}
        self.tools: dict[str, BaseTool] = {}
        self.injected: dict[str, frozenset[str]] = {}
        self.made: set[str] = set()
        self.reading: set[str] = set()
        self.not_taken: list[NotTaken] = []

    def read(self, category: str, objects: Sequence[Any]) -> _Toolset:
        """Read what each of them is."""
        for one in objects:
            try:
                tool = _as_tool(one)
                spec = _spec(tool, category, bool(getattr(one, "human_replaceable", False)))
            except PrerequisiteError as err:
                self.not_taken.append(NotTaken(name_of(one), str(err)))
                continue
            if spec.name in self.specs:
                raise PrerequisiteError(_duplicate_name_message(spec.name))
            self.specs[spec.name], self.tools[spec.name], self.injected[spec.name] = spec, tool, injected_arguments(tool)
            if tool is not one:
                self.made.add(spec.name)
            if _declared_read_only(one, tool):
                self.reading.add(spec.name)
        return self

    def rebuild(self, objects: Sequence[Any]) -> Mapping[str, BaseTool]:
        """Turn objects of the same names, made for another episode, into tools without reading them again, which takes milliseconds."""
        by_name = {tool.name: (name, tool) for name, tool in self.tools.items()}
        return {by_name[name_of(one)][0]: _copy_with_function(by_name[name_of(one)][1], one) for one in objects if name_of(one) in by_name}


async def _answer_call(tool: BaseTool, arguments: Mapping[str, object], timeout: float, injected: frozenset[str]) -> HttpResponse:
    """Return what a tool answers, in time; an error is its failure."""
    given, call_id = INJECTED.get(), INJECTED.get().get(CALL_ID, "call")
    apart = filled(tool, injected, given, call_id) if injected else {}
    agents = working_for.get()
    work = agents or Work()
    try:
        async with in_time(work, timeout):
            with in_foreign_code():
                return await on_foreign_loop(_run_tool(tool, {**arguments, **apart}, call_id if injected else ""), work)
    except TimeoutError:
        if agents is None:  # a user's agent has its own time limit, and the loop is needed until then
            await abandon_loop_of(work)
        raise
    except Exception as err:  # what it answers may be nothing that can be written
        return function_error(_message(err))


async def open_python(request: SourceRequest) -> PythonSource:
    """Import `module:object`; the working directory is searched first."""
    found = load_object(request.place, "python")
    with looking_at(f"{request.place}: cannot be inspected"):
        return await PythonSource(request.name, found if isinstance(found, list | tuple) else [found]).look()


def hand_over(objects: Sequence[Any]) -> str:
    """Keep tools that were passed as objects for the runs of this process; return how such a source is written."""
    try:
        source = PythonSource(_GIVEN_NAME, objects)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"tools: {err}") from None
    for one in source.not_taken:
        raise PrerequisiteError(f"tools: {one.tool}: {one.reason}")
    made = [f"{one.__module__}:{getattr(one, '__qualname__', name_of(one))}" for one in objects if makes_tools(one)]
    key = digest(canonical_json([*(spec.model_dump(mode="json", exclude={"whole"}) for spec in source.specs.values()), *made]))
    _given[key] = tuple(objects)
    return f"{_GIVEN_NAME}=given:{key}"


async def open_given(request: SourceRequest) -> PythonSource:
    """Open what `hand_over` kept."""
    if request.place not in _given:
        raise PrerequisiteError("these tools were passed in Python; pass them again: tools=[...].")
    return await PythonSource(request.name, _given[request.place]).look()


def _as_tool(one: Any) -> BaseTool:
    from langchain_core.tools import BaseTool, StructuredTool

    if isinstance(one, BaseTool):
        return one
    if is_sdk_tool(one):
        return from_sdk(one)
    if not callable(one):
        kind = type(one).__name__
        raise PrerequisiteError(f"is an object of type {kind}; give functions, LangChain tools, or a class that is instantiated per episode.")
    _check_signature(one)
    func, coroutine = (None, one) if inspect.iscoroutinefunction(one) else (one, None)
    try:
        return StructuredTool.from_function(func, coroutine, parse_docstring=True, error_on_invalid_docstring=False)
    except Exception as err:  # hints may be anything
        raise PrerequisiteError(f"its signature cannot be read ({type(err).__name__}: {' '.join(str(err).split())[:200]}).") from None


def _copy_with_function(tool: BaseTool, one: Any) -> BaseTool:
    """Return the tool with another function of the same kind in it; a LangChain tool stands alone."""
    from langchain_core.tools import BaseTool

    if isinstance(one, BaseTool):
        return one
    if is_sdk_tool(one):
        return from_sdk(one)
    return tool.model_copy(update={"func": None, "coroutine": one} if inspect.iscoroutinefunction(one) else {"func": one, "coroutine": None})


async def _invoke(tool: BaseTool, arguments: JsonObject) -> Any:
    from langchain_core.tools import BaseTool, StructuredTool

    coroutine = getattr(tool, "coroutine", None)
    if isinstance(tool, StructuredTool) and coroutine is not None:
        return await tool.model_copy(update={"coroutine": _contain_exit(coroutine)}).ainvoke(arguments, _UNSEEN)
    if coroutine is not None or (type(tool)._arun is not BaseTool._arun and not hasattr(tool, "coroutine")):
        return await tool.ainvoke(arguments, _UNSEEN)

    def work() -> Any:
        found = tool.invoke(arguments, _UNSEEN)
        return _check_length(list(islice(found, _MOST_ITEMS + 1))) if isinstance(found, Iterator) else found

    return await run_apart(work)


async def _run_tool(tool: BaseTool, arguments: JsonObject, call_id: str) -> HttpResponse:
    """Return a tool's result, or how it failed; that is described here, on the loop of the user's code, as its errors may be of any kind."""
    try:
        return _written(await _collect_result(tool, arguments, call_id))
    except (LoopGivenUp, KeyboardInterrupt):  # the last on the caller's own loop, where it may be Ctrl-C
        raise
    except EndedError as err:
        raised = err.raised
    except asyncio.CancelledError as err:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raised = err  # the tool raised it: nobody cancelled this call
    except BaseException as err:  # a user's function may fail in any way
        raised = err
    return replace(function_error(_message(raised)), live=raised)


async def _collect_result(tool: BaseTool, arguments: JsonObject, call_id: str) -> Returned:
    from langchain_core.messages import ToolMessage

    worded = tool.handle_tool_error or tool.handle_validation_error
    if tool.response_format == "content" and not call_id and not worded:
        found = await _invoke(tool, arguments)
        return Returned(await _items(found) if isinstance(found, AsyncIterator) else found)
    # Only a whole call returns the artifact, too, and has an id to inject.
    message = await _invoke(tool, {"type": "tool_call", "id": call_id or "call", "name": tool.name, "args": arguments})
    if not isinstance(message, ToolMessage):
        return Returned(message)
    content: Any = message.content
    value = read_json(content) if isinstance(content, str) and tool.response_format == "content" else None
    if isinstance(value, dict | list) and json.dumps(value, ensure_ascii=False) == content:
        content = value
    return Returned(content, message.artifact, message.status == "error")


def _written(found: Returned) -> HttpResponse:
    """Return a result as it is recorded: JSON, and beside it what JSON loses of it for a LangChain agent."""
    made, headers = answer(found.value), []
    try:
        json.dumps(found.value)
    except (TypeError, ValueError, RecursionError):
        headers.append((TEXT_HEADER, json.dumps(str(found.value))))
    if found.failed:
        headers.append((WORDED_HEADER, "true"))
    if found.artifact is not None:
        headers.append((ARTIFACT_HEADER, to_json(found.artifact, fallback=str).decode()))
    return replace(made, headers=(*made.headers, *headers), live=found) if made.status == 200 else made


async def _items(found: AsyncIterator[Any]) -> list[Any]:
    items: list[Any] = []
    async for item in found:
        items.append(item)
        _check_length(items)
    return items


def _check_length(items: list[Any]) -> list[Any]:
    if len(items) > _MOST_ITEMS:
        raise ValueError(f"it gives more than {_MOST_ITEMS:,} items")
    return items


def _contain_exit(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a function so that it cannot end the event loop: LangChain runs it in a task, which `SystemExit` would pass straight through."""

    @wraps(function)
    async def contained(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except (SystemExit, GeneratorExit) as err:
            raise EndedError(err) from err

    return contained


def _message(err: BaseException) -> str:
    return error_line(err, _LONGEST_MESSAGE)[:_LONGEST_MESSAGE]


def _check_signature(function: Callable[..., Any]) -> None:
    if not inspect.getdoc(function):
        raise PrerequisiteError(_UNDOCUMENTED)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise PrerequisiteError(f"its parameter '{name}' cannot be passed by name, as models do; make it a keyword parameter.")
        if name in _RESERVED:
            raise PrerequisiteError(f"its parameter '{name}' has a name that LangChain reserves; rename it.")
        if parameter.annotation is parameter.empty:
            raise PrerequisiteError(f"its parameter '{name}' has no type hint; write one, as in {name}: str.")


def _spec(tool: BaseTool, category: str, replaceable: bool) -> ToolSpec:
    whole = _json_schema(tool.tool_call_schema)
    parameters, _ = read_schema(whole)
    parameters.pop("description", None)
    parameters = {"type": "object", "properties": {}, **parameters, "additionalProperties": False}
    replaceable = replaceable or bool((tool.metadata or {}).get("human_replaceable"))
    shown_as = {"name": tool_name(tool.name), "category": category, "description": tool.description, "parameters": parameters}
    more = {"human_replaceable": replaceable, "return_direct": tool.return_direct, "coerces": isinstance(tool.args_schema, type)}
    return tool_spec({**shown_as, "whole": whole, **more})


def _declared_read_only(one: Any, tool: BaseTool) -> bool:
    """Return whether the owner says so: by an attribute of the function, or in a LangChain tool's metadata, as MCP adapters do."""
    metadata = tool.metadata or {}
    return True in (getattr(one, "read_only", None), metadata.get("read_only"), metadata.get("readOnlyHint"))


def _duplicate_name_message(name: str) -> str:
    return f"two tools are called '{name}'; rename one."


def _json_schema(schema: Any) -> JsonObject:
    try:
        found: JsonObject = schema if isinstance(schema, dict) else schema.model_json_schema()
    except Exception as err:  # an argument of a type that no JSON Schema has
        raise PrerequisiteError(f"its arguments cannot be described ({' '.join(str(err).split())[:200]}).") from None
    return found
