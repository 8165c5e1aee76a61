"""Turn one scenario into one `Episode`: no files, no printing, no registry."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from talm_sim.agent.ask_limits import AskLimits
from talm_sim.agent.asks import ELICITED, Asks, PendingQuestion, answer_at_once
from talm_sim.agent.context import EpisodeContext, failure_state
from talm_sim.agent.exposure import Prompts, settle_exposure
from talm_sim.agent.faulty_model import ModelFaults
from talm_sim.agent.holding import HoldingGraph
from talm_sim.agent.humans import FollowingResponder, HumanReply, Responder
from talm_sim.agent.open_requests import OpenRequests
from talm_sim.common.credentials import saying
from talm_sim.common.digests import derive_seed
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings, Model, ScenarioModel
from talm_sim.recordings import Player, playing
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.tool_answers import is_cut
from talm_sim.types import Episode, Event, Fact, ModelTurn, Scenario, ToolEvent, ToolSpec, Usage, episode_id


@dataclass(frozen=True, slots=True)
class Players:
    """The recordings one episode plays or writes; None if its traffic is only live or in process."""

    tools: Player | None = None
    model: Player | None = None


@dataclass(frozen=True)
class Agent:
    """Everything the episodes of a run share.

    Attributes:
        model: The model that acts. A control model is bound to each scenario.
        graph: The compiled state machine; its nodes receive an `EpisodeContext`, and its last state contains what an episode keeps: those
            it has of `awareness`, `model_turns`, `events`, `details` and `answer`, `termination`, and `error`, `traceback` and `injected`,
            if any.
        settings: Sampling; each episode derives a seed of its own from the one given.
        human_tool: The Ask-and-Help tool as the agent is offered it; None where there is nobody to ask.
        finish_tool: The tool whose call ends an episode; None where a turn without a call does.
        values: Makes `finish_tool` for the facts of a scenario, where an answer gives a value for each; None where it gives words.
        alone: Groups that are offered neither of these two, so that nobody is asked and a turn without a call is the answer.
        responder: Makes the responder of a scenario and epoch; None where a person answers later, so that a question pauses the episode.
        saver: Keeps paused episodes; needed where there is somebody to ask.
        most_steps: Steps of the graph after which it is stopped as one that does not end.
        control: The task's own policy of a control for a scenario; None leaves it to the control.
        prompts: Which prompts of the agent are known, to tell which faults it met.
        choose: Returns the agent that plays a scenario in place of this one; None if this one plays it.
    """

    model: Model
    graph: Any
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    environment: Environment | None = None
    human: str = "none"
    human_tool: ToolSpec | None = None
    finish_tool: ToolSpec | None = None
    values: Callable[[Sequence[Fact]], ToolSpec] | None = None
    alone: frozenset[str] = frozenset()
    responder: Callable[[Scenario, int], Responder] | None = None
    saver: BaseCheckpointSaver[Any] | None = None
    most_steps: int = 25
    control: Callable[[str, Scenario], Model | None] | None = None
    prompts: Prompts = "all"
    ask_limits: AskLimits | None = None
    choose: Callable[[Scenario], Agent | None] | None = None
    held: dict[str, HeldEpisode] = field(default_factory=dict)
    """Episodes that wait for a person within a call, so that they go on where they are, by episode and attempt."""

    def players_of(self, scenario: Scenario, epoch: int, attempt: int) -> Players | None:
        """Return the recordings that an episode uses that waits within a call; None for any other."""
        held = self.held.get(_thread(scenario, epoch, attempt))
        return None if held is None else held.players

    async def aclose(self) -> None:
        """End the episodes that wait within a call; started again, they find the answers that were given."""
        if (close := getattr(self.graph, "aclose", None)) is not None:
            await close()
        tools = [one.context.tools for one in self.held.values() if one.context.tools]
        self.held.clear()
        await asyncio.gather(*(one.aclose() for one in tools))


@dataclass(frozen=True, slots=True)
class HeldEpisode:
    """The state of an episode that waits for a person within a call.

    Attributes:
        slept: Seconds of pretended waiting that are counted already.
    """

    context: EpisodeContext
    players: Players
    slept: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """An episode that pauses until a person answers."""

    episode_id: str
    scenario_id: str
    epoch: int
    attempt: int
    questions: tuple[PendingQuestion, ...]
    model_turns: tuple[ModelTurn, ...]
    events: tuple[Event, ...]
    """What the agent has done so far."""
    state: dict[str, Any]
    """JSON to hand back to `run_episode` on resume."""
    forms: OpenRequests | None = None
    """What tools ask for while calls of theirs run; None for an episode that a checkpoint keeps."""

    def withdrawn(self) -> list[str]:
        """Return the ids of the forms that a tool has stopped waiting for."""
        asked = [one.interrupt_id for one in self.questions if one.interrupt_id.startswith(ELICITED)]
        return [] if self.forms is None else [name for name in asked if name.removeprefix(ELICITED) not in self.forms.ids()]


async def run_episode(
    agent: Agent,
    scenario: Scenario,
    *,
    epoch: int = 1,
    attempt: int = 1,
    players: Players | None = None,
    resume: Mapping[str, HumanReply] | None = None,
    state: Mapping[str, Any] | None = None,
) -> Episode | Waiting:
    """Run one episode, or one stretch of it.

    Args:
        agent: What the episodes of the run share.
        scenario: What is asked.
        epoch: Counts from 1.
        attempt: Counts from 1; an interrupted attempt is counted, but not continued.
        players: The recordings to play or write.
        resume: Answers by interrupt id, to continue a waiting episode. An id that is not pending is ignored.
        state: `Waiting.state` of the previous stretch.

    Returns:
        The episode, or `Waiting` if a person has to answer first.
    """
    agent = (agent.choose(scenario) if agent.choose else None) or agent
    players = players or Players()
    kept: Mapping[str, Any] = state or {}
    thread = _thread(scenario, epoch, attempt)
    held = None if resume is None else agent.held.pop(thread, None)
    if held is None:
        tools = _open_tools(agent, scenario, epoch, players, kept)
        held = HeldEpisode(_context(agent, scenario, tools, epoch, attempt, kept), players, 0.0)
        if resume is not None:
            await _recall(agent, held.context, thread)
    if (tools := held.context.tools) is None:
        return await _play_until_pause(agent, scenario, epoch, attempt, held, resume, kept)
    try:
        result = await _play_until_pause(agent, scenario, epoch, attempt, held, resume, kept)
    except BaseException:  # a bug, or the run is interrupted
        await _close(agent, thread, tools)
        raise
    if not isinstance(result, Waiting):
        await _close(agent, thread, tools)
    elif held.context.forms:
        agent.held[thread] = replace(held, slept=tools.slept)
    else:
        tools.keep()
    return result


async def _play_until_pause(
    agent: Agent,
    scenario: Scenario,
    epoch: int,
    attempt: int,
    held: HeldEpisode,
    resume: Mapping[str, HumanReply] | None,
    kept: Mapping[str, Any],
) -> Episode | Waiting:
    """Play an episode from its present state to its end, or until it waits for a person."""
    started = _Moment(time.time(), time.monotonic())
    thread = _thread(scenario, epoch, attempt)
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": agent.most_steps}
    context, players, tools = held.context, held.players, held.context.tools
    asks = Asks(episode_id(scenario.id, epoch), agent.ask_limits, dict(kept.get("asks", {})), [*kept.get("cut_off", ())])
    step: Any = {} if resume is None else asks.resume(resume)
    durable: dict[str, Any] = {"durability": "exit"} if agent.saver else {}
    advance = partial(agent.graph.ainvoke, config=config, context=context, **durable)
    with playing(players.model), saying(partial(_said_in, scenario, context)):
        result, questions = await _play(advance, step, asks, agent.responder(scenario, epoch) if agent.responder else None)
    elapsed = kept.get("active_s", 0.0) + started.age + (tools.slept - held.slept if tools else 0.0)
    if agent.saver is not None and (context.forms or not questions):
        # Of one that waits within a call an earlier checkpoint may be there; nothing can continue from it.
        await agent.saver.adelete_thread(thread)
    if questions:
        return Waiting(
            episode_id(scenario.id, epoch),
            scenario.id,
            epoch,
            attempt,
            questions,
            tuple(result.get("model_turns", ())),
            tuple(result.get("events", ())),
            _keep(players, tools, context.faults, asks, kept.get("started_at", started.unix), elapsed),
            context.forms or None,
        )
    return _episode(agent, scenario, epoch, attempt, result, tools, players, kept.get("started_at", started.unix), elapsed)


def _said_in(scenario: Scenario, context: EpisodeContext) -> str:
    """Return all that the scenario and its tools say, which an agent may repeat."""
    return "\n".join([scenario.model_dump_json(), *(tool.model_dump_json() for tool in context.offered)])


async def _close(agent: Agent, thread: str, tools: EpisodeTools) -> None:
    if isinstance(agent.graph, HoldingGraph):
        await agent.graph.drop(thread)  # of an episode that ended while a call of it waited
    await tools.aclose()


async def _recall(agent: Agent, context: EpisodeContext, thread: str) -> None:
    """Count what happened since the state was kept: the checkpoint may be ahead of it, as a process can be killed between the two."""
    if context.tools is None or not context.tools.perturbations or context.faults is None:
        return
    reached = (await agent.graph.aget_state({"configurable": {"thread_id": thread}})).values
    context.tools.recall(reached.get("events", ()))
    context.faults.recall(reached.get("model_turns", ()))


def _thread(scenario: Scenario, epoch: int, attempt: int) -> str:
    return f"{episode_id(scenario.id, epoch)}#{attempt}"


@dataclass(frozen=True, slots=True)
class _Moment:
    """The moment when a stretch began. Its duration is measured by a monotonic clock; what is stored is the time of day."""

    unix: float
    monotonic: float

    @property
    def age(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self.monotonic


def _open_tools(agent: Agent, scenario: Scenario, epoch: int, players: Players, kept: Mapping[str, Any]) -> EpisodeTools | None:
    """Open the tools of an episode, and its recordings, in the state in which the previous stretch left them."""
    try:
        _restore(players, kept)
        if agent.environment is None:
            return None
        return agent.environment.open(scenario, epoch=epoch, player=players.tools, state=kept.get("perturbations"))
    except (KeyError, ValueError, TypeError) as err:
        if not kept:
            raise
        waiting = episode_id(scenario.id, epoch)
        raise PrerequisiteError(
            f"the saved state of episode '{waiting}', which is waiting, does not match its run ({err}); restore the run."
        ) from None


async def _play(
    advance: Callable[[Any], Awaitable[dict[str, Any]]], step: Any, asks: Asks, responder: Responder | None
) -> tuple[dict[str, Any], tuple[PendingQuestion, ...]]:
    """Advance the graph to its end, or to questions that no `responder` answers at once; return its state and those questions."""
    while True:
        result = await advance(step)
        pending = asks.number(result)
        questions = asks.cut_off(pending, result.get("events", ()))
        if not pending or (questions and responder is None):
            return result, questions
        if isinstance(responder, FollowingResponder):
            responder.follow(result["model_turns"], result.get("events", ()))
        try:
            replies = {one.interrupt_id: await answer_at_once(responder, one.question, one.request, one.ask) for one in questions if responder}
        except CassetteMissError as err:
            return result | failure_state(err), ()
        except ProviderError as err:
            return result | failure_state(err) | {"error": f"the person's model: {err}"}, ()
        step = asks.resume(replies)


def _context(agent: Agent, scenario: Scenario, tools: EpisodeTools | None, epoch: int, attempt: int, kept: Mapping[str, Any]) -> EpisodeContext:
    finish = agent.values(scenario.facts) if agent.finish_tool and agent.values and scenario.facts else agent.finish_tool
    ours = () if scenario.group in agent.alone else (agent.human_tool, finish)
    seed = None if agent.settings.seed is None else derive_seed(agent.settings.seed, scenario.id, epoch)
    asks = agent.environment is not None and agent.environment.tools.may_ask and scenario.group not in agent.alone
    name, first = _thread(scenario, epoch, attempt), len(kept.get("asks", ())) + 1
    return EpisodeContext(
        scenario=scenario,
        model=_player_of(agent, scenario),
        settings=replace(agent.settings, seed=seed),
        tools=tools,
        offered=(*(tools.tools if tools else ()), *filter(None, ours)),
        faults=None if tools is None else ModelFaults(tools.perturbations, kept.get("model_faults")),
        values=bool(agent.values and scenario.facts),
        forms=OpenRequests(name, first=first, elicited=True) if asks else None,
    )


def _player_of(agent: Agent, scenario: Scenario) -> Model:
    """Return the model; for a control, the task's policy for the scenario."""
    if not isinstance(agent.model, ScenarioModel):
        return agent.model
    return agent.model.play(agent.control(agent.model.name, scenario) if agent.control else None)


