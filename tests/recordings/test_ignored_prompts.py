"""Prompts that differ from run to run: what `--ignore-in-prompts` matches does not count, and two requests never become one."""

from __future__ import annotations

import itertools
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from talm_sim import load_run
from talm_sim.cli import main
from talm_sim.common.ignored_parts import IgnoredParts, check_ignored
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError
from talm_sim.recordings import HttpRequest, Player
from talm_sim.recordings.tape import Tape
from tests.models.test_thought_goes_back import strict_server
from tests.recordings.exchanges import answer, post

TIME = r"\d{1,2}:\d\d"


def ask(text: str, **more: Any) -> HttpRequest:
    return post({"model": "m", "messages": [{"role": "user", "content": text}], **more})


def player(
    *requests: HttpRequest, mode: Traffic = Traffic.REPLAY, patterns: tuple[str, ...] = (TIME,), made_with: tuple[str, ...] = ()
) -> Player:
    """Return a player of a recording of these requests."""
    writer = Player(made := Tape("t", ignored=IgnoredParts(made_with)), Traffic.RECORD)
    for number, request in enumerate(requests):
        writer.record(request, answer(str(number)))
    return Player(Tape("t", made.text(), ignored=IgnoredParts(patterns)), mode)


def test_what_matches_is_ignored_in_prompts_alone() -> None:
    played = player(ask("It is 10:00. Go."), ask("It is 10:00. Stop."))
    assert [played.lookup(ask(f"It is 11:30. {word}.")) for word in ("Stop", "Go")] == [answer("1"), answer("0")]
    for other in (ask("It is 11:31. Stay."), ask("It is 11:30. Go.", user="10:00")):
        with pytest.raises(CassetteMissError):
            played.lookup(other)


@pytest.mark.parametrize("mode", [Traffic.REPLAY, Traffic.RECORD])
def test_two_requests_that_would_become_one_are_refused(mode: Traffic) -> None:
    two = (ask("It is 10:00."), ask("It is 10:01."))
    line = (
        r"t: two requests are one under --ignore-in-prompts \(.*'It is 10:01.' against recorded 'It is 10:00.'\); write a narrower pattern\.$"
    )
    played = player(*two)
    with pytest.raises(PrerequisiteError, match=line):
        played.lookup(two[0])
    with pytest.raises(PrerequisiteError, match=line):
        player(*two, made_with=(TIME,))
    recorded = player(two[0], two[0], mode=mode)  # the same twice is no two
    assert [recorded.lookup(two[1]), recorded.lookup(two[0])] == [answer("0"), answer("1")]
    assert not recorded.misses and len(played.misses) == 1


@pytest.mark.parametrize(("told", "hinted"), [("at 10:01", True), ("run 3fa85f64-5717", True), ("in 2027", True), ("in Rome", False)])
def test_a_miss_hints_at_the_option_where_a_time_or_an_id_differs(told: str, hinted: bool) -> None:
    with pytest.raises(CassetteMissError) as caught:
        player(ask("Go at 10:00"), patterns=()).lookup(ask(f"Go {told}"))
    assert ("--ignore-in-prompts" in str(caught.value)) is hinted


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "is not a regular expression"),
        *((one, "matches an empty text") for one in ("", "x*", r"\b", "(?=a)")),
        *(
            (one, "could take for ever")
            for one in ("(a+)+$", "(a|a)*b", r"(\w+\s?)+$", "x.*y.*z.*", r"\d+\d+\d+\d+x", r"(a)\1", "(a?){30}a{30}")
        ),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--limit", "1", f"--ignore-in-prompts={pattern}"]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert why in printed and "Traceback" not in printed


def test_usual_patterns_are_taken() -> None:
    for pattern in (
        r"\d{4}-\d\d-\d\dT[\d:.]+Z",
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"Current time: .*",
        r"id=\w+",
        r"\d+(\.\d+)? ms",
    ):
        assert check_ignored(pattern) == pattern


@pytest.mark.parametrize(("pattern", "text"), [("x.*y.*z", "xy" * 16_000), (r"\S+@\S+", "a" * 100_000), (r"(?s)x.*y", "x" * 100_000)])
def test_a_pattern_that_matches_nothing_of_a_long_prompt_takes_linear_time(pattern: str, text: str) -> None:
    start = time.process_time()
    assert IgnoredParts((pattern,)).strip(ask(text).body) is None and time.process_time() - start < 20


def test_an_agent_that_writes_the_time_into_its_prompt_is_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    minutes = itertools.count(10)

    async def act(messages: list[Any], tools: list[Any], model: Any) -> list[Any]:
        return [*messages, await model.ainvoke([HumanMessage(f"It is 10:{next(minutes)}."), *messages])]

    monkeypatch.setitem(sys.modules, "clock_agents", module := types.ModuleType("clock_agents"))
    module.act = act  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    words = ["run", "--agent", "clock_agents:act", "--split", "perfect", "--scenario", "calendar-01", "--model", "openai-api/x/gemini-3-pro"]
    words += ["--human", "none", "--cassettes", "kept"]
    with strict_server("gemini", calls=0) as (url, statuses):
        monkeypatch.setenv("X_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("TALM_SIM_IGNORE_IN_PROMPTS", TIME)
        assert main([*words, "--record", "--run-id", "first"]) == 0
    monkeypatch.delenv("TALM_SIM_IGNORE_IN_PROMPTS")
    capsys.readouterr()
    assert main([*words, "--replay", "--run-id", "again"]) == 0, "the recording keeps the pattern"
    assert "1 of 1 request matched by --ignore-in-prompts" in " ".join(capsys.readouterr().out.split())
    assert statuses == [200] and next(load_run("again", Path("runs")).episodes()).answer == "Two days."
