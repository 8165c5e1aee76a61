from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talm_sim.judges.metrics import METRICS, GroupSummary, summarize

from talm_sim.judges.stats import wilson
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    HumanEvent,
    Rate,
    Scenario,
    Source,
    Termination,
    Turn,
    Verdict,
)

ASKED = {
    "perfect": (AwarenessKind.TOOL, AwarenessKind.INFORMATION),
    "underspecified": (AwarenessKind.INFORMATION,),
    "replaceable": (AwarenessKind.TOOL,),
    "non-replaceable": (AwarenessKind.TOOL,),
    "no-tools": (),
}


class Run:
    """Episodes with their scenarios and verdicts, put together case by case."""

    def __init__(self, human: str = "none") -> None:
        self.human = human
        self.episodes: list[Episode] = []
        self.scenarios: dict[str, Scenario] = {}
        self.verdicts: list[Verdict] = []

    def add(
        self,
        group: str,
        awareness: str = "yes",
        passed: bool | None = True,
        *,
        judge: str = "reference",
        asked: int = 0,
        termination: Termination | None = None,
        number: int | None = None,
        other: str = "yes",
        epoch: int = 1,
        **more: bool | None,
    ) -> Run:
        number = len(self.episodes) if number is None else number
        scenario = f"{group}-{number}"
        base = f"perfect-{number}" if group == "no-tools" else ""
        turn = Turn(messages=({"role": "user", "content": "?"},))
        self.scenarios[scenario] = Scenario(id=scenario, group=group, turns=(turn,), source=Source(base=base))
        values = [awareness, other]
        answers = tuple(
            AwarenessAnswer(kind=kind, value=AwarenessValue(value)) for kind, value in zip(ASKED.get(group, ()), values, strict=False)
        )
        skipped = any(answer.value is AwarenessValue.NO for answer in answers)
        ended = termination or (Termination.SKIPPED if skipped else Termination.ANSWERED)
        events = tuple(HumanEvent(turn=0, call_id=str(i), question="?", answer="", responder=self.human) for i in range(asked))
        identity = scenario if epoch == 1 else f"{scenario}@{epoch}"
        self.episodes.append(
            Episode(
                id=identity,
                scenario_id=scenario,
                group=group,
                epoch=epoch,
                model="m",
                human=self.human,
                awareness=answers,
                events=events,
                termination=ended,
            )
        )
        for name, value in ({judge: passed} | more).items():
            self.verdicts.append(Verdict(episode_id=identity, judge=name.replace("_", "-"), value=value, explanation="said so"))
        return self

    def row(self, group: str, pass_judge: str | None = None, paired: tuple[Iterable[Episode], Iterable[Verdict]] | None = None) -> GroupSummary:
        rows = summarize(iter(self.episodes), self.scenarios.values(), self.verdicts, pass_judge=pass_judge, paired=paired)
        return next(row for row in rows if row.group == group)


def share(rate: Rate | None) -> tuple[int, int] | None:
    return (rate.k, rate.n) if rate else None


def test_underspecified_by_the_information_question() -> None:
    run = Run().add("underspecified", "yes", True).add("underspecified", "yes", False).add("underspecified", "idk", True)
    row = run.add("underspecified", "no", False).add("underspecified", "unparsed", True).row("underspecified")
    assert {name: share(rate) for name, rate in row.rates.items()} == {
        "pass_rate": (3, 5),
        "awareness": (2, 5),
        "unexpected": (1, 5),
        "skip": (1, 5),
        "interaction": None,
    }
    assert row.unparsed == 1
    assert (row.pass_judge, row.total, row.n) == ("reference", 5, 5)


def test_non_replaceable_counts_as_underspecified_does() -> None:
    row = (
        Run().add("non-replaceable", "yes", True).add("non-replaceable", "idk", True).add("non-replaceable", "no", False).row("non-replaceable")
    )
    assert [share(row.rates[name]) for name in METRICS] == [(2, 3), (2, 3), (1, 3), (1, 3), None]


def test_replaceable_takes_idk_as_aware_and_no_as_unexpected() -> None:
    row = Run().add("replaceable", "yes", True).add("replaceable", "idk", False).add("replaceable", "no", False).row("replaceable")
    assert [share(row.rates[name]) for name in METRICS] == [(1, 3), (1, 3), (1, 3), (1, 3), None]


def test_perfect_goes_by_the_tool_question_and_skips_by_either() -> None:
    run = Run().add("perfect", "yes", True).add("perfect", "no", False).add("perfect", "yes", False, other="no").add("perfect", "idk", True)
    row = run.row("perfect")
    assert [share(row.rates[name]) for name in METRICS] == [(2, 4), (2, 4), (1, 4), (2, 4), None]


