"""`export inspect`: the log has the entries of Inspect's form, and Inspect itself reads the same scores, messages and ends from it."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.exchange.exports.inspect_log import export_inspect
from talm_sim.exchange.exports.inspect_samples import model_name, sample_id
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Measure
from tests.exchange.exports.environment import needs_readers, read_with
from tests.exchange.exports.hostile_run import HOSTILE, IDS, LONG, make_run

SCORED = {"a/b": "C", "C:\\x\ny": "C", "a_b": "I", ".hidden": "C", "-": "I"}
"""What the task says of each episode that its rate is over; `ordinary-1` was not decided, the others ended in an error or were cut off."""
ERRORS = {"../../etc/passwd": "infrastructure_error", "C:\\x\ny": "agent_error", "name.json": "replay_miss"}
LIMITS = {"a_b": ("turn", 5.0), "ordinary-1": ("token", -1.0), "\x1b[2Jid\u2028": ("context", -1.0), "x" * 300: ("operator", -1.0)}


def exported(stored: StoredRun) -> tuple[str, bytes]:
    ((name, content),) = export_inspect(stored).files.items()
    assert isinstance(content, bytes)
    return name, content


@pytest.fixture(scope="module")
def log(hostile: StoredRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name, content = exported(hostile)
    file: Path = tmp_path_factory.mktemp("logs") / name
    file.write_bytes(content)
    return file


@pytest.fixture(scope="module")
def read(log: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_with("read_inspect.py", log)
    return found


def by_scenario(samples: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The samples by their scenarios' own ids; in summaries, Inspect folds the white space of metadata."""
    own = {sample_id(name): name for name in IDS}
    return {own[sample["id"]]: sample for sample in samples}


def test_the_archive_has_the_entries_of_the_form(log: Path) -> None:
    with zipfile.ZipFile(log) as archive:
        names = archive.namelist()
        assert names[0] == "_journal/start.json" and names[-2:] == ["summaries.json", "header.json"]
        samples = names[1:-2]
        assert len(samples) == len({*samples}) == len(IDS)
        assert all(name.count("/") == 1 and name.startswith("samples/") and name.endswith("_epoch_1.json") for name in samples)
        assert all(name.isprintable() and len(name.encode()) < 255 and ".." not in name.removeprefix("samples/")[:2] for name in samples)
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        for name in names:
            text = archive.read(name).decode("ascii")
            assert not {"\x1b", "\x00", "\n"} & {*text}
        summaries = json.loads(archive.read("summaries.json"))
    assert len(json.dumps(summaries)) < 200_000  # although one episode has texts of 2 MB


def test_a_second_export_is_the_same_file(hostile: StoredRun, log: Path) -> None:
    assert exported(hostile) == (log.name, log.read_bytes())


def test_what_is_left_out_is_counted(hostile: StoredRun) -> None:
    assert export_inspect(hostile).notes == (
        "4 of 10 samples have no score: 1 cancelled, 1 context_overflow, 1 infrastructure_error, 1 replay_miss",
        "1 of 11 episodes is not finished, and not in the log",
        "6 sample ids differ from their scenarios' ids, which cannot name a file; metadata.scenario has the scenario's own",
    )


@given(st.text(min_size=1, max_size=200))
def test_an_id_can_name_an_entry_and_no_two_are_alike(name: str) -> None:
    made = sample_id(name)
    assert made.isprintable() and not {"/", "\\", ":", "\x00"} & {*made} and not made.startswith(".") and len(made.encode()) < 220
    assert sample_id(f"{name}/") != sample_id(f"{name}_") != sample_id(f"{name}:")


def test_a_control_is_never_presented_as_a_model() -> None:
    assert (model_name("sim/oracle"), model_name("openai/gpt-4o")) == ("control: sim/oracle", "openai/gpt-4o")


def test_no_credential_of_the_environment_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-proj-Zx9qW8eR7tY6uI5oP4aS3dF2"
    stored = make_run(tmp_path, said=f"my key is {key}, my password hunter2-hunter2")
    monkeypatch.setenv("OTHER_PASSWORD", "hunter2-hunter2")
    with zipfile.ZipFile(io.BytesIO(exported(stored)[1])) as archive:
        told = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "my key is REDACTED, my password REDACTED" in told
    assert key not in told and "hunter2" not in told


@needs_readers
@pytest.mark.timeout(300)
def test_inspect_reads_the_same_scores(hostile: StoredRun, read: dict[str, Any]) -> None:
    assert read["full"]["status"] == read["header"]["status"] == "cancelled"  # one episode is not finished
    rows = {row.scenario: row for row in hostile.rows()}
    verdicts = {(one.episode_id, one.judge): one.value for one in hostile.verdicts()}
    for samples in (read["full"]["samples"], read["alone"], read["summaries"]):
        found = by_scenario(samples)
        assert {*found} == {*IDS} and len(samples) == len(IDS)
        for scenario, sample in found.items():
            scores = {name: score["value"] for name, score in sample["scores"].items()}
            assert [*scores] == ["success", "reference", "mine"]
            assert is_same(scores["success"], SCORED.get(scenario, math.nan)), scenario
            for judge in ("reference", "mine"):
                said = verdicts[scenario, judge] if rows[scenario].scored else None
                assert is_same(scores[judge], math.nan if said is None else "C" if said else "I"), (scenario, judge)


