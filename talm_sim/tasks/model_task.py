"""The base class of tasks that open only a model, and how each of their runs asks it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.base import Job, OptionsT, Task
from talm_sim.tasks.open_job import Opened
from talm_sim.types import JsonObject, Scenario

if TYPE_CHECKING:
    from talm_sim.agent.context import EpisodeContext
    from talm_sim.models.base import Model
    from talm_sim.models.local.adapters import Weights
    from talm_sim.tasks.shared import Shared
    from talm_sim.types import ModelTurn


@dataclass(frozen=True, slots=True)
class Asking:
    """How a run asks its model.

    Attributes:
        ask: Asks a model a scenario, given settings and the turns so far; returns None if nothing more is asked.
        check: Checks that the model can be asked a scenario; raises `PrerequisiteError`.
        wording: The texts of its prompts, by their names in messages; a resumed run must have the same.
        template: Its template, with `auto` settled; empty if the task has none.
        graph: Plays a scenario if asking is not enough; by default a graph that asks until there is nothing more to ask.
        control: Options for `Task.control`, by name.
        detail: Asks a model about a scenario that it has answered, given its turns; returns what the episode's details keep of it.
    """

    ask: Callable[..., Awaitable[ModelTurn | None]]
    check: Callable[[Scenario], object]
    wording: Mapping[str, str] = field(default_factory=dict)
    template: str = ""
    graph: Any = None
    control: Mapping[str, Any] = field(default_factory=dict)
    detail: Callable[[Model, Scenario, Sequence[ModelTurn]], Awaitable[JsonObject]] | None = None


class AskingTask(Task[OptionsT]):
    """A task whose scenarios are put to the model step by step, and that calls no tool."""

    @abstractmethod
    def asking(self, job: Job[OptionsT], model: Model) -> Asking:
        """Decide how an opened model is asked.

        Raises:
            PrerequisiteError: It cannot be asked that way.
        """

    @asynccontextmanager
    async def open(self, job: Job[OptionsT], shared: Shared) -> AsyncIterator[Opened[Job[Any]]]:
        """Open the model, and decide how it is asked."""
        from talm_sim.agent.episode import Agent
        from talm_sim.agent.single_step import respond_graph

        model = await shared.model(job.config, job.created)
        asking = self.asking(job, model)

        async def ask(context: EpisodeContext, turns: Sequence[ModelTurn]) -> ModelTurn | None:
            return await asking.ask(context.model, context.scenario, context.settings, turns)

        async def detail(context: EpisodeContext, turns: Sequence[ModelTurn]) -> JsonObject:
            return {} if asking.detail is None else await asking.detail(context.model, context.scenario, turns)

        def check(scenarios: Sequence[Scenario]) -> Sequence[Scenario]:
            for scenario in scenarios:
                try:
                    asking.check(scenario)
                except PrerequisiteError as err:
                    raise PrerequisiteError(f"scenario {scenario.id}: {err}") from None
            return scenarios

        graph = asking.graph or respond_graph(ask, detail)
        agent = Agent(model=model, graph=graph, settings=job.settings(), control=partial(self.control, **asking.control))
        weights: Weights | None = getattr(model, "weights", None)
        yield Opened(
            job.having(template=asking.template) if asking.template else job,
            lambda _: agent,
            wording=asking.wording,
            in_flight=shared.single_steps(job.config, model),
            check=check,
            weights=weights.digests if weights else {},
            notes=weights.notes if weights else {},
        )
