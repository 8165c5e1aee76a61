"""Judge mode of task when2call over HTTP: recorded from a server on loopback, replayed with the server gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import run
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Episode
from tests.models.loopback import chat_answer, loopback

CALL = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
KEY = "sk-0123456789abcdef0123456789abcdef"


def _told(stored: StoredRun) -> tuple[list[Any], list[Any], Any]:
    def facts(episode: Episode) -> dict[str, Any]:
        return episode.model_dump(exclude={"started_at", "elapsed_s"})

    episodes = sorted((facts(episode) for episode in stored.episodes()), key=lambda one: str(one["id"]))
    verdicts = sorted((verdict.episode_id, verdict.judge, verdict.label) for verdict in stored.verdicts())
    return episodes, verdicts, [one.record() for one in stored.summary()]


def test_a_recording_is_replayed_by_itself_with_the_server_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = chat_answer('{"classification": "cannot_answer"}')
    answers = (chat_answer(None, tool_calls=CALL), chat_answer("Which city?"), chat_answer("I can't do that."), judged)
    config = RunConfig(
        task="when2call",
        mode="judge",
        model="openai-api/acme/m",
        judge_model="openai-api/acme/j",
        limit="1",
        max_episodes=1,
        run_dir=tmp_path / "runs",
        cassettes=tmp_path / "recordings",
    )
    monkeypatch.setenv("ACME_API_KEY", KEY)
    with loopback(*answers) as server:
        monkeypatch.setenv("ACME_BASE_URL", f"{server.url}/v1")
        live = run(config, models="record")
    assert len(server.seen) == 6, "three answers, and each of them judged"
    monkeypatch.setenv("ACME_BASE_URL", "http://127.0.0.1:9/v1")
    again = run(config)
    assert again.config.models is Traffic.REPLAY, "no item is rightly answered directly, so nothing could be recorded of that group"
    assert _told(again) == _told(live)
    assert [label for _, judge, label in _told(live)[1] if judge == "behaviour"] != ["cannot_answer"] * 3
    assert {label for _, judge, label in _told(live)[1] if judge == "behaviour-llm"} == {"cannot_answer"}
    with pytest.raises(PrerequisiteError, match="was not recorded with these settings"):
        run(config, seed=5)
    recorded = [path for path in (tmp_path / "recordings").rglob("*") if path.is_file()]
    assert recorded
    assert not [path for path in recorded if KEY.encode() in path.read_bytes()]


def test_a_tool_that_no_provider_takes_is_named_before_the_run_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:9/v1")
    answers = {"direct": "d", "tool_call": '{"name": "f", "arguments": {}}', "request_for_info": "r?", "cannot_answer": "c"}
    row = {"uuid": "odd", "question": "q?", "correct_answer": "direct", "answers": answers, "tools": ['{"no": "name"}']}
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(row) + "\n")
    config = RunConfig(task="when2call", mode="judge", model="openai-api/vllm/m", scenarios=rows, run_dir=tmp_path / "runs")
    with pytest.raises(PrerequisiteError, match=r"^scenario odd: tool '.*' ?: is not a JSON object with a name"):
        run(config)
    assert list(tmp_path.iterdir()) == [rows]
