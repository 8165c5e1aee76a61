"""Build the packaged scenarios of task `talm` from `seeds/` over the real tool service, and check them: `make scenarios`.

A seed is the part of a scenario that a person writes by hand. Gold calls are executed, facts are read from their results, and variants are
derived: facts are named in a seed and computed here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonpointer import JsonPointerException, resolve_pointer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from talm_sim.common.toml_files import read_toml
from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.scenarios.jsonl import write_scenarios
from talm_sim.tasks.talm.groups import CATEGORIES, GROUPS
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.tools_env.caller import ToolCaller
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn

ROOT = Path(__file__).resolve().parent.parent
LICENCE = "Apache-2.0"
"""Licence of the wording; the data behind the facts keeps its own, see LICENCE.md beside the data."""

CallTool = Callable[[str, Mapping[str, Any]], Any]
"""Executes a tool by name and arguments and returns its parsed result; raises `ToolError`."""


def build_scenarios(seeds_dir: Path, specs: Mapping[str, ToolSpec], call: CallTool) -> dict[str, list[Scenario]]:
    """Build every group from the `<category>.toml` files of a directory.

    Args:
        seeds_dir: Directory of the seeds.
        specs: Tools of the environment; they decide whether an unavailable tool is replaceable.
        call: Executes the gold calls.

    Returns:
        Scenarios by group, ordered by category and number; the categories of set `quick` come first.

    Raises:
        PrerequisiteError: A seed is broken, or a gold call fails; the message names file and scenario.
    """
    groups: dict[str, list[Scenario]] = {group: [] for group in GROUPS}
    places = {category: place for place, category in enumerate(CATEGORIES)}
    for file in sorted(seeds_dir.glob("*.toml"), key=lambda file: (places.get(file.stem, len(places)), file.stem)):
        for number, seed in enumerate(load_seeds(file), 1):
            try:
                for scenario in _derive(f"{file.stem}-{number:02}", seed, specs, call):
                    groups[scenario.group].append(scenario)
            except (ToolError, LookupError, ValueError) as err:
                raise PrerequisiteError(f"{file}: scenario {number}: {err}") from None
    if not groups["perfect"]:
        raise PrerequisiteError(f"{seeds_dir}: no seeds: it needs <category>.toml files with [[scenario]] tables.")
    return groups


def _resolve_pointer(result: Any, pointer: str) -> Any:
    try:
        return resolve_pointer(result, pointer)
    except JsonPointerException:
        raise LookupError(f"there is nothing at '{pointer}'.") from None


def _derive(base: str, seed: _Seed, specs: Mapping[str, ToolSpec], call: CallTool) -> list[Scenario]:
    """Return the perfect scenario of a seed and its three variants."""
    gold = tuple(GoldCall(name=one.name, arguments=one.arguments) for one in seed.calls)
    tools = tuple(dict.fromkeys(one.name for one in gold))
    for tool in tools:
        if tool not in specs:
            raise LookupError(f"there is no tool '{tool}'.")
    results = [call(one.name, one.arguments) for one in gold]
    facts = tuple(
        Fact(name=fact.name, value=_resolve_pointer(results[fact.call], fact.pointer), **fact.model_dump(exclude={"name"}))
        for fact in seed.facts
    )
    perfect = Scenario(
        id=base,
        group="perfect",
        turns=(Turn(messages=({"role": "user", "content": seed.query},), gold_calls=gold),),
        tools=tools,
        target=Facts(required=facts),
        source=Source(name="talm-sim", licence=LICENCE),
    )
    no_tools = _variant(perfect, "no-tools", gold=(), facts=tuple(_renumber_fact(fact, {}) for fact in facts), tools=())
    found = [perfect]
    for number, one in enumerate(seed.underspecified, 1):
        name = "underspecified" if number == 1 else f"underspecified-{number}"
        found.append(_with_gaps(perfect, seed, "underspecified", one.query, [one], name))
    if seed.several_gaps:
        found.append(_with_gaps(perfect, seed, "several-gaps", seed.several_gaps.query, seed.several_gaps.gaps))
    if seed.late_gap:
        found.append(_with_gaps(perfect, seed, "late-gap", seed.late_gap.query, [seed.late_gap], other=seed.late_gap.other))
    return [*found, _unavailable(perfect, seed, facts, specs), no_tools]


def _with_gaps(perfect: Scenario, seed: _Seed, group: str, query: str, gaps: Sequence[Gap], name: str = "", other: Any = None) -> Scenario:
    """Return the variant in which the user forgot to say something."""
    missing = tuple(
        Missing(
            kind=MissingKind.ARGUMENT,
            name=gap.argument,
            value=seed.calls[gap.call].arguments[gap.argument],
            removed_text=gap.removed_text,
            human_answer=gap.human_answer,
            other=other,
        )
        for gap in gaps
    )
    assert isinstance(perfect.target, Facts)
    made = _variant(perfect, group, query=query, gold=perfect.gold_calls, facts=perfect.target.required, missing=missing)
    return made.model_copy(update={"id": f"{perfect.id}.{name}"}) if name else made


def _unavailable(perfect: Scenario, seed: _Seed, facts: tuple[Fact, ...], specs: Mapping[str, ToolSpec]) -> Scenario:
    tool, answer = seed.unavailable.tool, seed.unavailable.human_answer
    replaceable = specs[tool].human_replaceable
    if replaceable and answer is None:
        raise ValueError(f"unavailable: '{tool}' is human-replaceable: write what a person would answer.")
    if not replaceable and answer is not None:
        raise ValueError(f"unavailable: '{tool}' is not human-replaceable: no person could give that answer.")
    missing = Missing(kind=MissingKind.TOOL, name=tool, human_answer=_fill_facts(answer, facts) if answer else None)
    left = {index: place for place, index in enumerate(i for i, one in enumerate(perfect.gold_calls) if one.name != tool)}
    return _variant(
        perfect,
        "replaceable" if replaceable else "non-replaceable",
        gold=tuple(perfect.gold_calls[index] for index in left),
        facts=tuple(_renumber_fact(fact, left) for fact in facts),
        missing=(missing,),
        perturbations=(f"mask:tool={tool}",),
    )


def _fill_facts(answer: str, facts: tuple[Fact, ...]) -> str:
    """Fill in computed facts where their names are in braces."""
    try:
        return answer.format_map({fact.name: fact.value for fact in facts})
    except KeyError as err:
        raise ValueError(f"unavailable: human_answer names {err}, which is not a fact of this scenario.") from None


def _renumber_fact(fact: Fact, left: Mapping[int, int]) -> Fact:
    """Point a fact to the new index of its call; a fact whose call is gone has no index."""
    assert fact.call is not None
    if fact.call in left:
        return fact.model_copy(update={"call": left[fact.call]})
    return fact.model_copy(update={"call": None, "pointer": ""})


def _variant(perfect: Scenario, group: str, *, gold: tuple[GoldCall, ...], facts: tuple[Fact, ...], query: str = "", **fields: Any) -> Scenario:
    """Return the perfect scenario with another turn and target, and the changes of `fields`."""
    turn = Turn(messages=({"role": "user", "content": query or perfect.query},), gold_calls=gold)
    changed = {"id": f"{perfect.id}.{group}", "group": group, "turns": (turn,), "target": Facts(required=facts)}
    source = perfect.source.model_copy(update={"base": perfect.id})
    return perfect.model_copy(update={**changed, "source": source, **fields})


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SeedCall(_Strict):
    """One gold call."""

    name: str
    arguments: dict[str, Any] = {}


class SeedFact(_Strict):
    """A fact a correct answer states: where it is found, never its value."""

    name: str
    call: int = Field(ge=0)
    """Index of the gold call."""
    pointer: str
    """JSON pointer into that call's result."""
    accepted: tuple[str, ...] = ()
    """Other names of the value."""
    unit: str = ""
    asks: tuple[str, ...] = ()
    complete: bool = False


