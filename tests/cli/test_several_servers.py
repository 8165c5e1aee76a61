"""A run by three servers of one model, of which one is killed in the middle of an answer and started again: nothing is lost by it."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from talm_sim.models import servers
from talm_sim.store.stored_run import load_run
from tests.models.killable import Killable, serving
from tests.runs.recorded_world import make_world

Talm = Callable[..., tuple[int, str, str]]
EPOCHS, EPISODES = 6, 24
KILLED_AT = 5
WAIT_S = 60.0


class _Revival(logging.Handler):
    """Starts the killed server again once it is left out; until then the other servers keep back their answers."""

    def __init__(self, killed: Killable) -> None:
        super().__init__(logging.INFO)
        self.killed = killed
        self.is_left_out, self.is_back = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._revive, daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        if "left out" in record.getMessage():
            self.is_left_out.set()

    def hold(self) -> None:
        """Keep an answer back while the server is dead."""
        if self.killed.is_dead:
            self.is_back.wait(WAIT_S)

    def _revive(self) -> None:
        if self.is_left_out.wait(WAIT_S):
            self.killed.start_again()
        self.is_back.set()


@contextmanager
def one_that_dies(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Killable, str]]:
    """Three served stand-ins; yields the one that is killed, and the three addresses."""
    monkeypatch.setattr(servers, "FIRST_PAUSE_S", 0.05)
    with ExitStack() as stack:
        killed = stack.enter_context(Killable(KILLED_AT))
        revival = _Revival(killed)
        others = [stack.enter_context(serving(revival.hold)) for _ in range(2)]
        logger = logging.getLogger(servers.__name__)
        level = logger.level
        logger.addHandler(revival)
        logger.setLevel(logging.INFO)
        stack.callback(logger.setLevel, level)
        stack.callback(logger.removeHandler, revival)
        revival.thread.start()
        yield killed, f"{others[0].url}, {killed.url},{others[1].url}/"


def table(run: str) -> list[dict[str, Any]]:
    """The rows of a run and its table, without its name and its times."""
    stored = load_run(run)
    records = [*stored.summary_records(), *stored.to_records()]
    return [{name: value for name, value in record.items() if name not in {"run", "elapsed_s"}} for record in records]


def test_one_of_three_servers_is_killed_and_comes_back(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "6")
    monkeypatch.setenv("TALM_SIM_TOOLS", "replay")
    monkeypatch.chdir(tmp_path)
    world = make_world(tmp_path)
    where = ["--scenarios", str(world["scenarios"]), "--cassettes", str(world["cassettes"]), "--split", "perfect"]
    flags = [*where, "--model", "openai-api/host/m", "--epochs", str(EPOCHS)]
    with serving() as alone:
        monkeypatch.setenv("HOST_BASE_URL", alone.url)
        assert talm("run", *flags, "--run-id", "one")[0] == 0
        assert 0 < table("one")[0]["pass_rate"] < 1
    with one_that_dies(monkeypatch) as (killed, addresses):
        monkeypatch.setenv("HOST_BASE_URL", addresses)
        monkeypatch.setenv("TALM_SIM_MODELS", "record")
        code, _, err = talm("run", *flags, "--run-id", "three")
        assert code == 0, err
        assert killed.asked() > 0, "it was asked again after it was started again"
    stored = load_run("three")
    assert (stored.finished, stored.failed) == (EPISODES, 0)
    assert {one.attempt for one in stored.episodes()} == {1}
    said = [line for line in err.splitlines() if f"127.0.0.1:{killed.port}" in line]
    host = rf"openai-api/host/m at 127\.0\.0\.1:{killed.port}"
    assert len(said) == 2, err
    assert re.fullmatch(rf"left out: {host}: no connection: [^;]+; 2 of 3 servers in use, tried again in 0 s", said[0])
    assert re.fullmatch(rf"{host} answers again: 3 of 3 servers in use", said[1])
    assert table("three") == table("one")

    monkeypatch.delenv("HOST_BASE_URL")
    code, _, err = talm("run", *flags, "--replay", "--run-id", "replayed")
    assert code == 0, err
    assert table("replayed") == table("one"), "a recording does not know who was asked"
