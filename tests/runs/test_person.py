"""A person whom a model plays, in whole runs against a real server on loopback: what it is sent, recorded, counted and forecast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.common.digests import derive_seed
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.events import BudgetSpent, RunEvent, RunStarted
from talm_sim.runs.forecast import forecast
from talm_sim.types import Termination
from tests.models.loopback import Answer, Loopback, Seen, chat_answer, loopback
from tests.models.stand_in import Call, StandIn, serving
from tests.runs.recorded_world import TOWNS, make_world

PERSON = "openai-api/stand/person"


def says(request: Seen) -> Any:
    """Say all that is known, which is what is missing."""
    system = request.body["messages"][0]["content"]
    known = system.partition("What you know besides:\n- ")[2].partition("\n")[0]
    return chat_answer(known or "I don't know.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with loopback(chat_answer("unused")) as found:
        found.reply = says
        monkeypatch.setenv("STAND_BASE_URL", f"{found.url}/v1")
        yield found


def town_latitude(town: str) -> dict[str, int]:
    """Latitude of a town in whole degrees."""
    return {"latitude": TOWNS.get(town.lower(), 0)}


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Options of four episodes whose agent asks which town is meant."""
    found = {name: value for name, value in make_world(tmp_path).items() if name != "cassettes"}
    options = {"model": "sim/asker", "split": "underspecified", "human": f"model:{PERSON}", "progress": False}
    return found | options | {"tools_from": (f"python:{__name__}:town_latitude",), "tools": "live"}


def asked_of(server: Loopback) -> list[list[tuple[str, str]]]:
    return [[(message["role"], message["content"]) for message in one.body["messages"]] for one in server.seen]


def test_the_model_is_told_the_facts_and_the_persona_and_asked_the_question(world: dict[str, Any], server: Loopback) -> None:
    stored = talm_sim.run(**world, persona="terse")
    assert len(server.seen) == len(TOWNS)
    for conversation, request in zip(asked_of(server), server.seen, strict=True):
        (_, system), (role, question) = conversation
        assert "How far north is my town" in system and "You are terse" in system
        assert any(town in system for town in TOWNS)
        assert not any(str(degrees) in system for degrees in TOWNS.values())  # the gold call's result is not known to the person
        assert role == "user" and "town" in question
        assert request.body["model"] == "person" and request.body["max_tokens"] == 256
    for episode in stored.episodes():
        (event,) = episode.questions
        assert event.responder == episode.human == f"model:{PERSON}"
        assert event.answer.lower().count(episode.scenario_id.split("-")[1].split(".")[0]) == 1
    assert [row.values["pass_rate"] for row in stored.rows()] == [True] * 4
    assert [row.values["person_fault"] for row in stored.rows()] == [False] * 4


def test_each_episode_and_epoch_has_a_seed_of_its_own(world: dict[str, Any], server: Loopback) -> None:
    talm_sim.run(**world, epochs=2, seed=5)
    seeds = {one.body["seed"] for one in server.seen}
    scenarios = [f"towns-{town}.underspecified" for town in TOWNS]
    assert seeds == {derive_seed(5, scenario, epoch, "person", 1) for scenario in scenarios for epoch in (1, 2)}


