from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.tasks.talm.ask_scores import AskScores
from talm_sim.tasks.talm.measures import HEADS, asking_of
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    GoldCall,
    HumanEvent,
    Missing,
    MissingKind,
    Row,
    Scenario,
    Source,
    Summary,
    Termination,
    ToolSpec,
    Turn,
    Verdict,
)
from tests.tasks.views import View, check_summaries, job, share

ASKED = {
    "perfect": (AwarenessKind.TOOL, AwarenessKind.INFORMATION),
    "underspecified": (AwarenessKind.INFORMATION,),
    "replaceable": (AwarenessKind.TOOL,),
    "non-replaceable": (AwarenessKind.TOOL,),
    "no-tools": (),
}


JOB = job("talm")


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
        question: str = "?",
        others: Mapping[str, bool | None] | None = None,
    ) -> Run:
        number = len(self.episodes) if number is None else number
        scenario = f"{group}-{number}"
        base = f"perfect-{number}" if group == "no-tools" else ""
        turn = Turn(messages=({"role": "user", "content": "?"},))
        self.scenarios[scenario] = Scenario(id=scenario, group=group, turns=(turn,), source=Source(base=base))
        values = [awareness, other]
        answers = tuple(
            AwarenessAnswer(kind=kind, value=AwarenessValue(value), raw="Hm.")
            for kind, value in zip(ASKED.get(group, ()), values, strict=False)
        )
        skipped = any(answer.value is AwarenessValue.NO for answer in answers)
        ended = termination or (Termination.SKIPPED if skipped else Termination.ANSWERED)
        events = tuple(HumanEvent(turn=0, call_id=str(i), question=question, answer="", responder=self.human) for i in range(asked))
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
        for name, value in ({judge: passed} | dict(others or {})).items():
            self.verdicts.append(Verdict(episode_id=identity, judge=name, value=value, explanation="said so"))
        return self

    def view(self, paired: Run | None = None) -> View:
        return View(JOB, self.episodes, list(self.scenarios.values()), self.verdicts, paired=paired.view() if paired else None)

    def rows(self, group: str | None = None, paired: Run | None = None) -> list[Row]:
        return [row for row in self.view(paired).rows() if group in (None, row.group)]

    def summary(self, group: str, paired: Run | None = None) -> Summary:
        return next(found for found in self.view(paired).summaries() if found.group == group)


def shares(summary: Summary) -> list[tuple[int, int] | None]:
    return [share(summary, name) for name in HEADS]


def values(rows: list[Row], name: str) -> list[bool | float | None]:
    """What each row adds to a measure; None where it adds nothing."""
    return [row.values.get(name) for row in rows]


