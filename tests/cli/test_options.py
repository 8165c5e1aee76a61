from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from talm_sim.cli.options import ConfigCommand, ConfigOption, collect, config_options, load_config
from talm_sim.config import RunConfig, Scope, Traffic, scope_of
from talm_sim.errors import PrerequisiteError

SCOPED = {name: scope_of(name) for name in RunConfig.model_fields}


def parse(*arguments: str) -> RunConfig:
    """The config a command line gives; errors are raised."""
    got: list[RunConfig] = []

    @click.command(cls=ConfigCommand)
    @config_options()
    def command(**options: Any) -> None:
        got.append(load_config(options))

    command.main(list(arguments), standalone_mode=False)
    return got[0]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RunConfig.model_fields:
        monkeypatch.delenv(f"TALM_SIM_{name.upper()}", raising=False)


def test_nothing_given_is_the_default_config() -> None:
    assert parse() == RunConfig()


def test_every_field_has_an_option_that_names_its_variable_and_default() -> None:
    @click.command(cls=ConfigCommand)
    @config_options()
    def command(**options: Any) -> None: ...

    page = " ".join(CliRunner().invoke(command, ["--help"], terminal_width=200).output.split())
    for name, field in RunConfig.model_fields.items():
        assert f"--{name.replace('_', '-')}" in page
        assert f"TALM_SIM_{name.upper()}" in page
        assert field.description is not None
        assert " ".join(field.description.split()) in page
    assert "default: openai-api/vllm/smollm2-135m" in page
    assert "default: 5" in page


def test_values_of_every_kind() -> None:
    config = parse(
        *("--split", "no-tools", "--epochs", "3", "--temperature", "0.5", "--human", "none", "--tools", "live", "--controls"),
        *("--perturb", "http-500", "--perturb", "slow:s=2", "-M", "a=1", "--model-options", "b=x=y", "--cassettes", "dir"),
    )
    assert (config.split, config.epochs, config.temperature, config.human, config.controls) == ("no-tools", 3, 0.5, "none", True)
    assert config.tools is Traffic.LIVE
    assert config.perturb == ("http-500", "slow:s=2")
    assert config.model_options == {"a": "1", "b": "x=y"}
    assert config.cassettes == Path("dir")


@pytest.mark.parametrize("traffic", list(Traffic))
def test_a_traffic_flag_sets_both(traffic: Traffic) -> None:
    config = parse(f"--{traffic.value}")
    assert (config.tools, config.models) == (traffic, traffic)


def test_a_traffic_flag_gives_way_to_the_single_option() -> None:
    config = parse("--replay", "--tools", "live")
    assert (config.tools, config.models) == (Traffic.LIVE, Traffic.REPLAY)


def test_two_traffic_flags_exclude_each_other() -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        parse("--live", "--record")


def test_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.toml"
    file.write_text('split = "perfect"\nepochs = 2\nturn-limit = 7\nperturb = ["timeout"]\n', encoding="utf-8")
    monkeypatch.setenv("TALM_SIM_EPOCHS", "3")
    monkeypatch.setenv("TALM_SIM_SPLIT", "no-tools")
    config = parse("--config", str(file), "--split", "underspecified")
    assert (config.split, config.epochs, config.turn_limit, config.perturb) == ("underspecified", 3, 7, ("timeout",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split", "underspecifed"], "--split: unknown split 'underspecifed' of task talm. Did you mean 'underspecified'?"),
        (["--limit", "0"], "--limit: limit '0' selects nothing"),
        (["--model", "gpt-4o"], "--model: 'gpt-4o' is no model"),
        (["--config", "missing.toml"], "missing.toml: cannot be read: No such file or directory; --config needs a TOML file."),
        (["--epochs", "0"], "--epochs: "),
    ],
)
def test_a_wrong_value_names_its_option(arguments: list[str], message: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        parse(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_SEED", "seven")
    with pytest.raises(PrerequisiteError, match=r"^TALM_SIM_SEED: "):
        parse()


def test_a_pair_without_equals_is_refused() -> None:
    with pytest.raises(click.UsageError, match="'thinking' is no K=V pair"):
        parse("-M", "thinking")


def test_options_of_one_scope_only() -> None:
    @click.command()
    @config_options([Scope.SCORING], without=("paired_run",))
    def command(**options: Any) -> None: ...

    names = {param.name for param in command.params if isinstance(param, ConfigOption)}
    assert names == {name for name, scope in SCOPED.items() if scope is Scope.SCORING} - {"paired_run"} | {"config"}


def test_a_command_on_a_stored_run_reads_variables_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[dict[str, Any]] = []

    @click.command()
    @config_options([Scope.SCORING, Scope.OPERATIONAL], stored=True)
    def command(**options: Any) -> None:
        got.append(collect(options))

    monkeypatch.setenv("TALM_SIM_JUDGE", "llm,reference")
    monkeypatch.setenv("TALM_SIM_DISPLAY", "none")
    monkeypatch.setenv("TALM_SIM_SPLIT", "perfect")
    command.main(["--timeout", "3"], standalone_mode=False)
    assert got == [{"judge": ("llm", "reference"), "display": "none", "timeout": 3.0}]
