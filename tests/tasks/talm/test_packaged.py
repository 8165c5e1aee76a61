"""The packaged scenarios are true, proved against the tools and answerable in the judge's own eyes; their sets keep pairs together."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scripts.build_scenarios import build_scenarios
from talm_sim.config import RunConfig
from talm_sim.errors import NotRecordedError, PrerequisiteError
from talm_sim.language.facts.statements import AnswerText
from talm_sim.runs.api import run
from talm_sim.scenarios.statistics import likeness_of
from talm_sim.tasks import find_task
from talm_sim.tasks.registry import job_of
from talm_sim.tasks.talm.groups import GROUPS, QUICK, SAMPLE, draw_sample
from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.types import Facts
from tests.in_process import direct_caller

SEEDS = Path(__file__).resolve().parents[3] / "seeds"


def test_every_packaged_scenario_passes_the_check_and_is_what_the_seeds_give() -> None:
    packaged = find_task("talm").read(tuple(GROUPS))
    call = direct_caller()
    assert [str(problem) for problem in check_scenarios(packaged, call.specs, call, packaged=True)] == []
    built = build_scenarios(SEEDS, call.specs, call)
    assert [scenario for group in GROUPS for scenario in built[group]] == packaged


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
    sizes = Counter(len({call.name for call in scenario.gold_calls}) for scenario in perfect)
    assert sizes[1] >= 9 and sizes[3] >= 1 and set(sizes) == {1, 2, 3}
    used = Counter(tool for scenario in perfect for tool in scenario.tools)
    assert [name for name in direct_caller().specs if used[name] < 3] == []


def chosen(**options: Any) -> list[Any]:
    config = RunConfig(**{name: value for name, value in options.items() if name != "set"}, options={"set": options.get("set")})
    return find_task("talm").load(job_of(config))


def test_quick_is_the_default_with_72_of_each_split() -> None:
    found = chosen()
    assert found == chosen(set="quick")
    assert {one.base for one in found} == QUICK
    counts = Counter("unavailable" if "replaceable" in one.group else one.group for one in found)
    assert counts == {"perfect": 72, "underspecified": 72, "unavailable": 72, "no-tools": 72}


def test_a_sample_is_drawn_by_seed_and_keeps_pairs_whole() -> None:
    queries = [f"games-{number:03}" for number in range(500)]
    drawn = draw_sample(queries)
    assert len(drawn) == SAMPLE and drawn == draw_sample(reversed(queries))
    # One that is added takes the place of at most one.
    assert len(draw_sample([*queries, "games-500"]) - drawn) <= 1
    found, every = chosen(set="sample"), chosen(set="full")
    bases = {one.base for one in found}
    assert found == [one for one in every if one.base in bases] and len(bases) == min(SAMPLE, len({one.base for one in every}))


def test_split_limit_category_and_scenario_select_within_a_set() -> None:
    assert [one.id for one in chosen(split="replaceable,perfect", limit="1")] == [chosen(split=one)[0].id for one in ("perfect", "replaceable")]
    with pytest.raises(PrerequisiteError, match=r"scenario 'games-99' in split all of task talm, set quick \(set=.full. has all\)"):
        run(scenario=("games-99",), progress=False)


@pytest.mark.parametrize(("options", "words"), [({"set": "full"}, "--set full"), ({"set": "full", "split": "late-gap,perfect"}, "--set full")])
def test_a_set_of_which_some_is_recorded_is_refused_with_the_live_command(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotRecordedError) as refused:
        run(**options, run_dir=tmp_path, progress=False)
    said = str(refused.value)
    assert re.search(r"[\d,]+ of [\d,]+ scenarios are recorded in ", said)
    assert words in said and said.endswith("--model openai-api/vllm/smollm2-135m --live")
    assert [*tmp_path.iterdir()] == []


def test_a_set_of_the_user_s_own_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(chosen()[0].model_dump_json(), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match="--set: chooses among the packaged scenarios, and --scenarios names others"):
        chosen(scenarios=file, set="sample")
    assert len(chosen(scenarios=file)) == 1
