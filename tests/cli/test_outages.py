"""Failed is not finished: outages of a real loopback server, and what the command line makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import load_run
from talm_sim.types import Termination
from tests.cli.outages import SETTINGS, Fault, Host, options, refused

Talm = Callable[..., tuple[int, str, str]]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.chdir(tmp_path)
    with Host().serving() as serving:
        for name, text in {"HOST_BASE_URL": serving.url, **SETTINGS}.items():
            monkeypatch.setenv(name, text)
        yield serving


def table(talm: Talm, run: str) -> list[dict[str, Any]]:
    """The table of a run as data, without its name."""
    code, out, err = talm("report", run, "--json")
    assert code == 0, err
    return [{name: value for name, value in row.items() if name != "run"} for row in json.loads(out)]


def test_what_an_outage_took_is_tried_again_and_nothing_else(host: Host, talm: Talm, tmp_path: Path) -> None:
    flags = options(tmp_path, 18)  # more than are in flight at a time
    assert talm("run", *flags, "--run-id", "unbroken")[0] == 0
    host.asked.clear()
    host.fault = lambda number: refused(500, "out of order") if number % 3 else None
    code, _, err = talm("run", *flags, "--run-id", "broken")
    assert (code, "12 episodes failed, for example " in err, "retry them with: talm-sim resume broken" in err) == (1, True, True)
    (info,) = (one for one in list_runs(Path("runs")) if one.id == "broken")
    assert (info.failed, info.state) == (12, "done, 12 failed")
    assert load_run("broken").terminations[Termination.INFRASTRUCTURE_ERROR] == 12

    host.fault = lambda number: None
    host.asked.clear()
    code, _, err = talm("resume", "broken")
    assert code == 0, err
    assert "broken: 18 episodes, 6 finished before, 12 tried again; " in err
    assert set(host.asked) == {number for number in range(18) if number % 3}
    stored = load_run("broken")
    assert (stored.finished, stored.failed) == (18, 0)
    assert {one.id: one.attempt for one in stored.episodes()} == {f"town-{n:02}": 2 if n % 3 else 1 for n in range(18)}
    assert table(talm, "broken") == table(talm, "unbroken")
    assert len(list(stored.verdicts())) == 18


@pytest.mark.parametrize(
    ("failed", "again"),
    [("none", 0), ("answered", 4), ("infrastructure_error,answered", 6)],
)
def test_the_user_says_what_is_tried_again(host: Host, talm: Talm, tmp_path: Path, failed: str, again: int) -> None:
    flags = options(tmp_path, 6)
    host.fault = lambda number: refused(500) if number < 2 else None
    talm("run", *flags, "--run-id", "broken")
    ends = load_run("broken").terminations
    wanted = sum(number for end, number in ends.items() if end.value in failed.split(","))
    assert again == wanted or Termination.SKIPPED in ends
    host.fault = lambda number: None
    _, _, err = talm("resume", "broken", "--failed", failed)
    assert (f", {wanted} tried again" in err) is bool(wanted), err


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (refused(401, "bad key"), "HTTP 401: bad key; check the key (HOST_API_KEY)."),
        (refused(404, "no such model"), "HTTP 404: no such model; check the model's name and the base URL (HOST_BASE_URL)."),
        (
            (404, "text/html", "<!DOCTYPE html><html>lost</html>"),
            "HTTP 404: Not Found (an HTML page); is that the right base URL (HOST_BASE_URL)?",
        ),
        ((200, "text/html", "<html>welcome</html>"), "answered with an HTML page; is that the right base URL (HOST_BASE_URL)?"),
    ],
)
def test_refused_before_anything_was_answered_ends_the_run_and_keeps_it(
    host: Host, talm: Talm, tmp_path: Path, fault: tuple[int, str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "4")
    flags = options(tmp_path, 8)
    host.fault = lambda number: fault
    code, out, err = talm("run", *flags, "--run-id", "refused", "--display", "none")
    at = f"openai-api/host/m at {host.url[7:-3]}"
    line = f"talm-sim: error: {at}: {said} The run is kept; continue with: talm-sim resume runs/refused\n"
    assert (code, out, err.splitlines(keepends=True)[1:]) == (2, "", [line])
    assert len(host.asked) <= 4, "no episode was begun after those in flight"
    assert load_run("refused").failed == 0
    monkeypatch.setenv("TALM_SIM_FAIL_FAST", "false")
    assert talm("run", *flags, "--run-id", "counted")[0] == 1
    assert load_run("counted").failed == 8
    host.fault = lambda number: None
    assert talm("resume", "runs/refused")[0] == 0
    assert load_run("refused").finished == 8


def test_the_v1_that_is_missing_is_named(host: Host, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_BASE_URL", host.url.removesuffix("/v1"))
    host.fault = lambda number: (200, "text/html; charset=utf-8", "\n<!DOCTYPE html>\n<html></html>")
    code, _, err = talm("run", *options(tmp_path, 5), "--display", "none")
    assert (code, "answered with an HTML page; is /v1 missing in the base URL (HOST_BASE_URL)? The run" in err) == (2, True)


def test_after_an_answer_a_refusal_is_one_episodes_affair(host: Host, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a later session, whose first request may be the one that is always refused."""
    monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "1")
    flags = options(tmp_path, 6)
    host.fault = lambda number: refused(403, "a forbidden word") if number in {2, 4} else None
    assert talm("run", *flags, "--run-id", "some")[0] == 1
    assert load_run("some").failed == 2
    assert talm("resume", "some")[0] == 1
    assert load_run("some").failed == 2


def test_a_grid_ends_where_its_model_is_refused(host: Host, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = ["ablate", *options(tmp_path, 5), "--over", "temperature=0,1", "--display", "none"]
    host.fault = lambda number: refused(401, "bad key")
    code, _, err = talm(*grid)
    assert code == 2
    assert "talm-sim: error: cell temperature=0: openai-api/host/m at " in err and "talm-sim resume runs/ablation-" in err
    monkeypatch.setenv("TALM_SIM_FAIL_FAST", "false")
    assert talm(*grid)[0] == 1, "a cell that was started continues as the grid is called now"
    monkeypatch.delenv("TALM_SIM_FAIL_FAST")
    left = 1

    def once(number: int) -> Fault | None:
        nonlocal left
        left -= number == 3
        return refused(500) if number == 3 and left >= 0 else None

    host.fault = once
    assert talm(*grid)[0] == 1
    assert talm(*grid)[0] == 0, "what failed in a cell is tried again"


def test_a_refused_judge_ends_the_run_with_its_episodes_kept(host: Host, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Host().serving() as other:
        monkeypatch.setenv("OTHER_BASE_URL", other.url)
        other.fault = lambda number: refused(401, "bad key")
        flags = [*options(tmp_path, 5), "--judge", "llm", "--judge-model", "openai-api/other/judge", "--run-id", "judged"]
        code, _, err = talm("run", *flags)
        assert (code, "HTTP 401: bad key; check the key (OTHER_API_KEY). The run is kept" in err) == (2, True)
        assert load_run("judged").finished == 5
        host.asked.clear()
        code, _, err = talm("judge", "judged", "--judge", "llm")
        assert (code, "check the key (OTHER_API_KEY)." in err) == (2, True)
        other.fault = lambda number: None
        assert talm("resume", "judged")[0] == 1, "what this host says is no vote"
        assert not host.asked and load_run("judged").judged
