"""Work out when the parts of an episode happened. Only some times are stored; the others are derived, always in the same way."""

from __future__ import annotations

from dataclasses import dataclass

from talm_sim.types import Episode, Event, HumanEvent


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, in Unix seconds.

    Attributes:
        begin: Its start.
        end: Its end, never before `begin`.
        measured: Whether both ends were stored; otherwise the order is true, and the ends are estimates.
    """

    begin: float
    end: float
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """The times of an episode.

    Attributes:
        awareness: That of the awareness questions, which are asked side by side.
        events: Each event with its time, in the order of their turns.
    """

    whole: Span
    awareness: Span
    turns: tuple[Span, ...]
    events: tuple[tuple[Event, Span], ...]


def times_of(episode: Episode, otherwise: float) -> Times:
    """Return the times of an episode.

    Stored are its start, how long it took without people, how long each tool took, and when a person was asked and answered. Calls of one turn
    begin together when the turn ends. What is left of the time is shared equally by the generations.
    """
    begin = episode.started_at or otherwise
    generations = bool(episode.awareness) + len(episode.model_turns)
    acting = sum(max(map(_seconds, events), default=0.0) for events in _by_turn(episode))
    share = max(0.0, episode.elapsed_s - acting) / generations if generations else 0.0
    at = begin
    awareness = Span(at, at := at + share if episode.awareness else at)
    turns: list[Span] = []
    places: list[tuple[Event, Span]] = []
    for index, events in enumerate(_by_turn(episode)):
        if index < len(episode.model_turns):
            turns.append(Span(at, at := at + share))
        placed = [(event, _place(event, begin, at)) for event in events]
        places += placed
        at = max([at, *(span.end for _, span in placed)])
    whole = Span(begin, max(begin + episode.elapsed_s, at), measured=bool(episode.started_at))
    return Times(whole, awareness, tuple(turns), tuple(places))


def _by_turn(episode: Episode) -> list[list[Event]]:
    """Return the events of each turn; one after the last turn, as of an agent whose model is not seen, has a turn for itself."""
    last = max((event.turn for event in episode.events), default=-1)
    return [[event for event in episode.events if event.turn == index] for index in range(max(len(episode.model_turns), last + 1))]


def _seconds(event: Event) -> float:
    """Return how long a tool took; a person's time is not the episode's."""
    return 0.0 if isinstance(event, HumanEvent) else event.elapsed_ms / 1000


def _place(event: Event, begin: float, at: float) -> Span:
    if not isinstance(event, HumanEvent):
        return Span(at, at + _seconds(event))
    if begin <= event.asked_at <= event.answered_at:
        return Span(event.asked_at, event.answered_at, measured=True)
    return Span(at, at)  # a recorded answer has the times of its recording, or none
