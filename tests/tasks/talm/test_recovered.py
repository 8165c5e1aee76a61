"""What was taken away from the published queries is recovered from the perfect ones."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.humans import DONT_KNOW, SimulatedResponder
from talm_sim.tasks.talm.ask_scores import needs_help
from talm_sim.tasks.talm.published import read_outputs, read_queries, read_tools
from talm_sim.tasks.talm.recovered import PerfectQueries, PublishedQuery, Recovered, knowledge_notes, lacking_words
from talm_sim.types import MissingKind, Scenario
from tests.tables import labelled
from tests.tasks.views import View, job

PERFECT = PublishedQuery("perfect-1", "What is the IFSC code 'YESB1' and the price of Ether?", ("bank", "price"))
OTHER = PublishedQuery("perfect-2", "Tell me a joke.", ("joke",))
QUERIES = PerfectQueries([PERFECT, OTHER])


def test_the_masked_tool_is_the_one_that_the_perfect_query_of_the_same_text_has() -> None:
    found = QUERIES.find_masked_tool(PublishedQuery("x", PERFECT.text, ("price",)))
    assert found.base == "perfect-1" and found.missing is not None
    assert (found.missing.kind, found.missing.name, found.missing.human_answer) == (MissingKind.TOOL, "bank", None)
    assert QUERIES.find_masked_tool(PublishedQuery("x", PERFECT.text, PERFECT.tools)) == Recovered("perfect-1", unchanged=True)
    assert QUERIES.find_masked_tool(PublishedQuery("x", PERFECT.text + " Please.", ("price",))) == Recovered()
    assert QUERIES.find_masked_tool(PublishedQuery("x", PERFECT.text, ())) == Recovered("perfect-1"), "two are gone, so neither is the one"


def test_the_removed_words_are_those_of_the_only_perfect_query_with_the_same_tools() -> None:
    vague = PublishedQuery("x", "What is the code of my bank and the price of a coin?", ("price", "bank"))
    found = QUERIES.find_removed_words(vague)
    assert found.base == "perfect-1" and found.missing is not None
    assert (found.missing.kind, found.missing.human_answer) == (MissingKind.UTTERANCE, "IFSC, YESB1, Ether")
    assert QUERIES.find_removed_words(PublishedQuery("x", "what is the IFSC code 'YESB1' and the price of Ether", vague.tools)) == Recovered(
        "perfect-1", unchanged=True
    )
    assert QUERIES.find_removed_words(PublishedQuery("x", "Tell me a joke about cats.", ("joke",))) == Recovered("perfect-2")
    two = PerfectQueries([PERFECT, PublishedQuery("perfect-3", "And now?", ("price", "bank"))])
    assert two.find_removed_words(vague) == Recovered(), "which of the two it was is not known"


@labelled
def test_words_are_lacking_as_often_as_the_query_has_them_less_often(base: str, query: str, words: list[str]) -> None:
    assert [run for run, _ in lacking_words(base, query)] == words


@pytest.fixture
def release(tmp_path: Path) -> Path:
    def write(setting: str, number: int, query: str, *tools: str) -> None:
        apis = [{"category_name": "Finance", "tool_name": "t", "api_name": name} for name in tools]
        file = tmp_path / "benchmark" / setting / f"all_{setting}_queries.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(file.read_text()) if file.exists() else []
        file.write_text(json.dumps([*before, {"query_id": number, "query": query, "api_list": apis}]))

    write("Original", 1, PERFECT.text, *PERFECT.tools)
    write("Original", 2, OTHER.text, *OTHER.tools)
    write("Underspecified", 7, "What is the IFSC code of my bank and the price of Ether?", "price", "bank", "interact_with_human")
    write("Underspecified", 8, PERFECT.text, *PERFECT.tools)
    write("Replaceable", 3, PERFECT.text, "price")
    write("Replaceable", 4, "Something else?", "price")
    return tmp_path


def test_queries_say_what_is_missing_and_do_not_offer_the_releases_own_person(release: Path) -> None:
    found = {scenario.id: scenario for scenario in read_queries(release)}
    vague, same, masked, unknown = (found[name] for name in ("underspecified-7", "underspecified-8", "replaceable-3", "replaceable-4"))
    assert vague.tools == ("price", "bank")
    assert (vague.base, same.base, masked.base, unknown.base) == ("perfect-1", "perfect-1", "perfect-1", "replaceable-4")
    assert [one.human_answer for one in vague.missing] == ["YESB1"]
    assert (same.missing, same.source.unchanged, unknown.missing, unknown.source.unchanged) == ((), True, (), False)
    assert [needs_help(one) for one in (vague, same, masked, unknown, found["perfect-1"])] == [True, False, True, True, False]


def test_a_simulated_person_says_the_removed_words_and_knows_nothing_of_a_masked_tool(release: Path) -> None:
    found = {scenario.id: scenario for scenario in read_queries(release)}

    def answer(scenario: Scenario, question: str) -> str:
        return asyncio.run(SimulatedResponder(scenario, {})(question, 1)).answer

    assert answer(found["underspecified-7"], "Please provide the IFSC code of the bank.") == "YESB1"
    assert answer(found["underspecified-7"], "Which day?") == DONT_KNOW
    assert answer(found["replaceable-3"], "What does bank say?") == DONT_KNOW


def notes(scenarios: list[Scenario], **options: Any) -> list[str]:
    view = View(job("talm", **options), (), scenarios)
    return [note for note in view.job.task.notes([], view) if note.startswith("simulated person")]


def test_the_table_says_what_the_simulated_person_knows(release: Path) -> None:
    scenarios = read_queries(release)
    assert notes(scenarios, human="simulated") == [
        "simulated person, replaceable, of 2 scenarios: does not know what the masked tool would say in 1; what was removed is not known in 1",
        "simulated person, underspecified, of 2 scenarios: knows the removed words in 1; nothing removed in 1",
    ]
    assert notes(scenarios, human="terminal") == []


@pytest.mark.bench_data
def test_of_the_published_queries_as_many_are_recovered_as_can_be(bench_data: Path) -> None:
    scenarios = read_queries(bench_data / "failtalms")
    known = {one.id: one for one in scenarios}

    def count(group: str) -> Counter[str]:
        return Counter(
            "unchanged"
            if one.source.unchanged
            else one.missing[0].kind.value
            if one.missing
            else "base alone"
            if one.source.base
            else "unknown"
            for one in scenarios
            if one.group == group
        )

    assert count("replaceable") == {"tool": 186, "unknown": 18}
    assert count("non-replaceable") == {"tool": 269, "unchanged": 2, "unknown": 26}
    # 591 have one perfect query with their tools: 35 say the same, and 5 say more.
    assert count("underspecified") == {"utterance": 551, "unchanged": 35, "base alone": 5, "unknown": 8}
    assert not any("interact_with_human" in one.tools for one in scenarios)
    for one in scenarios:
        gone = {missing.name for missing in one.missing if missing.kind is MissingKind.TOOL}
        assert not gone or {*one.tools, *gone} == set(known[one.source.base].tools)
    assert "interact_with_human" not in {spec.name for spec in read_tools(bench_data / "failtalms")}
    assert len(list(knowledge_notes(scenarios))) == 3


@pytest.mark.bench_data
def test_the_published_outputs_say_what_was_missing(bench_data: Path) -> None:
    queries = {one.id: one for one in read_queries(bench_data / "failtalms")}
    for run in read_outputs(bench_data / "failtalms" / "outputs"):
        assert all(one.missing == queries[one.id].missing and one.source == queries[one.id].source for one in run.scenarios)
