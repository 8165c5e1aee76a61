from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from rich.console import Console

from talm_sim.cli.progress.display import FullDisplay, JsonDisplay, PlainDisplay, open_display
from talm_sim.cli.progress.tally import Tally
from talm_sim.runs.events import (
    EpisodeFinished,
    EpisodeStarted,
    EpisodeWaiting,
    JudgeProgress,
    RequestRetried,
    RunEvent,
    RunFinished,
    RunStarted,
    ServersChanged,
    ToolsRestarted,
)
from talm_sim.types import Termination
from tests.tables import labelled


def started(models: str = "replay", finished: int = 0) -> RunStarted:
    return RunStarted("run-1", "runs/run-1", 3, finished, 0, "openai/gpt", models, "replay", "terminal")


EVENTS: Sequence[RunEvent] = (
    started(),
    EpisodeStarted("a", 1, resumed=False),
    EpisodeStarted("b", 1, resumed=False),
    EpisodeFinished("a", "perfect", Termination.ANSWERED, "", 0.25, 1, 3, 1200, 30),
    RequestRetried("openai/gpt", "HTTP 429: slow\ndown", 12.0, 1),
    EpisodeWaiting("b", 1, ("Which\x1b[2J one?",)),
    EpisodeFinished("c", "perfect", Termination.INFRASTRUCTURE_ERROR, "no\nroute", 0.5, 2, 3),
    JudgeProgress("reference", 1, 2),
    JudgeProgress("reference", 2, 2),
    RunFinished("run-1", 2, 3, 1, {"answered": 1, "infrastructure_error": 1}, 1.5),
)


def console(*, terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), width=80, height=24, force_terminal=terminal, markup=False, emoji=False, highlight=False)


