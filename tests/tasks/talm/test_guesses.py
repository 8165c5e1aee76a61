"""A guess is a call that fills the missing argument before anybody or anything has given it; the counts of the controls are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.tasks.talm.guesses import find_guesses
from talm_sim.types import Episode, GoldCall, HumanEvent, Missing, MissingKind, Scenario, Termination, ToolEvent, ToolSpec, Turn

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "year": {"type": "integer"}, "unit": {"type": "string", "default": "m"}},
}
SPECS = {name: ToolSpec(name=name, description="", parameters=PARAMETERS, category="c") for name in ("weather", "other")}


def scenario(query: str = "How warm was it?", gold: dict[str, Any] | None = None, name: str = "city", value: Any = "Bern") -> Scenario:
    call = GoldCall(name="weather", arguments=gold or {"city": "Bern", "year": 2020})
    turn = Turn(messages=({"role": "user", "content": query},), gold_calls=(call, GoldCall(name="other", arguments={"city": "Oslo"})))
    missing = Missing(kind=MissingKind.ARGUMENT, name=name, value=value, removed_text=f"in {value}", human_answer=f"In {value}.")
    return Scenario(id="s", task="talm", group="underspecified", tools=("weather",), turns=(turn,), missing=(missing,))


def made_episode(events: list[Any]) -> Episode:
    return Episode(
        id="s@1",
        scenario_id="s",
        group="underspecified",
        epoch=1,
        attempt=1,
        model="m",
        human="none",
        events=tuple(events),
        termination=Termination.ANSWERED,
    )


def call(turn: int = 0, name: str = "weather", result: str = "{}", ok: bool = True, **arguments: Any) -> ToolEvent:
    return ToolEvent(turn=turn, call_id=f"c{turn}", name=name, arguments=arguments, result=result, ok=ok)


def asked(turn: int, answer: str, **more: Any) -> HumanEvent:
    return HumanEvent(turn=turn, call_id="q", question="Which city?", answer=answer, responder="answer", **more)


NONE = {
    "it leaves it out": [call(year=2020)],
    "a placeholder": [call(city="<city>"), call(city=""), call(city="unknown"), call(city="string"), call(city="city"), call(city=None)],
    "another argument": [call(town="Zug")],
    "another tool that takes another value": [call(name="other", city="Zug")],
    "a person said another one": [asked(0, "In Zug."), call(1, city="Zug")],
}


@pytest.mark.parametrize("events", NONE.values(), ids=NONE.keys())
def test_no_guess(events: list[Any]) -> None:
    """What is one: `test_ask_scores.py`."""
    assert find_guesses(made_episode(events), scenario(), SPECS) == []


def test_what_the_user_says_is_given_unless_it_is_said_of_something_else() -> None:
    assert find_guesses(made_episode([call(city="Zug")]), scenario("How warm was it? I was in Zug."), SPECS) == []
    of_another = scenario("How warm was it? And in Oslo?")
    assert len(find_guesses(made_episode([call(city="Oslo")]), of_another, SPECS)) == 1


def test_the_default_and_what_another_gold_call_has_there_are_no_guesses() -> None:
    unit = scenario(gold={"city": "Bern", "unit": "ft"}, name="unit", value="ft")
    assert find_guesses(made_episode([call(city="Bern", unit="m")]), unit, SPECS) == []
    assert len(find_guesses(made_episode([call(city="Bern", unit="km")]), unit, SPECS)) == 1


def test_the_known_count_of_the_shipped_recording(tmp_path: Path) -> None:
    """Those of the controls: `test_outcomes.py`."""
    (summary,) = talm_sim.run(split="underspecified", progress=False, run_dir=tmp_path).summary()
    found = summary.measure("guessed")
    assert found is not None and (found.k, found.n, found.better) == (32, 72, "lower")