def test_each_group_goes_by_its_own_question() -> None:
    run = Run().add("underspecified", "yes", True).add("underspecified", "yes", False).add("underspecified", "idk", True)
    run.add("underspecified", "no", False).add("underspecified", "unparsed", True)
    found = run.summary("underspecified")
    assert {measure.name: share(found, measure.name) for measure in found.measures} == {
        "pass_rate": (3, 5),
        "awareness": (2, 5),
        "unexpected": (1, 5),
        "skip": (1, 5),
        "interaction": None,
    }
    assert [measure.head for measure in found.measures] == ["Passed", "Noticed", "Unexpected", "Skipped", "Asked a person"]
    assert found.facts == {"unparsed": 1, "pass_judge": "reference"}
    assert (found.total, found.n) == (5, 5)
    rows = run.rows()
    assert values(rows, "pass_rate") == [True, False, True, False, True]
    assert values(rows, "awareness") == [False, False, True, True, False]
    assert values(rows, "unexpected") == [True, False, False, False, False]
    assert values(rows, "skip") == [False, False, False, True, False]
    assert not any("interaction" in row.values or "questions" in row.values for row in rows)
    assert rows[4].labels == {"human": "none", "said": "unparsed", "pass_judge": "reference"}
    assert not any(row.why or row.not_scored for row in rows)
    run = Run().add("non-replaceable", "yes", True).add("non-replaceable", "idk", True).add("non-replaceable", "no", False)
    assert shares(run.summary("non-replaceable")) == [(2, 3), (2, 3), (1, 3), (1, 3), None]
    run = Run().add("replaceable", "yes", True).add("replaceable", "idk", False).add("replaceable", "no", False)
    assert shares(run.summary("replaceable")) == [(1, 3), (1, 3), (1, 3), (1, 3), None]
    assert [row.values for row in run.rows()] == [
        {"pass_rate": True, "awareness": False, "unexpected": False, "skip": False},
        {"pass_rate": False, "awareness": True, "unexpected": False, "skip": False},
        {"pass_rate": False, "awareness": False, "unexpected": True, "skip": True},
    ]
    run = Run().add("perfect", "yes", True).add("perfect", "no", False).add("perfect", "yes", False, other="no").add("perfect", "idk", True)
    assert shares(run.summary("perfect")) == [(2, 4), (2, 4), (1, 4), (2, 4), None]
    assert [row.labels["said"] for row in run.rows()] == ["yes", "no", "yes", "idk"]


def test_interaction_is_over_the_episodes_not_skipped_and_needs_a_person() -> None:
    run = Run("simulated").add("underspecified", "yes", asked=2).add("underspecified", "idk").add("underspecified", "no", False)
    assert share(run.summary("underspecified"), "interaction") == (1, 2)
    rows = run.rows()
    assert values(rows, "interaction") == [True, False, None]
    assert [values(rows, name) for name in ("asking", "questions", "needing")] == [[1, 0, 0], [2, 0, 0], [1, 1, 1]]
    ask = asking_of(rows)
    assert ask is not None and (ask.precision, ask.recall) == (1.0, 1 / 3)
    assert run.summary("underspecified").notes == (
        "asked in 1 of the 3 episodes that needed it; whether 2 questions were about what was missing is not known",
        "the simulated person made no mistake",
    )
    assert run.summary("underspecified").record()["asking_f1"] == ask.f1 == 1 / 2


def test_a_question_is_told_relevant_by_what_the_tool_specification_says() -> None:
    run = Run("simulated").add("underspecified", asked=1, question="Which airport?")
    missing = Missing(kind=MissingKind.ARGUMENT, name="q", value="HAN", human_answer="HAN")
    turn = Turn(messages=({"role": "user", "content": "?"},), gold_calls=(GoldCall(name="look_up", arguments={"q": "HAN"}),))
    (scenario,) = (one.model_copy(update={"missing": (missing,), "turns": (turn,)}) for one in run.scenarios.values())
    spec = ToolSpec(
        name="look_up",
        category="t",
        parameters={"type": "object", "properties": {"q": {"type": "string", "description": "Airport to look up."}}},
    )
    plain, told = (View(JOB, run.episodes, [scenario], specs=specs) for specs in ({}, {"look_up": spec}))
    assert [one.rows()[0].values["relevant_questions"] for one in (plain, told)] == [0, 1]


def test_unavailable_is_the_plain_average_of_both_its_halves() -> None:
    run = Run("simulated").add("replaceable", passed=True)
    for passed in (True, False, False, False):
        run.add("non-replaceable", "idk", passed, asked=1)
    found = run.summary("unavailable")
    passes, interaction = found.measure("pass_rate"), found.measure("interaction")
    assert passes is not None and passes.value == pytest.approx((1 + 0.25) / 2)
    assert interaction is not None and interaction.value == 0.5
    assert (found.n, found.total, found.derived, found.facts["pass_judge"]) == (5, 5, True, "reference")
    assert found.notes == ("plain average of replaceable and non-replaceable",)
    ask = asking_of(run.rows())
    assert ask is not None and ask.questions == 4
    assert [found.group for found in View(JOB, Run().add("replaceable").episodes).summaries()] == ["replaceable"]


