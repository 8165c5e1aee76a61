"""A sandbox that stays for several calls: what it keeps, how each call is limited, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from talm_sim.tools_env.sources.sandbox import SandboxSession, explain_no_sandbox

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="this system has no namespaces")
CODE = """
import os, socket, time


def counter(start):
    count = [start]

    def call(do="add"):
        if do == "add":
            count[0] += 1
        elif do == "sleep":
            time.sleep(60)
        elif do == "much":
            return "x" * (2 << 20)
        elif do == "exit":
            os._exit(0)
        elif do == "raise":
            raise ValueError("no")
        elif do == "two":
            os.write(3, b'{"value": "false"}\\n')
        elif do == "connect":
            socket.create_connection(("127.0.0.1", 1), timeout=1)
        return count[0]

    return call


def broken():
    raise KeyError("nothing")
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    file = tmp_path / "code" / "api.py"
    file.write_text(CODE)
    return file


async def test_calls_share_a_state_and_a_failure_ends_nothing(code: Path) -> None:
    session = SandboxSession(code, "counter", {"start": 5})
    found = [await session.call({}), await session.call({"do": "raise"}), await session.call({"do": "connect"}), await session.call({})]
    assert [one.status for one in found] == [200, 500, 500, 200]
    assert [json.loads(found[place].body) for place in (0, 3)] == [6, 7]
    assert json.loads(found[1].body) == {"detail": "ValueError: no"} and "unreachable" in found[2].body.decode()
    await session.aclose()
    await session.aclose()


@pytest.mark.parametrize(("do", "why"), [("sleep", "it ran longer than 0.5 s"), ("much", "its answer is longer than 1,024 KiB")])
async def test_each_call_is_limited_and_a_stopped_one_ends_the_sandbox(code: Path, do: str, why: str) -> None:
    session = SandboxSession(code, "counter", {"start": 0}, seconds=0.5)
    for _ in range(2):
        await session.call({})
        await asyncio.sleep(0.3)  # the time of a call is its own
    assert why in (await session.call({"do": do})).body.decode()
    assert "stopped by an earlier call" in (await session.call({})).body.decode()
    await session.aclose()


async def test_code_that_ends_itself_or_does_not_begin_is_a_failure(code: Path) -> None:
    session = SandboxSession(code, "counter", {"start": 0})
    assert (await session.call({"do": "exit"})).status == 500
    assert (await session.call({})).status == 500
    await session.aclose()
    never = SandboxSession(code, "broken", {})
    assert [(await never.call({})).body for _ in range(2)] == [b'{"detail": "KeyError: \'nothing\'"}'] * 2
    await never.aclose()


async def test_code_that_writes_an_answer_of_its_own_harms_only_its_own_episode(code: Path) -> None:
    session, other = SandboxSession(code, "counter", {"start": 0}), SandboxSession(code, "counter", {"start": 0})
    await session.call({"do": "two"})
    assert json.loads((await other.call({})).body) == 1
    await session.aclose()
    await other.aclose()


async def test_nothing_is_left_behind(code: Path) -> None:
    session = SandboxSession(code, "counter", {"start": 0})
    await session.call({})
    process = session._box._process
    assert process is not None
    await session.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
