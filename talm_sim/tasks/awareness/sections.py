"""What an episode's page shows of task `awareness`: the conversation, what was taken away, the tools that were shown, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.scenarios.dialogue import ATTEMPT, EXAMPLE, as_text, dialogue, part_of
from talm_sim.scenarios.tool_texts import tool_name
from talm_sim.tasks.sections import missing_section, shorten
from talm_sim.types import Episode, Line, Scenario, Section, YesNo

__all__ = ["sections"]


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """The parts this task adds to the page, below the query."""
    said = dialogue(scenario)
    if len(said) > 1:
        yield Section.of("Conversation", [shorten(line) for line in as_text(said).splitlines()])
    examples = [message["from"] for message in part_of(scenario, EXAMPLE) if "from" in message]
    if examples:
        yield Section.of("Examples shown before", [shorten(str(one)) for one in examples])
    attempt = part_of(scenario, ATTEMPT)
    if attempt:
        yield Section.of("The call made before", [shorten(line) for line in as_text(attempt).splitlines()])
    if scenario.missing is not None:
        yield missing_section(scenario.missing)
    if isinstance(scenario.target, YesNo):
        yield Section(title="Tools shown", lines=tuple(_tools(scenario, scenario.target)))
        yield Section.of("Right", [f"{scenario.target.gold.capitalize()}{_maker_note(scenario.target)}"])


def _tools(scenario: Scenario, target: YesNo) -> Iterator[tuple[Line, ...]]:
    replaced = {instead: name for name, instead in target.swapped.items()}
    for tool in scenario.shown_tools:
        name = tool_name(tool)
        line = Line(text=shorten(name))
        if name in replaced:
            yield line, Line(text=f"  in place of {shorten(replaced[name])}", style="notice")
        elif name in target.relevant:
            yield line, Line(text="  needed", style="good")
        else:
            yield (line,)
    if not scenario.shown_tools:
        yield (Line(text="(none)", style="faint"),)


def _maker_note(target: YesNo) -> str:
    return f" (taken away by {shorten(target.made_by)})" if target.made_by else ""
