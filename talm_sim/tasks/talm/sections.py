"""Sections of an episode's page for task `talm`: what was missing, and the answers to the awareness questions."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.tasks.sections import missing_section, shorten
from talm_sim.tasks.talm.reactions import find_uninformed_call
from talm_sim.tasks.talm.recovered import NOTHING_REMOVED
from talm_sim.types import AwarenessKind, Episode, Line, Missing, Scenario, Section

__all__ = ["sections"]


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    if scenario.missing:
        section = missing_section(*scenario.missing, more=_help_line)
        call = find_uninformed_call(episode, scenario)
        said = f"called without knowing: {call.name} in turn {call.turn + 1}, before anybody or anything had said the value" if call else ""
        yield section.model_copy(update={"lines": (*section.lines, (Line(text=said, style="bad"),))}) if said else section
    elif scenario.source.unchanged:
        yield Section(title="Missing", lines=((Line(text=f"{NOTHING_REMOVED}: it has all of {scenario.source.base}"),),))
    if episode.awareness:
        yield Section(title="Awareness", lines=tuple(_awareness(episode)))


def _help_line(missing: Missing) -> str:
    return f"a person would say: {shorten(missing.human_answer)}" if missing.human_answer else "no person could help"


def _awareness(episode: Episode) -> Iterator[tuple[Line, ...]]:
    for answer in episode.awareness:
        question = "enough information?" if answer.kind is AwarenessKind.INFORMATION else "enough tools?"
        yield Line(text=f"{question} "), Line(text=answer.value.value, style="strong"), Line(text=f"  “{answer.raw}”", style="faint")
        for number, text in enumerate(answer.unread, start=1):
            yield (Line(text=f"  try {number} could not be read: “{text}”", style="faint"),)
        if answer.question:
            yield (Line(text=f"  asked: {answer.question}", style="faint"),)
