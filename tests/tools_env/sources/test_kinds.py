"""Every kind of source does what the built-in tools do: it is called, damaged, recorded, and replayed with the source gone."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path

import pytest

from talm_sim.config import Traffic
from talm_sim.recordings import CassetteLibrary, Player
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Origin, Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources.worlds import source_of

SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("double",))
KINDS = [
    "python",
    "class",
    "given",
    "openapi",
    pytest.param("mcp", marks=pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="needs the extra mcp")),
    pytest.param("fail-talms", marks=pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")),
]
FAMILIES = {"endpoint", "drift"}
"""Faults of single calls that every source can have: a silent one needs more of the tool."""


async def _call(tools: Tools, n: int = 4, *perturb: str, player: Player | None = None) -> ToolEvent:
    opened = Environment(tools, perturb=perturb, clock=VirtualClock, writing=True).open(SCENARIO, player=player)
    return await opened.call(ToolCall(id="1", name="double", arguments={"n": n}), 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_source_is_called_damaged_recorded_and_replayed_without_it(kind: str, tmp_path: Path) -> None:
    library = CassetteLibrary(tmp_path / "recorded")
    with source_of(kind, tmp_path) as text:
        tools = await open_tools([text], trusted=True)
        try:
            spec = tools.specs["double"]
            assert (spec.required, spec.parameters["properties"]["n"]["type"], tools.not_taken()) == (("n",), "integer", {})
            assert "Double a number." in spec.description
            library.save_tools(tools.specs, tools.routes)
            player = library.open_tools("s", "perfect", Traffic.RECORD)
            live = [await _call(tools, n, player=player) for n in (4, 13)]
            player.save()
            wrong = await _call(tools, "x")  # type: ignore[arg-type]
            await _every_perturbation_fires(tools)
        finally:
            await tools.aclose()
    assert [(event.ok, event.origin) for event in live] == [(True, Origin.LIVE), (False, Origin.LIVE)]
    assert json.loads(live[0].result) == {"twice": 8} and "13 is not a number to double" in live[1].result
    assert wrong.error == "invalid_arguments"
    again = CassetteLibrary(tmp_path / "recorded")
    gone = Tools(recorded=again.tools())
    played = [await _call(gone, n, player=again.open_tools("s", "perfect", Traffic.REPLAY)) for n in (4, 13)]
    assert [(event.result, event.ok, event.status, event.error) for event in played] == [
        (event.result, event.ok, event.status, event.error) for event in live
    ]
    assert {event.origin for event in played} == {Origin.RECORDED}
    assert gone.specs == tools.specs
    (uri, *_) = [one["request"]["uri"] for one in json.loads((tmp_path / "recorded/tools/perfect/s.json").read_text())["interactions"]]
    name = "tools" if kind == "given" else "numbers"
    assert uri == (f"http://tools.invalid/{name}/double/4" if kind == "openapi" else f"http://tools.invalid/{name}/double")


async def _every_perturbation_fires(tools: Tools) -> None:
    opened = Environment(tools, perturb=("mask",)).open(SCENARIO)
    assert (opened.tools, opened.logs()[0].fired) == ([], 1)
    clean = (await _call(tools, 4)).result  # an MCP server writes it with spaces
    for name in (name for name in PERTURBATIONS.names() if PERTURBATIONS.get(name).family in FAMILIES):
        event = await _call(tools, 4, name)
        seen = int(name != "slow")
        assert [(log.armed, log.fired, log.seen) for log in event.perturbations] == [(1, 1, seen)], name
        assert (event.result != clean) is bool(seen), name


async def test_several_sources_at_once_are_told_apart_by_name(tmp_path: Path) -> None:
    with source_of("given", tmp_path) as one, source_of("openapi", tmp_path) as other:
        tools = await open_tools([one, other])
        try:
            assert list(tools.specs) == ["tools__double", "numbers__double"]
            assert [tools.source_of(name) for name in tools.specs] == ["tools", "numbers"]
            answers = await asyncio.gather(*(tools.call(name, {"n": 2}) for name in tools.specs))
            assert [json.loads(response.body) for response, _ in answers] == [{"twice": 4}] * 2
            assert tools.explain_unknown("double") == "several sources have a tool 'double': write tools__double or numbers__double."
        finally:
            await tools.aclose()
