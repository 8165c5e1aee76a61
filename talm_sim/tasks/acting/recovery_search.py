"""Search for a fact that a fault took away: which calls may still give it, in which order, and whether a result gives it.

The search knows the scenario: only so can it tell that a plausible result is wrong. It keeps no state, since what was tried is in the
results. In order, it makes the gold calls; what is lost then is looked for by the same call again, up to three times; by the calls that the
scenario names as alternatives; and by the other tools of the gold calls. A renamed tool is found by its arguments, and a renamed argument by
the tool's schema or by the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import NOT_THERE, leaves, read_json, read_result, value_at
from talm_sim.language.leaks import mentions
from talm_sim.types import Fact, GoldCall, JsonObject, MissingKind, Scenario, ToolSpec

AGAIN = 3
"""How often a call is made again."""
_SHORTEST = 3
"""Characters of a value that is taken for the fact wherever it is found; a shorter one needs a word of its field's name."""


class Way(StrEnum):
    """A way to find a fact that a fault took away, in the order in which ways are tried; or why nothing has to be found."""

    RESULT = "result"
    """The changed result, or the changed tool, still gives it."""
    AGAIN = "again"
    """The same call again gives it, as it was or as its error says."""
    ALTERNATIVE = "alternative"
    """A call that the scenario names as an alternative gives it."""
    READ = "read"
    """A second read gives it: another tool, other arguments, or, where nothing says that the first result is wrong, the same call again."""
    ASK = "ask"
    """A person gives it."""
    NONE = "none"
    """Nothing gives it: all that is right is to say so."""
    NOT_NEEDED = "not needed"
    """No fact rests on a call that the fault strikes."""
    NOT_APPLICABLE = "not applicable"
    """The fault cannot strike the scenario's calls."""

    @property
    def exists(self) -> bool:
        """Whether the fact can be found."""
        return self in _WAYS


_WAYS = (Way.RESULT, Way.AGAIN, Way.ALTERNATIVE, Way.READ, Way.ASK)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call that may give lost facts."""

    key: str
    way: Way
    name: str
    arguments: JsonObject


class Search:
    """The search for the facts of a scenario.

    Args:
        waves: Indexes of the gold calls in the order in which they are made; those of one step are made together.
        facts: The facts to find; by default all.
    """

    def __init__(
        self, scenario: Scenario, offered: Sequence[ToolSpec], waves: Sequence[Sequence[int]], facts: Sequence[Fact] | None = None
    ) -> None:
        self.scenario = scenario
        self.facts = scenario.facts if facts is None else facts
        self._gold = scenario.gold_calls
        self._offered = {tool.name: tool for tool in offered}
        self._waves = waves

    def tool_of(self, fact: Fact) -> str:
        """Return the tool that a fact rests on; empty if none is known."""
        if fact.call is not None:
            return self._gold[fact.call].name if fact.call < len(self._gold) else ""
        gone = [one for one in self.scenario.missing if one.kind is MissingKind.TOOL]
        if len(gone) > 1:  # the answer that a person would give in its place says the fact
            gone = [one for one in gone if one.human_answer and mentions(one.human_answer, fact.value, fact.accepted)]
        return gone[0].name if gone else ""

    def next(self, results: Mapping[str, str]) -> list[Attempt]:
        """Return the calls to make now; nothing if no call is left that may give a lost fact."""
        for wave in self._waves:
            written = [call for index in wave if (call := self._write(index)) is not None]
            if made := [call for call in written if call.key not in results]:
                return made
        lost = dict.fromkeys(fact.call for fact in self.facts if not self.is_found(fact, results))
        tried = (next((one for one in self._further(call, results) if one.key not in results), None) for call in lost)
        return [one for one in tried if one is not None]

    def is_found(self, fact: Fact, results: Mapping[str, str]) -> bool:
        """Return whether a result gives a fact."""
        return self.way_to(fact, results) is not None

    def way_to(self, fact: Fact, results: Mapping[str, str]) -> Way | None:
        """Return how a fact was found first; None if it was not."""
        tool = self.tool_of(fact)
        for attempt in (*self._gold_attempt(fact.call), *self._further(fact.call, results)):
            own = attempt.way in (Way.RESULT, Way.AGAIN)
            if attempt.key in results and gives_fact(results[attempt.key], fact, own=own):
                return attempt.way
        for index, call in enumerate(self._gold):
            if index != fact.call and gives_fact(results.get(str(index), ""), fact, own=False) and tool:
                return Way.READ if call.name in self._offered else None
        return None

    def _gold_attempt(self, index: int | None) -> Sequence[Attempt]:
        written = None if index is None else self._write(index)
        return () if written is None else (written,)

    def _write(self, index: int) -> Attempt | None:
        """Return a gold call as the offered tool of its name takes it; None if there is none."""
        call = self._gold[index] if index < len(self._gold) else None
        if call is None or call.name not in self._offered:
            return None
        return Attempt(str(index), Way.RESULT, call.name, _rename_arguments(call.arguments, self._offered[call.name]))

    def _further(self, index: int | None, results: Mapping[str, str]) -> Iterator[Attempt]:
        """Yield what may be tried for the facts of a gold call, in order; of None for those of the tool that is missing."""
        if index is None:
            for number, missing in enumerate(self.scenario.missing):
                yield from self._alternatives(f"missing{number or ''}", missing.name)
            return
        if index >= len(self._gold):
            return
        call, written = self._gold[index], self._write(index)
        if written is None:
            for number, tool in enumerate(self._renamed(call)):
                yield Attempt(f"{index}.named{number}", Way.RESULT, tool, call.arguments)
        else:
            corrected = _correct_arguments(written.arguments, error_in(results.get(written.key, "")))
            for number, arguments in enumerate(corrected):
                yield Attempt(f"{index}.corrected{number}", Way.AGAIN, written.name, arguments)
            for number in range(AGAIN):
                yield Attempt(f"{index}.again{number}", Way.AGAIN, written.name, written.arguments)
        yield from self._alternatives(str(index), call.name)
        yield from self._reads(index, call)

    def _renamed(self, call: GoldCall) -> list[str]:
        """Return the tools in sight that the scenario does not name and that take the call's arguments."""
        return [name for name, spec in self._offered.items() if name not in self.scenario.tools and _takes(spec, call.arguments)]

    def _alternatives(self, key: str, tool: str) -> Iterator[Attempt]:
        for number, call in enumerate(self.scenario.alternatives.get(tool, ())):
            if call.name in self._offered:
                yield Attempt(f"{key}.instead{number}", Way.ALTERNATIVE, call.name, call.arguments)

    def _reads(self, index: int, call: GoldCall) -> Iterator[Attempt]:
        """Yield calls of the other tools of the gold calls with this one's arguments; no other tool is known to change nothing."""
        made = {canonical_json([one.name, one.arguments]) for one in self._gold}
        others = dict.fromkeys(one.name for one in self._gold if one.name != call.name and one.name in self._offered)
        for number, tool in enumerate(others):
            if _takes(self._offered[tool], call.arguments) and canonical_json([tool, call.arguments]) not in made:
                yield Attempt(f"{index}.read{number}", Way.READ, tool, call.arguments)


