"""What a run reports while it goes on. The command line renders these; nothing here prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from talm_sim.types import Termination

__all__ = [
    "EpisodeFinished",
    "EpisodeStarted",
    "EpisodeWaiting",
    "JudgeProgress",
    "OnEvent",
    "RunEvent",
    "RunFinished",
    "RunStarted",
    "ignore_events",
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
    """Model traffic: live, replay, record, or on this machine."""
    tools: str
    """Tool traffic: live, replay or record."""
    human: str


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


RunEvent = RunStarted | EpisodeStarted | EpisodeWaiting | EpisodeFinished | JudgeProgress | RunFinished
OnEvent = Callable[[RunEvent], None]


def ignore_events(event: RunEvent) -> None:
    """Take no notice; the default listener."""
    del event