def _keep(
    players: Players, tools: EpisodeTools | None, faults: ModelFaults | None, asks: Asks, started_at: float, active_s: float
) -> dict[str, Any]:
    return {
        "asks": asks.numbers,
        **({"cut_off": asks.cut} if asks.cut else {}),
        "perturbations": tools.state() if tools else {},
        "model_faults": faults.state() if faults else {},
        "played_tools": players.tools.counts() if players.tools else {},
        "played_model": players.model.counts() if players.model else {},
        "started_at": started_at,
        "active_s": active_s,
    }


def _restore(players: Players, kept: Mapping[str, Any]) -> None:
    if players.tools and "played_tools" in kept:
        players.tools.restore(kept["played_tools"])
    if players.model and "played_model" in kept:
        players.model.restore(kept["played_model"])


def _episode(
    agent: Agent,
    scenario: Scenario,
    epoch: int,
    attempt: int,
    result: Mapping[str, Any],
    tools: EpisodeTools | None,
    players: Players,
    started: float,
    elapsed: float,
) -> Episode:
    awareness, turns = tuple(result.get("awareness", ())), tuple(result.get("model_turns", ()))
    logs = tools.logs() if tools else ()
    injected = result.get("injected") or ""
    events, perturbations = settle_exposure(result.get("events", ()), turns, logs, agent.prompts, asked=bool(awareness), injected=injected)
    return Episode(
        id=episode_id(scenario.id, epoch),
        scenario_id=scenario.id,
        group=scenario.group,
        epoch=epoch,
        attempt=attempt,
        model=agent.model.name,
        human="none" if scenario.group in agent.alone else agent.human,
        tools="" if tools is None else str(players.tools.mode if players.tools else Traffic.LIVE),
        awareness=awareness,
        model_turns=turns,
        events=events,
        perturbations=perturbations,
        details=result.get("details", {}),
        answer=result.get("answer", ""),
        values=result.get("values"),
        termination=result["termination"],
        error=result.get("error") or "",
        traceback=result.get("traceback") or "",
        injected=injected,
        remarks=_remarks(events, turns, result.get("remarks") or {}),
        usage=sum((item.usage for item in (*awareness, *turns)), Usage()),
        started_at=started,
        elapsed_s=elapsed,
    )


def _remarks(events: Iterable[Event], turns: Sequence[ModelTurn], told: Mapping[str, int]) -> Mapping[str, int]:
    cut = sum(isinstance(event, ToolEvent) and is_cut(event.result) for event in events)
    read = sum(turn.calls_from_text for turn in turns)
    counted = {"cut": cut, "calls from text": read, "turns beside": read and len(turns)}
    return {**told, **{what: count for what, count in counted.items() if count}}
