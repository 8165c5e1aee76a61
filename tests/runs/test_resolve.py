from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from talm_sim.config import RunConfig, Scope, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import CassetteLibrary
from talm_sim.runs.plan import settle_automatic
from talm_sim.runs.resolve import check_environment, configure, load_config, override
from talm_sim.tasks import Job, Recorded, find_task, job_of
from talm_sim.types import ToolSpec


class Library:
    def has_tools(self, groups: Iterable[str]) -> bool:
        return set(groups) <= {"perfect", "underspecified"}

    def has_model(self, model: str, groups: Iterable[str]) -> bool:
        return model == "openai/known" and self.has_tools(groups)

    def has_conversation(self, *which: object) -> bool:
        return False

    def settings(self, model: str) -> dict[str, Any]:
        return {}

    def tool_specs(self) -> dict[str, ToolSpec]:
        return {}


def settle(job: Job[Any]) -> Job[Any]:
    known = job.config.scenarios is None or job.config.cassettes is not None
    return settle_automatic(job, Recorded(cast(CassetteLibrary, Library()), dict.fromkeys(job.groups, "one"), known))


LIVE, REPLAY, RECORD = Traffic.LIVE, Traffic.REPLAY, Traffic.RECORD


@pytest.mark.parametrize(
    ("options", "models", "tools", "human"),
    [
        ({"model": "openai/known"}, REPLAY, REPLAY, "recorded"),
        ({"model": "openai/known", "human": "none"}, REPLAY, REPLAY, "none"),
        ({"model": "openai/known", "models": LIVE}, LIVE, LIVE, "none"),
        ({"model": "openai/known", "split": "unavailable"}, LIVE, LIVE, "none"),
        ({"model": "openai/known", "split": "no-tools"}, LIVE, LIVE, "none"),
        ({"model": "openai/other"}, LIVE, LIVE, "none"),
        ({"model": "openai/other", "tools": REPLAY}, LIVE, REPLAY, "none"),
        ({"model": "openai/other", "models": REPLAY, "tools": REPLAY}, REPLAY, REPLAY, "recorded"),
        ({"model": "sim/oracle"}, None, LIVE, "none"),
        ({"model": "sim/oracle", "models": REPLAY, "tools": LIVE}, None, LIVE, "none"),
        ({"model": "openai/known", "scenarios": Path("mine.jsonl")}, LIVE, LIVE, "none"),
        ({"model": "openai/known", "scenarios": Path("mine.jsonl"), "cassettes": Path("c")}, REPLAY, REPLAY, "recorded"),
    ],
)
def test_automatic_values(options: dict[str, Any], models: Traffic | None, tools: Traffic, human: str) -> None:
    resolved = settle(job_of(RunConfig(**{"split": "perfect", **options})))
    assert (resolved.config.models, resolved.config.tools, resolved.options.human) == (models, tools, human)
    assert resolved.config.options["human"] == human, "what is stored says every option's value"
    assert settle(resolved) == resolved


def test_new_recordings_do_not_go_among_the_shipped_ones() -> None:
    assert settle(job_of(RunConfig(models=RECORD))).config.cassettes == Path("recordings")
    assert settle(job_of(RunConfig(models=RECORD, cassettes=Path("c")))).config.cassettes == Path("c")


def test_options_go_over_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_SEED", "7")  # the environment is the command line's, not the library's
    base = RunConfig(split="perfect", epochs=3, human="simulated")
    assert configure(base, {"epochs": 2}).config == RunConfig(split="perfect", epochs=2, human="simulated")
    assert configure(base, {"human": "none"}).options.human == "none"
    assert configure(None, {}).config == RunConfig(task="talm")
    with pytest.raises(PrerequisiteError, match=r"unknown option '--epoch'\. Did you mean '--epochs'\?"):
        configure(base, {"epoch": 2})
    with pytest.raises(PrerequisiteError, match=r"--epochs: 0 is too small; the least is 1\."):
        configure(base, {"epochs": 0})
    with pytest.raises(PrerequisiteError, match=r"^turn_limit: 0 is too small; the least is 1\."):
        configure(base, {"turn_limit": 0})


