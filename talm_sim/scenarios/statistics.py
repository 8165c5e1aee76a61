"""What sets of scenarios contain, in the shape of Table 1 of the study on incomplete conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from talm_sim.types import Scenario

__all__ = ["Statistics", "statistics_of"]


@dataclass(frozen=True, slots=True)
class Statistics:
    """One column of Table 1.

    Attributes:
        source: Name of the source; empty if scenarios name none.
        group: Group of the scenarios.
        instances: How many scenarios.
        turns: Things said or done in a conversation, on average: each of the user and of the assistant, and each call with its result.
        apis: APIs shown, or offered by name, on average.
        utterance_words: Words of what a user says at once, on average over all that users say, blanks between them.
        api_length: Characters of an API's JSON text, on average over all shown; None if none is.
    """

    source: str
    group: str
    instances: int
    turns: float
    apis: float
    utterance_words: float
    api_length: float | None


def statistics_of(scenarios: Iterable[Scenario]) -> list[Statistics]:
    """Count what scenarios contain, by source and group, in the order in which these occur."""
    sets: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in scenarios:
        sets.setdefault((scenario.source.name, scenario.group), []).append(scenario)
    return [_row(source, group, members) for (source, group), members in sets.items()]


def _row(source: str, group: str, scenarios: list[Scenario]) -> Statistics:
    messages = [[message for turn in scenario.turns for message in turn.messages] for scenario in scenarios]
    said = [one["content"] for conversation in messages for one in conversation if one["role"] == "user"]
    shown = [len(text) for scenario in scenarios for text in scenario.shown_tools]
    return Statistics(
        source=source,
        group=group,
        instances=len(scenarios),
        # An assistant's message that only calls is counted with its result.
        turns=fmean(sum(bool(one["content"].strip()) or one["role"] != "assistant" for one in conversation) for conversation in messages),
        apis=fmean(len(scenario.shown_tools or scenario.tools) for scenario in scenarios),
        utterance_words=fmean(len(text.split()) for text in said) if said else 0.0,
        api_length=fmean(shown) if shown else None,
    )
