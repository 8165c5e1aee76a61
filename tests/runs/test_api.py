from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import talm_sim
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.api import judge, resume, run
from talm_sim.runs.events import EpisodeFinished, JudgeProgress, RunEvent, RunFinished, RunStarted
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.questions import Question
from talm_sim.store.stored_run import load_run
from talm_sim.types import HumanEvent
from tests.runs.recorded_world import TOWNS, make_world, pretend_recorded
from tests.warm import warm_python


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return make_world(tmp_path)


def rates(stored: Any) -> dict[str, float | None]:
    (row,) = stored.summary_records()
    return {name: row[name] for name in ("pass_rate", "awareness", "skip", "interaction")}


def test_a_run_from_options_to_metrics(world: dict[str, Any]) -> None:
    events: list[RunEvent] = []
    stored = run(**world, on_event=events.append, command="by hand")
    assert rates(stored) == {"pass_rate": 1.0, "awareness": 1.0, "skip": 0.0, "interaction": None}
    assert stored.config.tools == "replay"
    assert stored.job.options.human == "none"
    assert stored.manifest.command == "by hand"
    assert list(stored.tools()) == ["town_latitude"]
    assert isinstance(events[0], RunStarted)
    assert (events[0].total, events[0].models, events[0].tools) == (4, "on this machine", "replay")
    assert sum(isinstance(event, EpisodeFinished) for event in events) == 4
    assert events[-2] == JudgeProgress("reference", 4, 4)
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].finished, events[-1].waiting) == (4, 0)


def test_a_run_of_very_many_episodes_is_refused_unless_it_is_meant(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteError, match=r"^epochs 100000000: this would be a run of 400,000,000 episodes; choose fewer, or in Python"):
        run(**world, epochs=10**8)
    assert not list(world["run_dir"].glob("*"))
    monkeypatch.setattr("talm_sim.runs.plan.MANY", 4)
    assert run(**world).total == 4
    with pytest.raises(PrerequisiteError, match="this would be a run of 8 episodes"):
        run(**world, epochs=2)
    assert run(**world, epochs=2, large=True).total == 8


def test_an_open_run_may_stand_for_its_name(world: dict[str, Any]) -> None:
    stored = run(**world)
    assert load_run(stored).path == stored.path
    assert judge(stored).path == resume(stored).path == stored.path
    for verb in (load_run, judge, resume):
        with pytest.raises(PrerequisiteError, match=r"^3 is not a run; give its name, its directory or the StoredRun\.$"):
            verb(3)  # type: ignore[arg-type]


def test_rows_are_tidy(world: dict[str, Any]) -> None:
    pandas = pytest.importorskip("pandas")
    stored = run(**world, epochs=2)
    rows = stored.to_records()
    assert [(row["episode"], row["reference"], row["tool_calls"]) for row in rows[3:5]] == [("towns-cairo", True, 1), ("towns-oslo@2", True, 1)]
    table = stored.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table["reference"].mean() == 1.0


