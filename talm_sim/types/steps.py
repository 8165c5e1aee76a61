"""The sections of an episode's page and the steps of an episode, and the first step at which two episodes differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from talm_sim.types.base import FrozenModel
from talm_sim.types.episodes import Episode, Event, ToolEvent


class Line(FrozenModel):
    """One line of a section, with its style."""

    text: str
    style: Literal["plain", "strong", "faint", "good", "bad", "notice"] = "plain"


class Section(FrozenModel):
    """A part of an episode's page that its task adds."""

    title: str
    lines: tuple[tuple[Line, ...], ...]
    """Lines, each of one or more parts side by side."""

    @classmethod
    def of(cls, title: str, lines: Sequence[str]) -> Section:
        """Make a section of plain lines."""
        return cls(title=title, lines=tuple((Line(text=line),) for line in lines))


class Step(FrozenModel):
    """One thing that happened in an episode."""

    what: str
    """Where and what it is: `turn 2: call of find_holiday`."""
    text: str
    """What was said, called or returned; arguments are JSON with sorted keys."""


class Divergence(FrozenModel):
    """The first step at which two episodes differ."""

    number: int
    """The step's 1-based number."""
    first: Step | None
    """None where the first episode ends before."""
    second: Step | None
    """None where the second episode ends before."""
    epoch: int = 1
    """The epoch of the two episodes."""
    at: int = 0
    """Characters that the texts of the two steps have in common; 0 where the steps are of different kinds."""


def steps_of(episode: Episode) -> Iterator[Step]:
    """Yield the steps: the awareness answers; of each turn its text, its calls, and what tools and people answered; how it ended.

    Times, tokens and names of calls are not part of a step: they differ between episodes in which the same happened.
    """
    for answer in episode.awareness:
        for text in (*answer.unread, answer.raw):
            yield Step(what=f"awareness, {answer.kind.value}", text=text)
    events: dict[int, list[Event]] = {}
    for event in episode.events:
        events.setdefault(event.turn, []).append(event)
    for index, turn in enumerate(episode.model_turns):
        place = f"turn {index + 1}"
        if turn.text:
            yield Step(what=f"{place}: text", text=turn.text)
        for call in turn.tool_calls:
            yield Step(what=f"{place}: call of {call.name}", text=json.dumps(call.arguments, ensure_ascii=False, sort_keys=True))
        for unparsable in turn.unparsable_calls:
            yield Step(what=f"{place}: unreadable call of {unparsable.name}", text=unparsable.raw)
        for event in events.pop(index, ()):
            yield from _steps_of_event(place, event)
    for index in sorted(events):
        for event in events[index]:
            yield from _steps_of_event(f"turn {index + 1}", event)
    yield Step(what="answer", text=episode.answer)
    if episode.values is not None:
        yield Step(what="values", text=json.dumps(episode.values, ensure_ascii=False, sort_keys=True))
    yield Step(what="end", text=episode.termination.value)


def _steps_of_event(place: str, event: Event) -> Iterator[Step]:
    if isinstance(event, ToolEvent):
        yield Step(what=f"{place}: result of {event.name}", text=event.result)
    else:
        yield Step(what=f"{place}: {event.kind}", text=event.question)
        yield Step(what=f"{place}: {'reply' if event.request is None else 'decision'}", text=event.answer)


def first_difference(first: Episode, second: Episode) -> Divergence | None:
    """Return the first step at which two episodes differ; None if the same happened in both."""
    for number, (one, other) in enumerate(zip_longest(steps_of(first), steps_of(second)), 1):
        if one == other:
            continue
        at = 0
        if one is not None and other is not None and one.what == other.what:
            shorter = min(len(one.text), len(other.text))
            at = next((place for place in range(shorter) if one.text[place] != other.text[place]), shorter)
        return Divergence(number=number, epoch=first.epoch, first=one, second=other, at=at)
    return None
