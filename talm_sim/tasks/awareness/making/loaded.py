"""The result of reading a source: the scenarios, and the parts that could not be used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from talm_sim.scenarios.item_tools import spec_of
from talm_sim.types import Fact, GoldCall, JsonObject, Scenario, Source, Turn, YesNo

TASK = "awareness"


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A part of a source that could not be used."""

    where: str
    fault: str

    def __str__(self) -> str:
        return " ".join(f"{self.where}: {self.fault}".split())


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """The content of a source.

    Attributes:
        removed: Manipulations that people wrote already, by the id of the complete scenario; where a source has any, rules remove nothing.
        asked: The facts that a request asks for, by the id of the complete scenario, where built-in tools return them.
    """

    scenarios: tuple[Scenario, ...]
    problems: tuple[SourceProblem, ...] = ()
    removed: Mapping[str, Scenario] | None = None
    asked: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)


def complete_scenario(
    name: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[JsonObject],
    relevant: Sequence[str],
    source: Source,
    gold_calls: Sequence[GoldCall] = (),
) -> Scenario:
    """Build a scenario that can be served: gold answer yes.

    Raises:
        ValueError: It is not such a scenario; the message says why, and how to fix it.
    """
    if not relevant:
        raise ValueError("names no API that the request needs; add one, or leave the instance out.")
    if not (turns := turns_of(messages)):
        raise ValueError("contains no user message; begin the conversation with the user.")
    turns = (*turns[:-1], turns[-1].model_copy(update={"gold_calls": tuple(gold_calls)}))
    scenario = Scenario(
        id=name,
        task=TASK,
        group="complete",
        turns=turns,
        shown_tools=tuple(json.dumps(tool, ensure_ascii=False) for tool in tools),
        target=YesNo(gold="yes", relevant=tuple(dict.fromkeys(relevant))),
        source=source,
    )
    if fault := fault_in(scenario):
        raise ValueError(fault)
    return scenario


def turns_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Split a conversation before each thing the user says; empty if the user says nothing."""
    if not any(message.get("role") == "user" for message in messages):
        return ()
    parts: list[list[dict[str, Any]]] = [[]]
    for message in messages:
        if message["role"] == "user" and any(one["role"] == "user" for one in parts[-1]):
            parts.append([])
        parts[-1].append(dict(message))
    return tuple(Turn(messages=tuple(part)) for part in parts)


def fault_in(scenario: Scenario) -> str:
    """Say why nobody can be asked whether the shown tools serve this scenario, and how to fix it; empty if somebody can."""
    last = scenario.turns[-1].messages[-1:]
    if not scenario.query.strip():
        return "turns: contains no user message; begin the conversation with the user."
    if last and last[0]["role"] == "assistant":
        return "turns: the conversation ends with the assistant; end it with the user, or with a tool's result."
    if not isinstance(target := scenario.target, YesNo):
        return "target: is not a Yes or No; write the gold answer and the tools the request needs."
    names: list[str] = []
    fault = _fault_in_tools(scenario, names)
    lacking = [name for name in target.relevant if name not in names]
    if not fault and target.gold == "yes" and lacking:
        return f"target.relevant: '{lacking[0]}' is needed, but not among the tools shown; show it, or take the instance out."
    return fault


def _fault_in_tools(scenario: Scenario, names: list[str]) -> str:
    """Say why the tools shown cannot be read; add their names to `names`."""
    for number, text in enumerate(scenario.shown_tools):
        try:
            name = spec_of(text).get("name")
        except ValueError as err:
            return f"shown_tools.{number}: is not JSON text ({err}); write a tool as the text of a JSON object."
        if not isinstance(name, str) or not name:
            return f"shown_tools.{number}: names no tool; write a tool as the text of a JSON object with a `name`."
        if name in names:
            return f"shown_tools.{number}: '{name}' is listed twice; show every tool once."
        names.append(name)
    return ""


def tool_names(scenario: Scenario) -> tuple[str, ...]:
    """List the names of the tools a scenario shows, in order."""
    return tuple(str(spec_of(text).get("name", "")) for text in scenario.shown_tools)
