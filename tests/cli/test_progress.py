from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from rich.console import Console

from talm_sim.cli.progress import FullDisplay, JsonDisplay, PlainDisplay, open_display
from talm_sim.runs.events import EpisodeFinished, EpisodeStarted, EpisodeWaiting, JudgeProgress, RunEvent, RunFinished, RunStarted
from talm_sim.types import Termination


def started(models: str = "replay", finished: int = 0) -> RunStarted:
    return RunStarted("run-1", "runs/run-1", 3, finished, 0, "openai/gpt", models, "replay", "terminal")


EVENTS: Sequence[RunEvent] = (
    started(),
    EpisodeStarted("a", 1, resumed=False),
    EpisodeStarted("b", 1, resumed=False),
    EpisodeFinished("a", "perfect", Termination.ANSWERED, "", 0.25, 1, 3),
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


def test_plain_prints_a_line_an_episode() -> None:
    screen = console()
    with open_display("plain", screen) as display:
        for event in EVENTS:
            display(event)
    assert text_of(screen).splitlines() == [
        "run-1: 3 episodes; openai/gpt (replay), tools replay, human terminal",
        "[1/3] a answered 0.2 s",
        "waiting: b asks: Which one?",
        "[2/3] c infrastructure_error 0.5 s: no route",
        "judge reference: 2 episodes",
        "2 of 3 episodes in 1.5 s: 1 answered, 1 infrastructure_error; 1 episode waiting for an answer",
    ]


@pytest.mark.parametrize("name", ["full", "plain", "json", "none"])
@pytest.mark.parametrize(
    ("models", "expected"), [("live", "live: openai (model openai/gpt)"), ("record", "live: openai (model openai/gpt, recorded)")]
)
def test_every_display_says_first_that_it_goes_live(name: str, models: str, expected: str) -> None:
    screen = console()
    with open_display(name, screen) as display:
        display(started(models))
    assert text_of(screen).splitlines()[0] == expected


@pytest.mark.parametrize("models", ["replay", "on this machine"])
def test_nothing_is_called_live_that_is_not(models: str) -> None:
    screen = console()
    with open_display("none", screen) as display:
        display(started(models))
    assert text_of(screen) == ""


def test_json_is_one_object_a_line_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    screen = console()
    with JsonDisplay(screen) as display:
        for event in EVENTS:
            display(event)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == [
        *("run_started", "episode_started", "episode_started", "episode_finished", "episode_waiting", "episode_finished"),
        *("judge_progress", "judge_progress", "run_finished"),
    ]
    assert lines[5]["termination"] == "infrastructure_error"
    assert text_of(screen) == ""


def test_full_counts_outcomes_and_clears_its_bar() -> None:
    screen = console(terminal=True)
    with FullDisplay(screen) as display:
        for event in EVENTS:
            display(event)
    text = text_of(screen)
    assert "2 of 3 episodes in 1.5 s" in text
    assert "answered 1 · infrastructure_error 1 · waiting for an answer 1" in text
    assert "2/3" in text


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
