from __future__ import annotations

import json

import pytest

from talm_sim.models.formats import read_calls
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.attempts.find_attempt import find_attempt
from talm_sim.tasks.refusal.call_checks.all_calls import check_calls
from talm_sim.tasks.refusal.call_checks.calls_judge import tools_of
from talm_sim.tasks.refusal.training.lessons import RefusalLessons
from talm_sim.training.lessons.outputs import PlayedRun
from talm_sim.training.lessons.training_examples import Kind
from talm_sim.training.lessons.writing import write_rows
from talm_sim.types import Calls, Episode, JsonObject, ModelTurn, Row, Scenario, Termination
from tests.training.lessons.test_writing import Tokenizer

LESSONS = RefusalLessons()


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Scenario]:
    return {one.id: one for one in find_task("refusal").read(("fitting", "removed", "unrelated")) if one.language == "en"}


def _rows(scenarios: dict[str, Scenario], kind: Kind, template: str = "injected") -> list[JsonObject]:
    made = LESSONS.of_scenarios([*scenarios.values()], kind, seed=1, balance="natural")
    return write_rows(made, LESSONS.writer(Tokenizer(), template)).rows


def _is_right(text: str, scenario: Scenario) -> bool:
    """Whether an answer passes the task's own judge of calls, and attempts no other."""
    assert isinstance(scenario.target, Calls)
    tools = tools_of(scenario)
    return check_calls(read_calls(text, tools).calls, scenario.target, tools).outcome


@pytest.mark.parametrize("template", ["chat", "injected", "pythonic", "default"])
def test_every_right_answer_passes_the_judge(scenarios: dict[str, Scenario], template: str) -> None:
    rows = _rows(scenarios, "sft", template)
    assert len(rows) == len(scenarios)
    for row in rows:
        assert _is_right(row["completion"], scenarios[row["id"]]), row["id"]
        assert row["action"] == ("tool_call" if row["id"].endswith("fitting") else "cannot_answer")


def test_every_rejected_answer_is_wrong(scenarios: dict[str, Scenario]) -> None:
    rows = _rows(scenarios, "preference")
    assert len(rows) == len(scenarios)
    for row in rows:
        assert _is_right(row["chosen"], scenarios[row["id"]]) and not _is_right(row["rejected"], scenarios[row["id"]]), row["id"]
    fitting = [row for row in rows if row["chosen_action"] == "tool_call"]
    declined = sum(row["rejected_action"] == "cannot_answer" for row in fitting)
    assert 0.3 < declined / len(fitting) < 0.7, "a refusal, or a damaged call"
    assert {row["rejected_action"] for row in rows if row["chosen_action"] == "cannot_answer"} == {"tool_call"}


def test_refusals_attempt_nothing_and_are_drawn_by_seed(scenarios: dict[str, Scenario]) -> None:
    texts = {row["completion"] for row in _rows(scenarios, "sft") if row["action"] == "cannot_answer"}
    assert len(texts) == 12
    assert not any(find_attempt(text, [{"name": "clock"}]) for text in texts)
    assert _rows(scenarios, "preference") == _rows(scenarios, "preference")


def test_the_prompt_is_the_one_that_the_task_sends(scenarios: dict[str, Scenario]) -> None:
    from talm_sim.tasks.refusal.prompts import asking
    from talm_sim.tasks.refusal.tool_wording import load_wording

    for template in ("chat", "injected", "pythonic", "default"):
        sent = asking(Tokenizer(), template, load_wording())  # type: ignore[arg-type]
        for row in _rows(dict([*scenarios.items()][:5]), "sft", template):
            assert row["prompt"] == sent.check(scenarios[row["id"]])


def test_where_any_call_is_right_none_is_known(scenarios: dict[str, Scenario]) -> None:
    one = next(iter(scenarios.values()))
    some = one.model_copy(update={"id": "any", "target": Calls(expected="any")})
    made = LESSONS.of_scenarios([one, some], "sft", seed=0, balance="natural")
    assert made.left_out == {"any call is right here, so that none is known": ["any"]}
    bare = one.model_copy(update={"id": "bare", "target": Calls(expected="none"), "shown_tools": ()})
    left = LESSONS.of_scenarios([one, bare], "preference", seed=0, balance="natural").left_out
    assert left == {"no tool is shown that could be called wrongly": ["bare"]}


def test_of_a_run_an_unreadable_attempt_is_wrong(scenarios: dict[str, Scenario]) -> None:
    one = next(one for one in scenarios.values() if one.group == "removed")
    texts = {"words": ("I cannot.", True, True), "attempt": ('<tool_call>{"name": "f", ', True, False)}
    episodes, rows = [], []
    for name, (text, h_s, h_i) in texts.items():
        turns = (ModelTurn(raw_text=text, text=text),)
        ended = Termination.ANSWERED
        episodes.append(Episode(id=name, scenario_id=one.id, group="g", model="m", model_turns=turns, termination=ended))
        labels = {"gold": "none", "found": "no call" if h_i else "malformed"}
        rows.append(Row.of(episodes[-1], one, values={"h_s": h_s, "h_i": h_i}, labels=labels))
    run = PlayedRun("run r", [one], episodes, rows, find_task("refusal").succeeded)
    made = LESSONS.of_run(run, "preference", seed=0)
    ((chosen, action, rejected, wrong),) = [(two.chosen, two.action, two.rejected, two.rejected_action) for two in made.examples]
    assert (chosen, action, rejected, wrong) == ("I cannot.", "cannot_answer", '<tool_call>{"name": "f",', "tool_call")
    json.dumps(made.counts())
