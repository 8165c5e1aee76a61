"""Where a run's parts are put together: recordings, tools, model, agent. The one place that knows them all."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.checkpoints import checkpoint_file, durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Players, Waiting, run_episode
from talm_sim.agent.graph import talm_graph
from talm_sim.agent.humans import HumanReply, RecordedResponder, Responder, SimulatedResponder, question_digest
from talm_sim.agent.prompts import load_prompts
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.registry import open_model
from talm_sim.runs.resolve import in_process
from talm_sim.runs.store import RunStore
from talm_sim.tools_env.cassettes import CassetteLibrary, RecordedAnswer, RecordingTransport
from talm_sim.tools_env.client import ToolClient
from talm_sim.tools_env.clock import RealClock, VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.types import Episode, Scenario, Termination, ToolSpec

__all__ = ["CHECKPOINTS", "Parts", "check_recorded", "open_parts", "open_runner"]

CHECKPOINTS = "checkpoints.db"
"""Name of the file below the run's directory that keeps paused episodes."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is made of, opened and checked before the run exists."""

    config: RunConfig
    library: CassetteLibrary
    environment: Environment
    model: Model

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """See that the tools of every scenario are there.

        Raises:
            PrerequisiteError: A scenario names a tool or perturbation that is not.
        """
        if not self.environment.specs and any(scenario.tools for scenario in scenarios):
            where = self.config.cassettes or "the shipped recordings"
            raise PrerequisiteError(f"{where}: no tools are recorded there; choose another --cassettes, or add --tools live.")
        for scenario in scenarios:
            self.environment.open(scenario)

    def tools_of(self, scenarios: Sequence[Scenario]) -> list[ToolSpec]:
        """The tools that `scenarios` name, missing ones included."""
        named = {name for scenario in scenarios for name in (*scenario.tools, *(call.tool for call in scenario.gold_calls))}
        named |= {scenario.missing.name for scenario in scenarios if scenario.missing}
        return [spec for name, spec in sorted(self.environment.specs.items()) if name in named]


@asynccontextmanager
async def open_parts(config: RunConfig, library: CassetteLibrary) -> AsyncIterator[Parts]:
    """Open tools and model for a resolved `config`; the tool service runs as long as the block.

    Raises:
        PrerequisiteError: Something the run needs is missing: a key, a recording, a package, a port.
    """
    async with AsyncExitStack() as stack:
        specs, base_url = await _tools(config, library, stack)
        client = ToolClient(base_url, connections=config.max_episodes)
        stack.callback(client.close)
        clock = VirtualClock() if config.tools is Traffic.REPLAY else RealClock()
        environment = Environment(specs, client, perturb=config.perturb, seed=config.seed, clock=clock)
        model = open_model(
            config.model,
            transport_factory=None if in_process(config.model) else RecordingTransport,
            max_retries=config.max_retries,
            max_connections=config.max_connections,
            timeout=config.timeout,
            options=config.model_options,
            constrained=config.constrained,
            replay=config.models is Traffic.REPLAY,
        )
        stack.push_async_callback(model.aclose)
        yield Parts(config, library, environment, model)


@asynccontextmanager
async def open_runner(parts: Parts, store: RunStore) -> AsyncIterator[_Runner]:
    """Make the episode runner of a run; what waits for a person is kept in its directory."""
    config = parts.config
    async with AsyncExitStack() as stack:
        saver: BaseCheckpointSaver[Any] | None = None
        if config.human == "terminal":
            saver = await stack.enter_async_context(durable_saver(store.directory / CHECKPOINTS))
            await _reconcile(store, saver)
        elif config.human != "none":
            saver = memory_saver()
        yield _Runner(_agent(parts, saver), parts)


async def check_recorded(parts: Parts, scenarios: Sequence[Scenario]) -> None:
    """Where a model is to be replayed, replay one episode of each group, and see that it was recorded with these settings.

    Other prompts, sampling or perturbations are other conversations; better said now than once for each episode.

    Raises:
        PrerequisiteError: Not even the first request of an episode is in the recording.
    """
    config = parts.config
    if config.models is not Traffic.REPLAY:
        return
    runner = _Runner(_agent(parts, memory_saver()), parts)
    for scenario in {scenario.group: scenario for scenario in reversed(scenarios)}.values():
        result = await runner(scenario, epoch=config.epochs, attempt=1)
        begun = result.model_turns or (isinstance(result, Episode) and result.awareness)
        if isinstance(result, Episode) and result.termination is Termination.REPLAY_MISS and not begun:
            raise PrerequisiteError(
                f"model '{config.model}': {scenario.id}, epoch {config.epochs}, was not recorded with these settings; "
                "add --live, or keep to the settings of the recording."
            )


