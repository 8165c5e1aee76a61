"""Play the user's own agents as `run_episode` plays our graph: in stretches, each until the end or a question."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NoReturn

from langchain_core.messages import BaseMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.own import conversation
from talm_sim.agent.own.agents import OwnAgent, tool_nodes
from talm_sim.agent.own.conversation import NotAnAgentError, play_agent
from talm_sim.agent.own.failures import AgentFailure, failure_of
from talm_sim.agent.own.handed import TurnWatcher, put_in_place
from talm_sim.agent.own.session import CURRENT, AgentLimits, AgentSession, AgentStopped
from talm_sim.common import processes
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign import loop as foreign_loop
from talm_sim.foreign import threads
from talm_sim.foreign.code import in_foreign_code
from talm_sim.foreign.loop import LoopGivenUp, abandon_loop_of, on_foreign_loop
from talm_sim.foreign.threads import working_for
from talm_sim.models.base import GenerationSettings
from talm_sim.models.metering import current_meter
from talm_sim.types import Termination, ToolSpec

__all__ = ["OwnModel", "Sessions"]

log = logging.getLogger(__name__)
_OURS = frozenset({__file__, conversation.__file__, foreign_loop.__file__, threads.__file__})
_LET_GO_S = 1.0
"""Seconds that an agent may take to end once its episode has."""
_watcher: contextvars.ContextVar[TurnWatcher | None] = contextvars.ContextVar("talm_sim_turn_watcher", default=None)
register_configure_hook(_watcher, inheritable=True)


class OwnModel:
    """Replaces the run's model for an agent that takes none.

    Args:
        name: What the models that the agent brings are called together.

    Raises:
        PrerequisiteError: The command's budget does not admit them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        meter = current_meter.get()
        if meter is not None:
            meter.admit(name)

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> NoReturn:
        """Refuse: the agent asks its own models."""
        raise PrerequisiteError(f"{self.name}: the agent takes no model, so none can be passed.")

    async def aclose(self) -> None:
        """Do nothing: it has nothing open."""


class Sessions:
    """The running episodes of one agent in this process; one that waits when the process ends starts again.

    Args:
        agent: The agent that plays.
        limits: Limits of each episode.
    """

    def __init__(self, agent: OwnAgent, limits: AgentLimits) -> None:
        self._agent = agent
        self._limits = limits
        self._under_way: dict[str, tuple[AgentSession, asyncio.Task[None]]] = {}
        if isinstance(agent.thing, CompiledStateGraph):
            for node in tool_nodes(agent.thing):
                put_in_place(node)

    async def ainvoke(self, step: Any, *, config: Mapping[str, Any], context: EpisodeContext) -> dict[str, Any]:
        """Play to the end or to a question, as a graph does.

        Args:
            step: What an episode begins with, or a `Command` with the answers it continues with.
            config: Holds the episode's `thread_id`.
            context: The context of this stretch.
        """
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
            _fail(session, await failure_of(err, session.text, _OURS))
        else:
            if isinstance(end, str):
                session.finish(end)
            else:
                _fail(session, end)

    async def _run_agent(self, session: AgentSession) -> str | AgentFailure:
        """Run the agent on its own loop; return its answer or how it failed, described there, as its errors may be of any kind."""
        session.work.task = asyncio.current_task()
        try:
            return await play_agent(self._agent, session)
        except (AgentStopped, LoopGivenUp, NotAnAgentError, KeyboardInterrupt):  # the last on the caller's own loop: of Ctrl-C, or of the agent
            raise
        except BaseException as err:
            # If this task itself is cancelled, the episode has already ended, and its first termination counts.
            return "" if session.ended else await failure_of(err, session.text, _OURS)
        finally:
            with suppress(RuntimeError):  # the run may be over
                session.loop.call_soon_threadsafe(session.gone.set)


def _fail(session: AgentSession, failure: AgentFailure) -> None:
    line = f"injected fault {failure.injected}: {failure.line}" if failure.injected else failure.line
    session.stop(Termination.AGENT_ERROR, line, failure.traceback, failure.injected)
    log.debug("the agent raised an error:\n%s", failure.traceback or failure.line)
