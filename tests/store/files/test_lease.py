from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files import lease
from talm_sim.store.files.database import connect_writer
from talm_sim.store.files.lease import acquire, owner_of
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import load_run
from talm_sim.types import Verdict
from tests.runs.scripted import finished, new_run, scenarios


def test_a_second_taker_is_refused_until_the_first_gives_back(tmp_path: Path) -> None:
    with closing(connect_writer(new_run(tmp_path))) as one, closing(connect_writer(tmp_path / "a-run")) as two:
        first = acquire(one, "a-run")
        with pytest.raises(PrerequisiteError, match=f"run 'a-run' is being run by process {os.getpid()}"):
            acquire(two, "a-run")
        first.release(one)
        assert owner_of(two) is None
        acquire(two, "a-run")


def test_a_lease_that_holds_nonsense_is_nobodys(tmp_path: Path) -> None:
    with closing(connect_writer(new_run(tmp_path))) as conn:
        conn.execute("INSERT INTO lease VALUES (1, 't', 'pid', x'00', 'boot', 'yesterday')")
        acquire(conn, "a-run")
        owner = owner_of(conn)
        assert owner is not None
        assert owner.pid == os.getpid()


def test_a_later_process_of_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    with closing(connect_writer(new_run(tmp_path))) as conn:
        acquire(conn, "a-run")
        conn.execute("UPDATE lease SET process = substr(process, 1, length(process) - 1)")
        owner = owner_of(conn)
        assert owner is not None
        assert not owner.alive


@pytest.mark.parametrize(("age", "alive"), [(0.0, True), (lease.STALE_SECONDS + 1, False)])
def test_another_machine_is_judged_by_its_heartbeat(tmp_path: Path, age: float, alive: bool) -> None:
    with closing(connect_writer(new_run(tmp_path))) as conn:
        acquire(conn, "a-run")
        conn.execute("UPDATE lease SET host = 'elsewhere', heartbeat = ?", (time.time() - age,))
        owner = owner_of(conn)
        assert owner is not None
        assert owner.alive is alive


async def test_who_lost_the_run_writes_nothing_more(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    scenario = scenarios(1)[0]
    async with RunStore.open(run) as store:
        await store.finish(finished(scenario), 0)
        with closing(connect_writer(run)) as conn:
            conn.execute("UPDATE lease SET token = 'another'")
        with pytest.raises(PrerequisiteError, match="run 'a-run' was taken over by another process"):
            await store.add_verdict(Verdict(episode_id=scenario.id, judge="reference", value=True))
        with pytest.raises(PrerequisiteError, match="taken over"):
            await store.finish(finished(scenario, epoch=2), 0)
    assert load_run(run).finished == 1
    with closing(connect_writer(run)) as conn:
        assert conn.execute("SELECT token FROM lease").fetchone() == ("another",), "the new owner's lease was removed"


async def test_an_idle_owner_keeps_its_heart_beating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talm_sim.store.files.writer._BEAT_SECONDS", 0.02)
    run = new_run(tmp_path)
    async with RunStore.open(run):
        with closing(connect_writer(run)) as conn:
            first = owner_of(conn)
            deadline = time.monotonic() + 100
            while owner_of(conn) == first and time.monotonic() < deadline:
                time.sleep(0.02)
            assert owner_of(conn) != first