class Gap(_Strict):
    """Something the user forgot to say: an argument of a gold call."""

    call: int = Field(ge=0)
    argument: str
    removed_text: str
    human_answer: str


class Underspecified(Gap):
    """The variant in which the user forgot to say one thing."""

    query: str


class SeveralGaps(_Strict):
    """The variant in which the user forgot to say two or three things."""

    query: str
    gaps: tuple[Gap, ...] = Field(min_length=2, max_length=3)


class LateGap(Underspecified):
    """The variant in which nothing seems to be missing until a tool answers that several things fit."""

    other: Any
    """Another value of the argument, which the tool's answer without it names as well, and which leads to other facts."""


class Unavailable(_Strict):
    """The variant in which a tool is masked."""

    tool: str
    human_answer: str | None = None
    """A person's answer in place of the tool, with `{fact_name}` for the computed fact; only for a replaceable tool."""


class _Seed(_Strict):
    """One scenario and what its variants need."""

    query: str
    calls: tuple[SeedCall, ...] = Field(min_length=1)
    facts: tuple[SeedFact, ...] = Field(min_length=1)
    underspecified: tuple[Underspecified, ...] = Field(min_length=1)
    """The first is the pair of the perfect query; others forget something else."""
    several_gaps: SeveralGaps | None = None
    late_gap: LateGap | None = None
    unavailable: Unavailable

    @model_validator(mode="after")
    def _refers_to_what_is_there(self) -> _Seed:
        for fact in self.facts:
            if fact.call >= len(self.calls):
                raise ValueError(f"fact '{fact.name}': there is no call {fact.call}.")
        without = [call.name for index, call in enumerate(self.calls) if index not in {fact.call for fact in self.facts}]
        if without:
            raise ValueError(f"call '{without[0]}' gives no fact.")
        for name, gap in self._gaps():
            if gap.call >= len(self.calls) or gap.argument not in self.calls[gap.call].arguments:
                raise ValueError(f"{name}: call {gap.call} has no argument '{gap.argument}'.")
        if self.unavailable.tool not in {call.name for call in self.calls}:
            raise ValueError(f"unavailable: no call uses the tool '{self.unavailable.tool}'.")
        return self

    def _gaps(self) -> Iterator[tuple[str, Gap]]:
        yield from (("underspecified", one) for one in self.underspecified)
        yield from (("several_gaps", one) for one in (self.several_gaps.gaps if self.several_gaps else ()))
        yield from (("late_gap", one) for one in ([self.late_gap] if self.late_gap else []))


def load_seeds(file: Path) -> list[_Seed]:
    """Read the seeds of one category, an array of `[[scenario]]` tables.

    Raises:
        PrerequisiteError: The file is not TOML, or a seed is broken; the message names file and scenario.
    """
    tables = read_toml(file, "a seed").get("scenario", [])
    seeds: list[_Seed] = []
    for number, table in enumerate(tables, 1):
        try:
            seeds.append(_Seed.model_validate(table))
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            message = first["msg"].removeprefix("Value error, ")
            raise PrerequisiteError(f"{file}: scenario {number}{': ' + where if where else ''}: {message}") from None
    return seeds


def main() -> int:
    """Build, check, write; nothing is written when a scenario is wrong."""
    target = ROOT / "talm_sim" / "tasks" / "talm" / "scenarios"
    try:
        with ToolCaller() as call:
            groups = build_scenarios(ROOT / "seeds", call.specs, call)
            problems = check_scenarios([scenario for scenarios in groups.values() for scenario in scenarios], call.specs, call, packaged=True)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    write_scenarios(groups, target)
    print(", ".join(f"{len(scenarios)} {group}" for group, scenarios in groups.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
