"""A stand-in for the agent, and a child process that runs a batch with it.

Usage as a script: python scripted.py RUN_DIRECTORY EPOCHS MAX_EPISODES DELAY
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.agent.episode import PendingQuestion, Waiting
from talm_sim.agent.humans import HumanReply
from talm_sim.config import RunConfig
from talm_sim.runs.batch import run_batch
from talm_sim.runs.events import EpisodeFinished, EpisodeWaiting, RunEvent
from talm_sim.runs.files.manifest import describe_run
from talm_sim.runs.files.store import RunStore, create_run
from talm_sim.types import Episode, HumanEvent, ModelTurn, Scenario, Termination, Turn, episode_id


def scenarios(number: int, *, asks: int = 0, group: str = "perfect") -> list[Scenario]:
    """Scenarios of which the first `asks` make the scripted agent ask a person."""
    return [
        Scenario(
            id=f"{'ask' if n < asks else 'plain'}-{n:03}",
            group=group,
            turns=(Turn(messages=({"role": "user", "content": f"Query {n}?"},)),),
        )
        for n in range(number)
    ]


def new_run(directory: Path, number: int = 5, *, asks: int = 0, name: str = "a-run", **options: Any) -> Path:
    config = RunConfig(model="sim/scripted", human="terminal" if asks else "none", run_dir=directory, **options)
    made = scenarios(number, asks=asks)
    return create_run(directory, name, describe_run(config, made), made)


class ScriptedRunner:
    """Answers at once; scenarios called `ask-...` put `questions` questions first, one after the other."""

    def __init__(self, *, delay: float = 0.0, questions: int = 1, failures: Mapping[str, BaseException] | None = None) -> None:
        self.delay = delay
        self.questions = questions
        self.failures = failures or {}
        self.calls: list[tuple[str, int]] = []
        self.most_at_once = 0
        self._at_once = 0

    async def __call__(
        self,
        scenario: Scenario,
        *,
        epoch: int,
        attempt: int,
        resume: Mapping[str, HumanReply] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Episode | Waiting:
        name = episode_id(scenario.id, epoch)
        self.calls.append((name, attempt))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(self.delay)
            if name in self.failures:
                raise self.failures[name]
        finally:
            self._at_once -= 1
        answers = [*(state or {}).get("answers", []), *([reply.answer for reply in resume.values()] if resume else [])]
        if scenario.id.startswith("ask-") and len(answers) < self.questions:
            return self._waiting(scenario, epoch, attempt, answers)
        return finished(scenario, epoch=epoch, attempt=attempt, answer=" ".join(["done", *answers]), questions=answers)

    def _waiting(self, scenario: Scenario, epoch: int, attempt: int, answers: Sequence[str]) -> Waiting:
        ask = len(answers) + 1
        name = episode_id(scenario.id, epoch)
        question = PendingQuestion(interrupt_id=f"{name}#{attempt}-{ask}", ask=ask, question=f"What is {scenario.id}, part {ask}?")
        turn = ModelTurn(text="I ask.")
        return Waiting(name, scenario.id, epoch, attempt, (question,), (turn,), (), {"answers": list(answers)})


def finished(
    scenario: Scenario, *, epoch: int = 1, attempt: int = 1, answer: str = "done", questions: Sequence[str] = (), **more: Any
) -> Episode:
    events = tuple(HumanEvent(turn=0, call_id="c", question="?", answer=text, responder="test") for text in questions)
    values: dict[str, Any] = {"termination": Termination.ANSWERED, "model": "sim/scripted", "answer": answer, "events": events} | more
    return Episode(id=episode_id(scenario.id, epoch), scenario_id=scenario.id, group=scenario.group, epoch=epoch, attempt=attempt, **values)


def report(event: RunEvent) -> None:
    """Say on stdout what was reported as finished or waiting, so that a killer knows what must be kept."""
    if isinstance(event, EpisodeFinished | EpisodeWaiting):
        print(type(event).__name__, event.episode_id, flush=True)


async def main(directory: Path, epochs: int, max_episodes: int, delay: float) -> None:
    async with RunStore.open(directory) as store:
        print("Owner", flush=True)
        await run_batch(
            store, ScriptedRunner(delay=delay), store.progress(), epochs=epochs, max_episodes=max_episodes, on_event=report, wait=True
        )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
