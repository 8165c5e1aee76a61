"""What an episode's page shows of task `refusal`: the functions, what is right, the calls that could be read, and the prompt and output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from talm_sim.scenarios.dialogue import as_text, dialogue
from talm_sim.tasks.refusal.tools import functions
from talm_sim.tasks.sections import shorten
from talm_sim.types import AcceptedCall, Calls, Episode, Line, Scenario, Section

__all__ = ["sections"]

_RIGHT = {"none": "no call: no function shown serves", "any": "a call, whichever"}


def sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """The parts this task adds to the page, below the query."""
    said = dialogue(scenario)
    if len(said) > 1:
        yield Section.of("Conversation", [shorten(line) for line in as_text(said).splitlines()])
    if not isinstance(scenario.target, Calls):
        return
    needed = {call.name for call in scenario.target.accepted}
    names = [one["name"] for one in functions(scenario.shown_tools)]
    shown = [(Line(text=shorten(name)), *([Line(text="  needed", style="good")] if name in needed else [])) for name in names]
    yield Section(title="Functions shown", lines=tuple(shown) or ((Line(text="(none)", style="faint"),),))
    right = [_format_accepted(call) for call in scenario.target.accepted] or [_RIGHT[scenario.target.expected]]
    yield Section.of("Right", right)
    yield Section(title="Calls read", lines=tuple((line,) for line in _calls(episode, scenario, scenario.target)))


def _format_accepted(call: AcceptedCall) -> str:
    """A call that is right, with every value that counts."""
    arguments = [f"{name}={' or '.join(_value(value) for value in values) or '(nothing is right)'}" for name, values in call.arguments.items()]
    return shorten(f"{call.name}({', '.join(arguments)})")


def _value(value: Any) -> str:
    return "(left out)" if value == "" else json.dumps(value, ensure_ascii=False)


def _calls(episode: Episode, scenario: Scenario, target: Calls) -> Iterator[Line]:
    from talm_sim.tasks.refusal.call_checks.judge import calls_of, tools_of

    found = calls_of(episode, tools_of(scenario), target.syntax)
    for call in found:
        arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
        yield Line(text=shorten(f"{call.name}({arguments})"))
    if not found:
        yield Line(text="(none)", style="faint")
