"""The packaged scenarios are true: proved against the tools, and answerable in the judge's own eyes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from talm_sim.facts.statements import AnswerText
from talm_sim.scenarios.statistics import likeness_of
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.making.build import GROUPS, build_scenarios
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.types import Facts
from tests.in_process import direct_caller

SEEDS = Path(__file__).resolve().parents[3] / "seeds"


def test_every_packaged_scenario_passes_the_check_and_is_what_the_seeds_give() -> None:
    packaged = find_task("talm").read(GROUPS)
    call = direct_caller()
    assert [str(problem) for problem in check_scenarios(packaged, call.specs, call, packaged=True)] == []
    built = build_scenarios(SEEDS, call.specs, call)
    assert [scenario for group in GROUPS for scenario in built[group]] == packaged


def test_every_perfect_scenario_has_its_three_variants() -> None:
    bases = [scenario.id for scenario in find_task("talm").read(["perfect"])]
    assert [*dict.fromkeys(scenario.base for scenario in find_task("talm").read(["underspecified"]))] == bases
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


def test_queries_are_like_those_of_the_paper_and_no_two_are_alike() -> None:
    published = json.loads((find_task("talm").published_queries or Path()).read_text(encoding="utf-8"))
    queries = [scenario.query for scenario in find_task("talm").read(["perfect"])]
    found = likeness_of(queries, published["perfect"])
    assert found.first_words <= 0.35 and found.lengths <= 0.2, found
    openings = Counter(" ".join(query.split()[:5]).casefold() for query in queries)
    assert max(openings.values()) <= len(queries) // 50, openings.most_common(3)


def test_the_set_is_as_large_as_the_paper_s() -> None:
    counts = {group: len(find_task("talm").read([group])) for group in GROUPS}
    assert counts["perfect"] == counts["no-tools"] == 575 and counts["underspecified"] == 599
    assert (counts["replaceable"], counts["non-replaceable"]) == (261, 314)
    assert counts["several-gaps"] >= 60 and counts["late-gap"] >= 60
    twice = Counter(scenario.base for scenario in find_task("talm").read(["underspecified"]))
    assert sum(times > 1 for times in twice.values()) >= 24
    perfect = find_task("talm").read(["perfect"])
    sizes = Counter(len({call.tool for call in scenario.gold_calls}) for scenario in perfect)
    assert sizes[1] >= 9 and sizes[3] >= 1 and set(sizes) == {1, 2, 3}
    used = Counter(tool for scenario in perfect for tool in scenario.tools)
    assert [name for name in direct_caller().specs if used[name] < 3] == []
