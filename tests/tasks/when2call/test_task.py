"""What task `when2call` says of itself: its judges, the name of its recordings, how it reads and orders its items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import find_task
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.open_job import Recorded
from talm_sim.tasks.paper.paper_rows import OTHER
from talm_sim.types import Scenario
from tests.tables import labelled
from tests.tasks.views import View, job
from tests.tasks.when2call.choices import scenario

MODEL = "openai/gpt-4o"
TASK = find_task("when2call")


@labelled
def test_multiple_choice_needs_judges_only_for_free_answers(options: dict[str, Any], judges: tuple[str, ...]) -> None:
    assert TASK.judges(job("when2call", **options)) == tuple(judges)


@pytest.mark.parametrize(
    ("options", "key"), [({}, "eb0dcbc957a4"), ({"mode": "judge"}, "c9948638696a"), ({"template": "default"}, "8656c90ad03e")]
)
def test_the_name_of_a_recording_stays(options: dict[str, Any], key: str) -> None:
    """Recordings of users are found by it."""
    assert recording_key(job("when2call", model=MODEL, seed=1, **options)) == key


def test_a_template_file_counts_by_its_text_and_a_stray_one_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("one")
    made = job("when2call", model=MODEL, template=str(file))
    first = recording_key(made)
    file.write_text("two")
    assert recording_key(made) != first
    built_in = recording_key(job("when2call", model=MODEL, template="default"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "default").write_text("a file named like a style")
    assert recording_key(job("when2call", model=MODEL, template="default")) == built_in


def test_items_that_show_the_same_tools_stand_together_and_long_ones_first(tmp_path: Path) -> None:
    other = scenario("c", "cannot_answer", question="Short?")
    items = [scenario("a", question="A table?"), other, scenario("b", question="A table for four at Luna, please, this evening.")]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(item.model_dump_json() for item in items))
    loaded = TASK.load(job("when2call", scenarios=file))
    assert sorted(item.id for item in loaded) == ["a", "b", "c"]
    ids = [item.id for item in loaded if item.id != "c"]
    assert ids == ["b", "a"] and abs([item.id for item in loaded].index("a") - [item.id for item in loaded].index("b")) == 1


def test_a_chat_model_is_refused_before_anything_is_opened() -> None:
    recorded: Any = Recorded(None, {}, known=False)  # type: ignore[arg-type]
    with pytest.raises(PrerequisiteError, match=f"model '{MODEL}': gives no log-probabilities of given answers"):
        TASK.settle(job("when2call", model=MODEL, models=Traffic.LIVE), recorded)


def test_published_choices_leave_the_temperature_to_the_provider_and_need_mode_judge() -> None:
    recorded: Any = Recorded(None, {}, known=False)  # type: ignore[arg-type]
    with pytest.raises(PrerequisiteError, match="--choices published: concerns free answers; add --mode judge"):
        TASK.settle(job("when2call", model="hf/m", choices="published"), recorded)
    made = job("when2call", model=MODEL, mode="judge", choices="published")
    assert made.settings().temperature is None and made.having(temperature=0.3).settings().temperature == 0.3
    assert job("when2call", model=MODEL, mode="judge").settings().temperature == 0
    assert recording_key(made) != recording_key(job("when2call", model=MODEL, mode="judge"))


@pytest.mark.parametrize("mode", ["logprob", "judge"])
def test_published_rows_are_no_other_scenarios(mode: str) -> None:
    options = job("when2call", mode=mode)
    own, made = scenario("a"), scenario("b", url="https://example.org/made")

    def compared(scenarios: Sequence[Scenario]) -> str:
        beside = TASK.beside(View(options, (), scenarios))
        assert beside is not None
        return beside.compared

    assert compared([own, scenario("c")]) == "run here: 2 of its published rows; the models are the paper's"
    assert compared([own]) == "run here: 1 of its published rows; the models are the paper's"
    assert compared([own, made]) == compared([]) == OTHER
