"""The shipped recording of a real model writing: played offline it gives the texts, rows and rejections it gave then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from talm_sim.cli import main
from talm_sim.recordings import CassetteLibrary, shipped_cassettes
from talm_sim.recordings.archive import open_archive

MODEL = "openai-api/vllm/smollm2-135m"
MADE = {"tool_call": (0, 30), "request_for_info": (0, 15), "cannot_answer": (1, 29)}
REJECTED = 135
ARGUMENTS = ("--model", MODEL, "--tool-use", "call", "--max-new-tokens", "96", "--limit", "30", "--variants", "one", "--replay")


@pytest.fixture
def played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], dict[str, bytes]]:
    def play(name: str) -> dict[str, bytes]:
        assert main(("scenarios", "generate", "--out", str(tmp_path / name), *ARGUMENTS)) == 0
        capsys.readouterr()
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    return play


def test_the_recording_says_how_it_was_made() -> None:
    (found,) = [one for one in CassetteLibrary().describe() if (one.model, one.group) == (MODEL, "when2call/generate")]
    assert found.files == 30 and found.bytes < 300_000
    assert "scenarios generate" in found.command and " ".join(ARGUMENTS[:-1]) in found.command
    assert "Apache-2.0" in found.licence


def test_it_plays_back_offline_to_the_same_rows_and_reasons(played: Callable[[str], dict[str, bytes]]) -> None:
    first, second = played("a"), played("b")
    assert {name: first[name] for name in ("items.jsonl", "rejected.jsonl")} == {
        name: second[name] for name in ("items.jsonl", "rejected.jsonl")
    }
    report = json.loads(first["report.json"])
    assert report["sources"]["finished"] == 30
    # What a model of 135 million parameters writes is mostly no follow-up and no refusal: the checks must see that.
    assert {name: (item["made"], item["rejected"]) for name, item in report["items"].items()} == MADE
    assert report["rejected_texts"]["total"] == REJECTED


def test_every_recorded_answer_is_played(played: Callable[[str], dict[str, bytes]]) -> None:
    archive = open_archive(shipped_cassettes() / "openai-api--vllm--smollm2-135m" / "when2call" / "generate.zip")
    sources = {name.split("/")[0] for name in archive.names()}
    state = [json.loads(line) for line in played("a")["state.jsonl"].decode().splitlines()[1:]]
    assert {one["source"] for one in state} == sources
