"""Prove scenarios of task `talm`: everything a metric relies on is checked, and nothing is taken on trust."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jsonpointer import JsonPointerException, resolve_pointer

from talm_sim.common.digests import canonical_json
from talm_sim.errors import ToolError
from talm_sim.language.facts.units import unit_of
from talm_sim.language.leaks import find_leak, mentions, tokens
from talm_sim.scenarios.problems import Problem
from talm_sim.schemas import NotChecked, Schema
from talm_sim.tasks.acting.recovery_search import Search, gives_fact
from talm_sim.tasks.talm.groups import BEYOND, GROUPS
from talm_sim.tasks.talm.making.giveaways import find_giveaway, users_of
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, ToolSpec

_MOST_REWORDED = 6
"""Words an under-specified query may add to the original for each thing removed, and drop from it beyond the removed text, so that it
reads naturally.
"""
MASK = "mask:tool="
_GAPS = frozenset({"underspecified", *BEYOND})
"""The groups in which the user left something out."""
LOOKS_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\b(?:sk|pk|rk)-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}|\b[0-9a-f]{40,}\b|(?i:(?:api[_-]?key|password|secret|token)\s*[=:]\s*\S{8,})"
)


_Finding = tuple[str, str]
"""What is wrong, and the fix."""
_CallTool = Callable[[str, Mapping[str, Any]], Any]
_Begin = Callable[[Mapping[str, Any]], None]


def check_scenarios(
    scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec], call: _CallTool, *, packaged: bool = False, begin: _Begin | None = None
) -> list[Problem]:
    """Check every scenario by itself, against its base, and against the others.

    Args:
        scenarios: Scenarios of any of the groups; a variant is compared with its base if that is among them.
        specs: Tools of the environment.
        call: Executes a gold call and returns its parsed result; called once for equal calls.
        packaged: Whether the rules for shipped scenarios apply as well: a licence is named, the tools are of one category, and a masked tool
            for which no person stands in gives a record, which nobody can compute or knows by heart.
        begin: If tools keep a state for each episode, called with a scenario's `start` before its gold calls, which are then made in order.

    Returns:
        The problems, in the order of the scenarios; empty when all is well.
    """
    proof = _Proof(scenarios, specs, call, packaged, begin)
    found: list[Problem] = []
    for scenario in scenarios:
        for finding in (*proof.of(scenario), *_check_given_away(scenario, specs)):
            found.append(Problem(scenario.id, *finding))
    return found


class _Proof:
    """Data that the checks of one set of scenarios share."""

    def __init__(
        self, scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec], call: _CallTool, packaged: bool, begin: _Begin | None
    ) -> None:
        self._begin = begin
        self._specs = specs
        self._packaged = packaged
        self._call = call
        self._results: dict[str, Any] = {}
        self._ids = Counter(scenario.id for scenario in scenarios)
        self._queries = Counter((scenario.group, *tokens(_agent_input_text(scenario))) for scenario in scenarios)
        self._bases = {scenario.id: scenario for scenario in scenarios if scenario.group == "perfect"}

    def of(self, scenario: Scenario) -> Iterator[_Finding]:
        if scenario.group not in GROUPS:
            yield f"group '{scenario.group}' is unknown", f"use one of {', '.join(GROUPS)}"
            return
        yield from self._identity(scenario)
        acts = scenario.group in {"perfect", *_GAPS} and bool(scenario.gold_calls) and not self._packaged  # then the calls alone are the target
        if not isinstance(scenario.target, Facts) or not (scenario.target.required or acts):
            yield "it has no facts to find in an answer", "give it a target of type facts"
            return
        yield from self._tools(scenario)
        yield from self._facts(scenario, scenario.target.required)
        yield from self._alternatives(scenario, scenario.target.required)
        yield from self._compare_with_base(scenario, scenario.target.required)
        if scenario.group in _GAPS:
            yield from self._underspecified(scenario, scenario.target.required)
        elif scenario.group in {"replaceable", "non-replaceable"}:
            yield from self._unavailable(scenario, scenario.target.required)
        elif scenario.missing:
            yield "nothing is missing in this group, yet `missing` is set", "drop it"

    def _identity(self, scenario: Scenario) -> Iterator[_Finding]:
        if self._ids[scenario.id] > 1:
            yield "its id is used more than once", "give each scenario its own id"
        if not scenario.query.strip():
            yield "it has no query", "write a user message"
        elif self._queries[scenario.group, *tokens(_agent_input_text(scenario))] > 1:
            yield "another scenario of its group asks the same", "reword one of them or drop it"
        if self._packaged and not scenario.source.licence:
            yield "it names no licence", "set source.licence"
        if secret := LOOKS_SECRET.search(scenario.model_dump_json()):
            yield f"it holds what looks like a secret ('{secret[0][:8]}...')", "take it out"

    def _tools(self, scenario: Scenario) -> Iterator[_Finding]:
        if scenario.group == "no-tools":
            if scenario.tools or scenario.gold_calls:
                yield "a no-tools scenario offers tools or has gold calls", "empty `tools` and `gold_calls`"
            return
        for name in scenario.tools:
            if name not in self._specs:
                yield f"there is no tool '{name}'", "correct the name or add the tool"
        needed = len({one.name for one in scenario.gold_calls})
        # If the one tool that is needed is masked, no call is left.
        if not needed and scenario.group in {"perfect", *_GAPS}:
            yield "it has no gold call", "say which calls solve it"
        if self._packaged and len({self._specs[name].category for name in scenario.tools if name in self._specs}) > 1:
            yield "its tools belong to several categories", "combine tools of one category"
        for one in scenario.gold_calls:
            if one.name not in scenario.tools:
                yield f"gold call '{one.name}' is not among its tools", "add it to `tools`"
            elif one.name in self._specs:
                with suppress(NotChecked):
                    for fault in Schema(self._specs[one.name].parameters).faults(one.arguments):
                        yield f"gold call '{one.name}': {fault.message}", "correct the arguments"

    def _facts(self, scenario: Scenario, facts: Iterable[Fact]) -> Iterator[_Finding]:
        names = Counter(fact.name for fact in facts)
        results = []
        if self._begin is not None:
            self._begin(scenario.start)
        for one in scenario.gold_calls:
            result, failure = self._run(one)
            results.append(result)
            if failure:
                yield f"gold call failed: {failure}", "correct its arguments"
        for fact in facts:
            if names[fact.name] > 1:
                yield f"two facts are called '{fact.name}'", "rename one"
            if mentions(_agent_input_text(scenario), fact.value, fact.accepted):
                yield f"its query already holds the fact '{fact.name}' ({fact.value})", "ask for something the query does not say"
            if isinstance(fact.value, bool) and not fact.accepted:
                yield f"fact '{fact.name}' is only {fact.value}", "list accepted wordings, or ask for something else"
            if fact.unit and not unit_of(fact.unit):
                yield f"the unit '{fact.unit}' of fact '{fact.name}' is not known", "write one such as km, MWh or €/kg"
            if isinstance(fact.value, str) and not tokens(fact.value):
                yield f"fact '{fact.name}' has no words", "point it to a value with words or digits"
            if fact.call is not None:
                yield from _compare(fact, results)
        # Facts are searched for in the last answer, so what an earlier turn asks for need not be among them.
        earlier = len(scenario.gold_calls) - len(scenario.user_turns[-1].gold_calls)
        unread = [one.name for index, one in enumerate(scenario.gold_calls) if index >= earlier and index not in {fact.call for fact in facts}]
        if unread and names:
            yield f"no fact needs gold call '{unread[0]}'", "add a fact from it or drop the call"

    def _alternatives(self, scenario: Scenario, facts: Sequence[Fact]) -> Iterator[_Finding]:
        search = Search(scenario, (), ())
        for tool, calls in scenario.alternatives.items():
            if not (theirs := [fact for fact in facts if search.tool_of(fact) == tool]):
                yield f"`alternatives` names '{tool}', on which no fact rests", "name the tool of a gold call with a fact"
            for one in calls:
                if one.name not in scenario.tools or one.name not in self._specs:
                    yield f"the alternative '{one.name}' is not among its tools", "add it to `tools`"
                    continue
                result, failure = self._run(one)
                if failure:
                    yield f"the alternative call failed: {failure}", "correct its arguments"
                elif theirs and not any(gives_fact(canonical_json(result), fact) for fact in theirs):
                    yield f"the alternative '{one.name}' gives no fact of '{tool}'", "name a call that does"

    def _run(self, one: GoldCall) -> tuple[Any, str]:
        """Return the result of a gold call, or why there is none."""
        key = canonical_json([one.name, one.arguments])
        if key not in self._results or self._begin is not None:
            try:
                self._results[key] = (self._call(one.name, one.arguments), "")
            except ToolError as err:
                self._results[key] = (None, str(err))
        result: tuple[Any, str] = self._results[key]
        return result

    def _compare_with_base(self, scenario: Scenario, facts: tuple[Fact, ...]) -> Iterator[_Finding]:
        if scenario.group == "perfect":
            if scenario.source.base and not scenario.source.translation_of:
                yield "a perfect scenario is its own base", "empty source.base"
            return
        translated = bool(scenario.source.translation_of)
        base = self._bases.get(scenario.base_in_language if translated else scenario.source.base)
        if not self._bases or (translated and base is None):
            return
        if base is None:
            yield f"its base '{scenario.source.base}' does not exist", "set source.base to the perfect scenario's id"
            return
        if not isinstance(base.target, Facts):
            return
        if [_judged_fields(fact) for fact in facts] != [_judged_fields(fact) for fact in base.target.required]:
            yield "its facts are not its base's", "copy them"
        if scenario.group in _GAPS:
            if (scenario.gold_calls, scenario.tools) != (base.gold_calls, base.tools):
                yield "its gold calls or tools are not its base's", "copy them"
            yield from _check_only_removed(_agent_input_text(base), scenario)
        elif _agent_input_text(scenario) != _agent_input_text(base):
            yield "its query is not its base's", "copy it"
        if scenario.group in {"replaceable", "non-replaceable"}:
            masked = {one.name for one in scenario.missing}
            left = tuple(one for one in base.gold_calls if one.name not in masked)
            if scenario.gold_calls != left or scenario.tools != base.tools or len(left) == len(base.gold_calls):
                yield "its gold calls are not its base's without the masked tool", "copy `tools`; keep the gold calls that remain possible"

    def _underspecified(self, scenario: Scenario, facts: Sequence[Fact]) -> Iterator[_Finding]:
        if not scenario.missing or any(one.kind is not MissingKind.ARGUMENT for one in scenario.missing):
            yield "it does not say which argument is missing", "set `missing` with kind argument"
            return
        if scenario.perturbations:
            yield "it is also perturbed", "an underspecified scenario misses arguments and nothing else"
        yield from _check_repeated(scenario.missing)
        for missing in scenario.missing:
            yield from self._missing_argument(scenario, missing)
        if scenario.group == "several-gaps" and len(scenario.missing) < 2:
            yield "only one thing is missing", "move it to underspecified"
        if scenario.group == "late-gap":
            yield from self._late(scenario, facts)

    def _late(self, scenario: Scenario, facts: Sequence[Fact]) -> Iterator[_Finding]:
        """Check by execution that the gap shows only in a tool's answer: the call is right without it, names both values, and facts differ."""
        (missing, *more) = scenario.missing
        users = [one for one in scenario.gold_calls if one.arguments.get(missing.name, ...) == missing.value]
        if more or missing.other is None or missing.other == missing.value:
            yield "a late gap is one argument with another value that fits as well", "set `missing` to one argument, and its `other`"
            return
        if not users or users[0].name not in self._specs:
            return
        gold = users[0]
        left = {name: value for name, value in gold.arguments.items() if name != missing.name}
        with suppress(NotChecked):
            for fault in Schema(self._specs[gold.name].parameters).faults(left):
                yield f"'{gold.name}' asks for '{missing.name}' by itself: {fault.message}", "a late gap is in an optional argument"
                return
        result, failure = self._run(GoldCall(name=gold.name, arguments=left))
        shown = failure or json.dumps(result, ensure_ascii=False)
        for value in (missing.value, missing.other):
            if not mentions(shown, value):
                yield f"'{gold.name}' without '{missing.name}' does not name {value!r}: {shown[:120]}", "choose values that its answer names"
                return
        here, there = self._run(gold), self._run(GoldCall(name=gold.name, arguments={**gold.arguments, missing.name: missing.other}))
        if there[1]:
            yield f"'{gold.name}' fails with {missing.other!r}: {there[1]}", "choose another value that fits"
            return
        asked = [fact.pointer for fact in facts if fact.call is not None and scenario.gold_calls[fact.call] == gold]
        if here == there or (asked and all(resolve_pointer(here[0], one, None) == resolve_pointer(there[0], one, None) for one in asked)):
            yield f"'{gold.name}' gives the same with {missing.other!r}", "choose another value that leads to other facts"

    def _missing_argument(self, scenario: Scenario, missing: Missing) -> Iterator[_Finding]:
        users = [one for one in scenario.gold_calls if one.arguments.get(missing.name, ...) == missing.value]
        if not users:
            yield f"no gold call has {missing.name} = {missing.value!r}", "set missing.name and missing.value to a gold call's argument"
        if not missing.removed_text.strip():
            yield f"it does not say which text was removed for '{missing.name}'", "set missing.removed_text"
        for one in users[:1]:
            spec = self._specs.get(one.name)
            common = [] if spec is None else [spec.description, *_descriptions(spec, missing.name)]
            if leak := find_leak(_agent_input_text(scenario), missing.value, missing.removed_text, common):
                yield f"the removed value can be recovered from the query ('{leak}')", "take that out of the query as well"
        if not missing.human_answer:
            yield f"no human answer is given for '{missing.name}'", "set missing.human_answer"
        elif not mentions(missing.human_answer, missing.value, [missing.removed_text]):
            yield (
                f"the human answer for '{missing.name}' does not contain the removed value",
                f"say {missing.value!r}, or the removed text, in missing.human_answer",
            )
        told = [one.name for one in scenario.missing if one != missing and mentions(missing.human_answer or "", one.value)]
        if told:
            yield f"the human answer for '{missing.name}' also says the {told[0]}", "each blocker's answer says that one alone"

    def _unavailable(self, scenario: Scenario, facts: Iterable[Fact]) -> Iterator[_Finding]:
        if not scenario.missing or any(one.kind is not MissingKind.TOOL for one in scenario.missing):
            yield "it does not say which tool is missing", "set `missing` with kind tool"
            return
        names = [one.name for one in scenario.missing]
        masked = sorted(text.removeprefix(MASK) for text in scenario.perturbations if text.startswith(MASK))
        if masked != sorted(names) or len(scenario.perturbations) != len(names):
            misses, right = "', '".join(names), "', '".join(f"{MASK}{name}" for name in names)
            yield f"it masks {masked or 'nothing'} but misses '{misses}'", f"set perturbations to ['{right}']"
        yield from _check_repeated(scenario.missing)
        for missing in scenario.missing:
            yield from self._missing_tool(scenario, missing)
        if not (lost := [fact for fact in facts if fact.call is None]):
            yield "every fact can still be found", "mask a tool that gives a fact"
        if scenario.group == "non-replaceable":
            return
        known = [one.human_answer for one in scenario.missing if one.human_answer]
        for fact in lost:
            if not any(mentions(answer, fact.value, fact.accepted) for answer in known):
                yield f"the human answer does not contain the fact '{fact.name}' ({fact.value})", "say it in missing.human_answer"

    def _missing_tool(self, scenario: Scenario, missing: Missing) -> Iterator[_Finding]:
        if missing.name not in scenario.tools:
            yield f"the missing tool '{missing.name}' is not among its tools", "list it in `tools`; the mask takes it away"
        if missing.name in {one.name for one in scenario.gold_calls}:
            yield f"a gold call uses the missing tool '{missing.name}'", "drop that call"
        spec = self._specs.get(missing.name)
        if spec is not None and spec.human_replaceable is not (scenario.group == "replaceable"):
            right = "replaceable" if spec.human_replaceable else "non-replaceable"
            yield f"'{missing.name}' is {right}, the group says {scenario.group}", f"move it to {right}"
        if self._packaged and spec is not None and scenario.group == "non-replaceable" and not spec.is_record:
            allowed = sorted(name for name, one in self._specs.items() if one.is_record and one.category == spec.category)
            known = f"mask one of {', '.join(allowed)}" if allowed else "mask a tool that gives records"
            yield f"what '{missing.name}' gives can be computed or is generally known", known
        if scenario.group == "replaceable" and len(scenario.missing) > 1 and not missing.human_answer:
            yield f"no human answer is given for '{missing.name}'", "set human_answer of each tool"
        if scenario.group == "non-replaceable" and missing.human_answer is not None:
            yield "a person is given an answer that no person could know", "drop missing.human_answer or move it to replaceable"


