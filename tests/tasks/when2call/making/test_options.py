"""One model says what a generation is asked for, in words that shipped recordings are named by; and the recording is played offline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.config import Scope, scope_of
from talm_sim.errors import OptionError
from talm_sim.recordings import shipped_cassettes
from talm_sim.recordings.archive import open_archive
from talm_sim.tasks.when2call.making import GenerateOptions
from tests.tables import labelled

RECORDED: dict[str, Any] = {"model": "openai-api/vllm/smollm2-135m", "tool_use": "call", "max_new_tokens": 96, "variants": "one"}


def options(**given: Any) -> GenerateOptions:
    return GenerateOptions(out=Path("made"), **given)


def test_where_it_goes_and_how_it_is_run_decides_no_text() -> None:
    other = options(**RECORDED, file=Path("x"), limit="3", max_connections=2, traffic="live", cassettes=Path("y"))
    assert other.settings("p") == options(**RECORDED).settings("p")
    free = {name for name in GenerateOptions.model_fields if scope_of(GenerateOptions, name) is not Scope.GENERATION}
    assert free == {"out", "file", "limit", "max_connections", "traffic", "cassettes"}


@pytest.mark.parametrize("model", ["hf/smollm2-135m", "vllm/smollm2-135m"])
@pytest.mark.parametrize("tool_format", ["auto", "constrained"])
def test_a_model_in_this_process_labels_by_itself_and_is_said_to(model: str, tool_format: str) -> None:
    given = options(model=model, tool_format=tool_format)
    assert (given.constrained, given.settings()["labels"]) == (False, "plain")


@labelled
def test_a_wrong_value_is_refused_by_the_rules_of_a_run(given: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        options(**given)


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
