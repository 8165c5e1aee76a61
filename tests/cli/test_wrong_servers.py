"""Wrong servers on loopback: what refuses every request ends the run in a line; what merely answers badly is counted, and named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.wrong import Talm
from tests.models.loopback import Answer, chat_answer, loopback

pytestmark = pytest.mark.usefixtures("nothing_given")
LINE = ("run", "--model", "openai-api/vllm/q", "--split", "no-tools", "--limit", "1", "--run-id", "it", "--display", "none")

COUNTED = [
    ("half an answer", Answer(b'{"id": "x", "choices": [', 200), r"failed"),
    ("a fault of its own", Answer({"error": {"message": "out of memory"}}, 500), r"HTTP 500: out of memory"),
    ("never answers", Answer({}, delay=600), r"failed"),
]


@pytest.mark.parametrize(("answer", "told"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED])
def test_a_server_that_answers_badly_is_counted(answer: Answer, told: str, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "0")
    if answer.delay:
        monkeypatch.setenv("TALM_SIM_TIMEOUT", "0.2")
    with loopback(answer) as server:
        monkeypatch.setenv("VLLM_BASE_URL", f"{server.url}/v1")
        code, _, err = talm(*LINE)
    assert code == 1, err
    assert "1 episode failed, for example calendar-01.no-tools: " in err
    assert re.search(told, err), err
    assert "Traceback" not in err
    assert Path("runs/it").is_dir()


def test_a_server_elsewhere_that_wants_no_key_is_asked_without_one(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://keyless.example/v1")
    monkeypatch.setenv("NO_PROXY", "*")
    code, _, err = talm(*LINE, "--dry-run")
    assert (code, "API_KEY" in err) == (0, False)
    with loopback(chat_answer("done")) as server:
        monkeypatch.setenv("VLLM_BASE_URL", f"{server.url}/v1")
        assert talm(*LINE)[0] == 0
        assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer none"}
