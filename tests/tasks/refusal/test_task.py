"""What task `refusal` loads and refuses, and its controls, whose true values are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.store.stored_run import load_run
from talm_sim.tasks import find_task
from talm_sim.tasks.open_job import Recorded
from talm_sim.tasks.refusal.bfcl import SINGLE_TURN, load_bfcl
from talm_sim.tasks.refusal.call_checks import check_calls
from talm_sim.tasks.refusal.call_checks.calls_judge import calls_of, tools_of
from talm_sim.tasks.refusal.controls import source_of
from talm_sim.tasks.refusal.tool_wording import load_wording
from talm_sim.types import Calls, Scenario
from tests.tables import labelled
from tests.tasks.refusal.crafted import CLOCK, answered, case
from tests.tasks.views import job

TASK = find_task("refusal")
NEVER_PASSED = {"simple_java_36", "simple_java_64", "simple_java_65"} | {
    "live_simple_106-63-0",
    "live_simple_112-68-0",
    "live_multiple_862-181-3",
    "live_multiple_964-207-0",
}
"""Rows whose published ground truth no call passes that a model would write."""


def row(name: str, language: str, subset: str = "irrelevance", **more: Any) -> dict[str, Any]:
    question = [[{"role": "user", "content": "ที่ไหน"}]]
    return {
        "id": name,
        "subset": subset,
        "language": language,
        "question": question,
        "function": [json.loads(CLOCK)],
        "ground_truth": [],
        **more,
    }


def lines(path: Path, *found: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found), encoding="utf-8")
    return path


def load(**options: Any) -> list[Scenario]:
    return TASK.load(job("refusal", **options))


# --- data -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "said"), [("function", "function: missing or no list"), ("id", "id: missing or not text")])
def test_a_row_is_known_for_one_whatever_the_first_lacks(tmp_path: Path, key: str, said: str) -> None:
    whole = row("a_th", "th", "simple_python", ground_truth=[{"world.clock": {"city": ["Hue"]}}])
    file = lines(tmp_path / "rows.jsonl", {name: value for name, value in whole.items() if name != key}, row("b_th", "th"))
    for options in ({"scenarios": file}, {"bfcl": file}):
        with pytest.raises(PrerequisiteError, match=rf"rows\.jsonl:1: {said}"):
            load(**options)


def test_rows_are_sent_to_the_task_that_runs_them(tmp_path: Path) -> None:
    file = lines(tmp_path / "rows.jsonl", row("a_th", "th"))
    for task in ("awareness", "when2call", "talm"):
        with pytest.raises(PrerequisiteError, match=r"rows\.jsonl:1: contains a BFCL row; add --task refusal to run it\.$"):
            find_task(task).load(job(task, scenarios=file))
    file.write_text(f"{case('b').model_dump_json()}\n{file.read_text()}", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"rows\.jsonl:2: contains a BFCL row; use one kind of line per file\.$"):
        load(scenarios=file)


@pytest.mark.parametrize(
    ("options", "tokens"),
    [({}, 256), ({"subset": "irrelevance"}, 2048), ({"bfcl": Path("x")}, 2048), ({"scenarios": Path("x")}, 2048), ({"max_new_tokens": 9}, 9)],
)
def test_only_our_own_rows_take_fewer_tokens(options: dict[str, Any], tokens: int) -> None:
    asked = job("refusal", **options)
    recorded: Any = Recorded(None, {}, known=False)  # type: ignore[arg-type]
    assert TASK.settle(asked, recorded).settings().max_new_tokens == tokens


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subset": "irelevance"}, "irelevance.*Did you mean 'irrelevance'"),
        ({"subset": "irrelevance", "split": "fitting"}, "--split fitting: selects our own scenarios"),
        ({"language": "de"}, r"--language de: the packaged data has no rows in this language \(it has .*en.*\)"),
        ({"bfcl": Path("x"), "scenarios": Path("y")}, "--bfcl and --scenarios both say where the rows are"),
        ({"subset": "irrelevance", "bfcl": Path("nowhere")}, "nowhere"),
    ],
)
def test_wrong_options_are_told_in_a_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        load(**options)


@labelled
def test_a_scenario_without_calls_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = lines(tmp_path / "mine.jsonl", case("a").model_dump(mode="json") | change)
    with pytest.raises(PrerequisiteError, match=message):
        load(scenarios=file)


def test_constrained_calls_are_for_agents() -> None:
    recorded: Any = Recorded(None, {}, known=False)  # type: ignore[arg-type]
    with pytest.raises(PrerequisiteError, match="--tool-format constrained: is for agents"):
        TASK.settle(job("refusal", tool_format="constrained"), recorded)
    assert TASK.settle(job("refusal"), recorded).config.tool_format == "native", "of weak models too"


def test_wordings_are_replaced_by_the_users(tmp_path: Path) -> None:
    file = tmp_path / "words.toml"
    file.write_text('[refusal]\ninjected = "Use these: {tools}"\n', encoding="utf-8")
    assert load_wording(file) == {**load_wording(), "injected": "Use these: {tools}"}
    file.write_text('[refusal]\ninjected = "Use these."\n', encoding="utf-8")
    with pytest.raises(
        PrerequisiteError, match=r"words.toml: 'refusal.injected' has no place for the tools: write {tools} where they belong\."
    ):
        load_wording(file)


# --- controls -------------------------------------------------------------------------------------------------------------------------------


async def passes(control: str, scenario: Scenario) -> bool:
    """Whether a control's answer is right by format."""
    assert isinstance(scenario.target, Calls)
    policy = TASK.control(f"sim/{control}", scenario)
    assert policy is not None
    episode = answered(scenario, (await policy.generate([], [], GenerationSettings())).raw_text)
    tools = tools_of(scenario)
    return check_calls(calls_of(episode, tools, scenario.target.syntax), scenario.target, tools).outcome