def test_it_is_recorded_and_replayed_without_the_server(
    world: dict[str, Any], server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = {"cassettes": tmp_path / "kept"}
    live = talm_sim.run(**world | kept | {"tools": "record"}, run_id="live")
    assert len(server.seen) == 4
    monkeypatch.setenv("STAND_BASE_URL", "http://127.0.0.1:9/v1")  # nobody is there
    again = talm_sim.run(**world | kept | {"tools": "replay"}, run_id="again")
    assert len(server.seen) == 4
    assert [one.questions[0].answer for one in again.episodes()] == [one.questions[0].answer for one in live.episodes()]
    assert [row.values["pass_rate"] for row in again.rows()] == [True] * 4
    other = talm_sim.run(**world | kept | {"tools": "replay"}, run_id="other", persona="chatty")
    assert {one.termination for one in other.episodes()} == {Termination.REPLAY_MISS}


def test_agent_and_person_are_recorded_side_by_side_and_replayed_without_their_servers(
    world: dict[str, Any], server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def act(stand_in: StandIn, messages: Sequence[tuple[str, str]], tools: Mapping[str, Any]) -> str | list[Call]:
        if not tools:
            return "IDK, I need to ask."
        told = [text for who, text in messages if who == "result"]
        if not told:
            return [("ask_human", {"question": "Which town?"})]
        if len(told) == 1:
            return [("town_latitude", {"town": told[0].removeprefix("I mean ").rstrip(".")})]
        return [("Finish", {"final_answer": f"It is {told[-1]}"})]

    monkeypatch.setattr(StandIn, "act", act)
    options = world | {"model": "openai-api/agents/small", "cassettes": tmp_path / "kept", "tools": "record", "models": "record"}
    with serving("guesses") as agents:
        monkeypatch.setenv("AGENTS_BASE_URL", f"{agents.url}/v1")
        live = talm_sim.run(**options, run_id="live", budget="requests=1000")
    assert len(server.seen) == 4
    for name in ("AGENTS_BASE_URL", "STAND_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1")  # nobody is there
    again = talm_sim.run(**options | {"tools": "replay", "models": "replay"}, run_id="again")
    answers = [[(one.questions[0].answer, one.answer) for one in run.episodes()] for run in (live, again)]
    assert answers[0] == answers[1] and len(server.seen) == 4
    assert [row.values["pass_rate"] for row in again.rows()] == [True] * 4
    by_file = talm_sim.run(**options | {"tools": "replay", "models": "replay", "human": "recorded"}, run_id="by-file")
    assert [one.questions[0].responder for one in by_file.episodes()] == [f"recorded (model:{PERSON})"] * 4
    assert all(row.values["person_fault"] is False for row in by_file.rows())
    with pytest.raises(PrerequisiteError, match="was not recorded, and this run is replayed"):
        talm_sim.run(**options | {"tools": "replay", "models": "replay", "human": "model:openai-api/stand/another"}, run_id="other")


def test_what_the_person_asks_is_counted_and_a_budget_stops_it(world: dict[str, Any], server: Loopback) -> None:
    heard: list[RunEvent] = []
    stored = talm_sim.run(**world, budget="requests=2", max_episodes=1, on_event=heard.append)
    assert len(server.seen) == 2 and stored.finished == 2
    (spent,) = (one for one in heard if isinstance(one, BudgetSpent))
    assert [(part.part, part.model, part.requests, part.input_tokens) for part in spent.parts] == [("person", PERSON, 2, 22)]
    assert spent.left == {"episodes": 2}


def test_a_dry_run_forecasts_it_and_asks_nobody(world: dict[str, Any], server: Loopback) -> None:
    found = forecast(RunConfig(**{name: value for name, value in world.items() if name != "progress"}, epochs=2, turn_limit=3))
    assert server.seen == []
    agent, person = found.costs
    assert (agent.role, person.role, person.model, person.traffic) == ("agent", "person", PERSON, "live")
    assert (person.bound.least, person.bound.most, person.bound.output_tokens) == (0, 4 * 2 * 3, 4 * 2 * 3 * 256)
    assert person.bound.input_tokens > 4 * 2 * 3 * 100


def test_a_model_that_fails_ends_the_episode_and_says_whose_it_was(world: dict[str, Any], server: Loopback) -> None:
    server.reply = lambda request: Answer({"error": {"message": "no"}}, status=400)
    stored = talm_sim.run(**world, limit="1", max_retries=0)
    (episode,) = stored.episodes()
    assert episode.termination is Termination.INFRASTRUCTURE_ERROR
    assert episode.error.startswith("the person's model: ")


def test_a_person_who_gives_no_answer_leaves_the_question_unanswered(world: dict[str, Any], server: Loopback) -> None:
    server.reply = lambda request: chat_answer("  ")
    (episode,) = talm_sim.run(**world, limit="1").episodes()
    assert episode.termination.failed and not episode.questions
    assert episode.error.startswith("the person's model: ") and episode.error.endswith(" gave no answer to question 1")


def test_a_faulty_person_is_counted_and_named(world: dict[str, Any], server: Loopback) -> None:
    server.reply = lambda request: chat_answer("I mean Zagreb. I already looked it up.")
    stored = talm_sim.run(**world, persona="wrong-once")
    for row in stored.rows():
        values = row.values
        assert (values["pass_rate"], values["persons_failure"], values["person_fault"]) == (False, True, True)
        assert (values["person_contradictions"], values["person_false_claims"], values["person_leaks"]) == (1, 1, 0)
        assert "pass_rate_sound" not in values
    (summary,) = stored.summary()
    notes = " ".join(summary.notes)
    assert "person: 4 of 4 answers faulty (1.00): 4 with a contradiction, 4 with a false claim" in notes
    assert "4 of 4 failures were the person's" in notes
    measure = summary.measure("person_fault")
    assert measure is not None and measure.value == 1.0


def ask_something_else(messages: Any, tools: Any) -> list[Any]:
    (ask,) = (tool for tool in tools if tool.name == "ask_human")
    return [*messages, {"role": "assistant", "content": f"Thanks: {ask.invoke({'question': 'What colour is your hat?'})}"}]


@pytest.mark.parametrize(("persona", "gates", "missed"), [("none", 1, 1), ("front-loads", 1, 0), ("none", 0, 0)])
def test_a_person_who_gives_the_gap_away_fails_the_gates_unless_told_to(
    world: dict[str, Any], server: Loopback, persona: str, gates: int, missed: int
) -> None:
    server.reply = lambda request: chat_answer("I mean Rome.")
    options = {name: value for name, value in world.items() if name != "model"}
    stored = talm_sim.run(**options, agent=ask_something_else, persona=persona, scenario="towns-rome.underspecified")
    said = [one.line for one in talm_sim.check_gates(stored, ["pass_rate<=1"][:gates]) if not one.passed]
    gave = "gave away what no question was about in 1 of 1 episodes: towns-rome.underspecified"
    assert said == [f"gate missed: person_leak<=0: the simulated person {gave}"][:missed]
    assert all(one.passed for one in talm_sim.check_gates(stored, ["person_leak<=1"]))


def guess(messages: Any, tools: Any) -> list[Any]:
    """Ask which town is meant, in an agent that brings no model."""
    (ask,) = (tool for tool in tools if tool.name == "ask_human")
    return [*messages, {"role": "assistant", "content": f"Thanks: {ask.invoke({'question': 'Which town do you mean?'})}"}]


WAYS: list[tuple[dict[str, Any], bool, str]] = [
    # What the user says, whether the person was recorded, and how the person is reached; empty: it is refused.
    ({}, False, "live"),
    ({}, True, "replay"),
    ({"tools": "replay", "models": "replay"}, False, ""),
    ({"tools": "replay", "models": "replay"}, True, "replay"),
    ({"tools": "record", "models": "record"}, False, "record"),
    ({"tools": "live", "models": "live"}, False, "live"),
    ({"tools": "live", "models": "live"}, True, "live"),
    ({"tools": "replay"}, False, ""),
    ({"tools": "replay"}, True, "replay"),
    ({"tools": "record"}, False, "record"),
    ({"tools": "live"}, False, "live"),
    ({"tools": "live"}, True, "replay"),
    ({"tools": "live", "models": "replay"}, False, ""),
    ({"tools": "live", "models": "replay"}, True, "replay"),
    ({"tools": "replay", "models": "live"}, False, "live"),
    ({"tools": "replay", "models": "live"}, True, "live"),
    ({"tools": "replay", "models": "record"}, False, "record"),
    ({"tools": "live", "models": "record"}, False, "record"),
]


@pytest.mark.parametrize("own", [False, True], ids=["control", "own-agent"])
@pytest.mark.parametrize(("said", "recorded", "expected"), WAYS)
def test_beside_an_agent_without_traffic_the_person_is_reached_as_the_user_says(
    world: dict[str, Any], server: Loopback, tmp_path: Path, said: dict[str, Any], recorded: bool, expected: str, own: bool
) -> None:
    options = {name: value for name, value in world.items() if name != "tools"} | {"limit": "2", "cassettes": tmp_path / "cassettes"}
    if own:
        options = {name: value for name, value in options.items() if name != "model"} | {"agent": guess}
    if recorded:
        talm_sim.run(**options, models="record", tools="record", run_id="before")
        server.seen.clear()
    heard: list[RunEvent] = []
    if not expected:
        with pytest.raises(PrerequisiteError, match="was not recorded, and this run is replayed"):
            talm_sim.run(**options, **said)
        assert server.seen == []
        return
    stored = talm_sim.run(**options, **said, on_event=heard.append)
    (started,) = (one for one in heard if isinstance(one, RunStarted))
    assert (started.person, started.person_traffic, str(stored.config.models)) == (PERSON, expected, expected)
    assert len(server.seen) == (0 if expected == "replay" else 2)
    assert [one.questions[0].answer[:6] for one in stored.episodes()] == ["I mean"] * 2
    assert (tmp_path / "cassettes" / "openai-api--stand--person").is_dir() is (recorded or expected == "record")


@pytest.mark.parametrize("own", [False, True], ids=["control", "own-agent"])
def test_a_live_run_that_continues_stays_live_beside_a_recording(world: dict[str, Any], server: Loopback, tmp_path: Path, own: bool) -> None:
    options = world | {"cassettes": tmp_path / "kept"}
    if own:
        options = {name: value for name, value in options.items() if name != "model"} | {"agent": guess}
    talm_sim.run(**options | {"tools": "record"}, run_id="before")
    server.seen.clear()
    begun = talm_sim.run(**options, models="live", run_id="begun", budget="requests=2", max_episodes=1)
    assert (len(server.seen), begun.finished) == (2, 2)
    more: dict[str, Any] = {"agent": guess} if own else {}
    done = talm_sim.resume(begun, tools_from=world["tools_from"], progress=False, **more)
    assert (len(server.seen), done.finished) == (4, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"human": "model:"}, "write model:PROVIDER/NAME"),
        ({"human": "model:person"}, "write model:PROVIDER/NAME"),
        ({"human": "model:sim/oracle"}, "a control plays no person"),
        ({"human": "simulated", "persona": "terse"}, "add human="),
    ],
)
def test_what_cannot_play_is_refused(world: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        talm_sim.run(**world | options)