def _agent(parts: Parts, saver: BaseCheckpointSaver[Any] | None) -> Agent:
    config = parts.config
    return Agent(
        model=parts.model,
        environment=parts.environment,
        prompts=load_prompts(config.prompts),
        settings=GenerationSettings(config.sampling_temperature, config.max_new_tokens, config.seed),
        human=config.human,
        responder=_responder(parts) if config.human in {"recorded", "simulated"} else None,
        saver=saver,
        turn_limit=config.turn_limit,
        token_limit=config.token_limit,
    )


class _Runner:
    """`run_episode` with the episode's recordings in place."""

    def __init__(self, agent: Agent, parts: Parts) -> None:
        self._agent = agent
        self._config = parts.config
        self._library = parts.library
        self._digest = parts.config.generation_digest()

    async def __call__(
        self,
        scenario: Scenario,
        *,
        epoch: int,
        attempt: int,
        resume: Mapping[str, HumanReply] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> Episode | Waiting:
        players = self._players(scenario, epoch)
        result = await run_episode(self._agent, scenario, epoch=epoch, attempt=attempt, players=players, resume=resume, state=state)
        missed = [miss for player in (players.tools, players.model) if player is not None for miss in player.misses]
        if missed and isinstance(result, Episode) and result.termination is not Termination.REPLAY_MISS:
            # A client library that wraps or retries what a transport raises would pass the miss off as a failure of the network.
            result = result.model_copy(update={"termination": Termination.REPLAY_MISS, "error": missed[0]})
        if Traffic.RECORD in (self._config.tools, self._config.models):
            await asyncio.to_thread(self._save, players, scenario, epoch, result)
        return result

    def _players(self, scenario: Scenario, epoch: int) -> Players:
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


async def _tools(config: RunConfig, library: CassetteLibrary, stack: AsyncExitStack) -> tuple[Mapping[str, ToolSpec], str | None]:
    """ToolSpecs and, unless every call is replayed, the address of the running service."""
    if config.tools is Traffic.REPLAY:
        return library.tool_specs(), None
    from talm_sim.tools_env.service.process import ToolService  # not at the top: a replay imports no tool service

    service = await stack.enter_async_context(ToolService())
    specs = service.specs()
    if config.tools is Traffic.RECORD:
        library.save_tool_specs(specs)
    return specs, service.base_url


def _responder(parts: Parts) -> Any:
    config, specs, library = parts.config, parts.environment.specs, parts.library
    digest = config.generation_digest()

    def simulated(scenario: Scenario, epoch: int) -> Responder:
        return SimulatedResponder(scenario, specs)

    def recorded(scenario: Scenario, epoch: int) -> Responder:
        return RecordedResponder(scenario.id, library.human_answers(config.model, scenario.id, scenario.group, epoch, digest))

    return simulated if config.human == "simulated" else recorded


async def _reconcile(store: RunStore, saver: BaseCheckpointSaver[Any]) -> None:
    """Make checkpoints and store agree after a kill between their two commits.

    A checkpoint whose pause was never committed is dropped; an episode whose checkpoint is gone, or cannot be read, starts again (what its
    person said is kept).
    """
    threads = {f"{paused.episode_id}#{paused.attempt}": paused.episode_id for paused in store.paused().values()}
    kept: set[str] = set()
    path = store.directory / CHECKPOINTS
    with checkpoint_file(path), contextlib.closing(sqlite3.connect(path)) as conn:
        kept.update(thread for (thread,) in conn.execute("SELECT DISTINCT thread_id FROM checkpoints"))
    sound = {thread for thread in kept & set(threads) if await _is_sound(saver, thread)}
    for thread in kept - sound:
        await saver.adelete_thread(thread)
    for thread in set(threads) - sound:
        await store.abandon(threads[thread])


async def _is_sound(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    """Whether a graph can go on from a checkpoint."""
    graph: Any = talm_graph(saver)
    try:
        await graph.aget_state({"configurable": {"thread_id": thread}})
    except Exception:  # a damaged checkpoint breaks in as many ways as there are libraries that read it
        return False
    return True
