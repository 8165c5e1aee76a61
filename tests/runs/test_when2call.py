"""Task when2call through the whole machinery, with controls whose true values are known."""

from __future__ import annotations

import os
import signal
import threading
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import run
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.when2call.published import rough_length
from talm_sim.types import Summary

pytestmark = pytest.mark.usefixtures("tmp_path")


def played(tmp_path: Path, model: str, mode: Literal["logprob", "judge"] = "logprob", **options: Any) -> StoredRun:
    return run(RunConfig(task="when2call", model=model, mode=mode, run_dir=tmp_path), limit="12", **options)


def summary(stored: StoredRun) -> Summary:
    (found,) = stored.summary()
    return found


def value(found: Summary, name: str) -> float | None:
    measure = found.measure(name)
    assert measure is not None
    return measure.value


@pytest.mark.parametrize("mode", ["logprob", "judge"])
def test_the_oracle_is_right_and_its_f1_counts_the_empty_class(tmp_path: Path, mode: Literal["logprob", "judge"]) -> None:
    found = summary(played(tmp_path, "sim/oracle", mode))
    assert value(found, "accuracy") == 1.0
    if mode == "logprob":
        assert value(found, "macro_f1") == pytest.approx(0.75)
        assert value(found, "accuracy_norm") == 1.0


def test_eager_hallucinates_every_parameter_and_no_tool_where_all_items_show_some(tmp_path: Path) -> None:
    found = summary(played(tmp_path, "sim/eager"))
    rates = {one.head: one for one in found.measures if one.name.endswith("_hallucination")}
    assert {name: rate.value for name, rate in rates.items()} == {"tool": None, "parameter": 1.0, "answer": 0.0}


def test_long_items_come_first_and_those_with_the_same_tools_together(tmp_path: Path) -> None:
    scenarios = list(played(tmp_path, "sim/oracle").scenarios())
    sizes = [rough_length(scenario) for scenario in scenarios]
    assert sizes[0] == max(sizes)
    runs = [tools for tools, _ in groupby(scenario.shown_tools for scenario in scenarios)]
    assert len(runs) == len(set(runs)) < len(scenarios)


def test_what_a_template_cannot_write_is_said_before_the_run_exists(tmp_path: Path) -> None:
    template = tmp_path / "mine.jinja"
    template.write_text("{% macro prompt(question) %}{{ question.nothing }}{% endmacro %}{% macro tool_call(name) %}{{ name }}{% endmacro %}")
    with pytest.raises(PrerequisiteError, match=r"^scenario [\w-]+: .*mine\.jinja:1: macro 'prompt' failed"):
        played(tmp_path, "sim/oracle", template=str(template))
    assert list(tmp_path.iterdir()) == [template]


def test_ctrl_c_ends_a_template_that_loops(tmp_path: Path) -> None:
    template = tmp_path / "loops.jinja"
    loops = "{% set text = 'ab' * 200000 %}{% for a in range(99999) %}{% if text|upper|length == 1 %}{% endif %}{% endfor %}"
    template.write_text("{% macro prompt(question) %}" + loops + "{% endmacro %}{% macro tool_call(name) %}{{ name }}{% endmacro %}")
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            played(tmp_path, "sim/oracle", template=str(template))
    finally:
        timer.cancel()
    assert signal.getsignal(signal.SIGINT) == before
    assert list(tmp_path.iterdir()) == [template]
