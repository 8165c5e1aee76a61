"""Task when2call through the whole machinery, with controls whose true values are known."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import resume, run
from talm_sim.runs.events import EpisodeFinished, RunEvent
from talm_sim.runs.stored_run import StoredRun
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


def test_eager_hallucinates_every_tool_and_parameter(tmp_path: Path) -> None:
    found = summary(played(tmp_path, "sim/eager"))
    rates = {one.head: one for one in found.measures if one.name.endswith("_hallucination")}
    assert {name: rate.value for name, rate in rates.items()} == {"tool": 1.0, "parameter": 1.0, "answer": 0.0}
    assert all(rate.n for rate in rates.values())


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    class Stop(Exception): ...

    done: list[str] = []

    def stop_after_five(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished):
            done.append(event.episode_id)
            if len(done) == 5:
                raise Stop

    with pytest.raises(Stop):
        played(tmp_path, "sim/oracle", run_id="cut", on_event=stop_after_five)
    again: list[str] = []
    stored = resume(tmp_path / "cut", on_event=lambda event: again.append(event.episode_id) if isinstance(event, EpisodeFinished) else None)
    assert stored.finished == stored.total
    assert not set(done[:4]) & set(again), "what was finished is not done again"


def test_long_items_come_first_and_those_with_the_same_tools_together(tmp_path: Path) -> None:
    scenarios = list(played(tmp_path, "sim/oracle").scenarios())
    sizes = [rough_length(scenario) for scenario in scenarios]
    assert sizes[0] == max(sizes)
    runs = [tools for tools, _ in groupby(scenario.shown_tools for scenario in scenarios)]
    assert len(runs) == len(set(runs)) < len(scenarios)


def test_the_template_that_was_picked_is_kept(tmp_path: Path) -> None:
    assert played(tmp_path, "sim/oracle").job.options.template == "default"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "when2call", "human": "simulated"}, "human is an option of task talm or refusal, not of task when2call"),
        ({"task": "when2call", "perturb": ("http-500",)}, "perturb is an option of task talm, not of task when2call"),
        ({"mode": "judge"}, "mode is an option of task when2call, not of task talm"),
        ({"template": "qwen2.5"}, "template is an option of task when2call or refusal, not of task talm"),
        ({"task": "when2call", "split": "perfect"}, "unknown split 'perfect' of task when2call"),
        ({"task": "when2call", "template": "qwen"}, "qwen"),
        ({"task": "when2call", "models": "live", "model": "openai/m"}, "gives no log-probabilities of given answers"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object], message: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
    with pytest.raises(PrerequisiteError, match=message) as caught:
        run(**{"model": "sim/oracle", "run_dir": tmp_path, **options})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_run_can_be_made_inside_a_loop(tmp_path: Path) -> None:
    from talm_sim.runs.api import run_async

    stored = asyncio.run(run_async(RunConfig(task="when2call", model="sim/cautious", run_dir=tmp_path), limit="2"))
    assert stored.finished == stored.total


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
