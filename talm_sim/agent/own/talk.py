"""Talk with the user's own agent: hand it the request, read what it returns, and have its questions in words answered."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, get_type_hints, is_typeddict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from talm_sim.agent.own.agents import OwnAgent, check_graph, tool_nodes
from talm_sim.agent.own.contracts import read_interrupt
from talm_sim.agent.own.handed_model import hand_model
from talm_sim.agent.own.handed_tools import hand_tool, put_in_place
from talm_sim.agent.own.own_session import AgentSession
from talm_sim.agent.own.own_texts import drop_surrogates
from talm_sim.common.json_values import read_json
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.foreign import threads
from talm_sim.language.asking import asking_sentences
from talm_sim.models.wire_messages import text_of
from talm_sim.scenarios.dialogue import as_messages
from talm_sim.types import Approval, Decision, HumanEvent, JsonObject

_STEPS = 1_000
"""Steps a user's graph may take; its turns and its time have limits of their own."""


class NotAnAgentError(PrerequisiteError):
    """An agent's function built something that is not an agent: no other episode can be played either."""


class _Agent(Protocol):
    """The agent of one episode."""

    async def reply_to(self, messages: Sequence[BaseMessage]) -> _Reply:
        """Continue the conversation with `messages`, which are new, and return the agent's next message to the user."""
        ...


_Reply = tuple[str, str, JsonObject | None]
"""An agent's message to the user, why it is empty, and the values that it gives for facts; None where it gives words."""


async def play_agent(agent: OwnAgent, session: AgentSession) -> str:
    """Let an agent answer each turn of its scenario, and return its last answer.

    Questions to the user in words are put to the person, if there is one, and the agent continues with the reply, for as many rounds as
    the episode has. A later question is its answer.

    Raises:
        NotAnAgentError: Its function builds something that is not an agent.
        Exception: Whatever the agent itself raises; `TypeError` if it returns no message.
    """
    playing = await _open(agent, session)
    answer, rounds = "", 0
    for number, turn in enumerate(session.context.scenario.user_turns):
        session.user_turn = number
        answer = await _exchange(playing, as_messages(turn.messages), session)
        while rounds < session.rounds and (asked := asking_sentences(answer)):
            rounds += 1
            reply = await session.ask_in_words("\n".join(asked), answer)
            answer = await _exchange(playing, [HumanMessage(reply)], session)
    return answer


async def _exchange(playing: _Agent, messages: Sequence[BaseMessage], session: AgentSession) -> str:
    session.note_input(messages)
    answer, why_empty, values = await playing.reply_to(messages)
    session.values = None if values is None else session.hide.value(values)
    if why_empty:
        session.remark(f"empty: {why_empty}")
    session.note_answer(answer)
    return answer


async def _open(agent: OwnAgent, session: AgentSession) -> _Agent:
    """Return the agent of an episode; if the function builds one, build it."""
    tools = [hand_tool(spec, session) for spec in session.context.offered]
    handed = {"tools": tools, "model": hand_model(session) if agent.takes_model else None}
    thing: Any = agent.thing
    if agent.builds:
        thing = await _call_function(thing, {name: handed[name] for name in agent.takes})
        _check_built(agent.name, thing)
    if isinstance(thing, CompiledStateGraph):
        for node in tool_nodes(thing):  # which may have tools of its own
            put_in_place(node)
        return _Graph(agent.name, thing, session)
    taken = ("messages", "tools") if agent.builds else agent.takes
    return _Function(thing, {name: handed[name] for name in taken if name != "messages"}, values=session.context.values)


def _check_built(name: str, thing: Any) -> None:
    if not isinstance(thing, CompiledStateGraph):
        if not callable(thing):
            raise NotAnAgentError(f"{name}: returned an object of type {type(thing).__name__}, but must return a compiled graph or a function.")
        return
    try:
        check_graph(name, thing)
    except PrerequisiteError as err:
        raise NotAnAgentError(str(err)) from None


class _Function:
    """A function, which receives the whole conversation each time."""

    def __init__(self, function: Callable[..., Any], handed: Mapping[str, Any], *, values: bool) -> None:
        self._function = function
        self._values = values
        self._handed = handed
        self._said: list[BaseMessage] = []

    async def reply_to(self, messages: Sequence[BaseMessage]) -> _Reply:
        """Call it with the conversation so far; what it returns continues the conversation, or is added to it."""
        self._said += messages
        output = await _call_function(self._function, {"messages": list(self._said), **self._handed})
        values = _values_in(output) if self._values else None
        output = output if values is None else _text_of_values(values)
        new = _new_messages(self._said, [AIMessage(output)] if isinstance(output, str) else _messages_in(output))
        self._said += new
        return *_answer_in(new, output), values