def is_same(value: Any, wanted: Any) -> bool:
    """Compare two scores; one without a value is no number, which JSON of other programs writes as null."""
    if isinstance(wanted, float):
        return value is None or value == "NaN" or (isinstance(value, float) and math.isnan(value))
    return bool(value == wanted)


@needs_readers
@pytest.mark.timeout(300)
def test_inspect_reads_the_tables_figures(hostile: StoredRun, read: dict[str, Any]) -> None:
    results = read["header"]["results"]
    assert (results["total_samples"], results["completed_samples"]) == (11, 7)
    scores = {score["name"]: score for score in results["scores"]}
    assert [*scores] == ["success", "reference", "mine", "perfect"]
    assert [(one["scored_samples"], one["unscored_samples"]) for one in scores.values()] == [(5, 5), (5, 5), (6, 4), (6, 4)]
    (summary,) = hostile.summary()
    wanted = {measure.name: measure for measure in summary.measures if measure.value is not None}
    metrics = {name: one["value"] for name, one in scores["perfect"]["metrics"].items()}
    assert {*metrics} == {name for one in wanted.values() for name in names_of(one)}
    for name, measure in wanted.items():
        ends = [metrics.get(f"{name}_{end}") for end in ("low", "high")]
        assert (metrics[name], *ends) == (measure.value, measure.low, measure.high)
    passed = scores["success"]["metrics"]
    assert passed["pass_rate"]["value"] == 0.6 == metrics["pass_rate"]
    assert (passed["pass_rate_low"]["value"], passed["pass_rate_high"]["value"]) == (metrics["pass_rate_low"], metrics["pass_rate_high"])


def names_of(measure: Measure) -> list[str]:
    return [measure.name, *([] if measure.low is None else [f"{measure.name}_low", f"{measure.name}_high"])]


@needs_readers
@pytest.mark.timeout(300)
def test_inspect_reads_texts_ends_and_events_whole(read: dict[str, Any]) -> None:
    found = by_scenario(read["alone"])
    assert {name: one["error"]["message"] for name, one in found.items() if one["error"]} == {
        name: f"{end}: {HOSTILE}" for name, end in ERRORS.items()
    }
    limits = {name: (one["limit"]["type"], one["limit"]["limit"]) for name, one in found.items() if one["limit"]}
    assert limits == LIMITS
    first, other = found["a/b"], found["ordinary-1"]
    roles = ["system", "user", "assistant", *["tool"] * 5, "assistant"]
    assert [message["role"] for message in first["messages"]] == roles
    assert other["messages"][0]["content"] == f"Be good. {HOSTILE}"
    assert [part.get("text", part.get("reasoning")) for part in other["messages"][2]["content"]] == [HOSTILE, HOSTILE]
    call, broken = other["messages"][2]["tool_calls"]
    assert (call["function"], call["arguments"]) == ("look_up", {HOSTILE: [HOSTILE, {"deep": None}]})
    assert (broken["arguments"], broken["parse_error"]) == ({"raw": HOSTILE}, HOSTILE)
    assert other["messages"][-1]["content"] == HOSTILE
    assert (
        first["messages"][-1]["content"] == first["scores"]["success"]["answer"] == f"{len(LONG)}:{hashlib.sha256(LONG.encode()).hexdigest()}"
    )
    events = first["events"]
    kinds = [
        "info",
        "model",
        "tool",
        "tool",
        "info",
        "tool",
        "input",
        "input",
        "approval",
        "approval",
        "input",
        "model",
        "score",
        "score",
        "score",
    ]
    assert [event["event"] for event in events] == kinds
    assert [len(event["input"]) for event in events if event["event"] == "model"] == [2, 8]
    fired = events[4]
    assert (fired["source"], fired["data"]["fired"], fired["data"]["seen"]) == ("perturbation", 1, 1)
    asked = events[6]
    assert (asked["message"], asked["input"], asked["outcome"], events[7]["outcome"]) == (HOSTILE, HOSTILE, "accepted", "declined")
    edited, rejected, filled = other["events"][8:11]
    assert (edited["decision"], edited["call"]["function"], edited["modified"]["arguments"]) == ("modify", "look_up", {"q": [HOSTILE]})
    assert (rejected["decision"], rejected["explanation"], rejected["approver"], rejected["modified"]) == ("reject", HOSTILE, HOSTILE, None)
    assert (filled["message"], json.loads(filled["input"]), filled["outcome"]) == (HOSTILE, {HOSTILE: HOSTILE}, "accepted")
    assert other["model_usage"]["openai/some"]["input_tokens"] == 25  # without the 10 that were read from a cache
    assert other["metadata"]["generations_without_token_counts"] == 1
    assert found["-"]["messages"][-1]["role"] == "user"  # skipped: the agent said nothing
