"""A stand-in for the agent, and a child process that runs a batch with it.

Usage as a script: python scripted.py RUN_DIRECTORY EPOCHS MAX_EPISODES DELAY
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.agent.asks import PendingQuestion
from talm_sim.agent.episode import Waiting
from talm_sim.agent.humans import HumanReply
from talm_sim.config import RunConfig
from talm_sim.runs.batch import run_batch
from talm_sim.runs.events import EpisodeFinished, EpisodeWaiting, RunEvent
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.store import RunStore, create_run
from talm_sim.types import Approval, Episode, Form, HumanEvent, ModelTurn, PersonRequest, Scenario, Termination, Turn, episode_id

ALL_KINDS = ("ask", "call", "form")
"""What a scenario's id begins with, where the scripted agent asks a question, for a call to be approved, or for a form."""


def scenarios(number: int, *, asks: int = 0, group: str = "perfect", kinds: Sequence[str] = ("ask",)) -> list[Scenario]:
    """Scenarios of which the first `asks` make the scripted agent ask a person; `kinds` says for what, in turn."""
    return [
        Scenario(
            id=f"{kinds[n % len(kinds)] if n < asks else 'plain'}-{n:03}",
            group=group,
            turns=(Turn(messages=({"role": "user", "content": f"Query {n}?"},)),),
        )
        for n in range(number)
    ]


def new_run(directory: Path, number: int = 5, *, asks: int = 0, name: str = "a-run", kinds: Sequence[str] = ("ask",), **options: Any) -> Path:
    config = RunConfig(model="sim/scripted", human="terminal" if asks else "none", run_dir=directory, **options)
    made = scenarios(number, asks=asks, kinds=kinds)
    return create_run(directory, name, describe_run(config, made), made)


def request_of(scenario: Scenario, ask: int = 1) -> PersonRequest | None:
    """What a scenario asks a person besides a question; None for a question."""
    if scenario.id.startswith("call-"):
        return Approval(name="book", arguments={"room": scenario.id, "part": ask}, description="Books a room.")
    if scenario.id.startswith("form-"):
        fields = {"type": "object", "properties": {"nights": {"type": "integer", "minimum": 1}}, "required": ["nights"]}
        return Form(message=f"How many nights in {scenario.id}, part {ask}?", fields=fields, source="hotel")
    return None


class ScriptedRunner:
    """Answers at once; scenarios whose id says so ask a person `questions` times first, one after the other."""

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
        if scenario.id.startswith(ALL_KINDS) and len(answers) < self.questions:
            return self._waiting(scenario, epoch, attempt, answers)
        return finished(scenario, epoch=epoch, attempt=attempt, answer=" ".join(["done", *answers]), questions=answers)

    def _waiting(self, scenario: Scenario, epoch: int, attempt: int, answers: Sequence[str]) -> Waiting:
        ask = len(answers) + 1
        name = episode_id(scenario.id, epoch)
        request = request_of(scenario, ask)
        text = f"What is {scenario.id}, part {ask}?" if request is None else request.text
        question = PendingQuestion(interrupt_id=f"{name}#{attempt}-{ask}", ask=ask, question=text, request=request)
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
