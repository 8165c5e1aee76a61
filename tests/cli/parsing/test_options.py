"""Options made from fields: what a command line, the environment and a TOML file give, and what the help page says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from talm_sim.cli.parsing.options import ConfigCommand, parse_config
from talm_sim.common.typed_options import OptionsModel
from talm_sim.config import RunConfig, Traffic, has_flag
from talm_sim.tasks import find_task, job_of
from talm_sim.tasks.registry import TASKS
from tests.offered import bring_along

Talm = Callable[..., tuple[int, str, str]]
OPTIONS = {name: find_task(name).options for name in ("talm", "when2call", "awareness", "refusal")}
TALM, CHOICES = OPTIONS["talm"], OPTIONS["when2call"]
SHARED = [name for name in RunConfig.model_fields if name != "options"]
COLOURS = '''
from talm_sim import Scope, SingleStepTask, TaskOptions, option, register_task


class ColourOptions(TaskOptions):
    shade: str = option("dark", Scope.GENERATION, "Which shade.")


@register_task
class Colours(SingleStepTask[ColourOptions]):
    """Colours."""

    name, about, options, splits = "colours", "Which colour?", ColourOptions, {"all": ("all",)}
    request = rows = summarize = None
'''


def flags_of(model: type[OptionsModel]) -> list[str]:
    return [flag_of(model, name) for name in model.model_fields if has_flag(model, name)]


def flag_of(model: type[OptionsModel], name: str) -> str:
    """The flag that says something: what is so by default has one that denies it."""
    return f"--{'no-' if model.model_fields[name].default is True else ''}{name.replace('_', '-')}"


def parse(*arguments: str) -> RunConfig:
    """The config a command line gives; errors are raised."""
    got: list[RunConfig] = []

    @click.command(cls=ConfigCommand)
    def command(**options: Any) -> None:
        got.append(parse_config(options))

    command.main(list(arguments), standalone_mode=False)
    return got[0]


def own(config: RunConfig) -> Any:
    """The task's own options, as it reads them."""
    return job_of(config).options


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SHARED, *TALM.model_fields, *CHOICES.model_fields):
        monkeypatch.delenv(f"TALM_SIM_{name.upper()}", raising=False)