class _Graph:
    """A graph, which keeps the conversation itself, in a checkpointer of the episode."""

    def __init__(self, name: str, graph: Any, session: AgentSession) -> None:
        if (pauses := (*graph.interrupt_before_nodes, *graph.interrupt_after_nodes)) and not session.context.human:
            fix = "but nobody answers; add --human simulated or another responder"
            raise NotAnAgentError(f"{name}: its graph pauses for a person at '{pauses[0]}' (interrupt_before or interrupt_after), {fix}.")
        self._context = _read_context(name, graph, session.rules.context)
        self._graph = graph.copy({"checkpointer": InMemorySaver()})
        self._adds = not isinstance(graph.channels["messages"], LastValue)
        self._session = session
        self._config = {"configurable": {"thread_id": "episode"}, "recursion_limit": _STEPS}
        self._said: list[BaseMessage] = []

    async def reply_to(self, messages: Sequence[BaseMessage]) -> _Reply:
        """Run it on the new messages to its end; its own questions to a person go to ours."""
        self._said += messages
        # A state without a reducer contains only what it was given last.
        step: Any = {"messages": list(messages if self._adds else self._said)}
        while True:
            result = await self._graph.ainvoke(step, self._config, context=self._context)
            if not (pending := result.get("__interrupt__", ())):
                if not (paused := (await self._graph.aget_state(self._config)).next):
                    break
                await self._go_on(paused, _messages_in(result))
                step = None
                continue
            if not self._session.context.human:
                raise RuntimeError("its graph is waiting for a person, but nobody answers; add --human simulated or another responder")
            step = Command(resume=await self._answers(pending))
        state = _messages_in(result)
        new = _new_messages(self._said, state)
        self._said = state if self._adds else [*self._said, *new]
        values = _values_in(result.get("structured_response")) if self._session.context.values else None
        return *_answer_in(new, result if values is None else {"structured_response": _text_of_values(values)}), values

    async def _go_on(self, paused: Sequence[str], messages: Sequence[BaseMessage]) -> None:
        """Let the person approve the calls before which the graph has paused."""
        last = messages[-1] if messages else None
        calls = list(last.tool_calls) if isinstance(last, AIMessage) else []
        if last is None or not calls:  # there is nothing to decide
            return
        said = await self._put(f"pause-{len(messages)}", [Approval(name=call["name"], arguments=call["args"]) for call in calls])
        decided = [(call, event, event.decision) for call, event in zip(calls, said, strict=True) if event.decision is not None]
        kept = [_as_decided(call, one) for call, _, one in decided if one.action in ("approve", "edit")]
        refused = [(call, event.answer) for call, event, one in decided if one.action not in ("approve", "edit")]
        answers = [ToolMessage(answer, tool_call_id=call["id"], name=call["name"], status="error") for call, answer in refused]
        if not refused and kept == calls:
            return
        new: list[BaseMessage] = [last.model_copy(update={"tool_calls": [call for call, _ in refused] or kept}), *answers]
        if refused and kept:  # a node executes all calls of the last message
            new.append(AIMessage("", tool_calls=kept))
        # Where nothing is left to be executed, the graph goes on after its tools.
        await self._graph.aupdate_state(
            self._config, {"messages": new if self._adds else [*messages[:-1], *new]}, as_node=None if kept else paused[0]
        )

    async def _answers(self, pending: Sequence[Any]) -> dict[str, Any]:
        """Put what the interrupts ask to the person, all of it at once; return what each continues with, by id."""
        repeatable = self._session.may_call_again
        asked = {one.id: read_interrupt(one.value, getattr(one, "response_schema", None), repeatable=repeatable) for one in pending}
        replies = await asyncio.gather(*(self._put(asked_by, one.items) for asked_by, one in asked.items()))
        return {name: one.write(given) for (name, one), given in zip(asked.items(), replies, strict=True)}

    async def _put(self, asked_by: str, items: Sequence[str | Approval]) -> list[HumanEvent]:
        turn = max(len(self._session.turns) - 1, 0)
        ids = (f"interrupt-{asked_by}{f'-{number}' if number > 1 else ''}" for number in range(1, len(items) + 1))
        return await asyncio.gather(*(self._session.ask(item, name, turn, "interrupt") for item, name in zip(items, ids, strict=False)))


def _as_decided(call: Any, decision: Decision) -> Any:
    changed = {"name": decision.name or call["name"], "args": decision.arguments or {}}
    return {**call, **changed} if decision.action == "edit" else call


