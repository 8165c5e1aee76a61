"""What a configuration holds, and what none may: it is written into the run as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ValidationError

from talm_sim.config import DEFAULT_MODEL, RunConfig, Scope, is_constrained, parse_limit, scope_of
from talm_sim.errors import OptionError, PrerequisiteError
from talm_sim.runs.judging import check_judges
from talm_sim.runs.resolve import load_config
from talm_sim.tasks import find_task, job_of
from tests.growth import check_growth


@pytest.mark.parametrize(
    "key",
    [
        "api_key",
        "apikey",
        "api-key",
        "x-api-key",
        "api.key",
        "Api_Key",
        "token",
        "key",
        "auth",
        "access-token",
        "bearer",
        "pwd",
        "passwd",
        "hf_token",
        "default_Authorization",
        "client_secret",
        "auth_token",
    ],
)
def test_a_secret_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(
        PrerequisiteError, match=f"--model-options: '{re.escape(key)}' would be written into the run; .* environment variables"
    ) as caught:
        load_config(environ={}, model_options={key: "hunter2"})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(PrerequisiteError, match="would be written"):
        load_config(environ={"TALM_SIM_MODEL_OPTIONS": f"{key}=hunter2"})
    with pytest.raises(PrerequisiteError, match="would be written"):
        RunConfig(model_options={key: "hunter2"})


@pytest.mark.parametrize("key", ["extra_headers", "default_headers", "extra_query", "extra_body", "metadata"])
@pytest.mark.parametrize(
    "inside", [{"Authorization": "hunter2"}, {"deep": [{"x-api-key": "hunter2"}]}, {"a": "Bearer hunter2hunter"}, {"api-key": ["hunter2"]}]
)
def test_a_secret_within_an_option_is_refused(key: str, inside: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match=f"'{key}' contains .*, which would be written into the run") as caught:
        load_config(environ={}, model_options={key: json.dumps(inside)})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["Authorization: hunter2", "{'Authorization': 'hunter2'}", "x-api-key=hunter2"])
def test_a_line_of_a_header_is_refused(text: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"'extra_headers' contains '.*', which would be written"):
        load_config(environ={}, model_options={"extra_headers": text})


def test_a_secret_is_known_by_its_value_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "value-of-mine-1")
    for value in ("value-of-mine-1", '["x", "value-of-mine-1"]', "sk-abcdefghij0123456789", "http://me:pass1@proxy"):
        with pytest.raises(PrerequisiteError, match="'user' contains what looks like a credential, which would be written"):
            load_config(environ={}, model_options={"user": value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, "1") for key in ("max_tokens_field", "eos_token", "top_p", "tokenizer", "max_tokens", "max_completion_tokens", "eos_token_id")),
        ("use_auth", "x"),
        ("user", "me"),
        ("token", "false"),
        ("prompt_cache_key", "abc"),
        ("extra_body", '{"user": "me", "eos_token": "x", "max_tokens": 5, "use_auth_token": true, "token": {"type": "string"}}'),
        ("extra_headers", '{"X-Trace": "on"}'),
        ("stop", "Token: x"),
    ],
)
def test_other_options_pass(key: str, value: str) -> None:
    assert load_config(environ={}, model_options={key: value}).model_options == {key: value}


@pytest.mark.parametrize("options", [{"timeout": "inf"}, {"temperature": "nan"}, {"timeout": 0}, {"temperature": 2.1}, {"max_connections": -1}])
def test_a_number_out_of_bounds_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match=f"{next(iter(options))}: .* (no number|too large|too small|finite)"):
        load_config(environ={}, **options)


def test_the_place_an_unfit_option_came_from_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"^TALM_SIM_HUMAN is an option of task talm or refusal, not of task when2call"):
        load_config(environ={"TALM_SIM_HUMAN": "simulated"}, task="when2call")
    file = tmp_path / "c.toml"
    file.write_text('task = "when2call"\nhuman = "simulated"\n')
    with pytest.raises(PrerequisiteError, match=r"c\.toml: human is an option of task talm or refusal, not of task when2call"):
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
    with pytest.raises(PrerequisiteError, match=r"^TALM_SIM_MODEL_OPTIONS: 'device' is not an option; write KEY=VALUE\.$"):
        load_config(environ={"TALM_SIM_MODEL_OPTIONS": "threads=1,device"})


def test_a_name_that_is_no_field_is_the_tasks_own() -> None:
    config = RunConfig(split="perfect", human="simulated", turn_limit=9, options={"turn_limit": 3, "perturb": ["mask"]})
    assert config.options == {"human": "simulated", "turn_limit": 9, "perturb": ["mask"]}, "what is given flat goes over the table"
    assert RunConfig(**config.model_dump()) == RunConfig.model_validate_json(config.model_dump_json()) == config
    assert RunConfig(nonsense=1).options == {"nonsense": 1}, "the task says that it is none"
    with pytest.raises(OptionError, match="options"):
        RunConfig(options=3, human="none")
    with pytest.raises(ValidationError, match="frozen"):
        config.split = "all"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("model", "tool_format", "constrained"),
    [
        (DEFAULT_MODEL, "auto", True),
        ("hf/smollm2-135m", "auto", True),
        ("openai/gpt-4o", "auto", False),
        ("openai/gpt-4o", "constrained", True),
        (DEFAULT_MODEL, "native", False),
    ],
)
def test_a_weak_model_acts_constrained_unless_told_otherwise(
    model: str, tool_format: Literal["auto", "native", "constrained"], constrained: bool
) -> None:
    assert RunConfig(model=model, tool_format=tool_format).constrained is constrained
    assert is_constrained(model, tool_format) is constrained


@pytest.mark.parametrize("options", [RunConfig, *(find_task(name).options for name in ("talm", "when2call", "awareness", "refusal"))])
def test_every_option_has_a_scope_and_says_what_it_is(options: type[BaseModel]) -> None:
    for name, field in options.model_fields.items():
        assert scope_of(options, name) in Scope
        assert name == "options" or field.description, name


@pytest.mark.parametrize("text", ["0", "-3", "3-2", "a", "1-b", "", "0-4"])
def test_a_limit_that_selects_nothing_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"is not a limit: write a number|selects nothing"):
        RunConfig(limit=text)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_limit_is_a_range_that_counts_from_one(first: int, more: int) -> None:
    assert parse_limit(f"{first}") == (0, first)
    assert parse_limit(f"{first}-{first + more}") == (first - 1, first + more)
    assert RunConfig(limit=first).limit == str(first)


@pytest.mark.parametrize("field", ["model", "judge_model"])
def test_a_model_needs_its_provider(field: str) -> None:
    with pytest.raises(OptionError, match="'gpt-4o' is not a model name: use PROVIDER/NAME"):
        RunConfig(**{field: "gpt-4o"})


@pytest.mark.parametrize("piece", ["_", "a-", "a  ", "x = "])
def test_a_long_option_of_the_provider_is_read_in_step_with_its_length(piece: str) -> None:
    check_growth(lambda text: RunConfig(model_options={"extra_headers": text}), lambda size: piece * (size // len(piece)), 2**14)