def test_pandas_is_optional(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stored = run(**world, limit="1")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(PrerequisiteError, match=r"pandas is not installed: pip install '.*\[pandas\]'\."):
        stored.to_pandas()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "sim/oracel"}, "unknown control 'oracel'. Did you mean 'oracle'?"),
        ({"perturb": ("http-50",)}, "Did you mean"),
        ({"judge": ("referenc",)}, "judge: unknown judge 'referenc'. Did you mean 'reference'?"),
        ({"judge_model": "openai/gpt-4o", "models": "replay", "model": "openai/x"}, 'judge_model="openai/gpt-4o": was not recorded'),
        (
            {"judge_model": "opnai/gpt-4o"},
            "judge_model=\"opnai/gpt-4o\": model 'opnai/gpt-4o': unknown provider 'opnai'. Did you mean 'openai'?",
        ),
        ({"judge_model": "openai/gpt-4o"}, 'judge_model="openai/gpt-4o": openai/gpt-4o: the environment variable OPENAI_API_KEY is not set'),
        ({"split": "no-tools"}, "no scenario of group no-tools"),
        ({"limit": "0"}, "limit: limit '0' selects nothing"),
        ({"paired_run": "nowhere"}, "nowhere: no such run."),
        ({"run_id": "../x"}, "is not a run name"),
        ({"prompts": Path("none.toml")}, "none.toml"),
        ({"cassettes": Path("nowhere"), "tools": "replay"}, "cassettes: there is no directory 'nowhere'; add models=\"record\" to make it"),
    ],
)
def test_what_is_wrong_is_said_before_a_run_exists(
    world: dict[str, Any], options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError) as caught:
        run(**{**world, **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(world["run_dir"].glob("*"))


def test_settings_that_were_not_recorded_are_said_before_a_run_exists(world: dict[str, Any]) -> None:
    pretend_recorded(world["cassettes"], "openai/small", "perfect")
    with pytest.raises(
        PrerequisiteError, match=r"^model 'openai/small': towns-oslo, epoch 1, was not recorded with these settings; add models=\"live\", or"
    ):
        run(**{**world, "model": "openai/small"})
    assert not list(world["run_dir"].glob("*"))


def test_the_simulated_human_answers_at_once(world: dict[str, Any]) -> None:
    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "simulated"})
    assert rates(stored) == {"pass_rate": 1.0, "awareness": 1.0, "skip": 0.0, "interaction": 1.0}


def test_a_person_answers_in_the_session(world: dict[str, Any]) -> None:
    async def ask(question: Question, desk: Desk) -> None:
        await asyncio.sleep(0)
        town = question.scenario_id.removeprefix("towns-").removesuffix(".underspecified")
        desk.answer(question.key, f"I mean {town}.", responder="terminal")

    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"}, ask=ask)
    assert rates(stored) == {"pass_rate": 1.0, "awareness": 1.0, "skip": 0.0, "interaction": 1.0}
    event = stored.episode("towns-rome.underspecified").human_events[0]
    assert (event.answer, event.responder) == ("I mean rome.", "terminal")
    assert 0 < event.asked_at <= event.answered_at


def test_questions_stay_open_and_the_run_goes_on_later(world: dict[str, Any]) -> None:
    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal"})
    assert (stored.finished, len(stored.pending())) == (0, 4)
    assert stored.pending()[0].progress[0]["tool_calls"][0]["name"] == "ask_human"
    for town in TOWNS:
        assert answer(stored.path, f"towns-{town}.underspecified", f"I mean {town}.") is AnswerStatus.SAVED
    resumed = resume(stored.path)
    assert rates(resumed) == {"pass_rate": 1.0, "awareness": 1.0, "skip": 0.0, "interaction": 1.0}
    assert {episode.attempt for episode in resumed.episodes()} == {1}


CHILD = """
import os, sys
from pathlib import Path
from talm_sim.runs.api import run
from tests.runs.recorded_world import make_world
print(os.getpid(), flush=True)
def tell(event):
    print(type(event).__name__, flush=True)
world = make_world(Path(sys.argv[1]))
run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal", "run_id": "killed"}, on_event=tell, wait=True)
"""