def text_of(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def printed(name: str, *events: RunEvent, **how: bool) -> list[str]:
    """The lines that a display of this name shows of these events."""
    screen = console()
    with open_display(name, screen, **how) as display:
        for event in events:
            display(event)
    return text_of(screen).splitlines()


def test_plain_prints_a_line_a_tenth_and_what_failed_or_waits() -> None:
    assert printed("plain", *EVENTS) == [
        "run-1: 3 episodes; openai/gpt (replay), tools replay, human terminal",
        "[1/3] 33 %: answered 1 · running 1 · tokens 1.2k in, 30 out",
        "tokens 1.2k in, 30 out · retried 1 · 1 retrying: HTTP 429, 12 s",
        "waiting: b asks: Which one?",
        "failed: c infrastructure_error: no route",
        "[2/3] 66 %: answered 1 · failed 1 · waiting for an answer 1 · tokens 1.2k in, 30 out · retried 1 · 1 retrying: HTTP 429, 12 s",
        "judge reference: 2 episodes",
        "2 of 3 episodes in 1.5 s: 1 answered, 1 infrastructure_error; 1 episode waiting for an answer",
    ]


@pytest.mark.parametrize("name", ["full", "plain", "json", "none"])
@pytest.mark.parametrize(
    ("models", "expected"), [("live", "live: openai (model openai/gpt)"), ("record", "live: openai (model openai/gpt, recorded)")]
)
def test_every_display_says_first_that_it_goes_live(name: str, models: str, expected: str) -> None:
    assert printed(name, started(models))[0] == expected


@labelled
def test_the_model_that_plays_the_person_is_announced_too(traffic: str, expected: list[str]) -> None:
    assert printed("none", replace(started("replay"), person="deep/chat", person_traffic=traffic)) == expected


def test_json_is_one_object_a_line_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    screen = console()
    with JsonDisplay(screen) as display:
        for event in EVENTS:
            display(event)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == [
        *("run_started", "episode_started", "episode_started", "episode_finished", "request_retried", "episode_waiting"),
        *("episode_finished", "judge_progress", "judge_progress", "run_finished"),
    ]
    assert lines[6]["termination"] == "infrastructure_error"
    assert (lines[3]["input_tokens"], lines[3]["output_tokens"], lines[4]["wait_s"]) == (1200, 30, 12.0)
    assert text_of(screen) == ""


def test_a_wait_is_counted_down_and_the_soonest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    tally = Tally()
    for wait in (12.0, 5.0):
        tally(RequestRetried("openai/gpt", "no connection: reset", wait, 1))
    assert tally.requests() == "retried 2 · 2 retrying: no connection, 5 s"
    now = 107.0
    assert tally.requests() == "retried 2 · 1 retrying: no connection, 5 s"
    now = 113.0
    assert tally.requests() == "retried 2"
    tally(started())
    assert (tally.requests(), tally.episodes()) == ("", "")


def test_a_long_run_is_ten_lines_in_a_file_and_a_failure_is_told_once() -> None:
    ends = (Termination.ANSWERED, ""), (Termination.INFRASTRUCTURE_ERROR, "HTTP 500: no")
    begun = RunStarted("run-1", "runs/run-1", 288, 40, 0, "openai/gpt", "replay", "replay", "none", again=8)
    lines = printed("full", begun, *(EpisodeFinished(f"e-{n}", "perfect", *ends[n % 2], 0.1, n, 288) for n in range(41, 289)))
    assert lines[0] == "run-1: 288 episodes, 40 finished before, 8 tried again; openai/gpt (replay), tools replay, human none"
    assert lines[1] == "failed: e-41 infrastructure_error: HTTP 500: no"
    assert [line.partition("%")[0] for line in lines[2:]] == [f"[{-(-288 * n // 10):>3}/288] {10 * n} " for n in range(2, 11)]
    assert lines[-1] == "[288/288] 100 %: failed 124 · answered 124" or lines[-1] == "[288/288] 100 %: answered 124 · failed 124"


def test_full_keeps_still_while_a_person_is_asked() -> None:
    screen = console(terminal=True)
    with FullDisplay(screen) as display:
        display(started())
        with display.paused():
            before = text_of(screen)
            display(EpisodeFinished("a", "perfect", Termination.ANSWERED, "", 0.2, 1, 3))
            assert text_of(screen) == before
        display(EpisodeFinished("b", "perfect", Termination.ANSWERED, "", 0.2, 2, 3))
    assert "2/3" in text_of(screen)


def test_full_needs_a_terminal() -> None:
    assert isinstance(open_display("full", console()), PlainDisplay)
    assert isinstance(open_display("full", console(terminal=True)), FullDisplay)


def test_plain_says_nothing_between_a_question_and_its_answer() -> None:
    screen = console()
    with open_display("plain", screen) as display:
        display(started())
        with display.paused():
            before = text_of(screen)
            display(EpisodeFinished("a", "perfect", Termination.ANSWERED, "", 0.25, 3, 3))
            assert text_of(screen) == before
        assert "[3/3] 100 %" in text_of(screen).removeprefix(before)


@pytest.mark.parametrize("name", ["plain", "full", "json", "none"])
def test_tools_that_died_are_told_whatever_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    why = "killed by SIGKILL"
    shown = printed(name, started(), ToolsRestarted(why))
    assert f"the tool service died ({why}): it was restarted, which happens once per command; unanswered calls are sent again" in shown
    out = [json.loads(one) for one in capsys.readouterr().out.splitlines()[1:]]
    told = [{"event": "tools_restarted", "reason": why}]
    assert out == (told if name == "json" else [])


@pytest.mark.parametrize("name", ["plain", "full", "json", "none"])
def test_a_server_that_is_left_out_is_said_whatever_is_shown_and_that_it_is_back_to_who_listens(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    left_out = ServersChanged("openai-api/vllm/m", "h:8000", "HTTP 500: [bold]no\x1b[2J\nroom", 30.0, 2, 3)
    shown = printed(name, started(), left_out, ServersChanged("openai-api/vllm/m", "h:8000", "", 0.0, 3, 3))
    line = "left out: openai-api/vllm/m at h:8000: HTTP 500: [bold]no room; 2 of 3 servers in use, tried again in 30 s"
    back = "openai-api/vllm/m at h:8000 answers again: 3 of 3 servers in use"
    assert (line in shown, back in shown) == (True, name in ("plain", "full"))
    events = [json.loads(one) for one in capsys.readouterr().out.splitlines()[1:]]
    assert events == ([{"event": "servers_changed", **asdict(left_out)}, {**events[1]}] if name == "json" else [])
