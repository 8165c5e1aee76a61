"""A graph that keeps running in this process while a tool that it called waits for a person.

A checkpoint keeps a graph between two steps. A call that waits for a person is within one, and making it again would be another call. So the
run of the graph is held where it is; what is returned meanwhile is what a pause returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt

from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.open_requests import OpenRequests

_TOGETHER_S = 0.005
"""Seconds that a form's neighbours are waited for: what the tools of a turn ask at once is put at once."""


class HoldingGraph:
    """A graph that returns, as if it had paused, when a tool waits for a person."""

    def __init__(self, graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        self._graph: Any = graph
        self._held: dict[str, _Running] = {}

    async def ainvoke(self, step: Any, *, config: Mapping[str, Any], context: EpisodeContext, **options: Any) -> dict[str, Any]:
        """Run the graph to its end, to a pause of its own, or until all that a call waits for is a person, whose answers a `Command` brings."""
        if context.forms is None:
            return dict(await self._graph.ainvoke(step, config, context=context, **options))
        thread = config["configurable"]["thread_id"]
        if (running := self._held.pop(thread, None)) is None:
            running = _Running(self._graph, context.forms, step, config, context, options)
        elif isinstance(step, Command):
            context.forms.answer(step.resume)  # type: ignore[arg-type]
        try:
            await running.until_pause()
        except BaseException:
            await running.cancel()
            raise
        if running.task.done():
            return running.task.result()
        self._held[thread] = running
        return {**running.reached, "__interrupt__": context.forms.interrupts()}

    async def aget_state(self, config: Any) -> Any:
        """Return the state of the last checkpoint."""
        return await self._graph.aget_state(config)

    async def drop(self, thread: str) -> None:
        """Stop a run that is held, if there is one."""
        if (running := self._held.pop(thread, None)) is not None:
            await running.cancel()

    async def aclose(self) -> None:
        """Stop what is held."""
        held, self._held = [*self._held.values()], {}
        await asyncio.gather(*(one.cancel() for one in held))


class _Running:
    """One run of the graph."""

    def __init__(self, graph: Any, forms: OpenRequests, step: Any, config: Any, context: EpisodeContext, options: Mapping[str, Any]) -> None:
        self.reached: dict[str, Any] = {}
        """The state after the last step."""
        self._forms = forms
        self._changed = asyncio.Event()
        forms.notify = self._changed.set
        self.task = asyncio.create_task(self._run(graph, step, config, context, options))
        self.task.add_done_callback(lambda _: self._changed.set())

    async def _run(self, graph: Any, step: Any, config: Any, context: EpisodeContext, options: Mapping[str, Any]) -> dict[str, Any]:
        interrupts: list[Interrupt] = []
        async for mode, part in graph.astream(step, config, context=context, stream_mode=["updates", "values"], **options):
            if mode == "values":
                self.reached = part
            else:
                interrupts += part.get("__interrupt__", ())
        return {**self.reached, "__interrupt__": interrupts} if interrupts else self.reached

    async def until_pause(self) -> None:
        """Return once the run has ended, or a form is open."""
        while not self.task.done():
            self._changed.clear()
            if self._forms:
                await asyncio.sleep(_TOGETHER_S)
                if self._forms:
                    return
            else:
                await self._changed.wait()

    async def cancel(self) -> None:
        """End the run."""
        self.task.cancel()
        await asyncio.wait([self.task])
