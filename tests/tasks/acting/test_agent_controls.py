from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from talm_sim.agent.humans import DONT_KNOW
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.request import ModelRequest
from talm_sim.models.sim import open_sim
from talm_sim.tasks.acting.agent_controls import AgentPolicy, is_refusal, value_in_reply
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, ModelTurn, Scenario, ToolSpec, Turn
from tests.growth import check_growth
from tests.tables import labelled

AIRPORT = ToolSpec(
    name="get_airport",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "IATA code of the airport.", "examples": ["CDG"]}},
        "required": ["code"],
    },
)
TIME = ToolSpec(
    name="get_time", parameters={"type": "object", "properties": {"zone": {"type": "string"}, "at": {"type": "string"}}, "required": ["zone"]}
)
ASK = ToolSpec(name="ask_human", parameters={"type": "object", "properties": {"question": {"type": "string"}}})
GOLD = (GoldCall(name="get_airport", arguments={"code": "HAN"}), GoldCall(name="get_time", arguments={"zone": "UTC+7"}))
FACTS = (
    Fact(name="elevation_ft", value=39, call=0, pointer="/elevation/0/ft~1m"),
    Fact(name="local_time", value="10:00", call=1, pointer="/time"),
)
RESULTS: dict[str, Any] = {"get_airport": {"elevation": [{"ft/m": 39}]}, "get_time": {"time": "10:00"}}
LOST = (FACTS[0].model_copy(update={"call": None, "pointer": ""}), FACTS[1].model_copy(update={"call": 0}))


def scenario(
    *,
    gold: tuple[GoldCall, ...] = GOLD,
    facts: tuple[Fact, ...] = FACTS,
    missing: Missing | tuple[Missing, ...] = (),
    query: str = "How high is HAN, and what is the time in UTC+7?",
) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": query},), gold_calls=gold)
    return Scenario(id="t-01", group="perfect", turns=(turn,), tools=("get_airport", "get_time"), target=Facts(required=facts), missing=missing)


ARGUMENT = Missing(kind=MissingKind.ARGUMENT, name="code", value="HAN", removed_text="HAN", human_answer="It's Hanoi, code HAN.")
REPLACEABLE = Missing(kind=MissingKind.TOOL, name="get_airport", human_answer="It lies at 39 feet.")
IRREPLACEABLE = Missing(kind=MissingKind.TOOL, name="get_airport")


async def play(
    control: str,
    played: Scenario,
    tools: tuple[ToolSpec, ...] = (AIRPORT, TIME),
    results: Mapping[str, Any] = RESULTS,
    human: str | Mapping[str, str] = "",
    turns: int = 6,
) -> list[ModelTurn]:
    """Play an episode: tools answer from `results`, the human says `human`, or what it holds for a word of the question."""
    messages: list[BaseMessage] = [HumanMessage(played.query)]
    done: list[ModelTurn] = []
    for _ in range(turns):
        # A new policy each turn: it must keep nothing, or an episode that paused could not go on.
        turn = await AgentPolicy(f"sim/{control}", played).generate(messages, tools, GenerationSettings())
        done.append(turn)
        if not turn.tool_calls:
            return done
        messages.append(AIMessage(turn.text, tool_calls=[{"id": c.id, "name": c.name, "args": c.arguments} for c in turn.tool_calls]))
        for call in turn.tool_calls:
            asked = str(call.arguments.get("question"))
            said = human if isinstance(human, str) else next((text for word, text in human.items() if word in asked), "")
            text = said if call.name == "ask_human" else json.dumps(results[call.name])
            messages.append(ToolMessage(text, tool_call_id=call.id, name=call.name))
    raise AssertionError("the control never answered")


def calls(turn: ModelTurn) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in turn.tool_calls]


GOLD_PAIR = [("get_airport", {"code": "HAN"}), ("get_time", {"zone": "UTC+7"})]


@pytest.mark.parametrize("control", ["oracle", "eager", "asker"])
async def test_a_perfect_scenario_is_solved_in_one_round_from_what_was_received(control: str) -> None:
    first, last = await play(control, scenario(), (AIRPORT, TIME, ASK))
    assert calls(first) == GOLD_PAIR
    assert first.stop == "tool_calls"
    assert last.text == "elevation ft: 39\nlocal time: 10:00"


@pytest.mark.parametrize("damaged", [{"error": "HTTP 500"}, {"renamed": "10:00"}, [], "text", None])
async def test_a_failed_call_leaves_its_fact_out(damaged: Any) -> None:
    *_, last = await play("oracle", scenario(), results=RESULTS | {"get_time": damaged})
    assert last.text == "elevation ft: 39\nThe rest could not be found."


async def test_a_call_that_needs_an_earlier_result_waits_for_it() -> None:
    zone = Fact(name="zone", value="UTC+7", call=0, pointer="/zone")
    played = scenario(facts=(*FACTS, zone), query="How high is HAN, and what time is it there?")
    first, second, _ = await play("oracle", played, results=RESULTS | {"get_airport": {"elevation": [{"ft/m": 39}], "zone": "UTC+7"}})
    assert [calls(first), calls(second)] == [GOLD_PAIR[:1], GOLD_PAIR[1:]]


async def test_without_tools_nothing_is_known() -> None:
    nothing = tuple(fact.model_copy(update={"call": None, "pointer": ""}) for fact in FACTS)
    for control in ("oracle", "eager", "asker"):
        (only,) = await play(control, scenario(gold=(), facts=nothing), ())
        assert only.text
        assert not any(str(fact.value) in only.text for fact in FACTS)


