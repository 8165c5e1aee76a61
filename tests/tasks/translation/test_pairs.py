"""A file with a scenario in several languages: each variant is paired with the complete query of its own language."""

from __future__ import annotations

import json
from pathlib import Path

from talm_sim import run
from talm_sim.scenarios.load import read_scenario
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.data import choose
from talm_sim.tasks.translation.needed import needed_values
from talm_sim.tasks.translation.texts import line_of
from talm_sim.types import Scenario, Source


def translated(scenario: Scenario, language: str = "vi") -> Scenario:
    source = scenario.source.model_copy(update={"base": scenario.base, "translation_of": scenario.id})
    return scenario.model_copy(update={"id": f"{scenario.id}.{language}", "language": language, "source": source})


def test_the_base_is_shared_and_the_one_in_the_language_is_named() -> None:
    perfect = Scenario.model_validate({"id": "a", "group": "perfect", "turns": [{"messages": []}]})
    variant = perfect.model_copy(update={"id": "a.removed", "source": Source(base="a")})
    for one, own in ((perfect, "a"), (variant, "a"), (translated(perfect), "a.vi"), (translated(variant), "a.vi")):
        assert (one.base, one.base_in_language) == ("a", own)
    assert translated(variant).original == "a.removed" == variant.original
    line = line_of(translated(variant))
    assert read_scenario(line, "x:1", "talm") == translated(variant) and "translation_of" not in line_of(variant)["source"]


def test_a_query_without_tools_is_compared_with_the_perfect_one_of_its_language(tmp_path: Path) -> None:
    english = [one for one in find_task("talm").read(["perfect", "no-tools"]) if one.base == "geo-03"]
    rows = [*english, *map(translated, english)]
    file = tmp_path / "both.jsonl"
    file.write_text("".join(json.dumps(line_of(one)) + "\n" for one in rows))
    stored = run(scenarios=file, split="perfect,no-tools", model="sim/oracle", tools="live", run_dir=tmp_path / "runs", display="none")
    judged = {row.scenario: row.values.get("unexpected") for row in stored.rows() if row.group == "no-tools"}
    assert judged == {"geo-03.no-tools": False, "geo-03.no-tools.vi": False}
    task = find_task("talm")
    pair = task.pair(stored)
    paired = {one.scenario_id: pair(one, next(row for row in rows if row.id == one.scenario_id)) for one in stored.episodes("no-tools")}
    assert {name: one.scenario_id if one else None for name, one in paired.items()} == {
        "geo-03.no-tools": "geo-03",
        "geo-03.no-tools.vi": "geo-03.vi",
    }


def test_originals_of_a_language_come_with_its_manipulated_instances() -> None:
    task = find_task("awareness")
    pool = [one for one in task.read(task.groups("all")) if one.base == next(iter(task.read(["removed"]))).base]
    chosen = choose([*pool, *map(translated, pool)], ("complete", "removed"), None)
    assert sum(one.group == "complete" for one in chosen) == 2 * sum(one.group == "complete" for one in pool) == 2
    alone = choose([*pool, *(translated(one) for one in pool if one.group == "removed")], ("complete", "removed"), None)
    assert sum(one.group == "complete" for one in alone) == 1


def test_needed_values_are_those_of_calls_facts_and_what_is_missing() -> None:
    call = {"name": "f", "arguments": {"city": ["Hanoi", "HAN", ""], "days": [3], "stops": [["Hue", "Vinh"]], "more": [{"unit": ["km"]}]}}
    scenario = Scenario.model_validate(
        {
            "id": "a",
            "task": "refusal",
            "group": "fitting",
            "turns": [{"messages": [{"role": "user", "content": "?"}], "gold_calls": [{"tool": "g", "arguments": {"day": "today"}}]}],
            "target": {"type": "calls", "expected": "calls", "accepted": [call]},
            "missing": {"kind": "argument", "name": "code", "value": "KEF", "removed_text": "to Keflavik"},
        }
    )
    found = {(one.name, one.value, one.others) for one in needed_values([scenario, scenario])}
    assert found == {
        ("city", "Hanoi", ("HAN",)),
        ("stops", "Hue", ()),
        ("stops", "Vinh", ()),
        ("more", "km", ()),
        ("day", "today", ()),
        ("code", "KEF", ()),
    }
