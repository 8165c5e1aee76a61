"""Play the user's own agents as `run_episode` plays our graph: in stretches, each until the end or a question."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, NoReturn

from langchain_core.messages import BaseMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.own import handed_tools, talk as conversation
from talm_sim.agent.own.agent_rules import AgentRules
from talm_sim.agent.own.agents import OwnAgent, tool_nodes
from talm_sim.agent.own.handed_model import TurnWatcher
from talm_sim.agent.own.handed_tools import put_in_place
from talm_sim.agent.own.own_session import CURRENT, AgentSession, AgentStopped
from talm_sim.agent.own.talk import NotAnAgentError, play_agent
from talm_sim.common import processes
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign import loop as foreign_loop, threads
from talm_sim.foreign.code import in_foreign_code
from talm_sim.foreign.error_text import MOST_READ, kind_of, text_of
from talm_sim.foreign.loop import LoopGivenUp, abandon_loop_of, on_foreign_loop
from talm_sim.foreign.threads import working_for
from talm_sim.models.base import GenerationSettings
from talm_sim.models.metering import current_meter
from talm_sim.tools_env.handed_answers import INJECTED_FAULT
from talm_sim.tools_env.perturbations import ModelRequestError
from talm_sim.types import Termination, ToolSpec

log = logging.getLogger(__name__)
_OURS = frozenset({__file__, conversation.__file__, handed_tools.__file__, foreign_loop.__file__, threads.__file__})
_LET_GO_S = 1.0
"""Seconds that an agent may take to end once its episode has."""
_watcher: contextvars.ContextVar[TurnWatcher | None] = contextvars.ContextVar("talm_sim_turn_watcher", default=None)
register_configure_hook(_watcher, inheritable=True)
_MOST_LINE = 500
_MOST_BEGIN, _MOST_END = 2_000, 6_000
"""Characters that are kept of a traceback: its first frames are the agent's own, its last ones say where the error was raised."""
_FRAME = '  File "'
_HEAD = "Traceback (most recent call last):\n"
_CAUSE: Final[Any] = BaseException.__dict__["__cause__"]
_PARTS: Final[Any] = BaseExceptionGroup.__dict__["exceptions"]
_ATTRIBUTES: Final[Any] = BaseException.__dict__["__dict__"]
_TRACEBACK: Final[Any] = BaseException.__dict__["__traceback__"]


class OwnModel:
    """Stands in for the run's model if an agent takes none."""

    def __init__(self, name: str) -> None:
        self.name = name
        if (meter := current_meter.get()) is not None:
            meter.admit(name)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> NoReturn:
        """Refuse: the agent asks its own models."""
        raise PrerequisiteError(f"{self.name}: the agent takes no model, so none can be passed.")

    async def aclose(self) -> None:
        """Do nothing: it has nothing open."""


class Sessions:
    """The running episodes of one agent in this process; one that waits when the process ends starts again."""

    def __init__(self, agent: OwnAgent, limits: AgentRules) -> None:
        self._agent = agent
        self._limits = limits
        self._under_way: dict[str, tuple[AgentSession, asyncio.Task[None]]] = {}
        if isinstance(agent.thing, CompiledStateGraph):
            for node in tool_nodes(agent.thing):
                put_in_place(node)

    async def ainvoke(self, step: Any, *, config: Mapping[str, Any], context: EpisodeContext) -> dict[str, Any]:
        """Play to the end or to a question, as a graph does."""
        thread = config["configurable"]["thread_id"]
        replies: Any = step.resume if isinstance(step, Command) else {}
        if thread not in self._under_way:
            session = AgentSession(thread, self._limits)
            session.context = context
            self._under_way[thread] = session, asyncio.create_task(self._play(session))
        session, _ = self._under_way[thread]
        try:
            state = await session.run_until_pause(context, replies)
        except BaseException:
            await self._drop(thread)
            raise
        if "__interrupt__" not in state:
            await self._drop(thread)
        return state

    async def aget_state(self, config: Mapping[str, Any]) -> Any:
        """Return what a running episode has done so far."""
        found = self._under_way.get(config["configurable"]["thread_id"])
        return SimpleNamespace(values={"events": tuple(found[0].events) if found else ()})

    async def aclose(self) -> None:
        """Stop what still waits for a person."""
        await asyncio.gather(*(self._drop(thread) for thread in list(self._under_way)))

    async def _drop(self, thread: str) -> None:
        session, task = self._under_way.pop(thread)
        session.close()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task}, timeout=_LET_GO_S)
        try:
            async with asyncio.timeout(_LET_GO_S):
                await session.gone.wait()
        except TimeoutError:
            await abandon_loop_of(session.work)
        for left in session.work.threads:
            processes.stop_waiting_for(left)

    async def _play(self, session: AgentSession) -> None:
        CURRENT.set(session)
        working_for.set(session.work)
        _watcher.set(TurnWatcher(session))
        try:
            with in_foreign_code():
                end = await on_foreign_loop(self._run_agent(session))
        except AgentStopped:
            pass
        except LoopGivenUp as err:
            session.gone.set()
            if err.work is not None and err.work.is_part_of(session.work):
                session.stop(Termination.AGENT_ERROR, f"a run within it blocked the event loop of all agents at {err.place}")
            elif session.ended is None:
                session.break_off(err)
        except NotAnAgentError as err:
            session.break_off(err)
        except KeyboardInterrupt:  # on the caller's own loop: of Ctrl-C or of the agent, which cannot be distinguished
            raise
        except Exception as err:  # an interrupt that the agent raised on its own loop comes as another error
            _fail(session, failure_of(err, session.text, _OURS))
        else:
            if isinstance(end, str):
                session.finish(end)
            else:
                _fail(session, end)

    async def _run_agent(self, session: AgentSession) -> str | _AgentFailure:
        """Run the agent on its own loop; return its answer or how it failed, described there, as its errors may be of any kind."""
        session.work.task = asyncio.current_task()
        try:
            return await play_agent(self._agent, session)
        except (AgentStopped, LoopGivenUp, NotAnAgentError, KeyboardInterrupt):  # the last on the caller's own loop: of Ctrl-C, or of the agent
            raise
        except BaseException as err:
            # If this task itself is cancelled, the episode has already ended, and its first termination counts.
            return "" if session.ended else failure_of(err, session.text, _OURS)
        finally:
            with suppress(RuntimeError):  # the run may be over
                session.loop.call_soon_threadsafe(session.gone.set)