async def _call_function(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call an async function here, and a plain one in its own thread, which nothing waits for once the episode has ended."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(**arguments)
    return await threads.call_apart(lambda: function(**arguments), "talm-sim-agent")


def _values_in(output: Any) -> JsonObject | None:
    """Return the values of a mapping or a model; None for anything else, and for messages."""
    message = isinstance(output, BaseMessage) or (isinstance(output, Mapping) and ("messages" in output or "role" in output))
    if message or not isinstance(output, BaseModel | Mapping):
        return None
    values: JsonObject = drop_surrogates(from_json(to_json(output, fallback=str, inf_nan_mode="null")))
    inner = values.get("values")
    return {**values, **inner} if isinstance(inner, dict) else values


def _text_of_values(values: JsonObject) -> str:
    """Return what the values' own `answer` says, or else the values as JSON; nothing where there are none."""
    said = values.get("answer")
    return said if isinstance(said, str) else to_json(values).decode() if values else ""


def _messages_in(output: Any) -> list[BaseMessage]:
    """Return what an agent returned, as messages: a list of them, a single one, or a state with messages."""
    found = output.get("messages") if isinstance(output, dict) and "role" not in output else output
    listed: Any = found if isinstance(found, list | tuple) else [found]
    # A message that only calls may come without content, as servers send it.
    whole: list[Any] = [{"content": "", **one} if isinstance(one, dict) and "role" in one else one for one in listed]
    try:
        return convert_to_messages(whole)
    except (TypeError, ValueError, NotImplementedError):
        raise TypeError(f"returned an object of type {type(output).__name__}, but an agent returns messages") from None


def _new_messages(said: Sequence[BaseMessage], returned: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what follows the conversation so far in what was returned: all of it, if it does not begin with that conversation."""
    begins = len(returned) >= len(said) and all(map(_is_same_message, said, returned))
    return list(returned[len(said) :] if begins else returned)


def _is_same_message(one: BaseMessage, other: BaseMessage) -> bool:
    """Return whether two messages say the same; ids and other additions of a framework do not count."""
    if one.type != other.type or text_of(one) != text_of(other):
        return False
    if isinstance(one, AIMessage) and isinstance(other, AIMessage):
        return [(call["name"], call["args"]) for call in one.tool_calls] == [(call["name"], call["args"]) for call in other.tool_calls]
    return not (isinstance(one, ToolMessage) and isinstance(other, ToolMessage)) or one.tool_call_id == other.tool_call_id


def _read_context(name: str, graph: Any, given: Mapping[str, str]) -> Any:
    """Return a graph's context, in the types of its `context_schema`."""
    if (schema := getattr(graph, "context_schema", None)) is None:
        if given:
            raise NotAnAgentError(f"--agent-context {next(iter(given))}: the graph {name} has no context_schema; leave it out.")
        return None
    kind: Any = schema
    if is_typeddict(schema):  # pydantic reads those of `typing` from Python 3.12 on
        kind = TypedDict(schema.__name__, get_type_hints(schema), total=schema.__total__)  # type: ignore[misc, no-redef]
    if unknown := next((one for one in given if one not in get_type_hints(schema)), ""):
        raise NotAnAgentError(f"--agent-context {unknown}: the context_schema of {name} has {format_names([*get_type_hints(schema)])}.")
    takes = TypeAdapter(kind)
    try:
        return takes.validate_python(dict(given))
    except ValidationError:  # a list or an object is written as JSON
        read = {one: read_json(text) if text[:1] in ("[", "{") else text for one, text in given.items()}
    try:
        return takes.validate_python(read)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise NotAnAgentError(f"--agent-context: {where}: {first['msg']} (the context_schema of {name}); write K=V.") from None


def _answer_in(messages: Sequence[BaseMessage], output: Any) -> tuple[str, str]:
    """Return the agent's answer, and if it is empty why: its last words in what it added to the conversation, or else what it returns.

    That is the `structured_response` of its state, or the results of the tools that it ended with (`return_direct`).

    Raises:
        TypeError: It said nothing.
    """
    if not (said := [message for message in messages if isinstance(message, AIMessage)]):
        raise TypeError("returned no new message; the last AI message must be its answer")
    text = text_of(said[-1])
    structured = output.get("structured_response") if isinstance(output, dict) else None
    if structured is not None and (said[-1].tool_calls or not text.strip()):
        text = structured if isinstance(structured, str) else to_json(structured, fallback=str).decode()
    if not text.strip():
        text = "\n".join(text_of(message) for message in messages[messages.index(said[-1]) + 1 :] if isinstance(message, ToolMessage))
    if text.strip():
        return text, ""
    if said[-1].tool_calls:
        return text, "its last message only calls a tool"
    return text, "its last message has no text" if said[-1].content else "its last message is empty"
