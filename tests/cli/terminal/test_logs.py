"""What is said beside the table: the package's log, and how it is turned down and up."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from talm_sim.cli.run_session import logging_to
from tests.cli.outages import Host, options, refused
from tests.cli.wrong import Talm

KEY = "key-of-a-person-123"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.chdir(tmp_path)
    with Host().serving() as serving:
        monkeypatch.setenv("HOST_BASE_URL", serving.url.replace("127.0.0.1", "someone:password-9@127.0.0.1"))
        monkeypatch.setenv("HOST_API_KEY", KEY)
        monkeypatch.setenv("TALM_SIM_TOOLS", "replay")
        monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "0")
        yield serving


@pytest.mark.parametrize("level", ["info", "debug"])
def test_a_line_an_episode_with_retries_and_without_credentials(
    host: Host, talm: Talm, tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALM_SIM_LOG_LEVEL", level)
    monkeypatch.setenv("TALM_SIM_MAX_RETRIES", "1")
    flags = options(tmp_path, 12)
    host.fault = lambda number: refused(500, f"wrong key {KEY}") if number == 3 else None
    code, _, err = talm("run", *flags)
    assert code == 1
    ends = re.findall(r"^\d\d:\d\d:\d\d INFO talm_sim\.runs\.batch: \[\d+/12\] (town-\d\d): (\w+), \d+\.\d s", err, re.MULTILINE)
    assert len(ends) == 12 and ("town-03", "infrastructure_error") in ends
    assert "INFO talm_sim.models.endpoint: openai-api/host/m at 127.0.0.1" in err and "retry 1 in " in err
    assert "\nfailed: " not in err
    assert KEY not in err and "password-9" not in err
    assert not logging.getLogger("talm_sim").handlers


def test_quiet_prints_the_table_and_what_went_wrong(host: Host, talm: Talm, tmp_path: Path) -> None:
    flags = options(tmp_path, 3)
    code, out, err = talm("run", *flags, "-q")
    assert (code, "perfect" in out, err) == (0, True, "live: openai-api (model openai-api/host/m)\n")
    host.fault = lambda number: refused(500) if number == 1 else None
    code, _, err = talm("run", *flags, "--quiet", "--run-id", "broken")
    assert (code, "1 episode failed, for example town-01" in err, "one episode:" in err) == (1, True, False)
    assert "60 episodes" not in talm("resume", "broken", "-q")[2]


def test_a_log_line_cannot_steer_the_terminal() -> None:
    screen = Console(file=io.StringIO(), width=80, markup=False)
    with logging_to(screen, "warning"):
        logging.getLogger("talm_sim.runs").warning("a \x1b[2J[bold]b")
        logging.getLogger("talm_sim.runs").info("unheard")
    assert isinstance(screen.file, io.StringIO)
    assert screen.file.getvalue().endswith("WARNING talm_sim.runs: a [bold]b\n")
