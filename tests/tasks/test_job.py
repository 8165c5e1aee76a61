"""A configuration as its task reads it."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from talm_sim.config import GEN, OPE, SCO, RunConfig, Scope, Traffic, option
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import TASKS, Job, SingleStepTask, TaskOptions, job_of, register_task
from talm_sim.tasks.keys import recording_key
from tests.tables import labelled
from tests.tasks.views import job


class Options(TaskOptions):
    depth: int = option(2, GEN, "How deep.", ge=1)
    strict: bool = option(False, SCO, "How strict.")
    color: str = option("red", OPE, "Which color.")


class Toy(SingleStepTask[Options]):
    name = "toy"
    options = Options
    splits: ClassVar = {"all": ("one", "two"), "second": ("two",)}
    defaults: ClassVar = {"temperature": 0.5, "max_new_tokens": 7}

    def request(self, scenario: Any, job: Any) -> Any: ...
    def rows(self, run: Any) -> Any: ...
    def summarize(self, rows: Any, run: Any) -> Any: ...


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("_registered", "_modules"):
        monkeypatch.setattr(TASKS, store, dict(getattr(TASKS, store)))
    register_task(Toy)


def toy(**options: Any) -> Job[Options]:
    return job("toy", **options)


def test_the_task_decides_what_is_left_out() -> None:
    assert [getattr(toy().settings(), name) for name in ("temperature", "max_new_tokens", "seed")] == [0.5, 7, 0]
    assert [getattr(toy(temperature=0, max_new_tokens=9, seed=4).settings(), one) for one in ("temperature", "max_new_tokens", "seed")] == [
        0,
        9,
        4,
    ]
    assert job("talm").settings().temperature == 1.0 and job("when2call").settings().temperature == 0.0


def test_other_values_go_where_they_belong() -> None:
    made = toy(depth=3)
    other = made.having(tools=Traffic.REPLAY, strict=True, seed=4)
    assert (other.config.tools, other.config.seed, other.options) == (Traffic.REPLAY, 4, Options(depth=3, strict=True))
    assert other.config.options == {"depth": 3, "strict": True, "color": "red"}, "what is stored says every option's value"
    assert (made.config.tools, made.options.strict) == (None, False), "the job before stays what it was"
    assert job_of(other.config) == other
    assert job_of(RunConfig.model_validate_json(other.config.model_dump_json())) == other
    with pytest.raises(TypeError, match="'dephth' is not an option of task toy"):
        made.having(dephth=3)


@pytest.mark.parametrize(
    ("name", "scope"),
    [("depth", GEN), ("strict", SCO), ("color", OPE), ("seed", GEN), ("judge", SCO), ("timeout", OPE), ("options", GEN)],
)
def test_the_scope_of_any_option(name: str, scope: Scope) -> None:
    assert toy().scope_of(name) is scope


@labelled
def test_what_is_wrong_is_one_line_that_begins_with_the_options_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        job_of(RunConfig(**{"task": "toy", **options}))
    assert "\n" not in str(caught.value)


def test_what_shapes_a_request_names_its_recording() -> None:
    """All of the task's own options of scope generation, and no other."""
    key = recording_key(toy())
    assert {recording_key(toy(**more)) for more in ({"strict": True}, {"color": "blue"}, {"judge": ("a",)}, {"temperature": 0.5})} == {key}
    assert len({key, *(recording_key(toy(**more)) for more in ({"depth": 3}, {"seed": 1}, {"temperature": 0.4}, {"model": "a/b"}))}) == 5
    assert toy().task.key(toy(depth=4)) == {"task": "toy", "depth": 4}
