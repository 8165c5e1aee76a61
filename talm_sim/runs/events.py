"""The events that a run reports. The command line renders them; nothing here prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from talm_sim.models import retries, servers
from talm_sim.tools_env.restarts import on_restart
from talm_sim.types import Termination

RequestRetried = retries.RequestRetried
ServersChanged = servers.ServersChanged


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run starts or continues."""

    run_id: str
    path: str
    total: int
    """How many episodes the run has in all."""
    finished: int
    """How many episodes had finished before."""
    waiting: int
    """How many episodes wait for a person."""
    model: str
    models: str
    """Model traffic: live, replay, record, on this machine, or the agent's own."""
    tools: str
    """Tool traffic: live, replay or record."""
    human: str
    person: str = ""
    """The model that plays the person; empty where none does."""
    person_traffic: str = ""
    """How it is reached: live, replay, record, or on this machine."""
    again: int = 0
    """How many failed episodes are tried again; they do not count as finished."""
    notices: tuple[str, ...] = ()
    """What the user should know before the first episode, one line per item."""
    continues: str = ""
    """The command that continues it where it is interrupted; empty if that is `talm-sim resume`."""


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode takes a slot: for the first time, as a new attempt, or to continue with a person's answers."""

    episode_id: str
    attempt: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class EpisodeWaiting:
    """An episode gave back its slot and waits for a person; this is committed."""

    episode_id: str
    attempt: int
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EpisodeFinished:
    """An episode is finished and committed."""

    episode_id: str
    group: str
    termination: Termination
    error: str
    elapsed_s: float
    finished: int
    """How many episodes are finished, including those of earlier sessions."""
    total: int
    input_tokens: int = 0
    output_tokens: int = 0
    crashed: bool = False
    """Whether the agent failed on its own, and not by an injected fault."""


@dataclass(frozen=True, slots=True)
class ShardsProgress:
    """Of a run whose shards an engine plays, more is finished."""

    finished: int
    """How many episodes are finished, as far as it is known here."""
    total: int
    shards: int
    """How many shards there are."""
    left: int
    """How many of them are still played."""
    shard: str = ""
    """The shard that has just ended, `I/N`; empty if none has."""
    node: str = ""
    """The machine that played it."""
    error: str = ""
    """Why it failed; empty if it is finished."""


@dataclass(frozen=True, slots=True)
class ToolsRestarted:
    """The tool service died and was started again; unanswered calls are sent again."""

    reason: str
    """How the service ended."""


@dataclass(frozen=True, slots=True)
class JudgeProgress:
    """A judge has judged one more episode."""

    judge: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The session has ended."""

    run_id: str
    finished: int
    total: int
    waiting: int
    """How many episodes still wait for a person."""
    terminations: dict[str, int]
    """How many episodes of this session ended in each termination."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class BudgetReached:
    """A limit of the budget is reached: nothing more starts, and what is in flight ends."""

    limits: tuple[str, ...]
    """The limits that are reached: requests, tokens, cost, minutes."""
    in_flight: int
    """How many episodes or judgements are in flight."""


@dataclass(frozen=True, slots=True)
class PartSpent:
    """What one model was asked for one part of the command."""

    part: str
    """`agent`, `judge`, or `person` for a responder that asks a model."""
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    bounded: int
    """Requests whose tokens are counted at their upper bound, because no server reported them."""
    cost: float


@dataclass(frozen=True, slots=True)
class BudgetSpent:
    """A command with a budget ends, and this is what it spent."""

    limits: dict[str, float]
    """The budget."""
    spent: dict[str, float]
    """Requests, tokens, cost and minutes."""
    parts: tuple[PartSpent, ...]
    currency: str
    """Currency of the cost; empty if the prices name none."""
    left: dict[str, int]
    """What the budget kept from being done, by name: episodes, cells of a grid, and for each judge the episodes that it did not judge."""


RunEvent = (
    RunStarted
    | EpisodeStarted
    | EpisodeWaiting
    | EpisodeFinished
    | ShardsProgress
    | RequestRetried
    | ServersChanged
    | ToolsRestarted
    | JudgeProgress
    | RunFinished
    | BudgetReached
    | BudgetSpent
)
OnEvent = Callable[[RunEvent], None]


def ignore_events(event: RunEvent) -> None:
    """Ignore an event; the default listener."""
    del event


_shown: list[Callable[[bool | None], AbstractContextManager[OnEvent]]] = []


def show_progress_with(show: Callable[[bool | None], AbstractContextManager[OnEvent]]) -> None:
    """Register what shows progress for runs started from Python; it receives `progress`, where None means: only where that is usual."""
    _shown[:] = [show]


@contextmanager
def listening(on_event: OnEvent | None, progress: bool | None) -> Iterator[OnEvent]:
    """Yield the listener for a run's events, and let it hear of retried requests, servers left out and restarted tools while the block runs.

    Args:
        on_event: The caller's listener.
        progress: Whether to show progress; None shows it in a notebook, unless the caller listens.
    """
    if not _shown or progress is False or (progress is None and on_event is not None):
        with _reporting_troubles(on_event or ignore_events) as listen:
            yield listen
        return
    with _shown[0](progress) as show:

        def both(event: RunEvent) -> None:
            show(event)
            if on_event is not None:
                on_event(event)

        with _reporting_troubles(both) as listen:
            yield listen


@contextmanager
def _reporting_troubles(on_event: OnEvent) -> Iterator[OnEvent]:
    retried, changed = retries.on_retry.set(on_event), servers.on_servers_change.set(on_event)
    restarted = on_restart.set(lambda reason: on_event(ToolsRestarted(reason)))
    try:
        yield on_event
    finally:
        servers.on_servers_change.reset(changed)
        on_restart.reset(restarted)
        retries.on_retry.reset(retried)
