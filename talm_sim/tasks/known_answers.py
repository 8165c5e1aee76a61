"""A source of tools that answers from what is known of them, in place of the tools themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import read_json
from talm_sim.recordings import HttpResponse
from talm_sim.scenarios.invention import invent
from talm_sim.tools_env.routes import answer
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.types import Fact, Facts, JsonObject, Route, Scenario, ToolSpec

__all__ = ["KnownAnswers", "call_key"]


class KnownAnswers:
    """The tools of a scenario: a gold call is answered as it was, or with its facts; any other call with other values of the same form.

    Args:
        scenario: Its gold calls, facts and alternatives.
        specs: The tools, by name.
        answers: What tools really answered, by `call_key`.
        responses: JSON Schemas of the tools' answers, where they are known.
    """

    name = ""
    not_taken: Sequence[NotTaken] = ()

    def __init__(
        self, scenario: Scenario, specs: Mapping[str, ToolSpec], answers: Mapping[str, Any], responses: Mapping[str, JsonObject]
    ) -> None:
        self.specs = specs
        self.routes = {name: Route(path=f"/{number}") for number, name in enumerate(specs)}
        self.responses = responses
        self._answers = dict(answers)
        self._other: dict[str, Any] = {}
        facts = scenario.target.required if isinstance(scenario.target, Facts) else ()
        for index, call in enumerate(scenario.gold_calls):
            own = [fact for fact in facts if fact.call == index]
            known = read_json(call.result or "")
            self._answers.setdefault(call_key(call.tool, call.arguments), _document(own) if known is None else known)
            self._other.setdefault(call.tool, _document([fact.model_copy(update={"value": invent({}, fact.value)}) for fact in own]))
            for other in scenario.alternatives.get(call.tool, ()):
                self._answers.setdefault(call_key(other.tool, other.arguments), {fact.name: fact.value for fact in own})

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        """Answer a call."""
        value = self._answers.get(call_key(tool, arguments), self._other.get(tool, {}))
        return answer(value)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


def call_key(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a text that equal calls share."""
    return canonical_json([tool, arguments])


def _document(facts: Sequence[Fact]) -> Any:
    """Return the smallest JSON value that has each fact at its place."""
    document: Any = {}
    for fact in facts:
        document = _put(document, [_unescape(part) for part in fact.pointer.split("/")[1:]], fact.value)
    return document


def _put(into: Any, path: Sequence[str], value: Any) -> Any:
    """Return a value with another one put in at a path, a number of which is a place in a list."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if first.isdecimal() and len(first) <= 4 and not (isinstance(into, dict) and into):
        items = list(into) if isinstance(into, list) else []
        items += [{} for _ in range(int(first) + 1 - len(items))]
        items[int(first)] = _put(items[int(first)], rest, value)
        return items
    fields = dict(into) if isinstance(into, dict) else {}
    fields[first] = _put(fields.get(first, {}), rest, value)
    return fields


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
