"""What no configuration may hold: it is written into the run as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.judging import check_judges
from talm_sim.runs.resolve import load_config
from talm_sim.tasks import job_of


@pytest.mark.parametrize("key", ["api_key", "apikey", "default_Authorization", "client_secret", "auth_token"])
def test_a_secret_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"--model-options: '{key}' would be written into the run") as caught:
        load_config(environ={}, model_options={key: "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["max_tokens_field", "eos_token", "top_p", "tokenizer"])
def test_other_options_pass(key: str) -> None:
    assert load_config(environ={}, model_options={key: "1"}).model_options == {key: "1"}


@pytest.mark.parametrize("options", [{"timeout": "inf"}, {"temperature": "nan"}, {"timeout": 0}, {"temperature": 2.1}, {"max_retries": -1}])
def test_a_number_out_of_bounds_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match=f"--{next(iter(options)).replace('_', '-')}: Input should be"):
        load_config(environ={}, **options)


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"human": "simulated"}, "human"),
        ({"turn_limit": 9}, "turn-limit"),
        ({"token_limit": 9}, "token-limit"),
        ({"perturb": ("mask",)}, "perturb"),
    ],
)
def test_what_a_task_cannot_use_is_refused(options: dict[str, Any], flag: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^--{flag} is an option of task talm, not of task when2call; leave it out"):
        load_config(environ={}, task="when2call", **options)


def test_the_place_an_unfit_option_came_from_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"^TALM_SIM_HUMAN is an option of task talm, not of task when2call"):
        load_config(environ={"TALM_SIM_HUMAN": "simulated"}, task="when2call")
    file = tmp_path / "c.toml"
    file.write_text('task = "when2call"\nhuman = "simulated"\n')
    with pytest.raises(PrerequisiteError, match=r"c\.toml: human is an option of task talm, not of task when2call"):
        load_config(file, environ={})


@pytest.mark.parametrize(("task", "owner", "judge"), [("when2call", "talm", "reference"), ("talm", "when2call", "behaviour")])
def test_a_judge_of_another_task_is_refused(task: str, owner: str, judge: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^--judge {judge}: judges task {owner}, not task {task}; choose among "):
        check_judges(job_of(load_config(environ={}, task=task, judge=(judge,))))
    assert load_config(environ={}, task=task, judge=("mine",)).judge == ("mine",)


def test_numbers_in_a_file_need_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("limit = 3\n[model_options]\nbatch_size = 2\ntop_p = 0.5\nkeep = true\n")
    config = load_config(file, environ={})
    assert (config.limit, config.model_options) == ("3", {"batch_size": "2", "top_p": "0.5", "keep": "true"})


def test_a_pair_in_the_environment_needs_its_equals_sign() -> None:
    with pytest.raises(PrerequisiteError, match=r"^TALM_SIM_MODEL_OPTIONS: 'device' is no K=V pair\.$"):
        load_config(environ={"TALM_SIM_MODEL_OPTIONS": "threads=1,device"})
