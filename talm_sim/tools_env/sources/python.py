"""Python tools: functions with type hints and docstrings, LangChain tools, or a list of these."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

from talm_sim.digests import canonical_json, digest
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign import foreign_code
from talm_sim.plugins import load_object
from talm_sim.recordings import HttpResponse
from talm_sim.threads import call_apart
from talm_sim.tools_env.routes import answer, failure, posted
from talm_sim.tools_env.sources.base import NotTaken, SourceRequest
from talm_sim.tools_env.sources.openapi_document import simple_schema
from talm_sim.types import JsonObject, ToolSpec

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["PythonSource", "hand_over", "open_given", "open_python"]

TIMEOUT_S = 30.0
_LONGEST_MESSAGE = 500
_MOST_ITEMS = 10_000
"""Items of a generator, which may have no end."""
_RESERVED = frozenset({"args", "callbacks", "config", "kwargs", "run_manager", "self"})
"""Parameters that never reach a function by these names: LangChain strips them, fills them in, or calls them otherwise."""
GIVEN_NAME = "tools"
"""Name of the source of tools that were handed over in Python."""

_given: dict[str, Sequence[Any]] = {}


class PythonSource:
    """Tools that run in this process; attributes as of `ToolSource`.

    Args:
        name: The source's.
        objects: Functions and LangChain tools.
        timeout: Seconds a call may take; a function that is not async goes on in its thread after that.

    Raises:
        PrerequisiteError: Two have one name, or none of them can be a tool.
    """

    def __init__(self, name: str, objects: Sequence[Any], *, timeout: float = TIMEOUT_S) -> None:
        self.name = name
        self.specs: dict[str, ToolSpec] = {}
        self.responses: dict[str, JsonObject] = {}
        self.not_taken: list[NotTaken] = []
        self._tools: dict[str, BaseTool] = {}
        self._timeout = timeout
        for one in objects:
            try:
                tool = _as_tool(one)
                spec = _spec(tool, name, bool(getattr(one, "human_replaceable", False)))
            except PrerequisiteError as err:
                self.not_taken.append(NotTaken(_called(one), str(err)))
                continue
            if spec.name in self.specs:
                raise PrerequisiteError(f"two tools are called '{spec.name}'; rename one.")
            self.specs[spec.name], self._tools[spec.name] = spec, tool
        if not self.specs:
            first = self.not_taken[0] if self.not_taken else NotTaken(name, "holds no tool.")
            raise PrerequisiteError(f"{first.tool}: {first.reason}")
        self.routes = posted(name, self.specs)

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Make a call; what the tool raises is its failure."""
        try:
            async with asyncio.timeout(self._timeout):
                with foreign_code():
                    found = await _invoked(self._tools[tool], dict(arguments))
                    if isinstance(found, AsyncIterator):
                        found = await _items(found)
                return answer(found)
        except TimeoutError:
            raise
        except asyncio.CancelledError as err:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return _failure(err)  # the tool raised it: nobody cancelled this call
        except (Exception, SystemExit) as err:  # a user's function may fail in any way
            return _failure(err.__cause__ or err if isinstance(err, _Ended) else err)

    async def aclose(self) -> None:
        """Nothing was started."""


async def open_python(request: SourceRequest) -> PythonSource:
    """Import `module:object`; the working directory is looked in first.

    Raises:
        PrerequisiteError: There is no such module or object, or it holds no tool.
    """
    found = load_object(request.place, "python")
    return PythonSource(request.name, found if isinstance(found, list | tuple) else [found])


def hand_over(objects: Sequence[Any]) -> str:
    """Keep tools that were handed over in Python for the runs of this process; return how such a source is written.

    Raises:
        PrerequisiteError: One of them cannot be a tool.
    """
    try:
        source = PythonSource(GIVEN_NAME, objects)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"tools: {err}") from None
    for one in source.not_taken:
        raise PrerequisiteError(f"tools: {one.tool}: {one.reason}")
    key = digest(canonical_json([spec.model_dump(mode="json") for spec in source.specs.values()]))
    _given[key] = tuple(objects)
    return f"{GIVEN_NAME}=given:{key}"


async def open_given(request: SourceRequest) -> PythonSource:
    """Open what `hand_over` kept.

    Raises:
        PrerequisiteError: It was kept in another process.
    """
    if request.place not in _given:
        raise PrerequisiteError("these tools were handed over in Python; hand them over again: tools=[...].")
    return PythonSource(request.name, _given[request.place])


