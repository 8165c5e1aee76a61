"""Tasks that put one request to the model for each scenario, and execute no tool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.base import Job, Opened, OptionsT, Task
from talm_sim.tasks.bounds import Bound, most_tokens
from talm_sim.types import Scenario, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from talm_sim.agent.context import EpisodeContext
    from talm_sim.tasks.recorded import Recorded
    from talm_sim.tasks.shared import Shared
    from talm_sim.types import ModelTurn

__all__ = ["Request", "SingleStepTask"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the model is asked.

    Attributes:
        messages: The conversation, oldest first.
        tools: Tools the model may call; none is executed.
        choices: Where not empty, words one of which the answer begins with; models that can be constrained are held to it.
    """

    messages: Sequence[BaseMessage]
    tools: Sequence[ToolSpec] = ()
    choices: tuple[str, ...] = ()


class SingleStepTask(Task[OptionsT]):
    """A task of single steps: with `name`, `splits`, `request`, `rows` and `summarize` it is whole."""

    @abstractmethod
    def request(self, scenario: Scenario, job: Job[OptionsT]) -> Request:
        """What the model is asked for a scenario.

        Raises:
            PrerequisiteError: The scenario cannot be asked; said before anything runs.
        """

    def bounds(self, scenarios: Sequence[Scenario], job: Job[OptionsT], recorded: Recorded) -> Iterator[Bound]:
        """One request each."""
        tokens = job.settings().max_new_tokens
        for scenario in scenarios:
            request = self.request(scenario, job)
            size = most_tokens(*(message.text for message in request.messages), *(tool.model_dump_json() for tool in request.tools))
            yield Bound(1, 1, size, tokens, last=size + tokens)

    @asynccontextmanager
    async def open(self, job: Job[OptionsT], shared: Shared) -> AsyncIterator[Opened]:
        """Open the model, which is asked once for each scenario."""
        from talm_sim.agent.episode import Agent
        from talm_sim.agent.single_step import respond_graph
        from talm_sim.models.base import ScenarioModel

        async def ask(context: EpisodeContext) -> ModelTurn:
            request = self.request(context.scenario, job)
            settings = replace(context.settings, choices=request.choices)
            turn = await context.model.generate(list(request.messages), list(request.tools), settings)
            return turn.model_copy(update={"raw_prompt": turn.raw_prompt or "\n\n".join(message.text for message in request.messages)})

        def check(scenarios: Sequence[Scenario]) -> None:
            for scenario in scenarios:
                self.request(scenario, job)
                if isinstance(model, ScenarioModel) and self.control(model.name, scenario) is None:
                    raise PrerequisiteError(f"model '{model.name}': task {self.name} brings no policy for it; choose another --model.")

        model = await shared.model(job.config, job.created)
        agent = Agent(model=model, graph=respond_graph(ask), settings=job.settings(), control=self.control)
        yield Opened(job, lambda _: agent, in_flight=shared.single_steps(job.config, model), check=check)