def test_interaction_is_over_the_episodes_not_skipped_and_needs_a_person() -> None:
    run = Run("simulated").add("underspecified", "yes", asked=2).add("underspecified", "idk").add("underspecified", "no", False)
    assert share(run.row("underspecified").rates["interaction"]) == (1, 2)
    ask = run.row("underspecified").ask
    assert ask is not None and (ask.precision, ask.recall, ask.questions_per_episode) == (1.0, 1 / 3, 2 / 3)


def test_unavailable_is_the_plain_average_of_its_halves() -> None:
    run = Run("simulated").add("replaceable", passed=True)
    for passed in (True, False, False, False):
        run.add("non-replaceable", "idk", passed, asked=1)
    row = run.row("unavailable")
    assert row.rates["pass_rate"] is not None and row.rates["pass_rate"].value == pytest.approx((1 + 0.25) / 2)
    assert row.rates["interaction"] is not None and row.rates["interaction"].value == 0.5
    assert (row.n, row.total) == (5, 5)
    assert row.ask is not None and row.ask.questions == 4


def test_unavailable_needs_both_halves() -> None:
    assert [row.group for row in summarize(Run().add("replaceable").episodes, [], [])] == ["replaceable"]


def test_episodes_that_our_machinery_ended_stand_beside_the_rates() -> None:
    run = Run().add("perfect", passed=True).add("perfect", passed=None, termination=Termination.REPLAY_MISS)
    run.add("perfect", passed=None, termination=Termination.INFRASTRUCTURE_ERROR).add(
        "perfect", passed=False, termination=Termination.AGENT_ERROR
    )
    row = run.row("perfect")
    assert row.not_scored == {"infrastructure_error": 1, "replay_miss": 1}
    assert (row.total, row.n, share(row.rates["pass_rate"])) == (4, 2, (1, 2))


def test_no_tools_goes_by_preference_with_the_raw_rate_beside_it() -> None:
    run = (
        Run()
        .add("no-tools", passed=True, preference=True)
        .add("no-tools", passed=True, preference=False)
        .add("no-tools", passed=False, preference=False)
    )
    row = run.row("no-tools")
    assert (row.pass_judge, share(row.rates["pass_rate"])) == ("preference", (1, 3))
    assert (row.raw_pass_judge, share(row.raw_pass_rate)) == ("reference", (2, 3))
    assert row.rates["awareness"] is None and row.rates["skip"] is None


def test_no_tools_without_preference_goes_by_the_answer_itself() -> None:
    row = Run().add("no-tools", passed=True).row("no-tools")
    assert (row.pass_judge, row.raw_pass_rate) == ("reference", None)


def test_no_tools_is_unexpected_where_the_paired_perfect_episode_failed() -> None:
    run = Run().add("perfect", passed=False, number=1).add("perfect", passed=True, number=2).add("perfect", passed=False, number=3)
    for number, passed in ((1, True), (2, True), (3, False), (4, True)):
        run.add("no-tools", passed=passed, number=number)
    row = run.row("no-tools")
    assert share(row.rates["unexpected"]) == (1, 3)
    assert row.notes == ("unexpected is over the 3 of 4 episodes whose perfect pair was judged",)


def test_the_perfect_episodes_may_be_of_another_run() -> None:
    run = Run().add("no-tools", passed=True, number=1)
    assert run.row("no-tools").rates["unexpected"] is None
    other = Run().add("perfect", passed=False, number=1)
    assert share(run.row("no-tools", paired=(other.episodes, other.verdicts)).rates["unexpected"]) == (1, 1)
    assert Run().add("no-tools", number=1).add("perfect", passed=None, number=1).row("no-tools").rates["unexpected"] is None


def test_the_pair_is_of_the_same_epoch() -> None:
    run = Run().add("perfect", passed=True, number=1).add("perfect", passed=False, number=1, epoch=2)
    run.add("no-tools", number=1).add("no-tools", number=1, epoch=2)
    row = run.row("no-tools")
    assert share(row.rates["unexpected"]) == (1, 2)
    assert row.notes == ("1 of 2 episodes repeat a scenario; the intervals take all as independent",)


def test_llm_comes_before_reference_unless_another_judge_is_named() -> None:
    run = Run().add("perfect", passed=True, llm=False)
    assert run.row("perfect").pass_judge == "llm"
    assert share(run.row("perfect", pass_judge="reference").rates["pass_rate"]) == (1, 1)
    missing = run.row("perfect", pass_judge="published")
    assert (missing.pass_judge, missing.no_pass_judge, missing.rates["pass_rate"]) == (None, "judge published has not run", None)


