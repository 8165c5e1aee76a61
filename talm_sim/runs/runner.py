"""What runs one episode of each task, with the episode's recordings in place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.episode import Agent, Players, Waiting, run_episode
from talm_sim.agent.humans import HumanReply, Responder, question_digest
from talm_sim.agent.prompts import load_prompts
from talm_sim.agent.responders import ResponderContext, responder_kind
from talm_sim.agent.single_step import SingleStepAgent, run_single_step
from talm_sim.config import RunConfig, Traffic
from talm_sim.models.base import GenerationSettings
from talm_sim.recordings import CassetteLibrary, RecordedAnswer
from talm_sim.runs.batch import EpisodeRunner
from talm_sim.runs.parts import Parts
from talm_sim.types import Episode, Scenario, Termination

__all__ = ["episode_runner"]

Play = Callable[..., Awaitable[Episode | Waiting]]
"""Runs one episode of a task: as `EpisodeRunner`, given the recordings to play or write."""


def episode_runner(parts: Parts, saver: BaseCheckpointSaver[Any] | None) -> EpisodeRunner:
    """Make the runner of a run's task.

    Args:
        parts: What the run is made of.
        saver: Keeps paused episodes; None where nobody is asked.
    """
    play = _single_step(parts) if parts.environment is None else partial(run_episode, _agent(parts, saver))
    return _Runner(parts, play)


class _Runner:
    """Runs an episode with its recordings in place: opened before it, saved after it."""

    def __init__(self, parts: Parts, play: Play) -> None:
        self._config: RunConfig = parts.config
        self._library: CassetteLibrary = parts.library
        self._digest = parts.config.generation_digest()
        self._play = play

    async def __call__(
        self,
        scenario: Scenario,
        *,
        epoch: int,
        attempt: int,
        resume: Mapping[str, HumanReply] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Episode | Waiting:
        players = self._open(scenario, epoch)
        result = await self._play(scenario, epoch=epoch, attempt=attempt, players=players, resume=resume, state=state)
        return await self._finish(players, scenario, epoch, result)

    def _open(self, scenario: Scenario, epoch: int) -> Players:
        config, library = self._config, self._library
        tools = model = None
        if config.tools in (Traffic.REPLAY, Traffic.RECORD):
            tools = library.open_tools(scenario.id, scenario.group, config.tools)
        if config.models in (Traffic.REPLAY, Traffic.RECORD):
            model = library.open_model(config.model, scenario.id, scenario.group, epoch, 0, self._digest, config.models)
        return Players(tools, model)

    def _save(self, players: Players, scenario: Scenario, epoch: int, result: Episode | Waiting) -> None:
        for player in (players.tools, players.model):
            if player is not None:
                player.save()
        if self._config.models is Traffic.RECORD and isinstance(result, Episode) and result.human_events:
            answers = [
                RecordedAnswer(
                    ask=ask,
                    question_digest=question_digest(event.question),
                    question=event.question,
                    answer=event.answer,
                    declined=event.declined,
                    responder=event.responder,
                )
                for ask, event in enumerate(result.human_events, start=1)
            ]
            self._library.save_human_answers(self._config.model, scenario.id, scenario.group, epoch, self._digest, answers)

    async def _finish(self, players: Players, scenario: Scenario, epoch: int, result: Episode | Waiting) -> Episode | Waiting:
        """Say of an episode that a replay missed what it asked for, and save what was recorded."""
        missed = [miss for player in (players.tools, players.model) if player is not None for miss in player.misses]
        if missed and isinstance(result, Episode) and result.termination is not Termination.REPLAY_MISS:
            # A client library that wraps or retries what a transport raises would pass the miss off as a failure of the network.
            result = result.model_copy(update={"termination": Termination.REPLAY_MISS, "error": missed[0]})
        if Traffic.RECORD in (self._config.tools, self._config.models):
            await asyncio.to_thread(self._save, players, scenario, epoch, result)
        return result


def _single_step(parts: Parts) -> Play:
    config = parts.config
    settings = GenerationSettings(config.sampling_temperature, config.max_new_tokens, config.seed)
    agent = SingleStepAgent(parts.model, "score" if config.mode == "logprob" else "respond", parts.template, settings)

    async def play(scenario: Scenario, *, epoch: int, attempt: int, players: Players, **_: Any) -> Episode:
        return await run_single_step(agent, scenario, epoch=epoch, attempt=attempt, player=players.model)

    return play


def _agent(parts: Parts, saver: BaseCheckpointSaver[Any] | None) -> Agent:
    config = parts.config
    assert parts.environment is not None
    return Agent(
        model=parts.model,
        environment=parts.environment,
        prompts=load_prompts(config.prompts),
        settings=GenerationSettings(config.sampling_temperature, config.max_new_tokens, config.seed),
        human=config.human,
        responder=None if config.human == "none" else _responder(parts),
        saver=saver,
        turn_limit=config.turn_limit,
        token_limit=config.token_limit,
    )


def _responder(parts: Parts) -> Callable[[Scenario, int], Responder] | None:
    assert parts.environment is not None
    config, specs, library = parts.config, parts.environment.specs, parts.library
    digest = config.generation_digest()
    kind = responder_kind(config.human)
    if kind.open is None:
        return None
    opens = kind.open

    def open_responder(scenario: Scenario, epoch: int) -> Responder:
        recorded = partial(library.human_answers, config.model, scenario.id, scenario.group, epoch, digest)
        return opens(ResponderContext(scenario, epoch, specs, recorded))

    return open_responder
