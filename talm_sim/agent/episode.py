"""Turn one scenario into one `Episode`: no files, no printing, no registry."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command
from pydantic import TypeAdapter

from talm_sim.agent.context import EpisodeContext, failure_state
from talm_sim.agent.exposure import Prompts, settle_exposure
from talm_sim.agent.faulty_model import ModelFaults
from talm_sim.agent.humans import DecidingResponder, HumanReply, Responder
from talm_sim.common.digests import derive_seed
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError
from talm_sim.models.base import GenerationSettings, Model, ScenarioModel
from talm_sim.models.metering import PERSON, asking_as
from talm_sim.recordings import Player, playing
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.types import Episode, Event, ModelTurn, PersonRequest, Scenario, ToolSpec, Usage, episode_id

__all__ = ["Agent", "PendingQuestion", "Players", "Waiting", "run_episode"]

_REQUEST: TypeAdapter[PersonRequest] = TypeAdapter(PersonRequest)


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
        environment: The tools; None for a graph that executes none.
        human: `none`, or the kind of responder.
        human_tool: The Ask-and-Help tool as the agent is offered it; None where there is nobody to ask.
        finish_tool: The tool whose call ends an episode; None where a turn without a call does.
        without_tools: Groups that are offered no tool, these two included, so that nobody is asked and a turn without a call is the answer.
        responder: Makes the responder of a scenario and epoch; None where a person answers later, so that a question pauses the episode.
        saver: Keeps paused episodes; needed where there is somebody to ask.
        most_steps: Steps of the graph after which it is stopped as one that does not end.
        control: The task's own policy of a control for a scenario; None leaves it to the control.
        prompts: Which prompts of the agent are known, to tell which faults it met.
    """

    model: Model
    graph: Any
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    environment: Environment | None = None
    human: str = "none"
    human_tool: ToolSpec | None = None
    finish_tool: ToolSpec | None = None
    without_tools: frozenset[str] = frozenset()
    responder: Callable[[Scenario, int], Responder] | None = None
    saver: BaseCheckpointSaver[Any] | None = None
    most_steps: int = 25
    control: Callable[[str, Scenario], Model | None] | None = None
    prompts: Prompts = "all"


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """Something put to the person that nobody has answered yet."""

    interrupt_id: str
    ask: int
    """Its number within the episode, counted from 1."""
    question: str
    """In words."""
    request: PersonRequest | None = None
    """The call to approve, or the form; None for a question."""


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

    Raises:
        PrerequisiteError: The scenario does not fit the environment.
    """
    players = players or Players()
    kept: Mapping[str, Any] = state or {}
    tools = _open_tools(agent, scenario, epoch, players, kept)
    if tools is None:
        return await _play_until_pause(agent, scenario, epoch, attempt, players, resume, kept, tools)
    try:
        result = await _play_until_pause(agent, scenario, epoch, attempt, players, resume, kept, tools)
    except BaseException:  # a bug, or the run is interrupted
        await tools.aclose()
        raise
    if isinstance(result, Waiting):
        tools.keep()
    else:
        await tools.aclose()
    return result


async def _play_until_pause(
    agent: Agent,
    scenario: Scenario,
    epoch: int,
    attempt: int,
    players: Players,
    resume: Mapping[str, HumanReply] | None,
    kept: Mapping[str, Any],
    tools: EpisodeTools | None,
) -> Episode | Waiting:
    """Play an episode from its present state to its end, or until it waits for a person."""
    started = _Moment(time.time(), time.monotonic())
    thread = f"{episode_id(scenario.id, epoch)}#{attempt}"
    config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": agent.most_steps}
    context = _context(agent, scenario, tools, epoch, kept)
    if resume is not None and tools is not None and tools.perturbations and context.faults is not None:
        # The checkpoint may be ahead of the state: a process can be killed between the two.
        reached = (await agent.graph.aget_state(config)).values
        tools.recall(reached.get("events", ()))
        context.faults.recall(reached.get("model_turns", ()))
    asks: dict[str, int] = dict(kept.get("asks", {}))
    step: Any = {} if resume is None else _resume_command(_drop_stale_replies(resume, asks))
    durable: dict[str, Any] = {"durability": "exit"} if agent.saver else {}
    advance = partial(agent.graph.ainvoke, config=config, context=context, **durable)
    with playing(players.model):
        result, questions = await _play(advance, step, asks, agent.responder(scenario, epoch) if agent.responder else None)
    if questions:
        return Waiting(
            episode_id(scenario.id, epoch),
            scenario.id,
            epoch,
            attempt,
            questions,
            tuple(result.get("model_turns", ())),
            tuple(result.get("events", ())),
            _keep(players, tools, context.faults, asks, kept, started),
        )
    if agent.saver is not None:
        await agent.saver.adelete_thread(thread)
    elapsed = _active_seconds(tools, kept, started)
    return _episode(agent, scenario, epoch, attempt, result, tools, players, kept.get("started_at", started.unix), elapsed)


@dataclass(frozen=True, slots=True)
class _Moment:
    """The moment when a stretch began. Its duration is measured by a clock that nobody sets; what is stored is the time of day."""

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
    advance: Callable[[Any], Awaitable[dict[str, Any]]], step: Any, asks: dict[str, int], responder: Responder | None
) -> tuple[dict[str, Any], tuple[PendingQuestion, ...]]:
    """Advance the graph to its end, or to questions that no `responder` answers at once; return its state and those questions."""
    while True:
        result = await advance(step)
        questions = _pending(result, asks)
        if not questions or responder is None:
            return result, questions
        try:
            step = _resume_command({question.interrupt_id: await _answer(responder, question) for question in questions})
        except CassetteMissError as err:
            return result | failure_state(err), ()
        except ProviderError as err:
            return result | failure_state(err) | {"error": f"the person's model: {err}"}, ()


def _context(agent: Agent, scenario: Scenario, tools: EpisodeTools | None, epoch: int, kept: Mapping[str, Any]) -> EpisodeContext:
    ours = () if scenario.group in agent.without_tools else (agent.human_tool, agent.finish_tool)
    seed = None if agent.settings.seed is None else derive_seed(agent.settings.seed, scenario.id, epoch)
    return EpisodeContext(
        scenario=scenario,
        model=_player_of(agent, scenario),
        settings=replace(agent.settings, seed=seed),
        tools=tools,
        offered=(*(tools.tools if tools else ()), *filter(None, ours)),
        faults=None if tools is None else ModelFaults(tools.perturbations, kept.get("model_faults")),
    )


def _player_of(agent: Agent, scenario: Scenario) -> Model:
    """Return the model; for a control, the task's policy for the scenario."""
    if not isinstance(agent.model, ScenarioModel):
        return agent.model
    return agent.model.play(agent.control(agent.model.name, scenario) if agent.control else None)


