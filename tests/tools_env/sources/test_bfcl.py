"""The simulated APIs as a source: instances of an episode's own, called with parsed arguments, in a sandbox of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.routes import states_of
from talm_sim.tools_env.sources.bfcl import apis
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.tools_env.toolbox import Tools, ToolSession, open_tools
from talm_sim.types import Scenario, ToolCall, Turn
from tests.simulated_apis import make_package

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
START = {"classes": {"GorillaFileSystem": {"names": ["old"]}, "MathAPI": {}}, "long_context": False}


async def answers(session: ToolSession, *calls: tuple[str, Mapping[str, Any]]) -> list[HttpResponse]:
    return [(await session.call(*call))[0] for call in calls]


async def test_each_episode_has_a_state_of_its_own_and_each_call_says_whether_it_changed_it(tmp_path: Path) -> None:
    tools = await open_tools([f"bfcl:{make_package(tmp_path)}"])
    one, other = tools.open("a@1", START), tools.open("a@2", START)
    made, _ = await asyncio.gather(
        answers(one, ("touch", {"file_name": "new"}), ("ls", {}), ("cd", {"folder": "x"})), answers(other, ("ls", {}), ("ls", {}))
    )
    listed = json.loads((await answers(other, ("ls", {})))[0].body)
    assert json.loads(made[1].body) == {"names": ["old", "new"], "seen": 1}
    assert listed == {"names": ["old"], "seen": 3}, "not even a module is shared"
    changed = [before != after for before, after in map(states_of, made)]
    assert changed == [True, False, False], "an attribute with an underscore is no part of what is compared"
    assert states_of(made[0])[1] == states_of(made[1])[0]
    assert json.loads(made[0].body) == "None"
    for session in (one, other):
        await session.aclose()
    await tools.aclose()


async def test_arguments_reach_the_function_which_says_what_is_wrong_with_them(tmp_path: Path) -> None:
    tools = await open_tools([f"bfcl:{make_package(tmp_path)}"])
    message = {"role": "user", "content": "Make a file."}
    scenario = Scenario(id="a", group="g", turns=(Turn(messages=(message,)),), tools=("touch", "mean"), start=START)
    opened = Environment(tools).open(scenario)
    wrong = [{"file_name": 5}, {"nope": "x"}]
    events = [await opened.call(ToolCall(id="1", name="touch", arguments=one), 0) for one in wrong]
    mean = await opened.call(ToolCall(id="2", name="mean", arguments={"numbers": [1, 2]}), 0)
    assert [(event.ok, event.error) for event in events] == [(False, "function_error")] * 2
    assert json.loads(events[0].result)["error"].startswith("Error during execution: ") and "HTTP" not in events[0].result
    assert "a name is a text" in events[0].result and "unexpected keyword argument 'nope'" in events[1].result
    assert events[0].state_before == events[0].state_after != ""
    assert (mean.ok, mean.result) == (True, '{"result":1.5}')
    await opened.aclose()
    await tools.aclose()


async def test_what_a_scenario_says_of_its_start_is_checked(tmp_path: Path) -> None:
    tools = await open_tools([f"bfcl:{make_package(tmp_path)}"])
    starts: tuple[dict[str, Any], ...] = ({}, START, {"classes": {"Math": {}}}, {"classes": {}}, {**START, "more": 1})
    faults = [*map(tools.fault_in_start, starts)]
    assert faults[:2] == ["", ""]
    assert faults[2].startswith("there is no class 'Math'. Did you mean 'MathAPI'?")
    assert faults[3].startswith("names no classes; write") and faults[4] == "'more' is not read; leave it out."
    plain: Any = SimpleNamespace(name="plain", specs={}, routes={}, responses={}, not_taken=())
    assert Tools([plain]).fault_in_start(START).startswith("the tools here start the same way in every episode; leave it out")
    await tools.aclose()


async def test_a_package_that_lacks_something_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(tmp_path)
    with pytest.raises(PrerequisiteError, match=r"is not the package bfcl_eval with its simulated APIs; install it with pip"):
        await open_tools([f"bfcl:{tmp_path / 'mpmath'}"])
    documents = package / "data" / "multi_turn_func_doc" / "math_api.json"
    documents.write_text('{"name": "mean"}')
    with pytest.raises(PrerequisiteError, match=r"math_api\.json: cannot be read as the descriptions of MathAPI \('description'\)"):
        await open_tools([f"bfcl:{package}"])
    documents.write_text("")
    for file in (tmp_path / "mpmath").iterdir():
        file.unlink()
    (tmp_path / "mpmath").rmdir()
    monkeypatch.setattr(apis, "find_spec", lambda name: None)
    with pytest.raises(PrerequisiteError, match=r"need mpmath, which is not installed: pip install mpmath==1\.3\.0"):
        await open_tools([f"bfcl:{package}"])