def _as_tool(one: Any) -> BaseTool:
    from langchain_core.tools import BaseTool, StructuredTool

    if isinstance(one, BaseTool):
        return one
    if not callable(one) or isinstance(one, type):
        raise PrerequisiteError(f"is an object of type {type(one).__name__}; give functions or LangChain tools.")
    _check_signature(one)
    func, coroutine = (None, one) if inspect.iscoroutinefunction(one) else (one, None)
    try:
        return StructuredTool.from_function(func, coroutine, parse_docstring=True, error_on_invalid_docstring=False)
    except Exception as err:  # hints may be anything
        raise PrerequisiteError(f"its signature cannot be read ({type(err).__name__}: {' '.join(str(err).split())[:200]}).") from None


class _Ended(Exception):
    """A tool raised what ends more than its call; that is its cause."""


async def _invoked(tool: BaseTool, arguments: JsonObject) -> Any:
    from langchain_core.tools import BaseTool, StructuredTool

    coroutine = getattr(tool, "coroutine", None)
    if isinstance(tool, StructuredTool) and coroutine is not None:
        return await tool.model_copy(update={"coroutine": _contained(coroutine)}).ainvoke(arguments)
    if coroutine is not None or (type(tool)._arun is not BaseTool._arun and not hasattr(tool, "coroutine")):
        return await tool.ainvoke(arguments)

    def work() -> Any:
        try:
            found = tool.invoke(arguments)
            return _checked(list(islice(found, _MOST_ITEMS + 1))) if isinstance(found, Iterator) else found
        except Exception:
            raise
        except BaseException as err:
            raise _Ended from err

    return await call_apart(work, "talm-sim-tool")


async def _items(found: AsyncIterator[Any]) -> list[Any]:
    items: list[Any] = []
    async for item in found:
        items.append(item)
        _checked(items)
    return items


def _checked(items: list[Any]) -> list[Any]:
    if len(items) > _MOST_ITEMS:
        raise ValueError(f"it gives more than {_MOST_ITEMS:,} items")
    return items


def _contained(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The function, which ends no event loop: LangChain gives it a task of its own, out of which `SystemExit` would go straight through."""

    @wraps(function)
    async def contained(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except (SystemExit, GeneratorExit) as err:
            raise _Ended from err

    return contained


def _failure(err: BaseException) -> HttpResponse:
    return failure(500, f"{type(err).__name__}: {' '.join(str(err).split())}"[:_LONGEST_MESSAGE])


def _check_signature(function: Callable[..., Any]) -> None:
    if not inspect.getdoc(function):
        raise PrerequisiteError("has no docstring; write what it does, which is what a model is told.")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise PrerequisiteError(f"its parameter '{name}' has no name that a model could give; write it out as a keyword.")
        if name in _RESERVED:
            raise PrerequisiteError(f"its parameter '{name}' has a name that LangChain keeps for itself; rename it.")
        if parameter.annotation is parameter.empty:
            raise PrerequisiteError(f"its parameter '{name}' has no type hint; write one, as in {name}: str.")


def _spec(tool: BaseTool, category: str, replaceable: bool) -> ToolSpec:
    whole, shown = (_json_schema(schema) for schema in (tool.get_input_schema(), tool.tool_call_schema))
    if injected := set(whole.get("properties", {})) - set(shown.get("properties", {})):
        raise PrerequisiteError(f"wants '{min(injected)}' from the agent that calls it, which is not there.")
    parameters = simple_schema(shown)
    parameters.pop("description", None)
    parameters = {"type": "object", "properties": {}, **parameters, "additionalProperties": False}
    replaceable = replaceable or bool((tool.metadata or {}).get("human_replaceable"))
    name = re.sub(r"\W+", "_", tool.name, flags=re.ASCII)[:64]
    return ToolSpec(name=name, category=category, description=tool.description, parameters=parameters, human_replaceable=replaceable)


def _json_schema(schema: Any) -> JsonObject:
    try:
        found: JsonObject = schema if isinstance(schema, dict) else schema.model_json_schema()
    except Exception as err:  # an argument of a type that no JSON Schema has
        raise PrerequisiteError(f"its arguments cannot be described ({' '.join(str(err).split())[:200]}).") from None
    return found


def _called(one: Any) -> str:
    return str(getattr(one, "name", None) or getattr(one, "__name__", None) or repr(one)[:60])