def test_killed_with_questions_open_then_answered_and_resumed(tmp_path: Path) -> None:
    child = subprocess.Popen([warm_python(), "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    with child.stdout:
        pid, seen = int(child.stdout.readline()), 0
        while seen < len(TOWNS):
            line = child.stdout.readline()
            assert line, "the child ended"
            seen += line == "EpisodeWaiting\n"
        os.kill(pid, signal.SIGKILL)  # the one that owns the run: what was started only waits for it
        child.wait()
    stored = load_run(tmp_path / "runs" / "killed")
    for town in TOWNS:
        answer(stored.path, f"towns-{town}.underspecified", f"I mean {town}.")
    killed = resume(stored.path)
    unbroken = run(**{**make_world(tmp_path), "split": "underspecified", "model": "sim/asker", "human": "simulated"})
    assert rates(killed) == rates(unbroken)
    assert {episode.id: episode.attempt for episode in killed.episodes()} == {f"towns-{town}.underspecified": 1 for town in TOWNS}


def test_a_lost_checkpoint_costs_an_attempt_but_no_answer(world: dict[str, Any]) -> None:
    stored = run(**{**world, "split": "underspecified", "model": "sim/asker", "human": "terminal", "limit": "1"})
    answer(stored.path, "towns-oslo.underspecified", "I mean oslo.", responder="desk")
    (stored.path / "checkpoints.db").unlink()
    (episode,) = resume(stored.path).episodes()
    assert episode.attempt == 2
    (event,) = episode.events[:1]
    assert isinstance(event, HumanEvent)
    assert (event.answer, event.responder) == ("I mean oslo.", "desk")


def test_resume_admits_operational_changes_only(world: dict[str, Any]) -> None:
    stored = run(**world)
    assert resume(stored.path, max_episodes=2).finished == 4
    with pytest.raises(PrerequisiteError, match="resume: seed would change from '0' to '1'; start a new run"):
        resume(stored.path, seed=1)
    with pytest.raises(PrerequisiteError, match="no such run"):
        resume(stored.path.parent / "other")


def test_a_changed_prompt_file_is_another_experiment(world: dict[str, Any], tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.toml"
    prompts.write_text('[agent]\nsystem = "Be brief."\n')
    stored = run(**world, prompts=prompts)
    assert resume(stored.path).finished == 4
    prompts.write_text('[agent]\nsystem = "Be long."\n')
    with pytest.raises(
        PrerequisiteError, match=r"^resume: \S+prompts\.toml: prompt system has changed since the run began; restore it, or start a new run\.$"
    ):
        resume(stored.path)


def test_judging_again_repeats_nothing_and_changes_no_episode(world: dict[str, Any]) -> None:
    stored = run(**world)
    before = list(stored.episodes())
    events: list[RunEvent] = []
    assert judge(stored.path, judge=("reference",), on_event=events.append).config.judge == ("reference",)
    assert events == []
    assert list(stored.episodes()) == before
    with pytest.raises(PrerequisiteError, match="judge: model would change"):
        judge(stored.path, model="sim/eager")


def test_a_config_and_options_together(world: dict[str, Any]) -> None:
    config = RunConfig(**world)
    assert run(config, limit="2").finished == 2


async def test_where_a_loop_runs_the_verbs_work_in_a_thread_of_their_own(world: dict[str, Any]) -> None:
    """As in a notebook."""
    threads: list[str] = []
    stored = run(**world, limit="2", on_event=lambda _: threads.append(threading.current_thread().name))
    assert stored.finished == stored.total == 2
    assert {name.partition("_")[0] for name in threads} == {"talm-sim-loop"}
    assert judge(resume(stored.path).path, judge=("reference",)).judged
    assert len(ablate(over={"epochs": [1, 2]}, **world, limit="1").cells) == 2
    with pytest.raises(PrerequisiteError, match="no-such-run"):
        resume("no-such-run")
    assert (await talm_sim.run_async(**world, limit="1")).finished == 1


async def test_ctrl_c_where_a_loop_runs_puts_the_run_down_in_order(world: dict[str, Any]) -> None:
    events: list[RunEvent] = []
    taken = threading.Event()

    def kernels(number: int, frame: FrameType | None) -> None:
        taken.set()
        signal.default_int_handler(number, frame)

    def interrupt(event: RunEvent) -> None:
        events.append(event)
        if isinstance(event, EpisodeFinished) and event.finished == 1:
            os.kill(os.getpid(), signal.SIGINT)
            assert taken.wait(60), "the thread that waits for the run heard nothing"

    before = signal.signal(signal.SIGINT, kernels)  # where a test's loop has its own
    try:
        with pytest.raises(KeyboardInterrupt):
            run(**world, on_event=interrupt, epochs=20, max_episodes=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(events[0], RunStarted)
    stored = load_run(events[0].path)
    assert stored.owner is None
    assert 0 < stored.finished < stored.total
    assert resume(stored.path).finished == stored.total
