"""Source questions: one request, one gold call, its tool, and the tools that it is not confused with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from talm_sim.common.digests import digest
from talm_sim.scenarios.item_tools import required_of, spec_of
from talm_sim.scenarios.making.outcome import DroppedSource
from talm_sim.scenarios.turns import fault_in_question
from talm_sim.tasks.when2call.making.splitting import Split, find_lead, split_query, tidy_request
from talm_sim.types import Behaviour, Choice, Fact, GoldCall, JsonObject, Missing, Scenario, ToolSpec
from talm_sim.types.base import canonical_form


@dataclass(frozen=True, slots=True)
class Removal:
    """A rewriting of the question that a person made and checked: one argument is gone."""

    question: str
    missing: Missing


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """What items are made from.

    Attributes:
        id: Scenario id and number of the gold call.
        others: Further tools of the same category, none of which the request needs.
        facts: What the call's result says of the question; the values are true, so a made-up answer must miss them.
        removal: A human-checked rewriting that leaves one argument out, where there is one.
        licence: Licence of the wording.
        origin: Name of the collection it comes from.
        turn: How many source questions before it call the same tool.
    """

    id: str
    question: str
    call: GoldCall
    spec: ToolSpec
    others: tuple[ToolSpec, ...] = ()
    facts: tuple[Fact, ...] = field(default=())
    removal: Removal | None = None
    licence: str = ""
    origin: str = ""
    turn: int = 0

    @property
    def digest(self) -> str:
        """Equal source questions have equal digests."""
        missing = self.removal.missing.model_dump(mode="json") if self.removal else None
        tools = [tool_text(spec) for spec in (self.spec, *self.others)]
        facts = [fact.model_dump(mode="json") for fact in self.facts]
        removed = self.removal.question if self.removal else ""
        return digest([self.id, self.question, canonical_form(self.call), tools, facts, removed, missing, self.licence, self.origin, self.turn])


def tool_text(spec: ToolSpec) -> str:
    """Return a tool as items show it: JSON with name, description and parameters."""
    return json.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters}, ensure_ascii=False)


def source_questions(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> tuple[list[SourceQuestion], list[DroppedSource]]:
    """Derive the source questions of some scenarios.

    Scenarios with one gold call are taken whole; those with two are taken apart where their sentences can be told apart. Scenarios with a
    missing argument lend their rewriting to the base they were derived from; tool-call items of task `when2call` are sources, too.

    Returns:
        The source questions in the scenarios' order, and what was dropped.
    """
    found: list[SourceQuestion] = []
    dropped: list[DroppedSource] = []
    rewritten: dict[str, list[Scenario]] = {}
    for variant in scenarios:
        if len(variant.missing) == 1 and variant.group == "underspecified":
            rewritten.setdefault(variant.source.base, []).append(variant)
    for scenario in scenarios:
        if scenario.group == Behaviour.TOOL_CALL.value and isinstance(scenario.target, Choice):
            one = _from_choice(scenario)
            (found if isinstance(one, SourceQuestion) else dropped).append(one)  # type: ignore[arg-type]
        elif scenario.group == "perfect" and scenario.gold_calls:
            for part in _parts(scenario, rewritten.get(scenario.id, ()), specs):
                (found if isinstance(part, SourceQuestion) else dropped).append(part)  # type: ignore[arg-type]
    seen: Counter[str] = Counter()
    for index, one in enumerate(found):
        found[index] = replace(one, turn=seen[one.spec.name])
        seen[one.spec.name] += 1
    return found, dropped


def _parts(scenario: Scenario, variants: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> Iterator[SourceQuestion | DroppedSource]:
    calls = scenario.gold_calls
    if fault_in_question(scenario):
        yield DroppedSource(scenario.id, "it holds more than a single question")
        return
    if unknown := [call.name for call in calls if call.name not in specs]:
        yield DroppedSource(scenario.id, f"there is no specification of its tool '{unknown[0]}'")
        return
    if len(calls) == 1:
        yield _question(scenario, 0, scenario.query, [(one.query, one) for one in variants], specs)
        return
    if isinstance(split := split_query(scenario.query, calls, [specs[call.name] for call in calls]), str):
        yield DroppedSource(scenario.id, f"its asks cannot be told apart: {split}")
        return
    for place, index in enumerate(split.order):
        rewritten = [(_rewritten_part(scenario.query, one.query, split, place), one) for one in variants]
        yield _question(scenario, index, _cut(scenario.query, split, place), rewritten, specs)


def _cut(query: str, split: Split, place: int) -> str:
    if place == 0:
        return tidy_request(query[: split.end], capital=query[:1].isupper())
    return tidy_request(query[split.start :], capital=query[:1].isupper(), lead=find_lead(query[: split.end]))


def _rewritten_part(query: str, variant: str, split: Split, place: int) -> str:
    """Return the part of the rewritten query that replaces part `place`; empty if the other part was changed, too."""
    if place == 0 and variant.endswith(query[split.end :]):
        part, lead = variant[: len(variant) - len(query) + split.end], ""
    elif place == 1 and variant.startswith(query[: split.start]):
        part, lead = variant[split.start :], find_lead(query[: split.end])
    else:
        return ""
    return tidy_request(part, capital=query[:1].isupper(), lead=lead)


def _question(
    scenario: Scenario, index: int, question: str, rewritten: Sequence[tuple[str, Scenario]], specs: Mapping[str, ToolSpec]
) -> SourceQuestion:
    call = scenario.gold_calls[index]
    spec = specs[call.name]
    removals = (
        Removal(text, variant.missing[0])
        for text, variant in rewritten
        if text not in ("", question)
        and variant.missing[0].name in spec.required
        and call.arguments.get(variant.missing[0].name, ...) == variant.missing[0].value
    )
    needed = {one.name for one in scenario.gold_calls}
    return SourceQuestion(
        id=scenario.id if len(scenario.gold_calls) == 1 else f"{scenario.id}.{index + 1}",
        question=question,
        call=call,
        spec=spec,
        others=tuple(one for name, one in sorted(specs.items()) if one.category == spec.category and name not in needed),
        facts=tuple(fact for fact in scenario.facts if fact.call == index),
        removal=next(removals, None),
        licence=scenario.source.licence,
        origin=scenario.source.name,
    )


def _from_choice(scenario: Scenario) -> SourceQuestion | DroppedSource:
    """Read a tool-call item of task `when2call` as a source question."""
    assert isinstance(scenario.target, Choice)
    try:
        written = json.loads(scenario.target.text_of(Behaviour.TOOL_CALL) or "")
        call = GoldCall(name=written["name"], arguments=written["arguments"])
        shown = [tool_spec(spec_of(text)) for text in scenario.shown_tools]
    except (ValueError, LookupError, TypeError, AttributeError):
        return DroppedSource(scenario.id, "its tool call or a tool it shows cannot be read")
    if (spec := next((one for one in shown if one.name == call.name), None)) is None:
        return DroppedSource(scenario.id, f"it does not show the tool '{call.name}' that it calls")
    others = tuple(one for one in shown if one.name != call.name)
    return SourceQuestion(scenario.id, scenario.query, call, spec, others, licence=scenario.source.licence, origin=scenario.source.name)


def tool_spec(document: JsonObject) -> ToolSpec:
    """Return a tool's specification, with what is required in its schema wherever the data says it."""
    spec = ToolSpec.model_validate({key: document[key] for key in ("name", "description", "parameters") if key in document})
    required = list(required_of(document))
    if spec.parameters.get("required", []) == required:
        return spec
    return spec.model_copy(update={"parameters": spec.parameters | {"required": required}})
