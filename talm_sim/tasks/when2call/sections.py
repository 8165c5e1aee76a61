"""Sections of an episode's page for task `when2call`: what is missing, the tools that were shown, and the options with their results."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.scenarios.tool_texts import tool_name
from talm_sim.tasks.sections import missing_section, shorten
from talm_sim.tasks.when2call.scored import Scored
from talm_sim.types import Choice, Episode, Line, Scenario, Section

__all__ = ["sections"]

_SHOWN = 300
"""Characters of an option's text that are shown."""


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    if scenario.missing:
        yield missing_section(*scenario.missing)
    if isinstance(scenario.target, Choice):
        names = ", ".join(shorten(tool_name(tool)) for tool in scenario.shown_tools)
        shown = Line(text=names) if names else Line(text="(none)", style="faint")
        yield Section(title="Tools shown", lines=((shown,),))
        yield Section(title="Options", lines=tuple(_options(episode, scenario.target)))


def _options(episode: Episode, target: Choice) -> Iterator[tuple[Line, ...]]:
    """Write each option: whether it is right, whether it was chosen, its log-probability, also per byte; below it, its text."""
    scored = Scored.of(episode)
    scores = {score.behaviour: score for score in scored.option_scores}
    for option in target.options:
        chosen = option.behaviour is scored.chosen
        parts = [Line(text=f"{option.behaviour.value:<17}", style="strong" if chosen else "plain")]
        score = scores.get(option.behaviour)
        if score is not None:
            parts.append(Line(text=f"{score.logprob:>10.2f}  {score.per_byte:>8.4f} per byte  {score.tokens:>4} tokens"))
        if option.behaviour is target.gold:
            parts.append(Line(text="  right", style="good"))
        if chosen:
            parts.append(Line(text="  chosen", style="strong"))
        yield tuple(parts)
        yield (Line(text=f"  {shorten(option.text, _SHOWN)}", style="faint"),)