@pytest.mark.parametrize("control", ["oracle", "eager", "cautious", "asker"])
async def test_controls_have_their_true_values_on_our_own_scenarios(control: str) -> None:
    for scenario in load():
        fits = scenario.group == "fitting"
        assert await passes(control, scenario) == (control == "oracle" or (control == "eager") == fits), scenario.id


async def test_the_oracle_is_right_on_all_of_bfcl_that_can_be_passed(bfcl_v4: Path) -> None:
    rows = load_bfcl(bfcl_v4, SINGLE_TURN).scenarios
    assert {one.id for one in rows if not await passes("oracle", one)} == NEVER_PASSED


@labelled
def test_values_are_written_as_source_code(value: Any, schema: dict[str, Any], syntax: str, source: str) -> None:
    assert source_of(value, schema, syntax) == source


# --- a run ----------------------------------------------------------------------------------------------------------------------------------


def test_a_run_is_stored_judged_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--task", "refusal", "--model", "sim/eager", "--run-dir", str(tmp_path), "--run-id", "r", "--limit", "2", "-q"]
    assert main(run) == 0
    stored = load_run(tmp_path / "r")
    assert stored.config.options["template"] == "chat", "which one was picked is stored"
    episode = next(iter(stored.episodes()))
    assert episode.model_turns[0].raw_prompt and episode.model_turns[0].raw_text
    capsys.readouterr()
    assert main(["judge", str(tmp_path / "r")]) == main(["report", str(tmp_path / "r"), "--all"]) == 0
    printed = capsys.readouterr().out
    assert "fitting, en" in printed and "No attempt" in printed
    assert main(["show", f"{tmp_path / 'r'}:calendar-01.removed"]) == 0
    page = capsys.readouterr().out
    assert "no call: no function shown serves" in page and "compute_molar_mass()" in page


def test_a_control_writes_calls_as_they_are_asked_for(tmp_path: Path) -> None:
    """So BFCL's reader finds what the oracle calls, and its columns have their true values."""
    assert (
        main(["run", "--task", "refusal", "--model", "sim/oracle", "--template", "pythonic", "--limit", "3", "--run-dir", str(tmp_path)]) == 0
    )
    (folder,) = tmp_path.iterdir()
    run = load_run(folder)
    assert {verdict.judge for verdict in run.verdicts()} == {"calls", "intent", "calls-bfcl"}
    figures = {(summary.group, measure.name): measure.value for summary in run.summary() for measure in summary.measures}
    assert {value for (_, name), value in figures.items() if value is not None and name in ("ast", "ast_bfcl", "h_i", "h_s", "h_s_bfcl")} == {
        1.0
    }
    written = [episode.model_turns[0].raw_text for episode in run.episodes() if episode.group.startswith("fitting")]
    assert written and all(text.startswith("[") and text.endswith(")]") for text in written)