def _resume_command(replies: Mapping[str, HumanReply]) -> Command[Any]:
    # By interrupt id, never a bare value: a bare one would answer whichever question comes first.
    return Command(resume={interrupt_id: _as_json(reply) for interrupt_id, reply in replies.items()})


def _as_json(reply: HumanReply) -> dict[str, Any]:
    """Return the fields of a `HumanEvent` that a reply gives; a checkpoint keeps them."""
    fields = {name: value for name, value in asdict(reply).items() if name not in ("decision", "name")}
    decision = None if reply.decision is None else reply.decision.model_dump(mode="json")
    return fields | ({} if decision is None else {"decision": decision}) | ({"name": reply.name} if reply.name else {})


async def _answer(responder: Responder, question: PendingQuestion) -> HumanReply:
    asked = time.time()
    with asking_as(PERSON):
        if question.request is None:
            reply = await responder(question.question, question.ask)
        elif isinstance(responder, DecidingResponder):
            reply = await responder.decide(question.request, question.ask)
        else:
            kind = "approves no calls" if question.request.kind == "approval" else "fills in no forms"
            raise PrerequisiteError(f"the responder answers questions, but {kind}: it needs a method decide(request, ask); see docs/asking.md.")
    return replace(reply, asked_at=asked, answered_at=max(asked, time.time()))


def _drop_stale_replies(replies: Mapping[str, HumanReply], asks: Mapping[str, int]) -> dict[str, HumanReply]:
    """Drop answers to questions this episode never asked: a stale id could answer the wrong question."""
    return {interrupt_id: reply for interrupt_id, reply in replies.items() if interrupt_id in asks}


def _pending(result: Mapping[str, Any], asks: dict[str, int]) -> tuple[PendingQuestion, ...]:
    """Return the open questions; new ones get the next numbers in `asks`."""
    pending = result.get("__interrupt__", ())
    return tuple(_put(item.id, asks.setdefault(item.id, len(asks) + 1), item.value) for item in pending)


def _put(interrupt_id: str, ask: int, value: Any) -> PendingQuestion:
    """Return what an interrupt puts to the person: a text is a question, a JSON object a call to approve or a form."""
    if isinstance(value, str):
        return PendingQuestion(interrupt_id, ask, value)
    request = _REQUEST.validate_python(value)
    return PendingQuestion(interrupt_id, ask, request.text, request)


def _keep(
    players: Players,
    tools: EpisodeTools | None,
    faults: ModelFaults | None,
    asks: dict[str, int],
    kept: Mapping[str, Any],
    started: _Moment,
) -> dict[str, Any]:
    return {
        "asks": asks,
        "perturbations": tools.state() if tools else {},
        "model_faults": faults.state() if faults else {},
        "played_tools": players.tools.counts() if players.tools else {},
        "played_model": players.model.counts() if players.model else {},
        "started_at": kept.get("started_at", started.unix),
        "active_s": _active_seconds(tools, kept, started),
    }


def _active_seconds(tools: EpisodeTools | None, kept: Mapping[str, Any], started: _Moment) -> float:
    """Return the seconds an episode took, with its tools' pretended waiting and without a person's time."""
    active: float = kept.get("active_s", 0.0) + started.age + (tools.slept if tools else 0.0)
    return active


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
    events, perturbations = settle_exposure(result.get("events", ()), turns, logs, agent.prompts, asked=bool(awareness))
    return Episode(
        id=episode_id(scenario.id, epoch),
        scenario_id=scenario.id,
        group=scenario.group,
        epoch=epoch,
        attempt=attempt,
        model=agent.model.name,
        human="none" if scenario.group in agent.without_tools else agent.human,
        tools="" if tools is None else str(players.tools.mode if players.tools else Traffic.LIVE),
        awareness=awareness,
        model_turns=turns,
        events=events,
        perturbations=perturbations,
        details=result.get("details", {}),
        answer=result.get("answer", ""),
        termination=result["termination"],
        error=result.get("error") or "",
        traceback=result.get("traceback") or "",
        injected=result.get("injected") or "",
        usage=sum((item.usage for item in (*awareness, *turns)), Usage()),
        started_at=started,
        elapsed_s=elapsed,
    )