def test_another_task_does_not_take_over_the_options_of_the_first() -> None:
    changed = configure(RunConfig(human="simulated", seed=3), {"task": "when2call", "mode": "judge"})
    assert (changed.task.name, changed.options.mode, changed.config.seed) == ("when2call", "judge", 3)
    with pytest.raises(
        PrerequisiteError, match=r"^--human is an option of task talm or refusal, not of task when2call; leave it out, or add --task"
    ):
        configure(RunConfig(task="when2call"), {"human": "none"})
    with pytest.raises(PrerequisiteError, match=r"^--task: unknown task 'when2cal'\. Did you mean 'when2call'\?$"):
        configure(None, {"task": "when2cal"})


def test_a_resume_may_change_how_but_not_what() -> None:
    job = job_of(RunConfig(split="perfect", temperature=0.5))

    def change(**options: Any) -> Job[Any]:
        return override(job, options, {Scope.OPERATIONAL}, verb="resume", otherwise="start a new run.")

    assert change(max_episodes=3, split=None).config.max_episodes == 3
    assert change(temperature=0.5).config == job.config.model_copy(update={"task": "talm"})
    with pytest.raises(PrerequisiteError, match=r"^resume: --temperature would change from '0.5' to '1.0'; start a new run\.$"):
        change(temperature=1.0)
    with pytest.raises(PrerequisiteError, match=r"^resume: --perturb would change from none to 'http-500'; start a new run\.$"):
        change(perturb=("http-500",))
    with pytest.raises(PrerequisiteError, match=r"^resume: --judge would change"):
        change(judge=("reference",))


# --- load_config ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def toml(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        file = tmp_path / "c.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(("name", "default", "values"), [("epochs", 1, (2, 3, 4)), ("turn_limit", None, (6, 7, 8))])
def test_a_later_place_outdoes_an_earlier_one(toml: Any, name: str, default: int, values: tuple[int, int, int]) -> None:
    file, environ = toml(f"{name} = {values[0]}"), {f"TALM_SIM_{name.upper()}": str(values[1])}

    def found(*where: Any, **options: Any) -> int:
        job = job_of(load_config(*where, **options))
        value: int = getattr(job.config if name in RunConfig.model_fields else job.options, name)
        return value

    assert found(None, {}) == default
    assert found(file, {}) == values[0]
    assert found(file, environ) == values[1]
    assert found(file, environ, **{name: values[2]}) == values[2]
    assert found(file, environ, **{name: None}) == values[1], "None is not given"


def test_a_tasks_own_table_and_flat_keys_mean_the_same(toml: Any) -> None:
    flat = load_config(toml('human = "simulated"\nturn-limit = 3\nmax-episodes = 2\n'), {})
    assert load_config(toml('max_episodes = 2\n[talm]\nhuman = "simulated"\nturn_limit = 3\n'), {}) == flat
    assert flat.options == {"human": "simulated", "turn_limit": 3}
    assert load_config(toml('human = "none"\n[talm]\nhuman = "simulated"\n'), {}).options == {"human": "simulated"}


def test_the_table_of_another_task_is_left_alone(toml: Any) -> None:
    file = toml('seed = 4\n[when2call]\nmode = "judge"\n[talm]\nhuman = "none"\n')
    assert load_config(file, {}).options == {"human": "none"}
    other = load_config(file, {}, task="when2call")
    assert (other.options, other.seed) == ({"mode": "judge"}, 4)


@pytest.mark.parametrize(("named", "found"), [((None, None), "talm"), ((None, "when2call"), "when2call"), (("talm", "when2call"), "talm")])
def test_the_task_is_taken_from_the_highest_place(toml: Any, named: tuple[str | None, str | None], found: str) -> None:
    given, environ = named
    where = {"TALM_SIM_TASK": environ} if environ else {}
    assert load_config(None, where, task=given).task == found
    other = "talm" if found == "when2call" else "when2call"
    assert load_config(toml(f'task = "{other}"'), where, task=given).task == (other if named == (None, None) else found)


