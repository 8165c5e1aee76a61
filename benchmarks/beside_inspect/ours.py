"""talm-sim's side: a task whose agent acts, the built-in graph, a provider and a tool of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from langchain_core.messages import BaseMessage, ToolMessage

from benchmarks.beside_inspect.work import Work, capital, measure, question
from talm_sim import (
    AgentTask,
    AgentTaskOptions,
    Measure,
    Row,
    RunView,
    Scenario,
    Summary,
    ToolSpec,
    Turn,
    __version__,
    register_provider,
    register_task,
    run,
    share,
)
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.request import ModelRequest
from talm_sim.tasks import Job
from talm_sim.types import ModelTurn, ToolCall

_present: list[Work] = []
_episodes: list[int] = []


async def look_up(country: str) -> str:
    """Return the capital of a country."""
    return await _present[-1].look_up(country)


class Scripted:
    """Answers as the work says."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        last = messages[-1]
        asked = next(one.text for one in messages if one.type == "human")
        said = await _present[-1].generate(asked, last.text if isinstance(last, ToolMessage) else None)
        if "text" in said:
            return ModelTurn(text=said["text"], raw_text=said["text"])
        return ModelTurn(tool_calls=(ToolCall(id="1", name="look_up", arguments=said),))

    async def aclose(self) -> None:
        pass


@register_provider("scripted")
def open_scripted(request: ModelRequest) -> Model:
    """Open the model."""
    return Scripted(request.name)


@register_task
class Capitals(AgentTask[AgentTaskOptions]):
    """Questions after capitals."""

    name = "beside-inspect"
    about = "Is the capital found?"
    splits: ClassVar = {"all": ("capitals",)}

    def load(self, job: Job[AgentTaskOptions]) -> list[Scenario]:
        return [
            Scenario(
                id=str(number),
                task=self.name,
                group="capitals",
                turns=(Turn(messages=({"role": "user", "content": question(number)},)),),
                tools=("look_up",),
                target={"type": "capital", "city": capital(f"country-{number}")},
            )
            for number in range(_episodes[-1])
        ]

    def rows(self, run: RunView) -> Iterator[Row]:
        scenarios = {scenario.id: scenario for scenario in run.scenarios()}
        for episode in run.episodes():
            scenario = scenarios[episode.scenario_id]
            assert isinstance(scenario.target, dict)
            yield Row.of(episode, scenario, values={"right": scenario.target["city"] in episode.answer})

    def summarize(self, rows: Sequence[Row], run: RunView) -> list[Summary]:
        return [Summary.of("capitals", rows, measures=(Measure.of(share(rows, "right"), "right", "Right"),))]


def play(work: Work, episodes: int, in_flight: int, place: Path) -> Callable[[], dict[str, int]]:
    _present.append(work)
    _episodes.append(episodes)
    stored = run(
        task=Capitals.name,
        model="scripted/model",
        tools=[look_up],
        human="none",
        finish="text",
        run_dir=place,
        max_episodes=in_flight,
        max_connections=in_flight,
    )

    def count() -> dict[str, int]:
        kept = list(stored.episodes())
        (summary,) = stored.summary()
        return {
            "episodes": len(kept),
            "right": summary.measures[0].k or 0,
            "model_calls": sum(len(one.model_turns) for one in kept),
            "tool_calls": sum(len(one.tool_events) for one in kept),
        }

    return count


if __name__ == "__main__":
    measure(play, f"talm-sim {__version__}")