async def test_eager_invents_the_missing_argument_and_never_asks() -> None:
    first, last = await play("eager", scenario(missing=ARGUMENT), (AIRPORT, TIME, ASK))
    assert calls(first) == [("get_airport", {"code": "CDG"}), ("get_time", {"zone": "UTC+7"})]
    assert last.text


BOTH = (ARGUMENT, Missing(kind=MissingKind.ARGUMENT, name="zone", value="UTC+7", removed_text="in UTC+7", human_answer="In UTC+7."))


async def test_asker_asks_once_for_each_thing_that_is_missing_then_solves() -> None:
    first, second, made, last = await play("asker", scenario(missing=BOTH), (AIRPORT, TIME, ASK), human={"code": "HAN", "zone": "UTC+7"})
    assert [calls(one)[0][1]["question"].partition("?")[0] for one in (first, second)] == ["What is the code", "What is the zone"]
    assert calls(made) == GOLD_PAIR
    assert last.text == "elevation ft: 39\nlocal time: 10:00"


async def test_asker_invents_only_what_nobody_told_it() -> None:
    *_, made, _ = await play("asker", scenario(missing=BOTH), (AIRPORT, TIME, ASK), human={"code": DONT_KNOW, "zone": "UTC+7"})
    assert calls(made)[0][1] != GOLD_PAIR[0][1] and calls(made)[1] == GOLD_PAIR[1]
    told = {"airport": "It lies at 39 feet.", "time": DONT_KNOW}
    lost = tuple(fact.model_copy(update={"call": None, "pointer": ""}) for fact in FACTS)
    tools = (REPLACEABLE, Missing(kind=MissingKind.TOOL, name="get_time", human_answer="It is 10:00."))
    first, second, last = await play("asker", scenario(gold=(), facts=lost, missing=tools), (ASK,), human=told)
    assert [calls(one)[0][1]["question"] for one in (first, second)] == [
        "I have no tool to get airport. What is the airport, meaning the elevation ft?",
        "I have no tool to get time. What is the time, meaning the local time?",
    ]
    assert last.text == "It lies at 39 feet.\nFor the rest I would guess that all is as usual."


@labelled
async def test_asker_goes_on_with_what_it_was_told(human: str, code: str) -> None:
    _, first, _ = await play("asker", scenario(missing=ARGUMENT), (AIRPORT, TIME, ASK), human=human)
    assert calls(first)[0] == ("get_airport", {"code": code})


@labelled
def test_a_reply_is_read_as_the_parameter_wants_it(human: str, schema: dict[str, Any], value: object) -> None:
    assert value_in_reply(human, schema) == value


@pytest.mark.parametrize(("human", "told"), [("5 of them", True), ("15 of them", False), ("5.5", False), ("It is 5.", True)])
async def test_a_number_is_told_only_as_a_whole(human: str, told: bool) -> None:
    missing = Missing(kind=MissingKind.ARGUMENT, name="at", value=5)
    gold = (GoldCall(name="get_time", arguments={"zone": "x", "at": 5}),)
    _, first, _ = await play("asker", scenario(gold=gold, facts=(), missing=missing), (TIME, ASK), human=human)
    assert (first.tool_calls[0].arguments["at"] == 5) is told


async def test_asker_passes_on_what_a_person_says_of_a_missing_tool_whatever_it_is() -> None:
    for missing in (REPLACEABLE, IRREPLACEABLE):
        *_, last = await play("asker", scenario(gold=GOLD[1:], facts=LOST, missing=missing), (TIME, ASK), human="Some 40 feet.")
        assert last.text == "local time: 10:00\nSome 40 feet."


async def test_asker_without_a_human_acts_like_eager() -> None:
    for missing in (ARGUMENT, REPLACEABLE):
        played = scenario(missing=missing)
        assert await play("asker", played) == await play("eager", played)


@pytest.mark.parametrize(
    ("control", "missing", "label"),
    [
        ("oracle", ARGUMENT, "Yes"),
        ("eager", ARGUMENT, "Yes"),
        ("cautious", None, "No"),
        ("cautious", ARGUMENT, "No"),
        ("asker", None, "Yes"),
        ("asker", ARGUMENT, "IDK"),
        ("asker", IRREPLACEABLE, "IDK"),
    ],
)
async def test_the_awareness_question(control: str, missing: Missing | None, label: str) -> None:
    policy = AgentPolicy(f"sim/{control}", scenario(missing=missing or ()))
    turn = await policy.generate([HumanMessage("?")], (), GenerationSettings(choices=("Yes", "No", "IDK")))
    assert turn.text.startswith(f"{label}, ")


@labelled
def test_what_is_wrong_is_named(control: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        open_sim(ModelRequest(f"sim/{control}", control, options=options))


@pytest.mark.parametrize("piece", ["not sure ", "Word "])
def test_a_long_reply_is_read_in_step_with_its_length(piece: str) -> None:
    def read(reply: str) -> None:
        is_refusal(reply)
        value_in_reply(reply, {"type": "string"})
        value_in_reply(reply, {"type": "string", "format": "date"})

    check_growth(read, lambda size: piece * (size // len(piece)), 2**14)


@pytest.mark.parametrize("reply", ["I do not really know.", "No idea!", "can't, sorry: it is not for me to say", "", " \n"])
def test_a_reply_without_an_answer_declines(reply: str) -> None:
    assert is_refusal(reply)
    assert not is_refusal("I know that it is not far.")
