"""Make the packaged scenarios of task refusal (talm_sim/tasks/refusal/scenarios/*.jsonl) from set `quick` of task talm and `seeds/refusal`.

Every perfect scenario of the set becomes three: with the tools it needs and stand-ins (`fitting`), with the stand-ins and what another category
needs (`removed`), and with the tools of another category alone (`unrelated`). Each shows four tools, sorted by name. Every one of the three is
also there in Vietnamese and in Thai. Equal input gives equal bytes. Each value that is accepted beside the gold one is tried on the real tool
service: the facts asked for must stand in its result. Each translation is compared with its English row: the same numbers and values.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.scenarios.jsonl import write_scenarios
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.data import NOT_NATIVE
from talm_sim.tasks.talm.groups import QUICK
from talm_sim.tasks.translation.translation_checks import Translation, check_translation
from talm_sim.tasks.translation.translation_review import needed_values
from talm_sim.tools_env.caller import ToolCaller
from talm_sim.types import AcceptedCall, Calls, Facts, GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("fitting", "removed", "unrelated")
LANGUAGES = ("vi", "th")
SHOWN = 4
"""Tools of a row, in every group."""
Call = Callable[[str, Mapping[str, Any]], Any]


def main() -> int:
    """Build, check, write; nothing is written when a value or a translation is wrong."""
    try:
        perfect, seeds = read_perfect(), read_seeds()
        with ToolCaller() as call:
            problems = [*check_translations(perfect, seeds, call.specs), *check(perfect, seeds, call.specs, call)]
            scenarios = [] if problems else make(perfect, seeds, call.specs)
    except PrerequisiteError as err:
        print(err, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    groups = {group: [scenario for scenario in scenarios if scenario.group == group] for group in GROUPS}
    write_scenarios(groups, ROOT / "talm_sim" / "tasks" / "refusal" / "scenarios")
    print(", ".join(f"{len(found)} {group}" for group, found in groups.items()))
    return 0


def read_perfect() -> list[Scenario]:
    """Return the packaged queries of set `quick` of task talm."""
    return [scenario for scenario in find_task("talm").read(["perfect"]) if scenario.id in QUICK]


def read_seeds() -> dict[str, Any]:
    """Read what was chosen and translated by hand; the translations by language."""
    folder = ROOT / "seeds" / "refusal"
    found = {name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in ("scenarios", *LANGUAGES)}
    return {**found.pop("scenarios"), "translated": found}


def make(perfect: Sequence[Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> list[Scenario]:
    """Return the scenarios of all groups: the English ones, then each language's."""
    by_id = {scenario.id: scenario for scenario in perfect}
    english = [_scenario(scenario, group, by_id, seeds, specs) for scenario in perfect for group in GROUPS]
    found = [*english]
    for language in LANGUAGES:
        queries = seeds["translated"][language]["queries"]
        for scenario in english:
            turn = Turn(messages=({"role": "user", "content": queries[scenario.id.rpartition(".")[0]]},))
            source = scenario.source.model_copy(update={"name": NOT_NATIVE, "base": scenario.base, "translation_of": scenario.id})
            update = {"id": f"{scenario.id}.{language}", "turns": (turn,), "language": language, "source": source}
            found.append(scenario.model_copy(update=update))
    return found


