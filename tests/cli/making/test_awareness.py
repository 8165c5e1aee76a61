"""`scenarios generate --task awareness` as it is typed: by rules, by a model over HTTP, from a recording."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talm_sim.tasks.awareness.maker import from_talm
from talm_sim.tasks.awareness.making.loaded import LoadedSource
from talm_sim.tasks.awareness.making.written import conversation_text
from talm_sim.types import Scenario, ToolSpec
from tests.cli.wrong import Talm
from tests.in_process import DirectCaller, direct_caller
from tests.models.loopback import chat_answer, loopback
from tests.tables import labelled
from tests.tasks.awareness.making.made import Words
from tests.tasks.awareness.making.test_written import answer, changed, scenario

GENERATE = ("scenarios", "generate", "--task", "awareness", "--out", "made")
MODEL = ("--model", "openai-api/toy/m", "--from", "own.jsonl", "--cassettes", "tapes", "--temperature", "0")
VAGUE = "Yes, some euros to savings."


class OpenCaller:
    """The built-in tools in this process, in place of their service."""

    def __enter__(self) -> DirectCaller:
        return direct_caller()

    def __exit__(self, *error: object) -> None:
        """Hold nothing."""


def from_a_few(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> LoadedSource:
    """Six scenarios, the first two with something that a person removed: the whole set takes half a minute."""
    loaded = from_talm(scenarios, specs)
    assert loaded.removed
    kept = sorted(loaded.scenarios, key=lambda one: one.id not in loaded.removed)[:6]  # type: ignore[operator]
    return replace(loaded, scenarios=tuple(kept))


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("talm_sim.retrieval.find_embedder", lambda name: Words())
    monkeypatch.setattr("talm_sim.tools_env.caller.ToolCaller", OpenCaller)
    monkeypatch.setattr("talm_sim.tasks.awareness.maker.from_talm", from_a_few)
    Path("own.jsonl").write_text(json.dumps(scenario().model_dump(mode="json")) + "\n")


def lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def test_by_rules_both_manipulations_of_the_packaged_scenarios(talm: Talm) -> None:
    code, out, err = talm(*GENERATE, "--limit", "6")
    assert code == 0 and "replaced" in out and "removed" in out and "To be reviewed" in out
    assert "6 of 6 scenarios" in err and "licence: Apache-2.0" in err and "live:" not in err
    rows = lines("made/items.jsonl")
    assert {row["group"] for row in rows} == {"complete", "replaced", "removed"}
    originals = {row["id"] for row in rows if row["group"] == "complete"}
    assert {row["source"]["base"] for row in rows if row["group"] != "complete"} == originals
    assert all(row["source"]["licence"] == "Apache-2.0" for row in rows)
    made_by = {(row["group"], row["target"]["made_by"]) for row in rows if row["group"] != "complete"}
    assert made_by == {("replaced", "rules"), ("removed", "people")}
    report = json.loads(Path("made/report.json").read_text())
    for found in report["manipulations"].values():
        assert found["made"] == found["kept"] + found["rejected"]
        assert found["made"] + sum(found["skipped"].values()) == 6


def test_it_goes_on_and_keeps_to_one_task_and_its_settings(talm: Talm) -> None:
    talm(*GENERATE, "--limit", "2")
    code, out, err = talm(*GENERATE, "--limit", "4", "--json")
    assert code == 0 and "2 finished before" in err and json.loads(out)["sources"]["finished"] == 4
    talm("scenarios", "generate", "--task", "awareness", "--out", "whole", "--limit", "4")
    assert Path("made/items.jsonl").read_bytes() == Path("whole/items.jsonl").read_bytes()
    for more, named in (
        (("--manipulation", "removed"), 'manipulation = "replaced,removed"'),
        (("--seed", "3"), "seed = 0"),
    ):
        code, _, err = talm(*GENERATE, *more)
        assert code == 2 and named in err
    code, _, err = talm("scenarios", "generate", "--out", "made")
    assert code == 2 and "was started for task awareness; add --task awareness" in err


def test_a_model_removes_words_over_http_and_a_recording_gives_the_same(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    script = [chat_answer("no idea"), chat_answer(answer(changed("320 euros to savings.")))]
    script += [chat_answer(answer(changed(VAGUE), "```json\n", "\n```"))]
    with loopback(*script) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, _, err = talm(*GENERATE, *MODEL, "--record", "--manipulation", "removed")
        sent = [one.body for one in server.seen]
    assert code == 0 and err.startswith("live: openai-api")
    assert "at most 6 requests" in err
    assert [row["id"] for row in lines("made/items.jsonl")] == ["bank-1", "bank-1.removed"]
    assert lines("made/items.jsonl")[1]["target"]["made_by"] == "openai-api/toy/m"
    rejected = lines("made/rejected.jsonl")
    assert (rejected[0]["attempt"], rejected[0]["check"]) == (1, "answer")
    assert {one["check"] for one in rejected if one["attempt"] == 2} >= {"still complete"}
    assert len(sent) == 3 and conversation_text(scenario()) in sent[0]["messages"][-1]["content"]
    assert '"name": "MoveMoney", "arguments": {"amount": 320' in sent[0]["messages"][-1]["content"]
    monkeypatch.delenv("TOY_BASE_URL")
    code, _, err = talm("scenarios", "generate", "--task", "awareness", "--out", "played", *MODEL, "--manipulation", "removed")
    assert code == 0 and "live:" not in err
    for name in ("items.jsonl", "rejected.jsonl"):
        assert Path("made", name).read_bytes() == Path("played", name).read_bytes()


def test_what_it_may_cost_is_said_and_nobody_is_asked(talm: Talm) -> None:
    code, out, err = talm(*GENERATE, *MODEL, "--dry-run", "--json")
    found = json.loads(out)
    assert code == 0 and (found["sources"], found["requests"]) == (1, 8), "three attempts and one word on the tools, each once more if cut off"
    assert found["output_tokens"] == 4 * 3 * 1024 and found["input_tokens"] > 1000
    assert not Path("made").exists()
    code, out, err = talm("scenarios", "generate", "--out", "made", "--model", "openai-api/toy/m", "--limit", "2", "--dry-run")
    assert code == 0 and out.startswith("2 source questions, model openai-api/toy/m: at most 48 requests, ") and "nothing was made" in err
    assert " scenarios, model sim/writer: at most 0 requests, 0 tokens in, 0 out\n" in talm(*GENERATE, "--dry-run")[1]


def test_a_model_has_a_word_on_whether_what_is_shown_can_serve(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    others = scenario().model_dump(mode="json") | {"id": "bank-2"}
    others["shown_tools"] = [json.dumps({"name": "FindRecipe", "description": "Dishes by what they are made of."})]
    others["target"]["relevant"] = ["FindRecipe"]
    Path("own.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (scenario().model_dump(mode="json"), others)))
    more = (*MODEL, "--live", "--manipulation", "replaced", "--limit", "1")
    for said, made, to_read in (('{"answer": "none"}', 1, ""), ('{"answer": "GetToken"}', 0, ""), ("who knows", 1, "model's word")):
        with loopback(chat_answer(said)) as server:
            monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
            _, out, _ = talm("scenarios", "generate", "--task", "awareness", "--out", f"made-{made}{len(to_read)}", *more, "--json")
        report = json.loads(out)
        assert report["manipulations"]["replaced"]["kept"] == made
        assert [one["check"] for one in report["to_read"]] == ([to_read] if to_read else [])


@labelled
def test_what_the_user_must_mend_is_one_line(talm: Talm, arguments: tuple[str, ...], named: str) -> None:
    code, out, err = talm(*GENERATE, *arguments)
    assert (code, out) == (2, "") and named in err