@pytest.mark.parametrize(
    ("text", "environ", "options", "message"),
    [
        ("epoch = 1", {}, {}, r"c\.toml: unknown key 'epoch'\. Did you mean 'epochs'\?$"),
        ("[talm]\nhumen = 'none'", {}, {}, r"c\.toml: unknown key 'talm\.humen'\. Did you mean 'human'\?$"),
        ("[talm]\nseed = 1", {}, {}, r"c\.toml: unknown key 'talm\.seed'\."),
        ("talm = 5", {}, {}, r"c\.toml: 'talm' must be a table of the task's options\.$"),
        ("when2call = 5", {}, {}, r"c\.toml: unknown key 'when2call'\."),
        ("options = {}", {}, {}, r"c\.toml: unknown key 'options'\."),
        ("mode = 'judge'", {}, {}, r"c\.toml: mode is an option of task when2call, not of task talm; leave it out, or add --task"),
        ("max-episodes = 4\nmax_episodes = 5", {}, {}, r"c\.toml: max_episodes is set twice, as 'max-episodes' and 'max_episodes'; leave one"),
        ("[talm]\nturn_limit = 4\nturn-limit = 4", {}, {}, r"c\.toml: talm\.turn-limit is set twice, as 'turn_limit' and 'turn-limit'"),
        ("[when2call]\nmodee = 'judge'", {}, {}, r"c\.toml: unknown key 'when2call\.modee'\. Did you mean 'mode'\?$"),
        ("[when2call]\nseed = 1", {}, {}, r"c\.toml: unknown key 'when2call\.seed'\."),
        ("split = ['perfect', 3]", {}, {}, r"c\.toml: split: 3 is not a name; every item of the list must be one, in quotes\.$"),
        ("", {"TALM_SIM_EPOCH": "1"}, {}, r"^unknown option 'TALM_SIM_EPOCH'\. Did you mean 'TALM_SIM_EPOCHS'\?$"),
        ("", {"TALM_SIM_MODE": "judge"}, {}, r"^TALM_SIM_MODE is an option of task when2call, not of task talm; leave it out"),
        ("", {"TALM_SIM_OPTIONS": "1"}, {}, r"^unknown option 'TALM_SIM_OPTIONS'"),
        ("", {}, {"epoch": 1}, r"^unknown option '--epoch'\. Did you mean '--epochs'\?$"),
        ("", {}, {"mode": "judge"}, r"^--mode is an option of task when2call, not of task talm; leave it out, or add --task"),
        ("task = 'tlam'", {}, {}, r"c\.toml: task: unknown task 'tlam'\. Did you mean 'talm'\?$"),
        ("", {"TALM_SIM_TASK": "tlam"}, {}, r"^TALM_SIM_TASK: unknown task 'tlam'\. Did you mean 'talm'\?$"),
        ("", {}, {"task": "tlam"}, r"^--task: unknown task 'tlam'\. Did you mean 'talm'\?$"),
        ("turn_limit = 0", {}, {}, r"c\.toml: turn_limit: 0 is too small; the least is 1\.$"),
        ("[talm]\nturn-limit = 0", {}, {}, r"c\.toml: talm\.turn-limit: 0 is too small; the least is 1\.$"),
        ("", {"TALM_SIM_TURN_LIMIT": "x"}, {}, r"^TALM_SIM_TURN_LIMIT: 'x' is not a whole number"),
        ("", {}, {"turn_limit": 0}, r"^turn_limit: 0 is too small; the least is 1\.$"),
        ("human = 'simulatd'", {}, {}, r"c\.toml: human: unknown responder 'simulatd'\. Did you mean 'simulated'\?$"),
        ("", {"TALM_SIM_HUMAN": "simulatd"}, {}, r"^TALM_SIM_HUMAN: unknown responder 'simulatd'"),
        ("", {}, {"human": "simulatd"}, r"^--human: unknown responder 'simulatd'"),
        ("split = 'perfct'", {}, {}, r"c\.toml: split: unknown split 'perfct' of task talm\. Did you mean 'perfect'\?$"),
        ("", {"TALM_SIM_SEED": "x"}, {}, r"^TALM_SIM_SEED: 'x' is not a whole number"),
        ("plugin = 5", {}, {}, r"c\.toml: plugin: write names of modules, in quotes"),
        ("plugin = [5]", {}, {}, r"c\.toml: plugin: write names of modules, in quotes"),
        ("plugin = 'no_such_module'", {}, {}, r"c\.toml: plugin no_such_module: cannot be imported: ModuleNotFoundError"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(toml: Any, text: str, environ: dict[str, str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        load_config(toml(text), environ, **options)
    assert "\n" not in str(caught.value)


def test_names_that_are_not_the_programs_are_left_alone() -> None:
    environ = {"TALM_SIM_BENCH_DATA": "/data", "TALM_SIM_TEST_MODEL": "/model", "TALM_SIMULATOR": "x", "HOME": "/"}
    assert load_config(None, environ) == RunConfig(task="talm")
    check_environment(environ, find_task("talm"))


def test_a_list_may_be_written_as_its_only_item(toml: Any) -> None:
    config = load_config(toml('judge = "reference"\n[talm]\nperturb = "mask:tool=x,p=0.5"\n'), {})
    assert (config.judge, job_of(config).options.perturb) == (("reference",), ("mask:tool=x,p=0.5",))
    assert load_config(None, {"TALM_SIM_JUDGE": "reference,llm", "TALM_SIM_PERTURB": "http-500,timeout"}).judge == ("reference", "llm")


def test_a_list_may_be_given_as_its_only_item_in_python() -> None:
    one = RunConfig(perturb="http-500", judge="reference", scenario="a", category="b", plugin="json")
    many = RunConfig(perturb=["http-500"], judge=["reference"], scenario=["a"], category=["b"], plugin=["json"])
    assert (one.judge, one.scenario, one.category, one.plugin) == (("reference",), ("a",), ("b",), ("json",))
    assert job_of(one).options == job_of(many).options
    assert configure(None, {"perturb": "http-500", "judge": "reference"}).options.perturb == ("http-500",)
    with pytest.raises(PrerequisiteError, match=r"^--plugin no_such_module: cannot be imported"):
        configure(None, {"plugin": "no_such_module"})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"task": "talmm"}, r"^--task: unknown task 'talmm'\. Did you mean 'talm'\?$"),
        ({"split": "perfct"}, r"^--split: unknown split 'perfct' of task talm\. Did you mean 'perfect'\?$"),
        ({"mode": "judge"}, r"^--mode: is an option of task when2call, not of task talm; leave it out, or add --task when2call\.$"),
        ({"splitt": "perfect"}, r"^--splitt: unknown option of task talm\. Did you mean 'split'\?$"),
    ],
)
def test_a_name_kept_unchecked_is_told_as_on_the_command_line(config: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        configure(RunConfig(**config), {})


def test_options_of_the_task_are_sorted_in() -> None:
    assert RunConfig(human="none", seed=3) == RunConfig(options={"human": "none"}, seed=3)
    assert RunConfig(**RunConfig(human="none").model_dump()).options == {"human": "none"}
    with pytest.raises(ValueError, match="options"):
        RunConfig(options=5, human="none")


def test_a_configuration_reads_no_disk() -> None:
    missing = Path("nowhere.toml")
    assert RunConfig(prompts=missing, scenarios=missing, cassettes=missing).prompts == missing
    with pytest.raises(PrerequisiteError, match=r"nowhere\.toml: cannot be read"):  # what is given on a command line is looked at
        load_config(None, {}, prompts=missing)
    assert load_config(None, {}, task="when2call", template="nowhere.jinja").options == {"template": "nowhere.jinja"}
