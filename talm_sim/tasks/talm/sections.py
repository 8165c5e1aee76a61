"""What an episode's page shows of task `talm`: what was missing, and the answers to the awareness questions."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.tasks.sections import missing_section, short
from talm_sim.types import AwarenessKind, Episode, Line, Scenario, Section

__all__ = ["sections"]


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """The parts this task adds to the page, below the query."""
    if scenario.missing is not None:
        helped = scenario.missing.human_answer
        help_line = f"a person would say: {short(helped)}" if helped else "no person could help"
        yield missing_section(scenario.missing, help_line)
    if episode.awareness:
        yield Section(title="Awareness", lines=tuple(_awareness(episode)))


def _awareness(episode: Episode) -> Iterator[tuple[Line, ...]]:
    for answer in episode.awareness:
        question = "enough information?" if answer.kind is AwarenessKind.INFORMATION else "enough tools?"
        yield Line(text=f"{question} "), Line(text=answer.value.value, style="strong"), Line(text=f"  “{answer.raw}”", style="faint")
        if answer.question:
            yield (Line(text=f"  asked: {answer.question}", style="faint"),)
