"""Questions and what is missing: the figures equal those that a person gets by reading and counting."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from talm_sim.tasks.talm.blockers import Blockers, BlockerScores, ask_f1, blocker_scores
from talm_sim.types import Episode, HumanEvent, Missing, MissingKind, PerturbationLog, Scenario, Source, Termination, ToolEvent
from tests.tasks.talm.twenty import BLOCKERS, BY_HAND, CITY, DATE, NAME, TOOLS, TWENTY, episodes, scenarios, verdicts
from tests.tasks.views import View, job

VIEW = View(job("talm"), episodes(), scenarios(), verdicts(), specs=TOOLS)
LACKING = {one.id: one for one in scenarios()}


def scores(one: Episode, *left_open: str, scenario: Scenario | None = None) -> BlockerScores:
    found = blocker_scores(one, Blockers(scenario or LACKING[one.scenario_id], TOOLS), left_open)
    assert found is not None
    return found


@pytest.mark.parametrize("number", range(1, 21))
def test_each_episode_counts_as_a_reader_counts_it(number: int) -> None:
    written = TWENTY[number - 1]
    found = scores(next(one for one in episodes() if one.id == f"u{number}"))
    questions, about, again, given_away = written.questions
    asked, before_write = written.lifted
    assert (found.questions_decided, found.blocker_questions, found.questions_again, found.questions_given) == written.questions
    assert (found.questions_compared, about <= questions, again + given_away <= questions) == (questions, True, True)
    assert (found.blockers, found.blockers_asked, found.blockers_before_answer) == (len(written.missing), asked, asked)
    wrote = before_write is not None
    assert (found.writing_blockers, found.blockers_before_write) == (len(written.missing) if wrote else 0, before_write or 0)


def test_the_figures_of_the_run_are_those_computed_by_hand() -> None:
    summary = next(one for one in VIEW.summaries() if one.group == "underspecified")
    counted = {name: summary.measure(name) for name in ("question_precision", "blocker_recall", "coverage_before_write")}
    assert {name: (one.k, one.n) for name, one in counted.items() if one} == {
        "question_precision": (BY_HAND["about"], BY_HAND["questions"]),
        "blocker_recall": (BY_HAND["asked"], BY_HAND["blockers"]),
        "coverage_before_write": (BY_HAND["before_write"], BY_HAND["writing"]),
    }
    f1 = summary.measure("ask_f1")
    assert f1 is not None and f1.value == pytest.approx(float(Fraction(40, 59)), abs=1e-15)
    assert (f1.n, f1.episodes) == (20, 20) and f1.low is not None and f1.high is not None and 0.4 < f1.low < 40 / 59 < f1.high < 0.9
    for name, k in (("asked_again", BY_HAND["again"]), ("asked_given", BY_HAND["given"])):
        measure = summary.measure(name)
        assert measure is not None and (measure.k, measure.n) == (k, BY_HAND["questions"])
    assert summary.notes[0] == (
        "asked in 17 of the 20 episodes that needed it; 20 of 24 questions were about what was missing; "
        "15 of 35 things missing were never asked for"
    )


def test_a_question_that_the_answer_asks_was_asked_but_not_before_it() -> None:
    nothing = next(one for one in episodes() if one.id == "u10")
    found = scores(nothing, CITY, NAME)
    assert (found.blockers_asked, found.blockers_before_answer, found.questions_decided, found.blocker_questions) == (1, 0, 2, 1)


def test_approvals_and_forms_enter_nothing() -> None:
    from talm_sim.types import Approval, Decision

    request = Approval(name="book_train", arguments={"city": "Graz"})
    asked = HumanEvent(
        turn=0,
        call_id="a",
        question=f"{request.text} {CITY}",
        answer="approve",
        responder="t",
        request=request,
        decision=Decision(action="approve"),
    )
    episode = next(one for one in episodes() if one.id == "u2").model_copy(update={"events": (asked,)})
    assert scores(episode) == BlockerScores(blockers=1)


def test_what_nobody_can_supply_is_no_blocker_but_asking_for_it_is_not_beside_the_point() -> None:
    gone = Missing(kind=MissingKind.TOOL, name="find_hotel")
    hopeless = LACKING["u1"].model_copy(update={"group": "non-replaceable", "missing": (gone,)})
    found = scores(_asking("Which hotel is free?", NAME), scenario=hopeless)
    assert (found.blockers, found.blockers_asked, found.questions_decided, found.blocker_questions) == (0, 0, 2, 1)
    assert found.ask_f1 is None
    both = hopeless.model_copy(update={"group": "underspecified", "missing": (gone, BLOCKERS["C"])})
    found = scores(_asking("Which hotel is free?", CITY), scenario=both)
    assert (found.blockers, found.blockers_asked, found.blocker_questions) == (1, 1, 2)


def test_where_it_is_not_known_what_is_missing_no_question_is_decided_and_else_it_is_beside_the_point() -> None:
    found = scores(_asking(CITY), scenario=LACKING["p1"])
    assert (found.questions_decided, found.blocker_questions, found.blockers, found.questions_given) == (1, 0, 0, 1)
    unknown = LACKING["u1"].model_copy(update={"missing": ()})
    assert scores(_asking(CITY), scenario=unknown).questions_decided == 0


def test_a_question_after_an_injected_fault_may_be_about_the_fault() -> None:
    struck = _asking("Is the office open?", CITY).model_copy(update={"perturbations": (PerturbationLog(name="http-500", armed=1, fired=1),)})
    found = scores(struck)
    assert (found.questions_decided, found.blocker_questions) == (1, 1)
    own = LACKING["u1"].model_copy(update={"perturbations": ("http-500",)})
    assert scores(struck, scenario=own).questions_decided == 2


def test_published_tools_count_where_their_group_says_that_a_person_can_help() -> None:
    from talm_sim.tasks.talm.recovered import SOURCE

    gone = Missing(kind=MissingKind.TOOL, name="find_hotel")
    published = LACKING["u1"].model_copy(update={"group": "replaceable", "missing": (gone,), "source": Source(name=SOURCE)})
    assert scores(_asking("Which hotel is free?"), scenario=published).blockers_asked == 1


def test_nothing_is_said_where_nobody_could_be_asked_or_the_episode_failed() -> None:
    blockers = Blockers(LACKING["u1"], TOOLS)
    assert blocker_scores(_asking(CITY).model_copy(update={"human": "none"}), blockers) is None
    assert blocker_scores(_asking(CITY).model_copy(update={"termination": Termination.CANCELLED}), blockers) is None


COUNTS = st.tuples(*[st.integers(0, 40)] * 4).map(lambda four: (min(four[:2]), max(four[:2]), min(four[2:]), max(four[2:])))


@given(COUNTS)
def test_ask_f1_is_the_harmonic_mean(counts: tuple[int, int, int, int]) -> None:
    about, questions, asked, blockers = counts
    found = ask_f1(*counts)
    if not blockers:
        assert found is None
    elif not about or not asked:
        assert found == 0
    else:
        precision, recall = Fraction(about, questions), Fraction(asked, blockers)
        assert found == pytest.approx(float(2 / (1 / precision + 1 / recall)), rel=1e-12)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["W", "R", CITY, DATE, NAME])), max_size=6)


@given(STEPS, st.sampled_from(["", "C", "CD", "CDS"]))
def test_the_parts_never_exceed_the_whole(steps: list[tuple[int, str]], missing: str) -> None:
    from tests.tasks.talm.twenty import _event

    scenario = LACKING["u1" if missing else "p1"].model_copy(update={"missing": tuple(BLOCKERS[one] for one in missing)})
    episode = _asking().model_copy(update={"events": tuple(_event(*one) for one in sorted(steps, key=lambda one: one[0]))})
    found = scores(episode, scenario=scenario)
    assert found.blockers_before_write <= found.blockers_before_answer <= found.blockers_asked <= found.blockers == len(missing)
    assert found.blocker_questions <= found.questions_decided == len(episode.questions) and found.writing_blockers in (0, found.blockers)
    assert found.questions_again <= max(0, len(episode.questions) - 1)
    wrote = any(isinstance(event, ToolEvent) and event.writes for event in episode.events)
    assert (found.writing_blockers > 0) == (wrote and bool(missing))


def _asking(*questions: str) -> Episode:
    events = tuple(HumanEvent(turn=turn, call_id=str(turn), question=text, answer="", responder="s") for turn, text in enumerate(questions))
    return Episode(
        id="u1", scenario_id="u1", group="underspecified", model="m", human="simulated", events=events, termination=Termination.ANSWERED
    )