def check_translations(perfect: Sequence[Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> list[str]:
    """Compare every translation with its English row; says which differ, and how."""
    problems: list[str] = []
    ids = {scenario.id for scenario in perfect}
    for language in LANGUAGES:
        queries = seeds["translated"][language]["queries"]
        place = f"seeds/refusal/{language}.toml: "
        problems += [f"{place}{name}: not a query of set quick" for name in queries if name not in ids]
        problems += [f"{place}{name}: has no translation" for name in sorted(ids - {*queries})]
        for scenario in perfect:
            if scenario.id in queries:
                reasons = _differences(scenario, queries[scenario.id], language, seeds, specs)
                problems += [f"{place}{scenario.id}: {reason}" for reason in reasons]
    return problems


def _differences(scenario: Scenario, query: str, language: str, seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    target = Calls(expected="calls", accepted=_accepted_calls(scenario, seeds, specs))
    needed = needed_values([scenario.model_copy(update={"target": target, "turns": _without_calls(scenario)})])
    found = Translation(scenario.query, query, language, needed, seeds["translated"][language]["said"])
    yield from (one.words for one in check_translation(found))


def check(perfect: Sequence[Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec], call: Call) -> list[str]:
    """Try every accepted value on the tools; says which do not give the facts asked for."""
    problems = [f"seeds/refusal/scenarios.toml: also.{name} {value}: no query needs it" for name, value in _unused(perfect, seeds)]
    for scenario in perfect:
        for number, gold in enumerate(scenario.gold_calls):
            facts = [fact for fact in scenario.target.required if fact.call == number] if isinstance(scenario.target, Facts) else []
            for arguments in _one_changed(scenario, gold, seeds, specs[gold.name]):
                try:
                    result = json.dumps(call(gold.name, arguments), ensure_ascii=False)
                except ToolError as err:
                    result = str(err)
                problems += [
                    f"{scenario.id}: {gold.name}({json.dumps(arguments, ensure_ascii=False)}): no {fact.name} {fact.value} in {result[:200]}"
                    for fact in facts
                    if json.dumps(fact.value, ensure_ascii=False) not in result
                ]
    return problems


def _unused(perfect: Sequence[Scenario], seeds: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the values with others beside them that no gold call has: a query was changed, and its new value may have none."""
    needed = {(name, value) for one in perfect for gold in one.gold_calls for name, value in gold.arguments.items() if isinstance(value, str)}
    return [(name, value) for name, others in seeds["also"].items() for value in others if (name, value) not in needed]


def _scenario(
    perfect: Scenario, group: str, by_id: Mapping[str, Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]
) -> Scenario:
    needed = _needed(perfect)
    shown = _shown(needed, _needed(by_id[_other(perfect.id, seeds)]), group, seeds["stand_in"])
    if len({*shown}) < SHOWN or (group != "fitting" and {*needed} & {*shown}):
        raise PrerequisiteError(f"seeds/refusal/scenarios.toml: {perfect.id}.{group} would show {shown}; choose other stand-ins.")
    calls = _accepted_calls(perfect, seeds, specs)
    first = f"{perfect.id}.fitting"
    return Scenario(
        id=f"{perfect.id}.{group}",
        task="refusal",
        group=group,
        turns=_without_calls(perfect),
        shown_tools=tuple(_text(specs[name]) for name in sorted(shown)),  # by name: no place in the list gives a tool away
        target=Calls(expected="calls", accepted=calls) if group == "fitting" else Calls(expected="none"),
        missing=(Missing(kind=MissingKind.TOOL, name=", ".join(needed)),) if group == "removed" else (),
        source=Source(name="talm-sim", base="" if group == "fitting" else first, licence="Apache-2.0"),
    )


def _without_calls(scenario: Scenario) -> tuple[Turn, ...]:
    return tuple(turn.model_copy(update={"gold_calls": ()}) for turn in scenario.turns)


def _needed(perfect: Scenario) -> list[str]:
    return list(dict.fromkeys(call.name for call in perfect.gold_calls))


def _other(name: str, seeds: Mapping[str, Any]) -> str:
    """Return the id of the query of another category whose tools are shown in place of a query's own."""
    category, _, number = name.rpartition("-")
    other = seeds["unrelated"][category]
    size = sum(one.rpartition("-")[0] == other["category"] for one in QUICK)
    return f"{other['category']}-{(int(number) - 1 + other.get('ahead', 0)) % size + 1:02}"


def _shown(needed: Sequence[str], others: Sequence[str], group: str, stand_in: Mapping[str, str]) -> list[str]:
    """Four tools: over all rows each tool is shown as often where a call is right as where none is."""
    both = {
        "fitting": [*needed, *(stand_in[name] for name in needed)],
        "removed": [*(stand_in[name] for name in needed), *others],
        "unrelated": [*others, *(stand_in[name] for name in others)],
    }
    return both[group][:SHOWN]


def _text(spec: ToolSpec) -> str:
    return json.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters}, ensure_ascii=False)


def _accepted_calls(scenario: Scenario, seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> tuple[AcceptedCall, ...]:
    return tuple(AcceptedCall(name=call.name, arguments=_accepted(scenario, call, seeds, specs[call.name])) for call in scenario.gold_calls)


def _accepted(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any], spec: ToolSpec) -> dict[str, tuple[Any, ...]]:
    """Every argument's values that are right: the gold one first."""
    accepted: dict[str, tuple[Any, ...]] = {}
    for name, schema in spec.parameters["properties"].items():
        values = [gold.arguments[name]] if name in gold.arguments else []
        values += seeds["optional"].get(scenario.id, {}).get(gold.name, {}).get(name, [])
        values += [schema["default"]] if name not in gold.arguments and "default" in schema else []
        also = seeds["also"].get(name, {})
        values += [other for value in values[:1] if isinstance(value, str) for other in also.get(value, [])]
        accepted[name] = tuple(values if name in gold.arguments else [*values, ""])
    swapped = _either_way(scenario, gold, seeds)
    accepted |= {name: (*accepted[name], value) for name, value in swapped.items()}
    return accepted


def _either_way(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the two arguments that may change places, each with the other's value."""
    found = seeds["either_way"]
    names = found.get(gold.name) or found.get(f"{scenario.id}.{gold.name}") or ()
    return dict(zip(names, (gold.arguments[name] for name in reversed(names)), strict=True))


def _one_changed(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any], spec: ToolSpec) -> list[dict[str, Any]]:
    """Return the gold arguments, and those with one accepted value in its place, or with two that changed places."""
    swapped = _either_way(scenario, gold, seeds)
    found = [dict(gold.arguments), gold.arguments | swapped]
    for name, values in _accepted(scenario, gold, seeds, spec).items():
        for value in values:
            if value != swapped.get(name):
                found.append({key: one for key, one in (gold.arguments | {name: value}).items() if one != ""})
    return found


if __name__ == "__main__":
    sys.exit(main())
