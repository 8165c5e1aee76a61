"""The user's own agents, by name: what each is, what it takes, and where it came from."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.foreign.plugins import load_object, looking_at

_HANDED = ("messages", "tools", "model")
"""What a function can receive, by the names of its parameters."""
_RECIPES = {"agents": "openai_agents.py", "pydantic_ai": "pydantic_agent.py"}
"""Packages of agents that are no functions, to the example that makes one a function."""


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """A user's own agent.

    Attributes:
        name: `MODULE:OBJECT`, or `python:NAME` for an object that has no such place.
        thing: A compiled graph; or a function, whose parameters say what it receives.
        takes: The names of `_HANDED` that the function takes; none for a graph.
    """

    name: str
    thing: Any
    takes: tuple[str, ...]

    @property
    def builds(self) -> bool:
        """Whether it is a function that builds the agent of an episode, instead of playing it."""
        return bool(self.takes) and "messages" not in self.takes

    @property
    def takes_model(self) -> bool:
        """Whether it takes the model, so that its turns can be recorded and replayed."""
        return "model" in self.takes

    @property
    def built_in(self) -> frozenset[str]:
        """Names of the tools that are built into it, so that its model sees them whatever is offered: those of a compiled graph's nodes."""
        nodes = tool_nodes(self.thing) if isinstance(self.thing, CompiledStateGraph) else ()
        return frozenset(name for node in nodes for name in node.tools_by_name)


_agents: dict[str, OwnAgent] = {}


def hand_over(value: Any) -> str | None:
    """Return the name of an agent that may be an object: a text is a name already; an object is kept under its own.

    Raises:
        PrerequisiteError: It is not an agent.
    """
    if value is None or isinstance(value, str):
        return value
    name = _name_of(value)
    if (known := _agents.get(name)) is None or known.thing is not value:
        _agents[name] = _read(name, value)
    return name


def load_agent(name: str) -> OwnAgent:
    """Import an agent that the user names.

    Args:
        name: `MODULE:OBJECT`; or the name that `hand_over` returned.

    Raises:
        PrerequisiteError: There is no such module or object, or it is not an agent.
    """
    if name not in _agents:
        _agents[name] = _read(name, load_object(name, name))
    return _agents[name]


def find_agent(name: str) -> OwnAgent:
    """Return an agent that was handed over or imported in this process: nothing is imported because a run directory names it.

    Raises:
        PrerequisiteError: It was neither.
    """
    if name not in _agents:
        module, _, path = name.partition(":")
        fix = f"pass it again: resume(..., agent={path})" if module == "python" else f"add {line_to_copy('--agent', name)}"
        raise PrerequisiteError(f"agent '{name}' is your own, and talm-sim does not import what a stored run names; {fix}.")
    return _agents[name]


def check_graph(name: str, graph: Any) -> None:
    """Check that a graph keeps a conversation.

    Raises:
        PrerequisiteError: Its state has no `messages`.
    """
    if "messages" not in graph.channels:
        keys = [key for key in graph.channels if not key.startswith("__") and ":" not in key]
        raise PrerequisiteError(f"{name}: the graph's state has no 'messages' (it has: {', '.join(keys)}); an agent's state needs them.")


def tool_nodes(graph: Pregel[Any, Any, Any, Any]) -> Iterator[ToolNode]:
    """Return the nodes of a graph, and of those within it, that execute tools."""
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            yield node.bound
        for inner in node.subgraphs or ():
            if isinstance(inner, Pregel):
                yield from tool_nodes(inner)


def _read(name: str, thing: Any) -> OwnAgent:
    """Return an object as an agent."""
    with looking_at(f"{name}: cannot be inspected"):
        return _as_agent(name, thing)


def _as_agent(name: str, thing: Any) -> OwnAgent:
    if isinstance(thing, CompiledStateGraph):
        check_graph(name, thing)
        if not any(tool_nodes(thing)):
            raise PrerequisiteError(f"{name}: the graph has no ToolNode, so it cannot be given these tools; pass a function (tools) -> graph.")
        return OwnAgent(name, thing, ())
    if hasattr(thing, "compile") and hasattr(thing, "add_node"):
        raise PrerequisiteError(f"{name}: the graph is not compiled; pass the result of its compile().")
    if isinstance(thing, type) or not callable(thing):
        kind = f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
        recipe = _RECIPES.get(type(thing).__module__.partition(".")[0])
        how = f"; wrap it as examples/agents/{recipe} does (docs/agents.md, Agents of other frameworks)." if recipe else "."
        raise PrerequisiteError(f"{name}: is {kind}, but an agent is a compiled LangGraph graph or a function (messages, tools){how}")
    return OwnAgent(name, thing, _accepted_arguments(name, thing))


def _accepted_arguments(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = inspect.Signature()
    parameters = signature.parameters
    needed = [one.name for one in parameters.values() if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    taken = tuple(one for one in _HANDED if one in parameters and parameters[one].kind is not inspect.Parameter.POSITIONAL_ONLY)
    if "tools" not in taken or set(needed) - set(taken):
        raise PrerequisiteError(
            f"{name}: takes {_format_parameters(signature)}, but an agent takes (messages, tools), and a function that builds one takes "
            f"(tools); either may take model as well; all by name."
        )
    return taken


def _format_parameters(signature: inspect.Signature) -> str:
    """Return the parameters as they are written, without their types and defaults."""
    bare = [one.replace(annotation=one.empty, default=one.empty) for one in signature.parameters.values()]
    return str(inspect.Signature(bare))


def _name_of(value: Any) -> str:
    """Return where an object is, if another process can find it there too; otherwise a name that says that it came from Python."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(path, str) and module != "__main__" and getattr(sys.modules.get(module), path, None) is value:
        return f"{module}:{path}"
    given = path or getattr(value, "name", None) or type(value).__name__
    return "python:" + re.sub(r"\W+", "_", str(given)).strip("_")