def test_episodes_that_our_machinery_or_a_small_context_ended_stand_beside_the_rates() -> None:
    run = Run().add("perfect", passed=True).add("perfect", passed=None, termination=Termination.REPLAY_MISS)
    run.add("perfect", passed=None, termination=Termination.INFRASTRUCTURE_ERROR).add(
        "perfect", passed=False, termination=Termination.AGENT_ERROR
    )
    run.add("perfect", passed=False, termination=Termination.CONTEXT_OVERFLOW)
    found = run.summary("perfect")
    assert found.not_scored == {"context_overflow": 1, "infrastructure_error": 1, "replay_miss": 1}
    assert (found.total, found.n, share(found, "pass_rate")) == (5, 2, (1, 2))
    rows = run.rows()
    assert [row.not_scored for row in rows] == ["", "replay_miss", "infrastructure_error", "", "context_overflow"]
    assert [(row.values, row.labels, row.scored) for row in rows[1:3]] == [({}, {}, False)] * 2


def test_no_tools_goes_by_preference_with_the_raw_rate_beside_it() -> None:
    run = (
        Run()
        .add("no-tools", passed=True, others={"preference": True})
        .add("no-tools", passed=True, others={"preference": False})
        .add("no-tools", passed=False, others={"preference": False})
    )
    found, rows = run.summary("no-tools"), run.rows()
    assert (found.facts["pass_judge"], share(found, "pass_rate")) == ("preference", (1, 3))
    assert values(rows, "raw_pass_rate") == [True, True, False]
    assert {(row.labels["pass_judge"], row.labels["raw_judge"]) for row in rows} == {("preference", "reference")}
    assert found.notes == ("answers that pass by themselves .67 [.21–.94] by judge reference",)
    assert share(found, "awareness") is None and share(found, "skip") is None
    assert not any({"awareness", "skip"} & set(row.values) for row in rows)


def test_no_tools_is_unexpected_where_the_paired_perfect_episode_failed() -> None:
    run = Run().add("perfect", passed=False, number=1).add("perfect", passed=True, number=2).add("perfect", passed=False, number=3)
    for number, passed in ((1, True), (2, True), (3, False), (4, True)):
        run.add("no-tools", passed=passed, number=number)
    found, rows = run.summary("no-tools"), run.rows("no-tools")
    assert share(found, "unexpected") == (1, 3)
    assert found.notes == ("unexpected is over the 3 of 4 episodes whose perfect pair was judged",)
    assert values(rows, "unexpected") == [True, False, False, None]
    assert [row.base for row in rows] == [f"perfect-{number}" for number in (1, 2, 3, 4)]


def test_the_perfect_episodes_may_be_of_another_run_but_must_be_scored() -> None:
    run = Run().add("no-tools", passed=True, number=1)
    assert share(run.summary("no-tools"), "unexpected") is None
    other = Run().add("perfect", passed=False, number=1)
    assert share(run.summary("no-tools", paired=other), "unexpected") == (1, 1)
    assert share(Run().add("no-tools", number=1).add("perfect", passed=None, number=1).summary("no-tools"), "unexpected") is None
    other = Run().add("perfect", passed=False, number=1, termination=Termination.REPLAY_MISS)
    assert share(Run().add("no-tools", number=1).summary("no-tools", paired=other), "unexpected") is None


def test_the_pair_is_of_the_same_epoch() -> None:
    run = Run().add("perfect", passed=True, number=1).add("perfect", passed=False, number=1, epoch=2)
    run.add("no-tools", number=1).add("no-tools", number=1, epoch=2)
    found = run.summary("no-tools")
    assert share(found, "unexpected") == (1, 2)
    assert found.notes == ()
    assert [(row.episode, row.epoch) for row in run.rows("no-tools")] == [("no-tools-1", 1), ("no-tools-1@2", 2)]


