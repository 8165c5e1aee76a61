"""Hostile MCP servers: each costs a failed call or its own episode, or is refused in one line; and what they leave behind is ended."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources import mcp, mcp_transports
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources import hostile_mcp as hostile

SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("good", "bad"))
GONE = {one for one in hostile.CALLS if one.startswith("end")} | {"killed", "no output"}
BUSY = {one for one in hostile.CALLS if one.endswith("without end")} | {"stopped", "a byte each half second"}
"""They do nothing else from then on."""
LARGE = {"an error of 3 MB with escapes", "10 MB, the id last"}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("START_S", "CALL_S"):
        monkeypatch.setattr(mcp, name, 60.0)
    monkeypatch.setattr(mcp_transports, "PATIENCE_S", 0.3)


def place(mode: str, mark: str = "") -> str:
    return f"h=mcp:{sys.executable} -S {hostile.__file__} {shlex.quote(mode)} {mark}".replace(",", "\\,")


@asynccontextmanager
async def opened(mode: str, mark: str = "") -> AsyncIterator[Tools]:
    tools = await open_tools([place(mode, mark)])
    try:
        yield tools
    finally:
        await tools.aclose()


async def called(tools: Tools, name: str, scenario: str = "s") -> ToolEvent:
    session = Environment(tools).open(SCENARIO.model_copy(update={"id": scenario}))
    return await session.call(ToolCall(id="1", name=name, arguments={"n": 4}), 0)


@pytest.mark.parametrize("what", hostile.CALLS)
async def test_a_bad_answer_costs_its_call_or_its_episode_and_the_others_go_on(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(f"call: {what}") as tools:
        monkeypatch.setattr(mcp, "CALL_S", 1.0 if what in {*BUSY, "silence"} else 60.0)
        if what in GONE:
            with pytest.raises(ProviderError, match="The MCP server 'h' has ended"):
                await called(tools, "bad", "one")
        else:
            event = await called(tools, "bad", "one")
            assert (event.ok, bool(event.error or event.status)) == (False, True), event
            assert (event.error == "answer_too_large") is (what in LARGE)
            assert what != "a page to open first" or "which is refused here" in event.result
        if what not in BUSY:
            monkeypatch.setattr(mcp, "CALL_S", 60.0)
            assert json.loads((await called(tools, "good", "two")).result) == {"twice": 8}


@pytest.mark.parametrize("what", hostile.ANSWERED)
async def test_what_a_server_says_besides_an_answer_changes_nothing(what: str) -> None:
    async with opened(f"call: {what}") as tools:
        offered = dict(tools.specs)
        first = await called(tools, "bad")
        assert first.ok and ("first" in first.result or what == "1.5 MB")
        good = await called(tools, "good")
        assert json.loads(good.result) == {"twice": 8} and tools.specs == offered and [*offered] == ["good", "bad"]


@pytest.mark.parametrize("what", hostile.STARTS)
async def test_a_bad_start_is_one_line(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "START_S", 1.0)
    with pytest.raises(PrerequisiteError) as refused:
        await open_tools([place(f"start: {what}")])
    assert len(str(refused.value)) < 700


@pytest.mark.parametrize("mode", [*(f"page: {what}" for what in hostile.PAGES), *(f"hand: {what}" for what in hostile.HANDS)])
async def test_a_bad_handshake_or_list_is_one_line(mode: str) -> None:
    with pytest.raises(PrerequisiteError) as refused:
        await open_tools([place(mode)])
    assert len(str(refused.value)) < 700
    assert ("the cursor 'c' came twice" in str(refused.value)) is mode.endswith("stands still")


@pytest.mark.parametrize("what", hostile.FINE)
async def test_noise_and_children_are_no_hindrance_and_end_with_it(what: str, tmp_path: Path) -> None:
    began = time.monotonic()
    async with opened(f"start: {what}", str(tmp_path)) as tools:
        assert json.loads((await called(tools, "good")).result) == {"twice": 8}
        assert hostile.living(str(tmp_path))
    assert not hostile.living(str(tmp_path)) and time.monotonic() - began < 60


async def test_episodes_that_may_have_changed_something_in_a_server_that_ended_are_told() -> None:
    async with opened("call: killed") as tools:
        assert (await called(tools, "good", "one")).ok
        with pytest.raises(ProviderError, match="has ended"):
            await called(tools, "bad", "two")
        with pytest.raises(ProviderError, match="was started again: what this episode did there is lost"):
            await called(tools, "good", "one")
        assert (await called(tools, "good", "three")).ok
        assert (await called(tools, "good", "two")).ok, "tried again, it begins anew"


@pytest.mark.skipif(sys.platform != "linux", reason="the processes are looked for in /proc")
def test_nothing_is_left_when_we_are_interrupted(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom talm_sim.tools_env.toolbox import open_tools\n"
        "async def main():\n    await open_tools([sys.argv[1]])\n    print('ready', flush=True)\n    await asyncio.sleep(3600)\n"
        "asyncio.run(main())"
    )
    written = place("start: deaf grandchild", str(tmp_path))
    ours = subprocess.Popen([sys.executable, "-c", code, written], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert ours.stdout is not None and ours.stdout.readline() == b"ready\n"
    ours.stdout.close()
    ours.send_signal(signal.SIGINT)
    ours.wait(20)
    until = time.monotonic() + 15
    while hostile.living(str(tmp_path)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not hostile.living(str(tmp_path))
