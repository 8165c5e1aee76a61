"""Hostile MCP servers over HTTP: each answer that is bad fails its own call, and the others of the connection go on."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

pytest.importorskip("mcp")

from talm_sim.tools_env.sources import mcp, mcp_transports
from talm_sim.tools_env.toolbox import open_tools
from tests.tools_env.sources import hostile_http as hostile, hostile_mcp
from tests.tools_env.sources.test_mcp_hostile import called, place

LARGE = {"gzip of 100 MiB", "10 MB", "an event of 10 MB"}


@pytest.mark.parametrize("what", [*hostile.BAD_ANSWERS, *hostile.SLOW])
async def test_a_bad_answer_over_http_fails_its_call_and_the_others_go_on(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile.served({**hostile.BAD_ANSWERS, **hostile.SLOW}[what]) as url:
        # What a connection may take is said when it is opened.
        monkeypatch.setattr(mcp, "CALL_S", 2.0 if what in {**hostile.SLOW, **hostile.ENDLESS, "of another": None} else 60.0)
        tools = await open_tools([f"h=mcp:{url}"])
        try:
            bad, *good = await asyncio.gather(*(called(tools, name) for name in ("bad", "good", "good")))
            good.append(await called(tools, "good"))
        finally:
            await tools.aclose()
    assert not bad.ok and (bad.error or bad.status), bad
    assert (bad.error, bad.status) == ("answer_too_large", 200) or what not in LARGE
    assert [json.loads(one.result) for one in good] == [{"twice": 8}] * 3


async def test_a_large_answer_is_read() -> None:
    for play in hostile.ANSWERED.values():
        with hostile.served(play) as url:
            tools = await open_tools([f"h=mcp:{url}"])
            try:
                assert (await called(tools, "bad")).ok
            finally:
                await tools.aclose()


@pytest.mark.parametrize("what", ["silence", "an endless body"])
async def test_what_needs_no_answer_holds_up_nothing(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_transports, "UNASKED_S", 0.3)
    with hostile.served(hostile.BAD_ANSWERS["nothing"], {**hostile.BAD_ANSWERS, **hostile.SLOW}[what]) as url:
        began = time.monotonic()
        tools = await open_tools([f"h=mcp:{url}"])
        try:
            good = await called(tools, "good")
        finally:
            await tools.aclose()
    assert json.loads(good.result) == {"twice": 8} and time.monotonic() - began < 30


@pytest.mark.parametrize("how", ["stdio", "one message", "events"])
async def test_tools_that_cannot_be_taken_are_left_out_and_named(how: str) -> None:
    with hostile.served(hostile.BAD_ANSWERS["nothing"], listed=[*hostile_mcp.LISTS.values()], events=how == "events") as url:
        tools = await open_tools([place("list: all") if how == "stdio" else f"h=mcp:{url}"])
        try:
            assert {*tools.specs} == {"good", "bad"} and json.loads((await called(tools, "good")).result) == {"twice": 8}
        finally:
            await tools.aclose()
    left = tools.not_taken()["h"]
    assert len(left) == len(hostile_mcp.LISTS) and len({one.reason for one in left}) > 5
    for one in left:
        assert one.tool and one.reason.endswith(".") and (one.tool + one.reason).isprintable() and len(one.tool + one.reason) < 300