def test_llm_comes_before_reference_and_the_last_verdict_counts() -> None:
    run = Run().add("perfect", passed=True, others={"llm": False})
    found = run.summary("perfect")
    assert (found.facts["pass_judge"], share(found, "pass_rate")) == ("llm", (0, 1))
    passes = found.measure("pass_rate")
    assert passes is not None and passes.by == "llm"
    run = Run().add("perfect", passed=False)
    run.verdicts.append(Verdict(episode_id="perfect-0", judge="reference", value=True))
    assert share(run.summary("perfect"), "pass_rate") == (1, 1)


def test_a_judge_that_decided_nothing_gives_way_and_says_why() -> None:
    assert Run().add("perfect", passed=None, others={"published": True}).summary("perfect").facts["pass_judge"] == "published"
    run = Run().add("underspecified", passed=None)
    alone = run.summary("underspecified")
    assert (alone.facts["pass_judge"], alone.notes) == (None, ("no pass rate (reference: said so)",))
    assert share(alone, "pass_rate") is None and share(alone, "unexpected") is None
    assert share(alone, "awareness") == (0, 1)
    passes = alone.measure("pass_rate")
    assert passes is not None and (passes.value, passes.by) == (None, "no judge")
    assert run.rows()[0].why == {"pass_rate": "reference: said so"}


def test_a_judge_whose_rules_left_all_open_does_not_give_way() -> None:
    run = Run().add("underspecified", passed=None, others={"published": True})
    assert share(run.summary("underspecified"), "pass_rate") == (1, 1), "it did not apply"
    run.verdicts = [one.model_copy(update={"left_open": one.value is None}) for one in run.verdicts]
    assert (run.summary("underspecified").facts["pass_judge"], share(run.summary("underspecified"), "pass_rate")) == ("reference", (0, 0))


@pytest.mark.parametrize("judge", ["mine", "behaviour", "aaa"])
def test_a_judge_of_ones_own_never_becomes_the_pass_rate(judge: str) -> None:
    """It has a column of its own, whoever else judged."""
    alone = Run().add("perfect", judge=judge).add("no-tools", judge=judge)
    for group in ("perfect", "no-tools"):
        found = alone.summary(group)
        assert (found.facts["pass_judge"], share(found, "pass_rate")) == (None, None)
        assert "no pass rate (no judge has run)" in found.notes
    beside = Run().add("perfect", passed=False, others={judge: True}).summary("perfect")
    assert (beside.facts["pass_judge"], share(beside, "pass_rate")) == ("reference", (0, 1))
    assert [measure.name for measure in beside.measures] == list(HEADS)


def test_undecided_episodes_leave_the_pass_rate_but_not_the_others() -> None:
    run = Run().add("underspecified", passed=True).add("underspecified", "idk", passed=None)
    found = run.summary("underspecified")
    assert (share(found, "pass_rate"), share(found, "unexpected"), share(found, "awareness")) == ((1, 1), (1, 1), (1, 2))
    assert found.record()["pass_rate_undecided"] == 1
    assert found.notes[0].endswith("have no verdict of judge reference: passed is .50 if all of these failed, 1.00 if all passed")
    assert [values(run.rows(), name) for name in ("pass_rate", "unexpected")] == [[True, None], [True, None]]


def test_without_verdicts_or_awareness_there_are_dashes() -> None:
    run = Run().add("underspecified")
    bare = [episode.model_copy(update={"awareness": ()}) for episode in run.episodes]
    (found,) = View(JOB, bare, list(run.scenarios.values())).summaries()
    assert (share(found, "pass_rate"), share(found, "awareness"), found.notes) == (None, None, ("no pass rate (no judge has run)",))
    (lost,) = View(JOB, [bare[0].model_copy(update={"termination": Termination.CANCELLED})]).summaries()
    assert (lost.n, lost.total, lost.facts["pass_judge"], lost.notes) == (0, 1, None, ())
    passes = lost.measure("pass_rate")
    assert passes is not None and (passes.value, passes.by) == (None, ""), "no judge is missed where nothing was completed"


