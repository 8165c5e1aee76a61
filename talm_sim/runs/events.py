"""What a run reports while it goes on. The command line renders these; nothing here prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from talm_sim.models.retries import Retry, on_retry
from talm_sim.tools_env.restarts import on_restart
from talm_sim.types import Termination

__all__ = [
    "EpisodeFinished",
    "EpisodeStarted",
    "EpisodeWaiting",
    "JudgeProgress",
    "OnEvent",
    "RequestRetried",
    "RunEvent",
    "RunFinished",
    "RunStarted",
    "ToolsRestarted",
    "ignore_events",
    "listening",
    "report_troubles",
    "show_progress_with",
]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins or goes on."""

    run_id: str
    path: str
    total: int
    """Episodes of the whole run."""
    finished: int
    """Episodes that were finished before."""
    waiting: int
    """Episodes that wait for a person."""
    model: str
    models: str
    """Model traffic: live, replay, record, or on this machine; or the agent's own."""
    tools: str
    """Tool traffic: live, replay or record."""
    human: str
    again: int = 0
    """Episodes that failed before and are tried again; they are not among the finished ones."""
    notices: tuple[str, ...] = ()
    """What its user should know before the first episode, a line each."""


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode takes a slot: for the first time, as a new attempt, or to go on with a person's answers."""

    episode_id: str
    attempt: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class EpisodeWaiting:
    """An episode gave its slot back and waits for a person; this is committed."""

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
    """Episodes finished by now, earlier sessions included."""
    total: int
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class RequestRetried:
    """A model request failed, and is sent again after a wait."""

    model: str
    reason: str
    wait_s: float
    number: int
    """The how-manieth retry of this request, from 1."""


@dataclass(frozen=True, slots=True)
class ToolsRestarted:
    """The tool service died and was started again; the calls it had not answered are sent again."""

    reason: str
    """How it ended."""


@dataclass(frozen=True, slots=True)
class JudgeProgress:
    """A judge has said what it thinks of one more episode."""

    judge: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Nothing more will happen in this session."""

    run_id: str
    finished: int
    total: int
    waiting: int
    """Episodes that still wait for a person."""
    terminations: dict[str, int]
    """Episodes by termination, this session's only."""
    elapsed_s: float


RunEvent = RunStarted | EpisodeStarted | EpisodeWaiting | EpisodeFinished | RequestRetried | ToolsRestarted | JudgeProgress | RunFinished
OnEvent = Callable[[RunEvent], None]


def ignore_events(event: RunEvent) -> None:
    """Take no notice; the default listener."""
    del event


_shown: list[Callable[[bool | None], AbstractContextManager[OnEvent]]] = []


def show_progress_with(show: Callable[[bool | None], AbstractContextManager[OnEvent]]) -> None:
    """Say what shows the progress of a run that is started from Python: it is told whether that is wanted (None: where it is usual)."""
    _shown[:] = [show]


@contextmanager
def listening(on_event: OnEvent | None, progress: bool | None) -> Iterator[OnEvent]:
    """What to tell of a run's events.

    Args:
        on_event: The caller's listener.
        progress: Whether progress is to be shown; None: in a notebook, where the caller does not listen.
    """
    if not _shown or progress is False or (progress is None and on_event is not None):
        yield on_event or ignore_events
        return
    with _shown[0](progress) as show:

        def both(event: RunEvent) -> None:
            show(event)
            if on_event is not None:
                on_event(event)

        yield both


@contextmanager
def report_troubles(on_event: OnEvent) -> Iterator[None]:
    """Tell, as events, of the requests that whatever is asked within sends again, and of tools that died under it."""

    def retried(retry: Retry) -> None:
        on_event(RequestRetried(retry.model, retry.reason, retry.wait_s, retry.number))

    retries, restarts = on_retry.set(retried), on_restart.set(lambda reason: on_event(ToolsRestarted(reason)))
    try:
        yield
    finally:
        on_restart.reset(restarts)
        on_retry.reset(retries)
