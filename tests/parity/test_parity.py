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
from talm_sim.errors import PrerequisiteError
from tests.models.loopback import Loopback
from tests.parity import agents, tools as shelf
from tests.parity.cases import CASES, Case
from tests.parity.compared import RUN_SETS, covers, differences
from tests.parity.conftest import policy
from tests.parity.rows import OPEN, OPEN_LINES, REMAINS

Alone = Callable[[str, Mapping[str, str]], dict[str, Any]]


def write_scenario(case: Case, directory: Path) -> Path:
    """A scenario whose gold calls are those that the model makes, so that a simulated person approves them."""
    names = [*case.served, *(tool.name for tool in shelf.native([one for one in case.tools if not isinstance(one, str)]))]
    calls = [call for turn in case.script if isinstance(turn, list) for call in turn if call[0] in names]
    turns: list[Any] = [{"messages": turn} for turn in case.turns]
    turns[0]["gold_calls"] = [{"name": name, "arguments": given} for name, given in calls]
    scenario = {"id": "a", "group": "perfect", "tools": names, "turns": turns}
    if isinstance(case.reply, str):
        missing = {"kind": "argument", "name": "city", "value": "Madrid", "removed_text": "Madrid", "human_answer": case.reply}
        scenario |= {"group": "underspecified", "missing": missing}
    file = directory / "scenarios.jsonl"
    file.write_text(json.dumps(scenario), encoding="utf-8")
    return file


def play_through(case: Case, places: Mapping[str, str], directory: Path) -> dict[str, Any]:
    """What comes of the agent in a run."""
    agents.NOTES.clear()
    shelf.reset()
    sources = {
        "openapi": f"weather=openapi:{places['document']}",
        "mcp": f"weather=mcp:{sys.executable} {places['mcp_program']}",
        "mcp_http": f"weather=mcp:{places.get('mcp_http')}",
    }
    tools = [sources[one] if isinstance(one, str) else one for one in case.tools]
    model = {"model": f"openai/{agents.MODEL}", "models": "live"} if case.column == "handed" else {}
    human = "none" if case.reply is None else "simulated"
    try:
        stored = talm_sim.run(
            agent=agents.find(case.agent, case.column),
            tools_from=tools,
            scenarios=write_scenario(case, directory),
            run_dir=directory,
            run_id="run",
            human=human,
            progress=False,
            tools="live",
            **model,
            **case.options,
        )
    except PrerequisiteError as err:
        return {"end": f"refused: {err}"}
    (episode,) = stored.episodes()
    if episode.termination.value != "answered":
        return {"end": f"{episode.termination.value}: {episode.error}"}
    return {"answer": episode.answer, "notes": [*agents.NOTES]}


def both(
    row: str, case: Case, alone: Alone, model: Loopback, places: Mapping[str, str], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """A case alone and through talm-sim, each with the requests that it made."""
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    model.reply = policy(case)
    plays = []
    for play in (lambda: alone(row, places), lambda: play_through(case, places, directory)):
        model.seen.clear()
        found = play()
        plays.append(found | {"requests": [seen.body for seen in model.seen]})
    return plays


@pytest.mark.parametrize("row", CASES)
def test_an_agent_is_the_same_through_talm_sim(
    row: str,
    alone: Alone,
    model: Loopback,
    places: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    case = CASES[row]
    if case.needs and find_spec(case.needs) is None:
        pytest.skip(f"{case.needs} is not installed; scripts/extras.sh installs it")
    if "mcp_http" in case.tools:
        request.getfixturevalue("mcp_http")
    plays = both(row, case, alone, model, places, tmp_path, monkeypatch)
    assert "end" not in plays[0], plays[0]["end"]
    if case.refused and case.refused in plays[1].get("end", "").removeprefix("refused: "):
        return
    found = differences(*plays, case.column)
    stays = {name: why for (rows, name), why in REMAINS.items() if fnmatchcase(row, rows) and "end" not in found}
    listed = OPEN.get(row, {}) | stays
    new = [f"{name}: {told}" for name, told in found.items() if not any(covers(one, name) for one in listed)]
    gone = [f"{one}: no longer differs, so its line goes" for one in listed if not any(covers(one, name) for name in found)]
    if new or gone:
        pytest.fail("\n".join([f"{row}:", *new, *gone]), pytrace=False)
    if OPEN.get(row):
        pytest.xfail(f"differs in {', '.join(OPEN[row])}")


def test_what_the_run_sets_is_said_below_its_table(
    model: Loopback, alone: Alone, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES["handed_forbidden"]
    bodies = [
        requests[0] for requests in (play["requests"] for play in both("handed_forbidden", case, alone, model, places, tmp_path, monkeypatch))
    ]
    assert main(["report", str(tmp_path / "run"), "--all"]) == 0
    below = capsys.readouterr().out
    same = [field for field in RUN_SETS if bodies[0].get(field) == bodies[1].get(field)]
    assert not same, f"no longer set by the run, so their lines go: {same}"
    unsaid = {field: line for field, line in RUN_SETS.items() if not re.search(line, below)}
    if unsaid == OPEN_LINES:
        pytest.xfail(f"the table says nothing of {[*unsaid]}")
    assert not unsaid, below