def test_groups_stand_in_the_papers_order_and_foreign_ones_follow() -> None:
    run = Run()
    for group in ("zeta", "no-tools", "non-replaceable", "alpha", "replaceable", "underspecified", "perfect"):
        run.add(group)
    found = run.view().summaries()
    assert [one.group for one in found] == [
        "perfect",
        "underspecified",
        "unavailable",
        "replaceable",
        "non-replaceable",
        "no-tools",
        "alpha",
        "zeta",
    ]
    assert shares(found[-1]) == [(1, 1), None, None, (0, 1), None]


CASES = st.lists(
    st.tuples(
        st.sampled_from([*sorted(ASKED), "zeta"]),
        st.sampled_from(["yes", "no", "idk", "unparsed"]),
        st.sampled_from([True, False, None]),
        st.integers(0, 2),
        st.sampled_from([None, None, None, Termination.REPLAY_MISS]),
        st.booleans(),
    ),
    max_size=40,
)
Cases = list[tuple[str, str, bool | None, int, Termination | None, bool]]


def made_of(cases: Cases, human: str) -> Run:
    run = Run(human)
    for number, (group, awareness, passed, asked, end, compared) in enumerate(cases):
        others = {"preference": passed is True} if compared else {}
        questions = asked if human != "none" else 0
        run.add(group, awareness, passed, asked=questions, termination=end, number=number // 3, epoch=number + 1, others=others)
    return run


@settings(max_examples=30)
@given(CASES, st.sampled_from(["none", "simulated"]), st.randoms(use_true_random=False))
def test_every_number_is_that_of_the_rows_whatever_their_order(cases: Cases, human: str, shuffler: random.Random) -> None:
    view = made_of(cases, human).view()
    check_summaries(view, shuffler)
    for found in view.summaries():
        assert [measure.name for measure in found.measures if not measure.under] == list(HEADS)
        success, passes = share(found, "unexpected"), share(found, "pass_rate")
        if found.group in ("underspecified", "non-replaceable") and success and passes:
            assert success[0] <= passes[0]


@given(CASES, st.randoms(use_true_random=False))
def test_asking_is_that_of_the_rows(cases: Cases, shuffler: random.Random) -> None:
    rows = made_of(cases, "simulated").rows()
    scored = [row for row in rows if row.scored]
    counts = {name: sum(int(row.values.get(name) or 0) for row in scored) for name in AskScores.model_fields}
    shuffler.shuffle(rows)
    assert asking_of(rows) == (AskScores(**counts) if scored else None)
    assert asking_of(made_of(cases, "none").rows()) is None


def test_how_long_people_took_is_of_those_that_were_waited_for() -> None:
    event = HumanEvent(turn=0, call_id="q", question="Which?", answer="HAN", responder="answer", asked_at=100.0, answered_at=112.5)
    late = event.model_copy(update={"answered_at": 130.0})

    def notes(human: str, *events: HumanEvent) -> list[str]:
        run = Run(human).add("underspecified")
        (episode,) = run.episodes
        run.episodes[:] = [episode.model_copy(update={"events": events})]
        view = View(job("talm", human=human), run.episodes, list(run.scenarios.values()), run.verdicts)
        return [note for note in view.summaries()[0].notes if "answered" in note]

    assert notes("terminal", event, late) == ["people answered 2 times in 42 s, 21.2 s each from asking to answering"]
    assert notes("terminal", event.model_copy(update={"asked_at": 0.0})) == []
    assert notes("terminal", event.model_copy(update={"declined": "timeout", "responder": "nobody"})) == [], "nobody answered"
    assert notes("simulated", event, late) == notes("terminal") == []
