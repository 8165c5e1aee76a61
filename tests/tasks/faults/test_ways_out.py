"""A way out of a fault: that the calls prove it, and that the prediction without calls says the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.acting.recoveries import FaultWay, call_key, could_recover, gold_arguments, prove_ways
from talm_sim.tasks.acting.recovery_search import Way
from talm_sim.tools_env.perturbations import PERTURBATIONS, PerturbationSpec, parse_perturbation
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, Turn
from tests.in_process import direct_caller
from tests.tables import labelled
from tests.tasks.faults.damage import FAULTS, DirectSource, built_in, packaged, register_faults

EVERY, PERSON = 51, 17
"""Tools of a third of the packaged queries of set quick, each counted once per query, and those that a person can stand in for."""
SCHEDULES = ("http-503:p=0.5", "http-500:times=2", "http-404:after=1", "timeout:call=2", "empty-result:p=0.3", "malformed-body:times=1,seed=4")
KINDS = [name for name in PERTURBATIONS.names() if PERTURBATIONS.get(name).family != "model"]


@pytest.fixture(autouse=True)
def _faults(monkeypatch: pytest.MonkeyPatch) -> None:
    register_faults(monkeypatch)


def aim(fault: str, tool: str) -> str:
    spec = parse_perturbation(fault)
    return str(PerturbationSpec(spec.name, {**spec.options, "tool": tool}))


ASKS_AGAIN = {"coerced-argument", "ignored-argument", "implicit-default", "stale", "wrong-record"}
"""Faults that answer with what the tool says to other arguments."""


def predict(one: FaultWay, scenario: Scenario, tools: Tools, others: Mapping[str, Any], answers: Mapping[str, Any] | None) -> Way:
    schemas = {name: tools.response_schema(name) for name in tools.specs}
    return could_recover(
        scenario,
        (aim(one.fault, one.tool),),
        len(scenario.perturbations),
        seed=0,
        epoch=1,
        specs=tools.specs,
        human="simulated",
        answers=answers,
        responses=schemas,
        others=others,
    )


@cache
def real_answers() -> Mapping[str, Any]:
    """What the tools answer to every gold call."""
    direct = direct_caller()
    calls = (call for one in packaged("perfect") for call in one.gold_calls)
    return {call_key(call.name, call.arguments): direct(call.name, call.arguments) for call in calls}


@pytest.mark.parametrize("fault", [*KINDS, *SCHEDULES, *(kind.name for kind in FAULTS)])
def test_what_is_predicted_is_what_the_calls_prove(fault: str) -> None:
    scenarios, tools = packaged("perfect")[:: 4 if fault in ASKS_AGAIN else 9], built_in()
    try:
        proven = asyncio.run(prove_ways(tools, scenarios, [fault]))
    except PrerequisiteError:
        pytest.skip("it has no default options")
    assert len(proven) == sum(len({call.name for call in one.gold_calls}) for one in scenarios)
    by_id, others = {one.id: one for one in scenarios}, gold_arguments(scenarios)
    # What a fault does to the parts of an answer that hold no fact can only be known from the answer.
    whole = PERTURBATIONS.get(parse_perturbation(fault).name).family not in ("endpoint", "tools")
    predicted = [predict(one, by_id[one.scenario], tools, others, real_answers() if whole else None) for one in proven]
    # Only the tool can tell what a fault that asks it again gets, so whether it strikes; a run knows that when it asks for the way.
    known = [True if fault not in ASKS_AGAIN else one.way in (Way.AGAIN, Way.READ, Way.ASK, Way.NONE) for one in proven]
    assert sum(known) > 5
    assert [(one, way) for one, way, sure in zip(proven, predicted, known, strict=True) if sure and way is not one.way] == []


@labelled
def test_the_first_way_that_works_is_found(fault: str, ways: dict[str, int]) -> None:
    scenarios, tools = packaged("perfect")[::3], built_in()
    offered = [tool for one in scenarios for tool in {call.name for call in one.gold_calls}]
    assert (len(offered), sum(tools.specs[tool].human_replaceable for tool in offered)) == (EVERY, PERSON)
    proven = asyncio.run(prove_ways(tools, scenarios, [fault]))
    assert Counter(one.way.value for one in proven) == ways


def test_a_fault_of_p_is_got_around_exactly_where_it_lets_a_repeated_call_through() -> None:
    """At p = .5 each of four calls draws for itself: 1/2 of the calls are struck, and of these 7/8 let one of three repeats through."""
    proven = asyncio.run(prove_ways(built_in(), packaged("perfect"), ["http-500:p=0.5"], seed=3))
    found = Counter(one.way for one in proven)
    struck = len(proven) - found[Way.NOT_NEEDED]
    assert 0.35 * len(proven) <= struck <= 0.65 * len(proven)
    assert found[Way.AGAIN] / struck > 0.75


SHOP = Scenario(
    id="shop",
    group="perfect",
    turns=(
        Turn(
            messages=({"role": "user", "content": "What does the lamp cost?"},),
            gold_calls=(GoldCall(name="find_price", arguments={"item": "lamp"}), GoldCall(name="count_stock", arguments={"item": "lamp"})),
        ),
    ),
    tools=("find_price", "count_stock", "list_prices"),
    target=Facts(required=(Fact(name="price", value=245, call=0, pointer="/price"), Fact(name="stock", value=7, call=1, pointer="/stock"))),
    alternatives={"find_price": (GoldCall(name="list_prices", arguments={}),)},
)
STOCK = {"find_price": {"price": 245}, "count_stock": {"stock": 7}, "list_prices": {"lamp": 245, "chair": 89}}


class Shop(DirectSource):
    """Three tools; the second one gives what `STOCK` says, and `list_prices` may change data if the test says so."""

    def __init__(self, answers: Mapping[str, Any], *, writes: str = "") -> None:
        from talm_sim.types import Route, ToolSpec

        takes = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        self.specs = {name: ToolSpec(name=name, parameters=takes) for name in answers}
        self.specs["list_prices"] = ToolSpec(name="list_prices")
        self.routes = {name: Route(method="POST" if name == writes else "GET", path=f"/{name}") for name in answers}
        self.responses, self._answers, self.calls = {}, answers, []

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> Any:
        from talm_sim.tools_env.routes import answer

        self.calls.append(tool)
        return answer(self._answers[tool])


def prove_shop(
    fault: str, scenario: Scenario = SHOP, answers: Mapping[str, Any] = STOCK, *, writing: bool = False, writes: str = ""
) -> list[FaultWay]:
    return asyncio.run(prove_ways(Tools([Shop(answers, writes=writes)]), [scenario], [fault], writing=writing))


def test_an_alternative_is_a_way_if_it_really_gives_the_fact() -> None:
    assert [one.way for one in prove_shop("http-500")] == [Way.ALTERNATIVE, Way.NONE]
    assert [one.way for one in prove_shop("http-500", answers=STOCK | {"list_prices": {"lamp": 250}})] == [Way.NONE, Way.NONE]
    assert [one.way for one in prove_shop("http-500:times=1")] == [Way.AGAIN, Way.AGAIN]
    for way, tool in ((Way.ALTERNATIVE, "find_price"), (Way.NONE, "count_stock")):
        specs = Shop(STOCK).specs
        assert could_recover(SHOP, (f"http-500:tool={tool}",), 0, seed=0, epoch=1, specs=specs, human="none") is way


def test_another_gold_call_that_says_the_same_is_a_read() -> None:
    answers = STOCK | {"count_stock": {"stock": 7, "price": 245}}
    plain = SHOP.model_copy(update={"alternatives": {}})
    assert [one.way for one in prove_shop("t-lasting-shift", plain, answers)] == [Way.READ, Way.NONE]


def test_a_short_value_elsewhere_is_not_the_fact() -> None:
    plain = SHOP.model_copy(update={"alternatives": {}})
    assert [one.way for one in prove_shop("http-500", plain, STOCK | {"find_price": {"price": 245, "weight": 7}})] == [Way.NONE, Way.NONE]


def test_what_may_change_data_is_not_called_unasked() -> None:
    refused = prove_shop("http-500", writes="list_prices")
    assert {(one.way, one.why) for one in refused} == {(Way.NOT_APPLICABLE, "list_prices may change data; add --writing")}
    assert [one.way for one in prove_shop("http-500", writes="list_prices", writing=True)] == [Way.ALTERNATIVE, Way.NONE]


@labelled
def test_all_faults_of_a_run_are_armed_in_a_prediction(perturb: list[str], place: int, human: str, way: str) -> None:
    assert could_recover(SHOP, perturb, place, seed=0, epoch=1, specs=Shop(STOCK).specs, human=human) == way


@pytest.mark.parametrize("group", ["replaceable", "non-replaceable"])
def test_a_hidden_tool_is_replaced_by_the_person_who_knows(group: str) -> None:
    tools = built_in()
    for one in packaged(group):
        assert len(one.perturbations) == 1
        ways = [could_recover(one, (), 0, seed=0, epoch=1, specs=tools.specs, human=human) for human in ("none", "simulated")]
        assert ways == [Way.NONE, Way.ASK if group == "replaceable" else Way.NONE]


def test_a_scenario_without_facts_or_calls_is_left_out() -> None:
    missing = Missing(kind=MissingKind.TOOL, name="find_price")
    bare = SHOP.model_copy(update={"target": None, "missing": (missing,)})
    assert prove_shop("http-500", bare) == []
