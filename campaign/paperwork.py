"""Task `paperwork`, a plugin: each episode puts two things to a person, one after the other: a question, a call to approve, or a form.

Its graph is kept in checkpoints, as our own is: an episode that waits survives the process.
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar, Final, TypedDict

from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from talm_sim import Measure, Row, RunView, Scenario, Scope, Summary, Task, TaskOptions, option, register_task, select, share
from talm_sim.agent.context import EpisodeContext
from talm_sim.agent.episode import Agent
from talm_sim.models.base import GenerationSettings
from talm_sim.tasks import Job, Opened
from talm_sim.tasks.shared import Shared
from talm_sim.types import Approval, Event, Form, HumanEvent, ModelTurn, PersonRequest, Termination, ToolSpec, Turn

KINDS: Final = ("question", "approval", "form")
_NIGHTS: Final = {"type": "object", "properties": {"nights": {"type": "integer", "minimum": 1}}, "required": ["nights"]}


class PaperworkOptions(TaskOptions):
    """Options of the task."""

    number: int = option(60, Scope.GENERATION, "How many scenarios.", metavar="N", ge=1)


class _State(TypedDict, total=False):
    events: Annotated[list[Event], operator.add]
    answer: str
    termination: Termination


class _Clerk:
    """A model that is never asked."""

    name = "sim/oracle"

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        raise AssertionError("the clerk says nothing")

    async def aclose(self) -> None:
        """Hold nothing."""


def what_is_put(scenario: str, ask: int) -> str | PersonRequest:
    """Return what an episode of a scenario puts to the person, as its first or its second thing."""
    number = int(scenario.rpartition("-")[2]) + ask - 1
    match KINDS[number % len(KINDS)]:
        case "question":
            return f"What is the number of {scenario}, part {ask}?"
        case "approval":
            return Approval(name="book", arguments={"room": scenario, "part": ask}, description="Books a room.", repeatable=True)
        case _:
            return Form(message=f"How many nights in {scenario}, part {ask}?", fields=_NIGHTS, source="hotel")


def _asks(ask: int) -> Any:
    async def node(state: _State, runtime: Runtime[EpisodeContext]) -> _State:
        put = what_is_put(runtime.context.scenario.id, ask)
        text, request = (put, None) if isinstance(put, str) else (put.text, put)
        reply = interrupt(put if isinstance(put, str) else put.model_dump(mode="json"))
        return {"events": [HumanEvent(turn=0, call_id=str(ask), question=text, by="interrupt", request=request, **reply)]}

    return node


async def _end(state: _State) -> _State:
    said = [event.answer for event in state["events"] if isinstance(event, HumanEvent)]
    return {"answer": " then ".join(said), "termination": Termination.ANSWERED}


@register_task
class Paperwork(Task[PaperworkOptions]):
    """Two things for a person in each episode."""

    name = "paperwork"
    options = PaperworkOptions
    splits: ClassVar = {"all": ("papers",)}
    controls = ("oracle",)

    def load(self, job: Job[PaperworkOptions]) -> list[Scenario]:
        """Make the scenarios."""
        made = [
            Scenario(id=f"paper-{number:03}", task=self.name, group="papers", turns=(Turn(messages=({"role": "user", "content": "Go."},)),))
            for number in range(job.options.number)
        ]
        return select(made, job.groups, job.config.limit)

    def control(self, name: str, scenario: Scenario) -> Any:
        """Return the model that is never asked."""
        return _Clerk()

    @asynccontextmanager
    async def open(self, job: Job[PaperworkOptions], shared: Shared) -> AsyncIterator[Opened[Any]]:
        """Compile the graph; questions wait for a person."""

        def agent(saver: Any) -> Agent:
            graph = StateGraph(_State, EpisodeContext)
            graph.add_node("first", _asks(1))
            graph.add_node("second", _asks(2))
            graph.add_node("end", _end)
            for one, other in ((START, "first"), ("first", "second"), ("second", "end"), ("end", END)):
                graph.add_edge(one, other)
            return Agent(_Clerk(), graph.compile(checkpointer=saver), human="terminal", saver=saver)

        yield Opened(job, agent, human="terminal", waits=True)

    def rows(self, run: RunView) -> Iterator[Row]:
        """Count what was agreed to."""
        scenarios = {scenario.id: scenario for scenario in run.scenarios()}
        for episode in run.episodes():
            said = [event.decision.action if event.decision else "answer" for event in episode.human_events]
            agreed = all(one in ("answer", "approve", "edit", "accept") for one in said)
            yield Row.of(episode, scenarios[episode.scenario_id], values={"agreed": agreed, "questions": len(episode.questions)})

    def summarize(self, rows: Sequence[Row], run: RunView) -> list[Summary]:
        """One summary: how often everything was agreed to."""
        return [Summary.of("papers", rows, measures=(Measure.of(share(rows, "agreed"), "agreed", "Agreed", better="higher"),))]