def _fail(session: AgentSession, failure: _AgentFailure) -> None:
    line = f"injected fault {failure.injected}: {failure.line}" if failure.injected else failure.line
    session.stop(Termination.AGENT_ERROR, line, failure.traceback, failure.injected)
    log.debug("the agent raised an error:\n%s", failure.traceback or failure.line)


@dataclass(frozen=True, slots=True)
class _AgentFailure:
    """How an agent failed.

    Attributes:
        line: The kind of the error, its text, and the agent's frame that raised it.
        traceback: The traceback from the agent's first frame on; empty if none of its code was running.
        injected: The injected fault that the agent let pass; empty where it failed on its own.
    """

    line: str
    traceback: str
    injected: str = ""


def failure_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> _AgentFailure:
    """Say how an agent failed.

    Args:
        error: What the agent raised.
        hide: Removes secrets from a text; it receives more than is kept, as half a secret is not recognised.
        ours: Files whose frames called the agent; they are left out.
    """
    return _AgentFailure(_line_of(error, hide, ours), _traceback_of(error, hide, ours), _injected_in(error))


def _injected_in(error: BaseException) -> str:
    """Return the injected fault that an error is, contains alone, or was raised from; empty where there is none.

    An error that is raised while an injected one is dealt with, without `from`, is the agent's own.
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        fault = at.fault if issubclass(type(at), ModelRequestError) else _ATTRIBUTES.__get__(at).get(INJECTED_FAULT)  # type: ignore[attr-defined]
        if fault:
            return str(fault)
        parts: tuple[BaseException, ...] = _PARTS.__get__(at) if issubclass(type(at), BaseExceptionGroup) else ()
        at = parts[0] if len(parts) == 1 else _CAUSE.__get__(at)
    return ""


def _line_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> str:
    frames = _frames(error, ours)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    said = " ".join(hide(text_of(error)).split())[:_MOST_LINE]
    return f"{kind_of(error)}: {said}{where}" if said else f"{kind_of(error)}{where}"


def _traceback_of(error: BaseException, hide: Callable[[str], str], ours: frozenset[str]) -> str:
    """Return the traceback, with that of the error's cause; without the middle if it is very long."""
    try:
        told = traceback.TracebackException.from_exception(error)
        told.stack[:] = [frame for frame in told.stack if frame.filename not in ours]
        lines = [*told.format()]
    except BaseException:  # the class of the error, or of its cause, may refuse to be inspected
        lines = [_HEAD, *traceback.format_list(_frames(error, ours)), f"{kind_of(error)}: {text_of(error)}"]
    short = [*map(_shorten, lines)]
    text = hide("".join(short)).rstrip()
    if _FRAME not in text:
        return ""
    left_out = len(text) - _MOST_BEGIN - _MOST_END + sum(map(len, lines)) - sum(map(len, short))
    return text if left_out <= 0 else f"{text[:_MOST_BEGIN]}\n[… {left_out:,} characters left out …]\n{text[-_MOST_END:]}"


def _frames(error: BaseException, ours: frozenset[str]) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(_TRACEBACK.__get__(error)) if frame.filename not in ours]


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_READ else text[: MOST_READ // 2] + text[-MOST_READ // 2 :]
