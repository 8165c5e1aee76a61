"""Let a person stand in for a tool: which tool a question asks them to replace, and whether what they say has the form of its answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from talm_sim.language.about_missing import question_is_about, replaceable_tools
from talm_sim.scenarios.jsonl import parse
from talm_sim.schemas import Schema
from talm_sim.schemas.shapes import shape_of
from talm_sim.types import FrozenModel, JsonObject, Missing, MissingKind, Scenario, ToolSpec

_LONGEST_FAULT = 300


class ReplaceableTool(FrozenModel):
    """The facts kept of a tool that a person can replace, besides its specification."""

    response: JsonObject
    """JSON Schema of its answers, without references; empty if its source gives none."""
    masked: bool = False
    """Whether the run hides it from the agent."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A tool whose work a person is asked to do."""

    tool: str
    description: str
    parameters: JsonObject
    response: JsonObject

    @property
    def arguments(self) -> str:
        """What it takes, on one line."""
        return shape_of(self.parameters) or "no arguments"

    @property
    def answer(self) -> str:
        """What its answers look like, on one line; empty if that is not known."""
        return shape_of(self.response)

    def explain_misfit(self, answer: str) -> str:
        """Explain why an answer in JSON is not one of the tool's; empty if it is, if that cannot be said, and for an answer in words."""
        if not _looks_structured(answer):
            return ""
        try:
            value = parse(answer)
        except ValueError as err:
            return f"not JSON ({err})"
        fault = Schema(self.response).explain(value, _LONGEST_FAULT) if self.response else ""
        return fault and f"not an answer of {self.tool}: {fault}"


def is_structured(answer: str) -> bool:
    """Return whether a person answered in JSON, as a tool would, and not in words."""
    if not _looks_structured(answer):
        return False
    try:
        parse(answer)
    except ValueError:
        return False
    return True


def _looks_structured(answer: str) -> bool:
    return answer.lstrip().startswith(("{", "["))


def find_stand_in(
    question: str, scenario: Scenario, specs: Mapping[str, ToolSpec], known: Mapping[str, ReplaceableTool], failed: Collection[str] = ()
) -> StandIn | None:
    """Return the tool whose work a question asks for; None if it asks for none that a person can replace."""
    masked = {one.name: one for one in scenario.missing if one.kind is MissingKind.TOOL}
    broken: dict[str, Missing] = {one.name: one for one in replaceable_tools(scenario, specs)}
    away = [name for name, one in known.items() if one.masked]
    for name in dict.fromkeys((*masked, *failed, *away)):
        spec = specs.get(name)
        if spec is None or not spec.human_replaceable:
            continue
        thing = masked.get(name) or broken.get(name) or Missing(kind=MissingKind.TOOL, name=name)
        if question_is_about(question, thing, spec.description):
            response: dict[str, Any] = known[name].response if name in known else {}
            return StandIn(name, spec.description, spec.parameters, response)
    return None
