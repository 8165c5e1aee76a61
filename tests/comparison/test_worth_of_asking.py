"""What asking is worth: the gap between two groups and the gain per question equal those computed by hand."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from talm_sim import StoredRun, run
from talm_sim.agent.own.agents import load_agent
from talm_sim.comparison.compare import compare
from talm_sim.comparison.worth_of_asking import GainStep
from tests.runs.stored import store
from tests.tasks.talm.twenty import BY_HAND, episodes, scenarios, verdicts


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    """The twenty written episodes and their perfect ones, with a person to ask and without."""
    folder = tmp_path_factory.mktemp("written")
    return {
        human: store(folder, human, scenarios(), episodes(human), verdicts(human), task="talm", model="m/m", human=human)
        for human in ("simulated", "none")
    }


def sides(stored: StoredRun, *groups: str) -> list[str]:
    return [f"{stored.path}:{group}" for group in groups]


def test_the_judgement_gap_is_the_one_computed_by_hand(written: dict[str, StoredRun]) -> None:
    gap = compare(*sides(written["simulated"], "perfect", "underspecified")).gap
    complete, lacking = Fraction(BY_HAND["complete"], 20), Fraction(BY_HAND["passed"], 20)
    assert gap is not None and (gap.name, gap.pairs, gap.asked) == ("judgement gap", 20, True)
    assert (gap.complete, gap.lacking) == (float(complete), float(lacking))
    assert gap.value == pytest.approx(float(complete - lacking), abs=1e-15) == pytest.approx(9 / 20, abs=1e-15)
    assert gap.kept == pytest.approx(1 / 2, abs=1e-15)
    assert gap.low is not None and gap.high is not None and 0 < gap.low < 9 / 20 < gap.high < 1


def test_without_a_person_it_is_not_judgement_that_lacks(written: dict[str, StoredRun]) -> None:
    first, second = sides(written["none"], "perfect", "underspecified")
    gap = compare(first, second).gap
    assert gap is not None and (gap.lacking, gap.asked) == (BY_HAND["alone"] / 20, False)
    mixed = compare(sides(written["none"], "perfect")[0], sides(written["simulated"], "underspecified")[0]).gap
    assert mixed is not None and mixed.asked
    assert compare(second, first).gap is None
    assert compare(written["none"], written["simulated"]).gap is None


def test_the_gain_per_question_is_the_one_computed_by_hand(written: dict[str, StoredRun]) -> None:
    found = compare(written["none"], written["simulated"])
    perfect, lacking = sorted(found.gains, key=lambda one: one.group)
    assert (perfect.pairs, perfect.questions, perfect.value, perfect.per_question) == (20, 0, 0.0, None)
    assert (lacking.pairs, lacking.questions) == (20, BY_HAND["questions"])
    added = BY_HAND["passed"] - BY_HAND["alone"]
    assert lacking.value == pytest.approx(added / 20, abs=1e-15) and lacking.per_question == pytest.approx(7 / 24, abs=1e-15)
    assert lacking.low is not None and lacking.high is not None and lacking.low < 7 / 24 < lacking.high
    # Of the episodes: none asked in 2, 10 and 18; two in 5, 6, 8, 13 and 15; three in 12; one in the other eleven.
    assert lacking.steps == (
        GainStep(questions=0, pairs=3, alone=1 / 3, helped=0),
        GainStep(questions=1, pairs=11, alone=1 / 11, helped=6 / 11),
        GainStep(questions=2, pairs=5, alone=0, helped=2 / 5),
        GainStep(questions=3, pairs=1, alone=0, helped=1),
    )
    assert compare(written["simulated"], written["none"]).gains == found.gains, "whichever comes first"
    assert compare(written["none"], written["none"]).gains == compare(written["simulated"], written["simulated"]).gains == ()


def test_controls_have_the_scores_that_are_known(tmp_path: Path) -> None:
    """The asker's questions are all about what is missing; asking for everything lifts as much and is not worth it."""
    shared = {"split": "underspecified,replaceable", "limit": "8", "human": "simulated", "run_dir": tmp_path, "progress": False}
    found = {name: run(model=f"sim/{name}", **shared).summary() for name in ("asker", "spammer")}  # type: ignore[arg-type]
    for name, expected in (("asker", (1.0, 1.0, 1.0)), ("spammer", (1 / 3, 0.2, 1.0))):
        for group in ("underspecified", "replaceable"):
            summary = next(one for one in found[name] if one.group == group)
            measures = [summary.measure(one) for one in ("ask_f1", "question_precision", "blocker_recall")]
            assert [one.value for one in measures if one] == pytest.approx(expected, abs=1e-12)
            passed = summary.measure("pass_rate")
            assert passed is not None and passed.value == 1


def test_a_judge_that_says_nothing_of_a_run_does_not_keep_it_from_comparison(tmp_path: Path) -> None:
    """The judge of refusals works where a person may refuse: of the same agent alone there is nothing for it to say."""
    agent = load_agent("examples.agents.plain_function:act").name
    shared = {"split": "underspecified", "limit": "3", "agent": agent, "tools": "live", "run_dir": tmp_path, "progress": False}
    asked, alone = (run(human=human, **shared) for human in ("simulated", "none"))  # type: ignore[arg-type]
    assert {verdict.judge for verdict in asked.verdicts()} > {verdict.judge for verdict in alone.verdicts()}
    (gain,) = compare(alone, asked).gains
    assert gain.pairs == 3
