"""The block on agreement with people, in every form of output: rows, columns, notes, and the paper's figure."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.people_agreement import people_blocks
from talm_sim.cli.report.result_table import table_lines
from talm_sim.store.people.ballot import choose_question, open_ballot
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Verdict
from talm_sim.types.measures import columns
from tests.cli.pages.written import Seen, page_of
from tests.runs.stored import store
from tests.store.people.judged import talm_run


@pytest.fixture
def judged(tmp_path: Path) -> StoredRun:
    """A run whose second judge votes: of ten episodes, half of them three to two."""
    made = talm_run(tmp_path, 10)
    episodes = list(made.episodes())
    votes = [(True, True, True), (True, False, True, False, True)]
    verdicts = [
        *made.verdicts(),
        *(Verdict(episode_id=one.id, judge="llm", value=True, votes=votes[n % 2], explanation="by votes") for n, one in enumerate(episodes)),
    ]
    config = {"split": "perfect,underspecified", "model": "openai-api/somewhere/secret-model-9", "models": "replay", "tools": "replay"}
    return store(tmp_path, "voted", list(made.scenarios()), episodes, verdicts, **config, options={"human": "recorded"})


def block_of(run: StoredRun) -> Block:
    (block,) = people_blocks([load_run(run.path)])
    return block


def give(run: StoredRun, name: str, passes: int, number: int = 10) -> None:
    with closing(open_ballot(run, choose_question(run), name)) as ballot:
        items = sorted(ballot.items)[:number]
        ballot.give_all({item: ("pass" if place < passes else "fail", "") for place, item in enumerate(items)})


def text_of(block: Block) -> str:
    lines = [str(line) for line in table_lines([block], explained=True)]
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def test_a_judge_is_beside_itself_and_the_people(judged: StoredRun) -> None:
    give(judged, "ann", 6)
    give(judged, "bob", 5)
    block = block_of(judged)
    rows = {one.group: {measure.name: measure for measure in one.measures} for one in block.summaries}
    assert [*rows] == ["ann and bob", "llm", "reference"]
    assert [*rows["llm"]] == ["agreement_itself", "agreement", "agreement_weighted", "kappa", "base_rate_people", "base_rate_judge"]
    assert rows["llm"]["agreement_itself"].value == pytest.approx((5 * 1 + 4 * 0.4) / 9), "3 to 2 are 4 equal pairs of 10; one is disputed"
    assert rows["llm"]["kappa"].value == 0.0 and rows["llm"]["base_rate_judge"].value == 1.0, "a judge that always says yes agrees by chance"
    assert rows["ann and bob"]["agreement"].value == 0.9
    shown = text_of(block)
    for said in (
        "agreement with people: Does the final answer do what was asked?",
        "judged: ann 10, bob 10",
        "people differ on 1 episode; what most of them say, or what was settled, counts",
        "left out: 1 episode on which as many say something else; settle them with: talm-sim judge",
        "people's labels: pass 5, fail 4; with fewer than 30 of pass, fail, kappa and alpha say little",
        "Fail-TaLMs Appendix D, 95 answers of GPT-4o to perfect queries (n = 95)",
        "GPT-4o .83",
    ):
        assert said in shown
    for other in (markdown([block], explained=True), Seen(page_of([block])).text):
        assert "agreement with people" in other and "Appendix D" in other and "Itself" in other and "GPT-4o" in other


def heads_of(block: Block) -> list[str]:
    return [one.head for one in columns(block.summaries).values()]


def test_columns_have_one_order_whoever_judged(tmp_path: Path) -> None:
    two = talm_run(tmp_path, 12, name="two")
    with closing(open_ballot(two, choose_question(two), "ann", size=6)) as ballot:
        ballot.give_all(dict.fromkeys(ballot.items, ("pass", "")))
        item = ballot.items[0]
    with closing(open_ballot(two, choose_question(two), "bob")) as ballot:
        ballot.give(item, "fail")
    assert heads_of(block_of(two)) == ["Agree", "For run", "kappa", "Base rate, people", "Base rate, judge"], "the first row is not weighted"
    three = talm_run(tmp_path, 12, name="three")
    for name, passes in (("ann", 5), ("bob", 6), ("cy", 7)):
        give(three, name, passes)
    assert heads_of(block_of(three)) == ["Agree", "For run", "kappa", "alpha", "Base rate, people", "Base rate, judge"]


def test_figures_below_zero_are_whole_and_nobody_differs_silently(judged: StoredRun) -> None:
    give(judged, "ann", 5, 4)
    give(judged, "bob", 5, 4)
    assert "people differ" not in text_of(block_of(judged))
    other = talm_run(judged.path.parent, 10, name="other")
    for name, labels in (("ann", "pf"), ("bob", "fp")):
        with closing(open_ballot(other, choose_question(other), name)) as ballot:
            ballot.give_all({item: ({"p": "pass", "f": "fail"}[labels[n % 2]], "") for n, item in enumerate(sorted(ballot.items))})
    text = text_of(block_of(other))
    assert "people differ on 10 episodes" in text and "-1.00" in text and "\u2026" not in text and "-0." not in text