def question_for(tool: str, facts: Sequence[Fact]) -> str:
    """Return the question that asks a person for facts that a tool did not give."""
    does = _words(tool)
    gives = does.partition(" ")[2] or does
    return f"I could not {does}. What is the {gives}, meaning the {' and the '.join(_words(fact.name) for fact in facts)}?"


def error_in(result: str) -> str:
    """Return the message of a result that is an error; empty if it is none.

    >>> error_in('{"error":"HTTP 500: Internal Server Error."}')
    'HTTP 500: Internal Server Error.'
    """
    value = read_json(result)
    only = value.get("error") if isinstance(value, dict) and len(value) == 1 else None
    return only if isinstance(only, str) else ""


def is_said(reply: str, fact: Fact) -> bool:
    """Return whether a person's reply gives a fact."""
    return mentions(reply, fact.value, fact.accepted)


def _field(path: Sequence[str | int]) -> str:
    """Return the name of the field that a value is in."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def gives_fact(result: str, fact: Fact, *, own: bool = False) -> bool:
    """Return whether a result gives a fact: at its place in an answer of the fact's own tool (`own`), else wherever it is found."""
    if (value := read_result(result)) is None or error_in(result):
        return False
    if own and fact.pointer:
        there = value_at(value, fact.pointer)
        if there is not NOT_THERE and there is not None and not isinstance(there, dict | list):
            return _is_same(there, fact.value)
    named = _name_parts(fact.pointer.rpartition("/")[2])
    telling = not isinstance(fact.value, bool) and len(str(fact.value)) >= _SHORTEST
    return any(_is_same(leaf, fact.value) and (telling or bool(_name_parts(_field(path)) & named)) for path, leaf in leaves(value))


def _is_same(found: Any, value: Any) -> bool:
    """Return whether two values are the same, also if one is written as text."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value or (isinstance(found, str) and found.casefold() == str(value).casefold())
    if isinstance(found, int | float) and isinstance(value, int | float):
        return found == value
    return found is not None and str(found).casefold() == str(value).casefold()


def _name_parts(name: str) -> set[str]:
    """Return the words of a field's name; a renamed field mostly keeps one."""
    return {part.casefold() for part in _NAME_PART.findall(name)}


def _takes(spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    """Return whether a tool takes these arguments, by their names."""
    return arguments.keys() <= spec.parameters.get("properties", {}).keys() and set(spec.required) <= arguments.keys()


def _rename_arguments(arguments: JsonObject, spec: ToolSpec) -> JsonObject:
    """Return the arguments under the names that the tool's schema has now: one that it lacks gets a required name that is not used."""
    properties = spec.parameters.get("properties", {})
    unused = [name for name in spec.required if name not in arguments] + [
        name for name in properties if name not in arguments and name not in spec.required
    ]
    lacking = [name for name in arguments if name not in properties]
    if not properties or not lacking or len(unused) < len(lacking):
        return arguments
    renamed = dict(zip(lacking, unused, strict=False))
    return {renamed.get(name, name): value for name, value in arguments.items()}


_NAME_PART = re.compile(r"[^\W_A-Z\d]{3,}|[A-Z]+[^\W_A-Z\d]*")
_FIELD = re.compile(r"[\"'`]([A-Za-z_]\w{0,60})[\"'`]|\b([A-Za-z]\w{0,40}_\w{1,40})\b")
_MOST_CORRECTED = 3


def _correct_arguments(arguments: JsonObject, error: str) -> list[JsonObject]:
    """Return the arguments as an error may want them: those that it names under the other names that it gives."""
    words = [first or second for first, second in _FIELD.findall(error[:2000])]
    named = [name for name in arguments if re.search(rf"\b{re.escape(name)}\b", error)]
    others = [word for word in dict.fromkeys(words) if word not in arguments]
    found = [{other if name == old else name: value for name, value in arguments.items()} for old in named for other in others]
    return found[:_MOST_CORRECTED]


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").split())
