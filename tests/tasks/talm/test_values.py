"""Runs in values: what the controls come to, what is refused, and that a run in words is what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim import StoredRun, run
from talm_sim.comparison.compare import compare
from talm_sim.errors import NotComparableError, PrerequisiteError
from talm_sim.tasks.control_outcomes import controls_of
from talm_sim.tasks.keys import recording_key
from tests.tasks.views import job

VALUES: dict[str, Any] = {"answer": "values", "progress": False}


def outcomes(stored: StoredRun) -> set[str]:
    return {row.outcome for row in stored.rows()}


def value_of(stored: StoredRun, name: str) -> float | None:
    return next(one.value for summary in stored.summary() for one in summary.measures if one.name == name)


@pytest.mark.parametrize(
    ("model", "options", "outcome"),
    [
        ("oracle", {"split": "perfect"}, "solved"),
        ("eager", {"split": "underspecified"}, "guessed"),
        ("asker", {"split": "replaceable", "human": "simulated"}, "got_it_from_person"),
        ("oracle", {"split": "non-replaceable"}, "said_so"),
        ("recoverer", {"split": "perfect", "perturb": ("http-500",)}, "told_failure"),
        ("liar", {"split": "perfect", "perturb": ("http-500",)}, "made_up"),
        ("parrot", {"split": "perfect", "perturb": ("http-500",)}, "told_failure"),
    ],
)
def test_controls_come_to_what_they_come_to_in_words(model: str, options: dict[str, Any], outcome: str, tmp_path: Path) -> None:
    stored = run(model=f"sim/{model}", limit="2", run_dir=tmp_path, **VALUES, **options)
    assert outcomes(stored) == {outcome}, [row.why for row in stored.rows()]
    assert all(episode.values is not None for episode in stored.episodes())


def test_a_run_in_values_is_not_compared_with_one_in_words(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"model": "sim/oracle", "split": "perfect", "limit": "2", "run_dir": tmp_path}
    words, values = run(run_id="w", progress=False, **shared), run(run_id="v", **VALUES, **shared)
    assert value_of(values, "pass_rate") == value_of(words, "pass_rate") == 1
    with pytest.raises(NotComparableError, match=r"w and v: differ in --answer \(words, values\)"):
        compare(words, values)
    assert "values" not in next(words.episodes()).model_dump_json()


def test_the_form_of_the_answer_is_in_the_name_of_a_recording() -> None:
    words, values = job("talm", model="sim/oracle", answer="words"), job("talm", model="sim/oracle", answer="values")
    assert recording_key(words) == recording_key(job("talm", model="sim/oracle")) != recording_key(values)
    assert "answer" not in words.options.model_dump() and values.options.model_dump()["answer"] == "values"
    assert not [kind for kind, *_ in controls_of(values, "replaceable") if kind == "careless"], "what is left out is said there"


def test_what_cannot_be_given_in_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"answer: values are given by a Finish call; leave out finish"):
        run(model="sim/oracle", finish="text", run_dir=tmp_path, **VALUES)
    file = tmp_path / "twice.jsonl"
    fact = '{"name": "height", "value": 3}'
    said = '"turns": [{"messages": [{"role": "user", "content": "How high?"}]}]'
    line = '{"id": "a", "group": "no-tools", ' + said + ', "target": {"type": "facts", "required": [%s]}}\n'
    for facts, message in ((f"{fact}, {fact}", "scenario a: two of its facts have one name"), ("", "no scenario has facts")):
        file.write_text(line % facts)
        with pytest.raises(PrerequisiteError, match=message):
            run(model="sim/oracle", scenarios=file, run_dir=tmp_path, **VALUES)
