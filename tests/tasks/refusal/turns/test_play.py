"""Multi-turn rows from the command line to the table: played turn by turn by native and by prompted models, recorded, replayed, resumed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from talm_sim import load_run
from talm_sim.cli import main
from talm_sim.tasks.refusal.turns.play import STEPS
from talm_sim.tools_env.sources.sandbox import SandboxSession, explain_no_sandbox
from talm_sim.types import Episode, Termination
from tests.tasks.refusal.turns.acting import RIGHT, Play, acting

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")


def rows(name: str) -> dict[str, bool | None]:
    return {row.scenario: row.values.get("turns") for row in load_run(name).rows()}  # type: ignore[misc]


def episodes(name: str) -> dict[str, Episode]:
    return {one.id: one for one in load_run(name).episodes()}


@pytest.mark.parametrize(("control", "passed"), [("oracle", 4), ("eager", 2), ("cautious", 0), ("asker", 0)])
def test_the_controls_have_their_true_values(play: Play, control: str, passed: int) -> None:
    assert play("made", "--model", f"sim/{control}") == 0
    found = rows("made")
    assert len(found) == 4 and sum(map(bool, found.values())) == passed
    if control == "eager":
        assert [found[f"multi_turn_{one}_0"] for one in ("base", "long_context")] == [True, True]


def test_the_turn_that_lacks_something_has_its_own_table(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    assert play("made", "--model", "sim/eager", subset="multi_turn_miss_func,multi_turn_miss_param") == 0
    assert main(["report", "made", "--all"]) == 0
    out = capsys.readouterr().out
    found = {row.scenario: row for row in load_run("made").rows()}
    labels = {name: row.labels["missing"] for name, row in found.items()}
    assert labels == {"multi_turn_miss_func_0": "not_shown", "multi_turn_miss_param_0": "guessed"}
    assert all((row.values["missing_turn"], row.values["missing_done"]) == (False, True) for row in found.values())
    passed = sum(row.values["missing_passed"] is True for row in found.values())
    assert re.search(rf"the missing turn is wrong in 2 rows; BFCL's own check passes {passed} of these\s+2\b", out)
    assert re.search(r"the missing turn +n +Right +Looked +Named +Done +BFCL", out)
    assert re.search(r"miss_func +1 +0 .*\n +miss_param +0 +1 ", out[out.index("missing turn, all") :])
    assert main(["show", "made:multi_turn_miss_func_0"]) == 0
    assert re.search(r"Request 2, in which something is missing\n +not shown: wrong", capsys.readouterr().out)
    assert main(["report", "made", "--by-tool"]) == 0
    assert re.search(r"touch +2 +\d+ +1\.00 +1\.00", capsys.readouterr().out)
    assert play("base", "--model", "sim/eager", subset="multi_turn_base") == 0
    assert main(["report", "base", "--all"]) == 0
    assert "missing turn" not in capsys.readouterr().out
    assert {one.judge for one in load_run("base").verdicts()} == {"bfcl-turns"}


def test_a_native_model_is_led_through_the_turns_and_shown_a_function_when_it_arrives(play: Play) -> None:
    with acting(RIGHT) as server:
        assert play("made", "--live", subset="multi_turn_miss_func,multi_turn_miss_param", server=server) == 0
        asked = [one for one in server.requests if any("list all" in str(message["content"]) for message in one["messages"])]
    assert rows("made") == {"multi_turn_miss_func_0": True, "multi_turn_miss_param_0": True}
    shown = [sorted(tool["function"]["name"] for tool in one["tools"]) for one in asked]
    added = ["more functions" in str(one["messages"]) for one in asked]
    assert added == [False, True, True]
    assert shown == [["cd", "mean", "touch", "wait"], *[["cd", "ls", "mean", "touch", "wait"]] * 2]
    assert all(one["messages"][0]["role"] == "user" for one in server.requests), "the system says nothing"
    episode = episodes("made")["multi_turn_miss_func_0"]
    assert [turn.user_turn for turn in episode.model_turns] == [0, 0, 1, 2, 2]
    changes = [(episode.model_turns[one.turn].user_turn, one.state_before != one.state_after) for one in episode.tool_events]
    assert changes == [(0, True), (2, True), (2, False)]


@pytest.mark.parametrize("template", ["injected", "pythonic"])
def test_a_prompted_model_writes_its_calls_and_is_told_the_results(play: Play, template: str) -> None:
    with acting(RIGHT) as server:
        assert play("made", "--live", "--template", template, subset="multi_turn_miss_func", server=server) == 0
    assert rows("made") == {"multi_turn_miss_func_0": True}
    assert not any("tools" in one for one in server.requests)
    systems = [one["messages"][0]["content"] for one in server.requests]
    assert ['"name": "ls"' in one for one in systems] == [False, False, False, True, True]
    last = server.requests[-1]["messages"]
    assert [one["role"] for one in last] == ["system", *["user", "assistant"] * 4, "user"]
    assert last[2]["content"] == server.act([("system", systems[0]), ("user", "Make a.")], {})
    assert "</tool_response>" in last[3]["content"] and '"names\\": [' not in last[3]["content"]
    first = episodes("made")["multi_turn_miss_func_0"].model_turns[0]
    assert first.raw_prompt.startswith("[system] ") and "[human] Make a." in first.raw_prompt


def test_a_style_of_single_requests_is_refused_before_anything_runs(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    with acting(RIGHT) as server:
        assert play("made", "--live", "--template", "hermes", server=server) == 2
    said = capsys.readouterr().err
    assert "template 'hermes': writes single requests, and BFCL's multi-turn rows are conversations; give one of chat, injected" in said
    assert not server.requests


def test_a_row_ends_after_too_many_steps_in_one_turn_and_fails(play: Play) -> None:
    with acting({"Make a.": [("ls", {})]}, again=True) as server:
        assert play("made", "--live", subset="multi_turn_base", server=server) == 0
    (episode,) = episodes("made").values()
    assert (episode.termination, len(episode.model_turns), STEPS) == (Termination.TURN_LIMIT, 21, 21)
    (verdict,) = load_run("made").verdicts()
    assert (verdict.value, verdict.label) == (False, "force_terminated")


def test_epochs_share_no_state_and_long_results_are_read_whole(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "8")
    assert play("made", "--epochs", "2", subset="multi_turn_base,multi_turn_long_context") == 0
    listed = [json.loads(event.result) for one in episodes("made").values() for event in one.tool_events if event.name == "ls"]
    assert [one["seen"] for one in listed] == [1] * 4 and [one["names"] for one in listed] == [["old", "a", "b"]] * 4
    assert sorted(len(one.get("padding", "")) for one in listed) == [0, 0, 9000, 9000]


def test_a_recording_is_replayed_without_a_model_and_without_the_functions(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    with acting(RIGHT) as server:
        assert play("made", "--record", "--cassettes", "tapes", server=server) == 0

    async def refuse(*_: object) -> object:
        raise AssertionError("a function was called")

    monkeypatch.setattr(SandboxSession, "call", refuse)
    with acting(RIGHT) as server:
        assert play("again", "--replay", "--cassettes", "tapes", server=server) == 0
        assert not server.requests
    assert rows("again") == rows("made")
    states = [
        [(event.state_before, event.state_after, event.result) for event in one.tool_events]
        for run in ("made", "again")
        for one in episodes(run).values()
    ]
    assert states[:4] == states[4:] and all(event[0] for one in states for event in one)


def test_other_rows_of_the_same_run_are_asked_as_ever(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    assert play("made", subset="irrelevance,multi_turn_base") == 0
    assert main(["report", "made", "--all"]) == 0
    out = capsys.readouterr().out
    found = episodes("made")
    assert (found["irrelevance_0"].tools, found["multi_turn_base_0"].tools) == ("", "live")
    assert {(one.episode_id, one.judge) for one in load_run("made").verdicts() if one.value is not None} == {
        ("irrelevance_0", "calls"),
        ("irrelevance_0", "intent"),
        ("multi_turn_base_0", "bfcl-turns"),
    }
    assert re.search(r"multi turn\s+incomplete: 1 of 800 rows|multi turn.*3 subsets not run, 1 in part", out)
    assert re.search(r"multi_turn_base +1 .*1\.00", out) and re.search(r"irrelevance +1 ", out)


def test_a_forecast_counts_an_answer_per_turn_and_all_steps(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    with acting(RIGHT) as server:
        assert play("made", "--live", "--dry-run", subset="irrelevance,multi_turn_base,multi_turn_miss_func", server=server) == 0
    assert re.search(rf"{1 + 2 + 3} to {1 + STEPS * 5} requests", capsys.readouterr().out)
    assert not server.requests and not Path("runs").exists()


def test_the_list_of_episodes_breaks_no_word(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    assert play("made", "--model", "sim/eager") == 0
    capsys.readouterr()
    assert main(["show", "made"]) == 0
    listed = capsys.readouterr().out
    assert listed.count(" answered ") == 4 and re.search(r"bfcl- +missing-\n.* turns +turn\n", listed)
    assert listed.endswith("\nin all episodes: Lang: en\n") and "Lang" not in listed.splitlines()[1]
    assert max(map(len, listed.splitlines())) <= 80
