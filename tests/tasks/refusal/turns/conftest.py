"""A package of simulated APIs, and a command that plays its rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.tasks.refusal.bfcl import MULTI_TURN
from tests.simulated_apis import make_package
from tests.tasks.refusal.turns.acting import Actor, Play

IRRELEVANT = {
    "id": "irrelevance_0",
    "question": [[{"role": "user", "content": "What time is it?"}]],
    "function": [{"name": "sky", "description": "Colour of the sky", "parameters": {"type": "dict", "properties": {}, "required": []}}],
}


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Play:
    """Runs some subsets of the package in an empty folder: exit code. The model is served where `server` says."""
    make_package(tmp_path / "packages")
    (tmp_path / "packages" / "bfcl_eval" / "data" / "BFCL_v4_irrelevance.json").write_text(json.dumps(IRRELEVANT))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def run(name: str, *words: str, subset: str = ",".join(MULTI_TURN), server: Actor | None = None) -> int:
        if server is not None:
            monkeypatch.setenv("HERE_BASE_URL", f"{server.url}/v1")
            monkeypatch.setenv("HERE_API_KEY", "none")
        model = "sim/oracle" if server is None else "openai-api/here/actor"
        given = () if "--model" in words else ("--model", model)
        command = ["run", "--task", "refusal", "--bfcl", str(tmp_path / "packages"), "--subset", subset, "--run-id", name, "-q"]
        return main([*command, *given, *words])

    return run
