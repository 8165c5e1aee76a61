"""The options of a multiple-choice item, with what a model made of them, as part of an episode's page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from talm_sim.cli.text import clean, one_line
from talm_sim.scenarios.when2call import tool_name
from talm_sim.types import Choice, Episode, Scenario

__all__ = ["option_lines", "tools_line"]

_SHOWN = 300
"""Characters of an option's text that are shown."""


def tools_line(scenario: Scenario) -> Text:
    """The names of the tools that were shown."""
    names = ", ".join(one_line(tool_name(tool)) for tool in scenario.shown_tools)
    return Text(names) if names else Text("(none)", style="dim")


def option_lines(episode: Episode, target: Choice) -> Iterator[RenderableType]:
    """Each option: whether it is the right one and the one chosen, its log-probability in all and a byte, and its text."""
    scores = {score.behaviour: score for score in episode.option_scores}
    chosen = max(episode.option_scores, key=lambda score: score.logprob, default=None)
    for option in target.options:
        line = Text(f"{option.behaviour.value:<17}", style="bold" if chosen and chosen.behaviour is option.behaviour else "")
        score = scores.get(option.behaviour)
        if score is not None:
            line.append(f"{score.logprob:>10.2f}  {score.per_byte:>8.4f} a byte  {score.tokens:>4} tokens", style="not bold")
        if option.behaviour is target.gold:
            line.append("  right", style="green")
        if chosen and chosen.behaviour is option.behaviour:
            line.append("  chosen", style="bold")
        yield line
        yield Padding(Text(one_line(clean(option.text), _SHOWN), style="dim"), (0, 0, 0, 2), expand=False)