def _agent_input_text(scenario: Scenario) -> str:
    """Return everything the agent is told, earlier calls and results included."""
    messages = [message for turn in scenario.turns for message in turn.messages]
    called = [canonical_json(call.get("arguments", {})) for message in messages for call in message.get("tool_calls", ())]
    return "\n".join([*(message["content"] for message in messages), *called])


def _check_given_away(scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Iterator[_Finding]:
    offered = [specs[name] for name in scenario.tools if name in specs]
    for missing in (one for one in scenario.missing if one.kind is MissingKind.ARGUMENT):
        if place := find_giveaway(missing.value, missing.name, users_of(missing, scenario, specs), offered):
            fix = "choose another value, or take it out of the description"
            yield f"the tools give the removed value away ({missing.value!r} in {place})", fix


def _check_repeated(missing: Sequence[Missing]) -> Iterator[_Finding]:
    seen = Counter((one.kind, one.name, canonical_json(one.value)) for one in missing)
    for (kind, name, _), times in seen.items():
        if times > 1:
            yield f"the {kind.value} '{name}' is missing {times} times", "name each blocker once"


def _judged_fields(fact: Fact) -> dict[str, Any]:
    """Return what an answer is judged by: a fact without the place it is read from."""
    return fact.model_dump(exclude={"call", "pointer"})


def _compare(fact: Fact, results: Sequence[Any]) -> Iterator[_Finding]:
    assert fact.call is not None
    if not 0 <= fact.call < len(results):
        yield f"fact '{fact.name}' belongs to call {fact.call}, which does not exist", "point it to a gold call"
        return
    if results[fact.call] is None:
        return
    try:
        value = resolve_pointer(results[fact.call], fact.pointer)
    except JsonPointerException:
        yield f"fact '{fact.name}': there is nothing at '{fact.pointer}'", "correct the pointer"
        return
    if type(value) is not type(fact.value) or value != fact.value:
        yield f"fact '{fact.name}' is {fact.value!r}, the tool says {value!r}", "build the scenarios again"


def _check_only_removed(original: str, scenario: Scenario) -> Iterator[_Finding]:
    """Check that the query is the original without the removed texts, give or take a few words for each.

    A translation is not compared: it chooses its words anew.
    """
    if scenario.source.translation_of:
        return
    before, after = Counter(tokens(original)), Counter(tokens(_agent_input_text(scenario)))
    removed = [one.removed_text for one in scenario.missing if one.removed_text]
    for text in removed:
        if text not in original:
            yield f"the removed text '{text}' is not in the original query", "set missing.removed_text to words of the original"
    added = (after - before).total()
    dropped = (before - after - Counter(token for text in removed for token in tokens(text))).total()
    if max(added, dropped) > _MOST_REWORDED * max(len(scenario.missing), 1):
        yield f"its query differs from the original ({added} words added, {dropped} dropped)", "only remove the information"
    if not (before - after).total():
        yield "nothing was removed from the query", "remove the argument's text"


def _descriptions(spec: ToolSpec, argument: str) -> list[str]:
    """Return the words with which a tool describes one of its arguments."""
    schema = spec.parameters.get("properties", {}).get(argument, {})
    return [argument.replace("_", " "), str(schema.get("description", ""))]
