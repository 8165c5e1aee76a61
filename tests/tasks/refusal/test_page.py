"""What an episode's page shows of task `refusal`, in Thai too; and the shipped recording: real answers of a small model to our own rows."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from talm_sim import run
from talm_sim.cli import main
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.page import sections
from talm_sim.types import AcceptedCall, Calls, Scenario
from tests.tasks.refusal.crafted import answered, case
from tests.tasks.views import job


def page(scenario: Scenario, text: str) -> dict[str, list[str]]:
    return {one.title: ["".join(part.text for part in line) for line in one.lines] for one in sections(answered(scenario, text), scenario)}


def right(calls: Sequence[AcceptedCall]) -> list[str]:
    return page(case("a", "simple_python", Calls(expected="calls", accepted=tuple(calls))), "[]")["Right"]


def test_a_right_call_stands_there_with_every_value_that_counts() -> None:
    accepted = AcceptedCall(name="world.clock", arguments={"city": ("Hue", "Huế"), "format": ("", 24), "zone": ()})
    assert right([accepted]) == ['world.clock(city="Hue" or "Huế", format=(left out) or 24, zone=(nothing is right))']
    assert right([AcceptedCall(name="f", arguments={}), AcceptedCall(name="g", arguments={"a": (1,)})]) == ["f()", "g(a=1)"]


def test_where_no_call_or_any_is_right_that_is_said() -> None:
    assert page(case("a"), "No.")["Right"] == ["no call: no function shown serves"]
    assert page(case("a", "live_relevance", Calls(expected="any")), "No.")["Right"] == ["a call, whichever"]


def test_rows_that_a_model_translated_are_named_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(one for one in find_task("refusal").read(["removed"]) if one.language == "th")
    source = row.source.model_copy(update={"name": "talm-sim, translated by openai/m"})
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row.model_copy(update={"source": source}).model_dump(mode="json")))
    run = ["run", "--task", "refusal", "--model", "sim/cautious", "--scenarios", str(file)]
    assert main([*run, "--run-dir", str(tmp_path), "--run-id", "r"]) == main(["report", str(tmp_path / "r"), "--all"]) == 0
    assert "translated rows (1 in th): talm-sim, translated by openai/m" in " ".join(capsys.readouterr().out.split())
    assert main(["show", f"{tmp_path / 'r'}:{row.id}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"says the same as {row.original}, in language th (talm-sim, translated by openai/m)" in said


def test_the_bare_run_replays_every_packaged_row(tmp_path: Path) -> None:
    played = run(task="refusal", run_dir=tmp_path)
    assert played.job.config.models == "replay"
    episodes = list(played.episodes())
    assert len(episodes) == 648
    assert {episode.termination.value for episode in episodes} == {"answered"}
    assert all(episode.model_turns[0].raw_text or episode.model_turns[0].tool_calls for episode in episodes)
    assert {verdict.judge for verdict in played.verdicts()} == {"calls", "intent"}


def columns(line: str) -> int:
    """Columns of a terminal, by Unicode's own classes of characters."""
    return sum(unicodedata.category(sign) not in {"Mn", "Me", "Cf"} for sign in line)


def test_a_thai_episode_is_shown_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = ["run", "--task", "refusal", "--model", "sim/oracle", "--language", "th", "--split", "removed", "--limit", "1", "-q"]
    assert main([*run, "--run-dir", str(tmp_path), "--run-id", "r"]) == 0
    scenario = next(one for one in find_task("refusal").load(job("refusal", language="th", split="removed", limit=1)))
    capsys.readouterr()
    assert main(["show", f"{tmp_path / 'r'}:{scenario.id}"]) == 0
    page = capsys.readouterr().out
    wide = [line for line in page.splitlines() if columns(line) > 80]
    assert not wide
    assert "".join(scenario.query.split()) in "".join(page.split())
    assert not any(unicodedata.category(line.lstrip()[:1] or " ") == "Mn" for line in page.splitlines())
