"""For the time being: what the tasks add to an episode's page. It moves to the tasks as it is."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.scenarios.when2call import tool_name
from talm_sim.types import Choice, Episode, Line, Missing, Scenario, Section

__all__ = ["awareness_section", "missing_section", "options_section", "sections", "tools_section"]

_SHOWN = 300
"""Characters of an option's text that are shown."""


def sections(episode: Episode, scenario: Scenario | None) -> Iterator[Section]:
    """What is shown below the query."""
    if scenario is not None:
        if scenario.missing is not None:
            yield missing_section(scenario.missing, with_answer=scenario.task == "talm")
        if isinstance(scenario.target, Choice):
            yield tools_section(scenario)
            yield options_section(episode, scenario.target)
    if episode.awareness:
        yield awareness_section(episode)


def missing_section(missing: Missing, *, with_answer: bool) -> Section:
    """What the scenario lacks; with what a person would say where one can be asked."""
    removed = f" (removed: “{_short(missing.removed_text)}”)" if missing.removed_text else ""
    lines = [(Line(text=f"{missing.kind.value} {missing.name}{removed}"),)]
    if with_answer:
        said = f"a person would say: {_short(missing.human_answer)}" if missing.human_answer else "no person could help"
        lines.append((Line(text=said, style="faint"),))
    return Section(title="Missing", lines=tuple(lines))


def awareness_section(episode: Episode) -> Section:
    """The awareness questions and their answers."""
    return Section(
        title="Awareness",
        lines=tuple(
            (
                Line(text=f"{'enough information?' if answer.kind.value == 'information' else 'enough tools?'} "),
                Line(text=answer.value.value, style="strong"),
                Line(text=f"  “{_short(answer.raw)}”", style="faint"),
            )
            for answer in episode.awareness
        ),
    )


def tools_section(scenario: Scenario) -> Section:
    """The names of the tools that were shown."""
    names = ", ".join(_short(tool_name(tool)) for tool in scenario.shown_tools)
    return Section(title="Tools shown", lines=((Line(text=names) if names else Line(text="(none)", style="faint"),),))


def options_section(episode: Episode, target: Choice) -> Section:
    """Each option: whether it is the right one and the one chosen, its log-probability in all and a byte, and its text."""
    scores = {score.behaviour: score for score in episode.option_scores}
    best = max(episode.option_scores, key=lambda score: score.logprob, default=None)
    lines: list[tuple[Line, ...]] = []
    for option in target.options:
        chosen = best is not None and best.behaviour is option.behaviour
        parts = [Line(text=f"{option.behaviour.value:<17}", style="strong" if chosen else "plain")]
        score = scores.get(option.behaviour)
        if score is not None:
            parts.append(Line(text=f"{score.logprob:>10.2f}  {score.per_byte:>8.4f} a byte  {score.tokens:>4} tokens"))
        if option.behaviour is target.gold:
            parts.append(Line(text="  right", style="good"))
        if chosen:
            parts.append(Line(text="  chosen", style="strong"))
        lines += [tuple(parts), (Line(text=f"  {_short(option.text, _SHOWN)}", style="faint"),)]
    return Section(title="Options", lines=tuple(lines))


def _short(text: str, width: int = 200) -> str:
    """The text on one line of at most `width` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
