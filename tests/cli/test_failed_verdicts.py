"""A judge whose model does not answer for some episodes: the table counts them, and says how they are asked for again."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from talm_sim.store.stored_run import load_run
from tests.cli.wrong import Talm
from tests.models.stand_in import StandIn, serving
from tests.runs.recorded_world import make_world
from tests.runs.test_budget import JUDGE, act


def test_verdicts_that_failed_are_counted_below_the_table(
    nothing_given: None, tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "0")
    monkeypatch.setenv("TALM_SIM_MAX_CONNECTIONS", "1")
    monkeypatch.setenv("TALM_SIM_TOOLS", "replay")
    monkeypatch.setenv("TALM_SIM_MODELS", "live")
    make_world(tmp_path)
    asked = itertools.count(1)

    def breaks_off(*given: Any) -> Any:
        if next(asked) == 2:
            raise ConnectionError
        return act(*given)

    monkeypatch.setattr(StandIn, "act", breaks_off)
    world = ("--scenarios", "scenarios.jsonl", "--split", "perfect", "--model", "sim/oracle", "--cassettes", "cassettes")
    with serving("guesses") as server:
        monkeypatch.setenv("STAND_BASE_URL", f"{server.url}/v1")
        judge = ("--judge", "reference", "--judge", "llm", "--judge-model", JUDGE)
        code, out, _ = talm("run", *world, *judge, "--run-id", "r")
        said = " ".join(out.split())
        assert code == 1 and "judge llm: 1 of 4 replies failed" in said and "ask again: talm-sim judge r" in said
        assert load_run(Path("runs/r")).failed_verdicts == {"llm": 1}
        code, out, _ = talm("judge", "r")
        assert code == 0 and "failed" not in out
    assert load_run(Path("runs/r")).failed_verdicts == {} and "failed" not in talm("report", "r")[1]
