"""The summaries of task `when2call` as they are shown and stored; goes to the task with them."""

from __future__ import annotations

from talm_sim.cli._summaries_old import choice_summary
from talm_sim.judges.choices import ChoiceSummary, summarize_choices
from talm_sim.runs.tables import choice_record
from talm_sim.types import Behaviour, Episode, Termination, Verdict
from tests.cli.choice_runs import choice_episode, choice_scenario

DIRECT, CALL, ASK, CANNOT = Behaviour


def chosen() -> ChoiceSummary:
    rows = [(choice_scenario("a", CALL), CALL), (choice_scenario("b", ASK), CALL), (choice_scenario("d", CANNOT), DIRECT)]
    rows.append((choice_scenario("c", CANNOT, tools=False), CANNOT))
    long = Episode(id="e", scenario_id="e", group="g", model="m/m", termination=Termination.CONTEXT_OVERFLOW)
    episodes = [*(choice_episode(row.id, label) for row, label in rows), long]
    return summarize_choices(episodes, [*(row for row, _ in rows), choice_scenario("e", CALL)], [])[0]


def judged() -> ChoiceSummary:
    rows = [choice_scenario("a", CALL), choice_scenario("b", ASK)]
    said = [Verdict(episode_id=name, judge="behaviour", value=True, label=label) for name, label in (("a", "tool_call"), ("b", "unparsed"))]
    return summarize_choices([choice_episode(row.id, None) for row in rows], rows, said)[0]


def test_a_summary_holds_the_record_as_it_was() -> None:
    for one in (chosen(), judged()):
        assert repr(choice_summary(one).record()) == repr(choice_record(one))


def test_notes_say_how_answers_were_taken() -> None:
    notes = "; ".join(choice_summary(chosen()).notes)
    assert "not scored: 1 context_overflow" in notes and "mode logprob" in notes and "unparsed" not in notes
    notes = "; ".join(choice_summary(judged()).notes)
    assert "classified by judge behaviour (rules, no model" in notes and "no row shows no tools" in notes
    assert "1 answer of no readable behaviour (unparsed); counted as wrong" in notes


def test_the_record_is_flat_and_complete() -> None:
    row = choice_summary(chosen()).record()
    assert all(value is None or isinstance(value, str | int | float) for value in row.values())
    assert (row["n"], row["total"], row["not_scored"], row["mode"], row["judge"]) == (4, 5, 1, "logprob", None)
    assert (row["accuracy"], row["accuracy_k"], row["accuracy_n"]) == (0.5, 2, 4)
    assert (row["parameter_hallucination"], row["tool_hallucination_n"], row["answer_hallucination_k"]) == (1, 1, 1)
    assert (row["request_for_info_as_tool_call"], row["support_cannot_answer"], row["recall_cannot_answer"]) == (1, 2, 0.5)
    assert row["precision_request_for_info"] is None and row["f1_request_for_info"] == 0
    assert "direct_as_unparsed" not in row
    free = choice_summary(judged()).record()
    assert (free["request_for_info_as_unparsed"], free["accuracy_norm"], free["accuracy_norm_n"], free["unparsed"]) == (1, None, None, 1)
