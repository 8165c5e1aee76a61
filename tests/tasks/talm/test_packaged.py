"""The packaged scenarios are true: proved against the tools, and answerable in the judge's own eyes."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from talm_sim.facts.statements import AnswerText
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.making.build import GROUPS, build_scenarios
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.types import Facts
from tests.in_process import direct_caller

SEEDS = Path(__file__).resolve().parents[3] / "seeds"

DATA = files("talm_sim.tasks.talm") / "scenarios"


def test_every_packaged_scenario_passes_the_check_and_is_what_the_seeds_give() -> None:
    packaged = find_task("talm").read(GROUPS)
    call = direct_caller()
    assert [str(problem) for problem in check_scenarios(packaged, call.specs, call, packaged=True)] == []
    built = build_scenarios(SEEDS, call.specs, call)
    assert [scenario for group in GROUPS for scenario in built[group]] == packaged


def test_every_perfect_scenario_has_its_three_variants() -> None:
    bases = [scenario.id for scenario in find_task("talm").read(["perfect"])]
    assert [scenario.base for scenario in find_task("talm").read(["underspecified"])] == bases
    assert [scenario.base for scenario in find_task("talm").read(["no-tools"])] == bases
    unavailable = Counter(scenario.base for scenario in find_task("talm").read(["replaceable", "non-replaceable"]))
    assert unavailable == Counter(bases)


def test_the_reference_judge_finds_the_facts_a_person_states() -> None:
    for scenario in find_task("talm").read(["replaceable"]):
        (missing,) = scenario.missing
        assert missing.human_answer and isinstance(scenario.target, Facts)
        said = AnswerText(missing.human_answer)
        assert [fact.name for fact in scenario.target.required if fact.call is None and not said.states(fact)] == [], scenario.id


def test_the_reference_judge_finds_every_fact_in_a_plain_answer_and_none_in_the_query() -> None:
    for scenario in find_task("talm").read(["perfect"]):
        assert isinstance(scenario.target, Facts)
        query = AnswerText(scenario.query, scenario.query)
        for fact in scenario.target.required:
            assert AnswerText(f"The {fact.name} is {fact.value}.").states(fact), (scenario.id, fact)
            assert not query.states(fact), (scenario.id, fact)


def test_queries_open_in_many_ways() -> None:
    openings = Counter(" ".join(scenario.query.split()[:2]).casefold() for scenario in find_task("talm").read(["perfect"]))
    assert max(openings.values()) <= len(find_task("talm").read(["perfect"])) // 8, openings.most_common(3)


def test_the_data_says_where_it_comes_from_in_the_versions_it_was_computed_with() -> None:
    rows = [line.strip("| ").split(" | ") for line in (DATA / "LICENCE.md").read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    assert {row[0] for row in rows[1:]} == {scenario.id.rpartition("-")[0] for scenario in find_task("talm").read(["perfect"])}
    for _, package, *_ in rows[1:]:
        name, stated = package.split()
        assert version(name) == stated, name
