"""The propensity of a served model is that of the same model in this process, and is recorded and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.runs.api import run
from talm_sim.store.stored_run import StoredRun
from tests.models.local.tiny import make_tiny
from tests.models.local.tiny_server import MODEL, Server
from tests.models.loopback import Answer, Seen, loopback

pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("transformers", reason="transformers is not installed (the extra local)")

pytestmark = pytest.mark.local
WRITTEN = Answer({"choices": [{"text": "No.", "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})


def played(name: str, folder: Path, **options: Any) -> StoredRun:
    asked = {"task": "refusal", "split": "removed", "language": "en", "limit": "2", "template": "injected", "propensity": True}
    return run(**{**asked, "max_new_tokens": 4, "run_dir": folder / "runs", "run_id": name, **options})


def values(stored: StoredRun) -> list[float]:
    found = [row.values["propensity"] for row in stored.rows()]
    return [float(value) for value in found if value is not None]


@pytest.mark.filterwarnings("ignore")
def test_served_recorded_and_in_process_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_tiny(tmp_path / "tiny", context=8192)
    here = played("here", tmp_path, model=f"hf/{folder}")
    server = Server(folder)

    def reply(request: Seen) -> Answer:
        return server.answer(request.body["prompt"]) if request.body.get("echo") else WRITTEN

    served: dict[str, Any] = {"model": MODEL, "cassettes": tmp_path / "c", "model_options": {"tokenizer": str(folder)}}
    with loopback(WRITTEN) as line:
        line.reply = reply
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{line.url}/v1")
        there = played("there", tmp_path, models="record", **served)
        sent = [json.loads(one.raw) for one in line.seen]
    assert sum(1 for one in sent if one.get("echo")) == 2 * 4  # the opening and three refusals of two rows
    monkeypatch.delenv("MY_SERVER_BASE_URL")
    again = played("again", tmp_path, models="replay", **served)
    assert len(values(here)) == 2
    assert values(there) == pytest.approx(values(here), abs=1e-3)
    assert values(again) == values(there)
    for one, other in zip(here.episodes(), there.episodes(), strict=True):
        for mine, theirs in zip(one.details["option_scores"], other.details["option_scores"], strict=True):
            assert (mine["text"], mine["tokens"]) == (theirs["text"], theirs["tokens"])
            assert mine["logprob"] == pytest.approx(theirs["logprob"], abs=1e-3)