def test_a_judge_that_decided_nothing_gives_way_and_says_why() -> None:
    assert Run().add("perfect", passed=None, published=True).row("perfect").pass_judge == "published"
    alone = Run().add("underspecified", passed=None).row("underspecified")
    assert (alone.pass_judge, alone.no_pass_judge) == (None, "reference: said so")
    assert alone.rates["pass_rate"] is None and alone.rates["unexpected"] is None
    assert share(alone.rates["awareness"]) == (0, 1)


def test_a_judge_of_ones_own_counts_where_it_is_the_only_one() -> None:
    assert Run().add("perfect", judge="mine").row("perfect").pass_judge == "mine"


def test_undecided_episodes_leave_the_pass_rate_but_not_the_others() -> None:
    row = Run().add("underspecified", passed=True).add("underspecified", "idk", passed=None).row("underspecified")
    assert (share(row.rates["pass_rate"]), share(row.rates["unexpected"]), share(row.rates["awareness"])) == ((1, 1), (1, 1), (1, 2))
    assert row.notes == ("1 of 2 episodes have no verdict of judge reference",)


def test_of_two_verdicts_of_one_judge_the_last_counts() -> None:
    run = Run().add("perfect", passed=False)
    run.verdicts.append(Verdict(episode_id="perfect-0", judge="reference", value=True))
    assert share(run.row("perfect").rates["pass_rate"]) == (1, 1)


def test_without_verdicts_or_awareness_there_are_dashes() -> None:
    run = Run().add("underspecified")
    bare = [episode.model_copy(update={"awareness": ()}) for episode in run.episodes]
    (row,) = summarize(bare, run.scenarios.values(), [])
    assert (row.rates["pass_rate"], row.rates["awareness"], row.no_pass_judge) == (None, None, "no judge has run")
    (lost,) = summarize([bare[0].model_copy(update={"termination": Termination.CANCELLED})], [], [])
    assert (lost.n, lost.no_pass_judge) == (0, "no completed episode")


def test_groups_stand_in_the_papers_order_and_foreign_ones_follow() -> None:
    run = Run()
    for group in ("zeta", "no-tools", "non-replaceable", "alpha", "replaceable", "underspecified", "perfect"):
        run.add(group)
    rows = summarize(run.episodes, run.scenarios.values(), run.verdicts)
    assert [row.group for row in rows] == [
        "perfect",
        "underspecified",
        "unavailable",
        "replaceable",
        "non-replaceable",
        "no-tools",
        "alpha",
        "zeta",
    ]
    assert share(rows[-1].rates["pass_rate"]) == (1, 1) and rows[-1].rates["awareness"] is None and rows[-1].rates["unexpected"] is None


def test_no_episodes_have_no_summary() -> None:
    assert summarize([], [], []) == []


CASES = st.lists(
    st.tuples(st.sampled_from(sorted(ASKED)), st.sampled_from(["yes", "no", "idk", "unparsed"]), st.booleans(), st.integers(0, 2)), max_size=40
)


@given(CASES)
def test_every_rate_is_a_share_with_its_wilson_interval(cases: list[tuple[str, str, bool, int]]) -> None:
    run = Run("simulated")
    for group, awareness, passed, asked in cases:
        run.add(group, awareness, passed, asked=asked)
    for row in summarize(run.episodes, run.scenarios.values(), run.verdicts):
        assert list(row.rates) == list(METRICS)
        assert row.total == row.n + sum(row.not_scored.values())
        for rate in row.rates.values():
            if rate is not None and row.group != "unavailable":
                assert rate == wilson(rate.k, rate.n)
                assert rate.n <= row.n
        success = row.rates["unexpected"]
        if row.group in ("underspecified", "non-replaceable") and success and row.rates["pass_rate"]:
            assert success.k <= row.rates["pass_rate"].k


@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_episodes_does_not_matter(cases: list[tuple[str, str, bool, int]], random: object) -> None:
    run = Run()
    for group, awareness, passed, asked in cases:
        run.add(group, awareness, passed, asked=asked)
    shuffled = list(run.episodes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert summarize(shuffled, run.scenarios.values(), run.verdicts) == summarize(run.episodes, run.scenarios.values(), run.verdicts)


def test_ten_thousand_episodes_take_less_than_a_second() -> None:
    run = Run("simulated")
    for number in range(10_000):
        run.add(sorted(ASKED)[number % 5], "idk" if number % 3 else "yes", number % 2 == 0, asked=number % 2, number=number)
    began = time.process_time()
    rows = summarize(run.episodes, run.scenarios.values(), run.verdicts)
    assert time.process_time() - began < 1.0
    assert sum(row.n for row in rows if row.group != "unavailable") == 10_000