def test_every_field_has_its_help_and_default_on_the_page_or_in_the_list(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    page, listed = (" ".join(talm(*words)[1].split()) for words in (("run", "--help-all"), ("config", "list")))
    for model in (RunConfig, TALM):
        for name, field in model.model_fields.items():
            if name != "options":
                assert field.description
                where = page if has_flag(model, name) else listed
                assert (flag_of(model, name) if has_flag(model, name) else name) in where
                assert " ".join(field.description.split()) in where
    assert "or by its name in --config; talm-sim config list shows those that have no flag." in page
    assert "--options" not in page and "options" not in listed.split()
    assert "default: the recorded one" in page and "default: 600" in listed


WITHOUT_FLAG = [
    ("run --prompts=a.toml", '--prompts is set in the file of --config (prompts = "a.toml"), or as TALM_SIM_PROMPTS'),
    ("run --max-connections 3", "--max-connections is set in the file of --config (max_connections = 3), or as TALM_SIM_MAX_CONNECTIONS"),
    ("run --category a --category b", '--category is set in the file of --config (category = ["a", "b"]), or as TALM_SIM_CATEGORY'),
    ("ablate --over seed=1 --turn-limit 3", "--turn-limit is set in the file of --config (turn_limit = 3), or as TALM_SIM_TURN_LIMIT"),
    ("resume a-run --timeout 3", "--timeout is set as TALM_SIM_TIMEOUT"),
]


def test_an_option_without_a_flag_is_refused_with_where_it_is_set(stored: Path, talm: Talm) -> None:
    assert {words: talm(*words.split()) for words, _ in WITHOUT_FLAG} == {
        words: (2, "", f"talm-sim: error: {said}\n") for words, said in WITHOUT_FLAG
    }


@pytest.mark.parametrize("task", list(OPTIONS))
def test_the_help_page_of_run_fits_a_screen_and_shows_the_common_options(task: str, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, page, err = talm("run", "--help", *(() if task == "talm" else ("--task", task)))
    assert (code, err) == (0, "")
    lines = page.splitlines()
    assert len(lines) <= 51, "an option more is marked as rare, or another one is"
    assert max(map(len, lines)) <= 80
    assert {"--task", "--split", "--limit", "--model", "--judge", "--dry-run", "--live|--replay|--record"} <= set(page.split())
    first = {line.split()[0] for line in lines if line.startswith("  --")}
    assert not {"--shard", "--display", "--writing", "--help", "--help-all"} & first
    assert "These are the common options; talm-sim run --help-all shows every one." in lines


@pytest.mark.parametrize("task", list(OPTIONS))
def test_help_all_shows_every_shared_option_and_those_of_one_task(task: str, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, page, err = talm("run", "--help-all", *(() if task == "talm" else ("--task", task)))
    assert (code, err) == (0, "")
    lines = page.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("  -") for line in lines) <= 49, "an option more is set in a file, or another one is"
    words = [word for line in lines for word in line[:28].replace("|", " ").replace(",", " ").split()]
    for flag in (
        *flags_of(RunConfig),
        *flags_of(OPTIONS[task]),
        "--dry-run",
        "--config",
        "--live",
        "--replay",
        "--record",
        "--help",
        "--help-all",
    ):
        assert words.count(flag) == 1, flag
    others = {flag for options in OPTIONS.values() for flag in flags_of(options)}
    assert not (others - {*flags_of(OPTIONS[task])}) & set(words)
    assert f"Task {task}:" in lines and sum(line.startswith("Task ") for line in lines) == 1


@pytest.mark.parametrize("arguments", [["run"], ["ablate"], ["judge", "a-run"], ["resume", "a-run"]])
def test_every_command_with_a_runs_options_has_both_pages(arguments: list[str], stored: Path, talm: Talm) -> None:
    short, long = talm(*arguments, "--help"), talm(*arguments, "--help-all")
    assert (short[0], long[0], short[2], long[2]) == (0, 0, "", "")
    assert "--help-all shows every one." in short[1] and "--help-all shows" not in long[1]
    assert "--display" not in short[1] and "--display" in long[1]
    closing = next(line for line in short[1].splitlines() if line.startswith("These are"))
    assert {*short[1].replace(closing, "").split()} < {*long[1].split()}


def test_the_environment_and_a_file_choose_the_task_of_the_help_page(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.toml"
    file.write_text('task = "when2call"\n', encoding="utf-8")
    assert "Task when2call:" in talm("run", "--config", str(file), "--help")[1]
    monkeypatch.setenv("TALM_SIM_TASK", "when2call")
    assert "--mode MODE" in talm("run", "--help")[1]
    assert "--mode MODE" not in talm("run", "--task", "talm", "--help")[1]


def test_values_of_every_kind() -> None:
    config = parse(
        *("--split", "no-tools", "--epochs", "3", "--temperature", "0.5", "--human", "none", "--live", "--controls"),
        *("--perturb", "http-500", "--perturb", "timeout:seconds=2", "-M", "a=1", "--model-options", "b=x=y", "--cassettes", "tests"),
    )
    assert (config.split, config.epochs, config.temperature, own(config).human, config.controls) == ("no-tools", 3, 0.5, "none", True)
    assert config.tools is Traffic.LIVE
    assert own(config).perturb == ("http-500", "timeout:seconds=2")
    assert config.model_options == {"a": "1", "b": "x=y"}
    assert config.cassettes == Path("tests")


def test_two_traffic_flags_exclude_each_other() -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        parse("--live", "--record")


def test_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.toml"
    file.write_text('split = "perfect"\nepochs = 2\nturn-limit = 7\nperturb = ["timeout"]\n', encoding="utf-8")
    monkeypatch.setenv("TALM_SIM_EPOCHS", "3")
    monkeypatch.setenv("TALM_SIM_SPLIT", "no-tools")
    config = parse("--config", str(file), "--split", "underspecified")
    found = own(config)
    assert (config.split, config.epochs, found.turn_limit, found.perturb) == ("underspecified", 3, 7, ("timeout",))


def test_a_table_of_the_file_holds_the_options_of_the_task_it_is_named_after(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('epochs = 2\n[talm]\nhuman = "simulated"\nturn-limit = 7\n[when2call]\nmode = "judge"\n', encoding="utf-8")
    config = parse("--config", str(file), "--human", "none")
    assert (config.epochs, own(config).human, own(config).turn_limit) == (2, "none", 7)
    assert own(parse("--config", str(file), "--task", "when2call")).mode == "judge"


def test_a_plugin_that_cannot_be_imported_is_one_line_wherever_a_run_is_read(stored: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    verbs = ("report", "show", "judge", "resume")
    said = "talm-sim: error: --plugin no_such_module: cannot be imported: ModuleNotFoundError"
    got = {verb: talm(verb, "a-run", "--plugin", "no_such_module") for verb in verbs}
    assert {verb: (code, out, err.count("\n"), err[: len(said)]) for verb, (code, out, err) in got.items()} == dict.fromkeys(
        verbs, (2, "", 1, said)
    )
    monkeypatch.setenv("TALM_SIM_PLUGIN", "json,no_such_module")
    assert all("TALM_SIM_PLUGIN no_such_module: cannot be imported" in talm(verb, "a-run")[2] for verb in verbs)


def test_a_plugins_task_has_its_options_on_the_page(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, COLOURS):
        page = talm("run", "--task", "colours", "--plugin=brought_along", "--help")[1]
        assert "--shade SHADE  Which shade.  [default: dark]" in page and "--human" not in page
        monkeypatch.setenv("TALM_SIM_SHADE", "light")
        assert own(parse("--task", "colours")).shade == "light"
        code, _, err = talm("run", "--shade", "light")
        assert code == 2 and "option of task colours, not of task talm" in err


NOT_OF_A_STORED_RUN = [
    (
        ["resume", "a-run", "--epochs", "3"],
        "--epochs is fixed when a run is made; to use another value, start a new run with: talm-sim run",
    ),
    (["resume", "a-run", "--human", "none"], "--human is fixed when a run is made; to use another value, start a new run"),
    (["resume", "a-run", "--judge", "llm"], "--judge is fixed when a run is judged; to use another value: talm-sim judge RUN"),
    (["judge", "a-run", "--split", "perfect"], "--split is fixed when a run is made;"),
    (["judge", "a-run", "--mode", "judge"], "--mode is an option of task when2call; the run is of task talm."),
    (["judge", "a-run", "--nonsense"], "No such option '--nonsense'."),
    (["judge", "a-run", "--judge", "behaviour"], "--judge behaviour: judges task when2call, not task talm; choose among reference, llm,"),
    (["judge", "a-run", "--judge", "nope"], "--judge: unknown judge 'nope'. Known: reference, "),
    (["judge", "a-run", "--paired-run", "nope"], "paired_run: nope: no such run. Known: a-run."),
    (["judge", "a-run", "--judge-model", "nope"], "--judge-model: 'nope' is not a model name: use PROVIDER/NAME"),
]


def test_what_a_stored_run_does_not_take(stored: Path, talm: Talm) -> None:
    missed = []
    for arguments, message in NOT_OF_A_STORED_RUN:
        code, out, err = talm(*arguments)
        if (code, out, err.count("\n")) != (2, "", 1) or not err.startswith(f"talm-sim: error: {message}"):
            missed.append((arguments, code, out, err))
    assert missed == []
