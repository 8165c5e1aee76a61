"""What each task asks a person: keys, labels, what is shown and to what it applies; and the default that any task has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks import PersonQuestion, pass_question
from talm_sim.tasks.awareness.task import EXPLANATION, INSTANCE
from talm_sim.tasks.paper.published import published
from talm_sim.tasks.registry import find_task
from talm_sim.tasks.when2call.behaviour_llm import BEHAVIOUR
from talm_sim.types import Behaviour, Episode, HumanEvent, ModelTurn, Scenario, Termination, ToolCall, Turn, UnparsableCall
from tests.store.people.judged import awareness_run, talm_run, when2call_run
from tests.tables import labelled
from tests.tasks.views import job


@pytest.mark.parametrize("task", ["talm", "awareness", "when2call", "refusal"])
def test_each_task_asks_a_person_something(task: str) -> None:
    questions = find_task(task).person_questions(job(task))
    assert questions and len({one.name for one in questions}) == len(questions) == len({one.key for one in questions})
    for question in questions:
        assert question.asks.endswith("?") and question.about
        assert {*question.said.values()} <= {*question.labels.values()}
        for figure in question.published:
            assert published(figure.paper, figure.table).share(published(figure.paper, figure.table).row(*figure.row), figure.column)


@labelled
def test_keys_that_cannot_be_used_are_refused(labels: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match="question 'mine': labels needs two or more different labels"):
        PersonQuestion("mine", "Which?", labels, "it is", lambda episode, scenario: [], lambda label, scenario: None)


def test_labels_are_worth_what_the_scenario_says(tmp_path: Path) -> None:
    choice = next(when2call_run(tmp_path).scenarios())
    assert [BEHAVIOUR.value(label, choice) for label in BEHAVIOUR.labels.values()] == [one is Behaviour.DIRECT for one in Behaviour]
    assert {*BEHAVIOUR.labels.values()} == {one.value for one in Behaviour}
    instance = next(awareness_run(tmp_path).scenarios())
    assert (INSTANCE.value("no", instance), INSTANCE.value("yes", instance)) == (True, False)
    assert (EXPLANATION.value("correct", instance), EXPLANATION.value("wrong", instance)) == (True, False)


def test_an_explanation_is_judged_where_the_judge_judges_it(tmp_path: Path) -> None:
    run = awareness_run(tmp_path, 1)
    (episode,), (scenario,) = run.episodes(), run.scenarios()
    shown = dict(EXPLANATION.show(episode, scenario) or ())
    assert shown["The assistant's explanation"].startswith("Number 0 lacks a name.") and shown["APIs"] == '{"name": "do_it"}'
    for other in ({"answer": "Yes. All is there."}, {"answer": "No."}, {"termination": Termination.CANCELLED}):
        assert EXPLANATION.show(episode.model_copy(update=other), scenario) is None
        assert INSTANCE.show(episode.model_copy(update=other), scenario) is not None
    complete = scenario.target.model_copy(update={"gold": "yes"})  # type: ignore[union-attr]
    assert EXPLANATION.show(episode, scenario.model_copy(update={"target": complete})) is None


def episode_with(**fields: Any) -> tuple[Episode, Scenario]:
    scenario = Scenario(id="s", group="g", turns=(Turn(messages=({"role": "user", "content": "Do it"},)),))
    known = {"id": "s", "scenario_id": "s", "group": "g", "model": "m/m", "human": "none", "termination": Termination.ANSWERED}
    return Episode(**{**known, **fields}), scenario


def test_the_default_shows_request_deeds_and_answer(tmp_path: Path) -> None:
    run = talm_run(tmp_path, 1, hostile="")
    shown = pass_question().show(next(run.episodes()), next(run.scenarios()))
    assert shown is not None and [title for title, _ in shown] == ["Request", "What the agent did", "Final answer"]
    deeds = dict(shown)["What the agent did"]
    assert 'Called look_up with {"n":0}' in deeds and "found 0" in deeds and "Asked the person: Which?" in deeds and "That." in deeds


def test_a_call_that_nothing_executes_is_part_of_the_answer() -> None:
    calls = (ToolCall(id="a", name="fly", arguments={"to": "Rome"}), ToolCall(id="b", name="Finish", arguments={"final_answer": "x"}))
    broken = (UnparsableCall(id="c", name="sail", raw="{to:", reason="no JSON"),)
    episode, scenario = episode_with(model_turns=(ModelTurn(text="", tool_calls=calls, unparsable_calls=broken),), answer="")
    answer = dict(pass_question().show(episode, scenario) or ())["Final answer"]
    assert answer == 'Call of fly with {"to":"Rome"}\n\nCall of sail that cannot be read: {to:'
    assert dict(pass_question().show(*episode_with()) or ())["Final answer"] == "(none)"


def test_a_call_is_shown_where_it_was_made() -> None:
    ask = ToolCall(id="a", name="ask_human", arguments={"question": "Which?"})
    fly = ToolCall(id="a", name="fly", arguments={"to": "Rome"})
    turns = (ModelTurn(text="", tool_calls=(ask,)), ModelTurn(text="", tool_calls=(fly,)), ModelTurn(text="Done."))
    asked = HumanEvent(turn=0, call_id="a", question="Which?", answer="That.", responder="recorded")
    shown = dict(pass_question().show(*episode_with(model_turns=turns, events=(asked,), answer="Done.")) or ())
    assert shown["What the agent did"] == 'Asked the person: Which?\nThe person replied: That.\nCall of fly with {"to":"Rome"}'
    assert shown["Final answer"] == "Done."
    ends = dict(pass_question().show(*episode_with(model_turns=turns[:2], events=(asked,), answer="")) or ())
    assert ends["What the agent did"].count("\n") == 1 and ends["Final answer"] == 'Call of fly with {"to":"Rome"}'


@pytest.mark.parametrize("end", list(Termination))
def test_what_ended_for_other_reasons_is_not_judged(end: Termination) -> None:
    shown = pass_question().show(*episode_with(termination=end, answer="x"))
    assert (shown is not None) is (end.completed and end is not Termination.ASSESSED)
