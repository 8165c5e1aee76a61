"""A replay does as the recording did; where it cannot, the settings that differ are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.pack_recordings import pack
from talm_sim.common.digests import digest
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import CassetteLibrary, export, shipped_cassettes
from talm_sim.runs.api import run
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import job_of
from talm_sim.tasks.keys import differences, recorded_settings, recording_key
from tests.models.loopback import chat_answer, loopback
from tests.runs.recorded_world import make_world

MODEL = "openai/small"


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return {**make_world(tmp_path), "model": MODEL, "split": "underspecified"}


def record(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, **options: Any) -> StoredRun:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with loopback(chat_answer("No.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        return run(**{**world, **options}, models="record", run_id="recorded")


@pytest.mark.parametrize("human", ["none", "simulated"])
def test_the_same_line_with_replay_asks_whom_the_recording_asked(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, human: str) -> None:
    before = record(world, monkeypatch, **({} if human == "none" else {"human": human}))
    after = run(**world, models="replay", run_id="replayed")
    assert (before.job.options.human, after.job.options.human) == (human, "none" if human == "none" else "recorded")
    assert [one.model_dump(exclude={"run_id"}) for one in before.summary()] == [one.model_dump(exclude={"run_id"}) for one in after.summary()]


def test_of_both_the_person_is_taken(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    record(world, monkeypatch)
    record({**world, "run_dir": world["run_dir"] / "2"}, monkeypatch, human="simulated")
    assert run(**world, models="replay").job.options.human == "recorded"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": 0.5}, "with temperature 1.0 (not 0.5);"),
        ({"human": "simulated", "seed": 4}, "without human, with seed 0 (not 4);"),
        ({"model_options": {"top_p": "0.9"}}, "with model-options none (not top_p=0.9);"),
        ({"perturb": ("http-500",)}, "with perturb none (not http-500);"),
    ],
)
def test_what_differs_is_named(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str) -> None:
    record(world, monkeypatch)
    with pytest.raises(PrerequisiteError) as caught:
        run(**{**world, **options}, models="replay")
    message = str(caught.value)
    assert f"towns-oslo.underspecified, epoch 1, was not recorded with these settings, but {words}" in message
    assert message.endswith('add models="live", or use the settings of the recording.')


def test_an_option_that_no_recording_knows_is_named() -> None:
    plain = job_of(RunConfig(task="refusal"))
    with_thought = recorded_settings(plain.having(reasoning="free"))
    assert [*differences(with_thought, recorded_settings(plain))] == ["without reasoning free"]


@pytest.mark.parametrize("perturb", [(), ("http-500",), ("http-500:p=1.0,tool=t,times=2", "mask"), ("timeout:after=1",)])
def test_a_recording_on_which_the_schedule_has_no_effect_keeps_its_name(perturb: tuple[str, ...]) -> None:
    job = job_of(RunConfig()).having(human="none", perturb=perturb)
    assert "schedule" not in recorded_settings(job)
    old = {"human": False, "perturb": list(perturb), "finish": "tool"}
    shared = ("model", "model_options", "tool_format", "prompts", "temperature", "max_new_tokens", "seed")
    assert recording_key(job) == digest({**old, **{name: recorded_settings(job)[name] for name in shared}})


@pytest.mark.parametrize("text", ["http-500:p=0.5", "http-500:times=1"])
def test_one_on_which_it_has_gains_its_version(text: str) -> None:
    job = job_of(RunConfig()).having(human="none", perturb=("mask", text))
    assert recorded_settings(job)["schedule"] == 2


def test_a_recording_of_an_earlier_schedule_is_refused_in_one_line(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = {**world, "perturb": ("http-500:p=0.5",)}
    with monkeypatch.context() as before:
        before.setattr("talm_sim.tasks.acting.acting_task._schedule_key", lambda perturb: {})
        record(drawn, monkeypatch)
    with pytest.raises(PrerequisiteError) as caught:
        run(**drawn, models="replay", run_id="again")
    said = "was recorded with an earlier schedule of faults, and p < 1 makes them fall on other calls now"
    assert str(caught.value) == f"model 'openai/small': towns-oslo.underspecified {said}; record it again with models=\"record\"."
    record({**drawn, "run_dir": world["run_dir"] / "2"}, monkeypatch)
    assert run(**drawn, models="replay", run_id="again").summary()


def test_an_epoch_that_was_not_recorded_is_no_setting(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    record(world, monkeypatch)
    with pytest.raises(PrerequisiteError, match=r"epoch 2, was not recorded; add models=\"live\""):
        run(**world, models="replay", epochs=2)


def test_a_model_of_which_nothing_is_recorded_is_named_with_those_of_which_something_is(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    record(world, monkeypatch)
    with pytest.raises(
        PrerequisiteError,
        match=r"^model 'openai/other': there are no recordings of it in .*; recorded there: openai/small; add models=\"live\"\.$",
    ):
        run(**{**world, "model": "openai/other"}, models="replay")


def test_an_empty_directory_is_no_recording(world: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PrerequisiteError, match=r"^cassettes.*empty.*: there are no recordings there; add models=.record."):
        run(**{**world, "cassettes": tmp_path / "empty"})


def test_damaged_settings_are_named(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    record(world, monkeypatch)
    (file,) = world["cassettes"].glob("openai--small/*.settings.json")
    file.write_text("{", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"settings\.json: not a readable list of settings"):
        run(**world, models="replay", seed=1)


def test_settings_are_packed_and_unpacked(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    record(world, monkeypatch)
    pack(world["cassettes"], tmp_path / "packed", command="c", licence="l")
    export(tmp_path / "packed", tmp_path / "loose")
    known = CassetteLibrary(world["cassettes"]).settings(MODEL)
    assert len(known) == 1
    assert CassetteLibrary(tmp_path / "packed").settings(MODEL) == CassetteLibrary(tmp_path / "loose").settings(MODEL) == known
    assert run(**{**world, "cassettes": tmp_path / "packed"}, models="replay").job.options.human == "none"


@pytest.mark.parametrize("human", ["none", "recorded"])
def test_the_shipped_settings_are_those_of_the_shipped_recordings(human: str) -> None:
    job = job_of(RunConfig(human=human, models="replay"))
    known = CassetteLibrary(shipped_cassettes()).settings(job.config.model)
    assert not list(differences(recorded_settings(job), known[recording_key(job)]))
