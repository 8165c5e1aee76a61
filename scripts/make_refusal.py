"""Make the packaged scenarios of task refusal (talm_sim/tasks/refusal/scenarios/*.jsonl) from those of task talm and `seeds/refusal`.

Every perfect scenario of talm becomes three: with the two tools it needs and two stand-ins (`fitting`), with the stand-ins alone (`removed`),
and with two tools of another category (`unrelated`). Equal input gives equal bytes. Each value that is accepted beside the gold one is tried on
the real tool service: the facts asked for must stand in its result.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ToolError
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.making.build import write_scenarios
from talm_sim.tools_env.caller import ToolCaller
from talm_sim.types import AcceptedCall, Calls, Facts, GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("fitting", "removed", "unrelated")
Call = Callable[[str, Mapping[str, Any]], Any]


def main() -> int:
    """Build, check, write; nothing is written when a value is wrong."""
    try:
        with ToolCaller() as call:
            scenarios = make(find_task("talm").read(["perfect"]), read_seeds(), call.specs)
            problems = check(find_task("talm").read(["perfect"]), read_seeds(), call.specs, call)
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


def read_seeds() -> dict[str, Any]:
    """What was chosen by hand."""
    return tomllib.loads((ROOT / "seeds" / "refusal" / "scenarios.toml").read_text(encoding="utf-8"))


def make(perfect: Sequence[Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]) -> list[Scenario]:
    """The scenarios of all groups: the English ones, then each language's, of which each query is of one group."""
    by_id = {scenario.id: scenario for scenario in perfect}
    found = [_scenario(scenario, group, by_id, seeds, specs) for scenario in perfect for group in GROUPS]
    made = {scenario.id: scenario for scenario in found}
    for language, queries in seeds["translated"].items():
        for number, (name, query) in enumerate(queries.items()):
            english = made[f"{name}.{GROUPS[number % len(GROUPS)]}"]
            turn = Turn(messages=({"role": "user", "content": query},))
            source = english.source.model_copy(update={"name": "talm-sim (translated by its authors)", "base": english.id})
            update = {"id": f"{english.id}.{language}", "turns": (turn,), "language": language, "source": source}
            found.append(english.model_copy(update=update))
    return found


def check(perfect: Sequence[Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec], call: Call) -> list[str]:
    """Try every accepted value on the tools; says which do not give the facts asked for."""
    problems: list[str] = []
    for scenario in perfect:
        for number, gold in enumerate(scenario.gold_calls):
            facts = [fact for fact in scenario.target.required if fact.call == number] if isinstance(scenario.target, Facts) else []
            for arguments in _one_changed(scenario, gold, seeds, specs[gold.tool]):
                try:
                    result = json.dumps(call(gold.tool, arguments), ensure_ascii=False)
                except ToolError as err:
                    result = str(err)
                problems += [
                    f"{scenario.id}: {gold.tool}({json.dumps(arguments, ensure_ascii=False)}): no {fact.name} {fact.value} in {result[:200]}"
                    for fact in facts
                    if json.dumps(fact.value, ensure_ascii=False) not in result
                ]
    return problems


def _scenario(
    perfect: Scenario, group: str, by_id: Mapping[str, Scenario], seeds: Mapping[str, Any], specs: Mapping[str, ToolSpec]
) -> Scenario:
    needed = [call.tool for call in perfect.gold_calls]
    stand_ins = [seeds["stand_in"][name] for name in needed]
    if len({*needed, *stand_ins}) < 4:
        raise PrerequisiteError(f"seeds/refusal/scenarios.toml: stand_in: {perfect.id} would show {needed + stand_ins}; choose another one.")
    category, _, number = perfect.id.rpartition("-")
    other = by_id[f"{seeds['unrelated'][category]}-{number}"]
    shown = {"fitting": needed + stand_ins, "removed": stand_ins, "unrelated": [call.tool for call in other.gold_calls]}[group]
    calls = tuple(AcceptedCall(name=call.tool, arguments=_accepted(perfect, call, seeds, specs[call.tool])) for call in perfect.gold_calls)
    first = f"{perfect.id}.fitting"
    return Scenario(
        id=f"{perfect.id}.{group}",
        task="refusal",
        group=group,
        turns=tuple(turn.model_copy(update={"gold_calls": ()}) for turn in perfect.turns),
        shown_tools=tuple(_text(specs[name]) for name in sorted(shown)),  # by name: no place in the list gives a tool away
        target=Calls(expected="calls", accepted=calls) if group == "fitting" else Calls(expected="none"),
        missing=(Missing(kind=MissingKind.TOOL, name=", ".join(needed)),) if group == "removed" else (),
        source=Source(name="talm-sim", base="" if group == "fitting" else first, licence="Apache-2.0"),
    )


def _text(spec: ToolSpec) -> str:
    return json.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters}, ensure_ascii=False)


def _accepted(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any], spec: ToolSpec) -> dict[str, tuple[Any, ...]]:
    """Every argument's values that are right: the gold one first."""
    accepted: dict[str, tuple[Any, ...]] = {}
    for name, schema in spec.parameters["properties"].items():
        values = [gold.arguments[name]] if name in gold.arguments else []
        values += seeds["optional"].get(scenario.id, {}).get(gold.tool, {}).get(name, [])
        values += [schema["default"]] if name not in gold.arguments and "default" in schema else []
        also = seeds["also"].get(name, {})
        values += [other for value in values[:1] if isinstance(value, str) for other in also.get(value, [])]
        accepted[name] = tuple(values if name in gold.arguments else [*values, ""])
    swapped = _either_way(scenario, gold, seeds)
    accepted |= {name: (*accepted[name], value) for name, value in swapped.items()}
    return accepted


def _either_way(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any]) -> dict[str, Any]:
    """The two arguments that may change places, each with the other's value."""
    found = seeds["either_way"]
    names = found.get(gold.tool) or found.get(f"{scenario.id}.{gold.tool}") or ()
    return dict(zip(names, (gold.arguments[name] for name in reversed(names)), strict=True))


def _one_changed(scenario: Scenario, gold: GoldCall, seeds: Mapping[str, Any], spec: ToolSpec) -> list[dict[str, Any]]:
    """The gold arguments, and those with one accepted value in its place, or with two that changed places."""
    swapped = _either_way(scenario, gold, seeds)
    found = [dict(gold.arguments), gold.arguments | swapped]
    for name, values in _accepted(scenario, gold, seeds, spec).items():
        for value in values:
            if value != swapped.get(name):
                found.append({key: one for key, one in (gold.arguments | {name: value}).items() if one != ""})
    return found


if __name__ == "__main__":
    sys.exit(main())
