"""The same agent by itself and through talm-sim, without faults, sends its model the same requests and ends with the same answer.

Two columns. In `own`, the agent has its own client both times, and whole bodies are equal; in `handed`, it has LangChain's client alone and
the run's model through talm-sim, and bodies are equal but for what the run sets (`compared.RUN_SETS`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.cli import main
from talm_sim.cli.parsing.options import ConfigCommand, collect
from talm_sim.errors import PrerequisiteError
from tests.models.loopback import Loopback
from tests.parity import agents, tools as shelf
from tests.parity.cases import CASES, Case
from tests.parity.compared import RUN_SETS, covers, differences
from tests.parity.conftest import policy
from tests.parity.rows import OPEN, OPEN_LINES, REMAINS

Both = Callable[[str], tuple[dict[str, Any], dict[str, Any]]]


@pytest.fixture
def both(alone: Callable[..., Any], model: Loopback, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Both:
    """Plays a case alone and through talm-sim; each play has the requests that it made."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")

    def watched(play: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
        model.seen.clear()
        found = play(*given)
        return found | {"requests": [seen.body for seen in model.seen]}

    def played(row: str) -> tuple[dict[str, Any], dict[str, Any]]:
        model.reply = policy(CASES[row])
        return watched(alone, row, places), watched(play_through, CASES[row], places, tmp_path)

    return played


def write_scenario(case: Case, directory: Path) -> Path:
    """A scenario whose gold calls are those that the model makes, so that a simulated person approves them."""
    names = [*case.served, *(tool.name for tool in shelf.native([one for one in case.tools if not isinstance(one, str)]))]
    calls = [call for turn in case.script if isinstance(turn, list) for call in turn if call[0] in names]
    turns: list[dict[str, Any]] = [{"messages": turn} for turn in case.turns]
    turns[0]["gold_calls"] = [{"name": name, "arguments": given} for name, given in calls]
    scenario: dict[str, Any] = {"id": "a", "group": "perfect", "tools": names, "turns": turns}
    if isinstance(case.reply, str):
        missing = {"kind": "argument", "name": "city", "value": "Madrid", "removed_text": "Madrid", "human_answer": case.reply}
        scenario |= {"group": "underspecified", "missing": missing}
    file = directory / "scenarios.jsonl"
    file.write_text(json.dumps(scenario), encoding="utf-8")
    return file


def play_through(case: Case, places: Mapping[str, str], directory: Path) -> dict[str, Any]:
    """What comes of the agent in a run."""
    agents.NOTES.clear()
    shelf.calls.clear()
    program = f"mcp:{sys.executable} {places['mcp_program']}"
    sources = {"openapi": f"openapi:{places['document']}", "mcp": program, "mcp_http": f"mcp:{places.get('mcp_http')}"}
    options: dict[str, Any] = {"model": f"openai/{agents.MODEL}", "models": "live"} if case.column == "handed" else {}
    options |= {"run_dir": directory, "run_id": "run", "progress": False, "tools": "live"}
    options |= collect(ConfigCommand("run").make_context("run", [*case.flags]).params)
    try:
        stored = talm_sim.run(
            agent=agents.find(case.agent, case.column, case.tools),
            tools_from=[f"weather={sources[one]}" if isinstance(one, str) else one for one in case.tools],
            scenarios=write_scenario(case, directory),
            human="none" if case.reply is None else "simulated",
            **options,
        )
    except PrerequisiteError as err:
        return {"end": f"refused: {err}"}
    (episode,) = stored.episodes()
    if episode.termination.value != "answered":
        return {"end": f"{episode.termination.value}: {episode.error}"}
    return {"answer": episode.answer, "notes": [*agents.NOTES]}


@pytest.mark.parametrize("row", CASES)
def test_an_agent_is_the_same_through_talm_sim(row: str, both: Both, request: pytest.FixtureRequest) -> None:
    case = CASES[row]
    if case.needs and find_spec(case.needs) is None:
        pytest.skip(f"{case.needs} is not installed; scripts/extras.sh installs it")
    if "mcp_http" in case.tools:
        request.getfixturevalue("mcp_http")
    alone, through = both(row)
    if case.refused and re.match(f"refused: .*{case.refused}", through.get("end", "")):
        return
    found = differences(alone, through, case.column)
    stays = {name: why for (rows, name), why in REMAINS.items() if fnmatchcase(row, rows) and "end" not in found}
    listed = OPEN.get(row, {}) | stays
    new = [f"{name}: {told}" for name, told in found.items() if not any(covers(one, name) for one in listed)]
    gone = [f"{one}: no longer differs, so its line goes" for one in listed if not any(covers(one, name) for name in found)]
    if new or gone:
        pytest.fail("\n".join([f"{row}:", *new, *gone]), pytrace=False)
    if OPEN.get(row):
        pytest.xfail(f"differs in {', '.join(OPEN[row])}")


def test_what_the_run_sets_is_said_below_its_table(both: Both, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, through = (play["requests"][0] for play in both("handed_forbidden"))
    same = [field for field in RUN_SETS if alone.get(field) == through.get(field)]
    assert not same, f"no longer set by the run, so their lines go: {same}"
    assert main(["report", str(tmp_path / "run"), "--all"]) == 0
    below = capsys.readouterr().out
    unsaid = {field: line for field, line in RUN_SETS.items() if not re.search(line, below)}
    if unsaid and unsaid == OPEN_LINES:
        pytest.xfail(f"the table says nothing of {[*unsaid]}")
    assert not unsaid and not OPEN_LINES, below
