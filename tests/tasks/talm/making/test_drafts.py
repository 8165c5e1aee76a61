"""First scenarios: what is asked for is in the answer and stays there, what is left out is gone, and all of it is proved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.tasks.talm.making.drafts import MOST_OFFERED, NOTHING_STABLE, CalledTool, Draft, draft_scenarios
from talm_sim.types import Facts, Missing, Scenario, ToolSpec
from tests.tables import labelled

NOW = datetime(2025, 3, 12, 12, tzinfo=UTC)  # a Wednesday


def tool(
    name: str = "find_item", description: str = "Find an item of the shop.", human_replaceable: bool = False, **properties: Any
) -> ToolSpec:
    properties = properties or {"item_name": {"type": "string"}}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name=name, description=description, parameters=parameters, human_replaceable=human_replaceable)


def draft(spec: ToolSpec, arguments: dict[str, Any], *answers: Any) -> Draft:
    (found,) = draft_scenarios([CalledTool(spec, arguments, answers)], {spec.name: spec}, NOW)
    assert check_scenarios(found.scenarios, {spec.name: spec}, lambda tool, arguments: answers[0]) == []
    return found


def fact(found: Draft) -> tuple[str, Any, str] | None:
    if not found.scenarios:
        return None
    target = found.scenarios[0].target
    assert isinstance(target, Facts)
    (one,) = target.required
    return one.name, one.value, one.pointer


def missing(scenario: Scenario) -> Missing:
    (missing,) = scenario.missing
    return missing


def test_a_call_becomes_a_request_with_two_variants_and_a_person_who_can_stand_in_knows_the_fact() -> None:
    perfect, less, masked = draft(tool(), {"item_name": "lamp"}, {"item_name": "lamp", "price": 12.5}).scenarios
    assert [one.id for one in (perfect, less, masked)] == ["find_item", "find_item.underspecified", "find_item.non-replaceable"]
    assert perfect.query == masked.query == "Find an item of the shop. The item name is lamp. What is the price?"
    assert less.query == "Find an item of the shop. What is the price?"
    assert (missing(less).name, missing(less).value) == ("item_name", "lamp")
    assert missing(less).removed_text == missing(less).human_answer == "The item name is lamp."
    assert missing(masked).human_answer is None and masked.perturbations == ("mask:tool=find_item",)
    weeks = tool(human_replaceable=True, weeks={"type": "integer"}, tags={"type": "string"}, status={"type": "string"})
    made = draft(weeks, {"weeks": 3, "tags": "x1", "status": "open"}, {"books": [{"book_id": "B-Q7"}]}).scenarios
    assert "The number of weeks is 3. The tags are x1. The status is open. What is the book id of the first entry in books?" in made[0].query
    assert missing(made[2]).human_answer == "The book id of the first entry in books is B-Q7."
    assert draft(tool(), {"item_name": "lamp"}, {"sizes": ["XL"]}).scenarios[0].query.endswith("What is the first entry in sizes?")
    masked = draft(tool(human_replaceable=True), {"item_name": "lamp"}, {"price": 12.5}).scenarios[2]
    assert masked.group == "replaceable" and missing(masked).human_answer == "The price is 12.5."


@pytest.mark.parametrize("answers", [({"ok": True}, {"ok": True}), ({"booking_id": 7}, {"booking_id": 8}), ({"item_name": "lamp"},) * 2])
def test_of_a_tool_that_acts_the_call_alone_is_asked_for(answers: Sequence[Any]) -> None:
    acting = tool("order_item", "Order an item of the shop.")
    (found,) = draft_scenarios([CalledTool(acting, {"item_name": "lamp"}, answers, acts=True)], {"order_item": acting}, NOW)
    perfect, less = found.scenarios
    assert perfect.query == "Order an item of the shop. The item name is lamp." and less.query == "Order an item of the shop."
    assert perfect.target == less.target == Facts(required=()) and missing(less).name == "item_name"
    assert found.left_out == ("non-replaceable: no fact is lost with tools that act",)
    assert check_scenarios(found.scenarios, {"order_item": acting}, lambda *_: answers[0]) == []
    for reads, given in ((False, answers), (True, ({"time": "10:31"}, {"time": "10:32"}))):
        (none,) = draft_scenarios([CalledTool(acting, {"item_name": "lamp"}, given, acts=reads)], {"order_item": acting}, NOW)
        assert not none.scenarios and none.left_out == (NOTHING_STABLE,)


@labelled
def test_the_fact_is_something_an_answer_could_state_and_that_stays(answers: list[Any], found: list[Any] | None) -> None:
    made = draft(tool(), {"item_name": "lamp"}, *answers)
    assert fact(made) == (found and tuple(found))
    if found is None:
        assert made.left_out == ("its answer contains no stable value that a question could ask for",)


@labelled
def test_what_leads_in_gives_no_example_away(description: str, lead: str) -> None:
    perfect, less, _ = draft(tool(description=description), {"item_name": "stool"}, {"price": 12.5}).scenarios
    assert perfect.query == f"{lead} The item name is stool. What is the price?"
    assert less.query == f"{lead} What is the price?"


def test_an_argument_that_the_rest_gives_away_is_not_left_out() -> None:
    spec = tool(description="Find a lamp.", item_name={"type": "string"}, count={"type": "integer"})
    found = draft(spec, {"item_name": "lamp", "count": 4}, {"price": 12.5})
    assert missing(found.scenarios[1]).name == "count" and "lamp" in found.scenarios[1].query
    same = draft(tool(a={"type": "string"}, b={"type": "string"}), {"a": "lamp", "b": "lamp"}, {"price": 12.5})
    assert [one.group for one in same.scenarios] == ["perfect", "non-replaceable"]
    assert same.left_out == ("underspecified: no required argument can be left out of the request without being given away",)
    nothing = ToolSpec(name="find_best", description="Find the best item.")
    assert draft(nothing, {}, {"price": 12.5}).left_out == ("underspecified: it requires no argument",)


def test_an_argument_whose_value_a_description_says_is_not_left_out() -> None:
    spec = tool(item_name={"type": "string", "examples": ["lamp"]}, count={"type": "integer", "description": "Such as 4."})
    found = draft(spec, {"item_name": "lamp", "count": 4}, {"price": 12.5})
    assert [one.group for one in found.scenarios] == ["perfect", "non-replaceable"]
    assert found.given_away == ("item_name", "count")
    places = "lamp in the examples of item_name of find_item; 4 in the description of count of find_item"
    assert found.left_out == (f"underspecified: given away by the description ({places})",)
    assert missing(draft(spec, {"item_name": "lamp", "count": 5}, {"price": 12.5}).scenarios[1]).name == "count"


def test_what_can_be_guessed_is_left_out_last_and_the_odds_are_kept() -> None:
    enum = {"type": "string", "enum": ["red", "green", "blue"]}
    spec = tool(colour=enum, item_name={"type": "string"})
    found = draft(spec, {"colour": "green", "item_name": "lamp"}, {"price": 12.5})
    assert (missing(found.scenarios[1]).name, found.choices) == ("item_name", None)
    found = draft(tool(colour=enum), {"colour": "green"}, {"price": 12.5})
    assert (missing(found.scenarios[1]).name, found.choices) == ("colour", 3)
    two = draft(tool(colour={**enum, "enum": ["red", "green"]}), {"colour": "green"}, {"price": 12.5})
    assert two.left_out == ("underspecified: given away by the description (green in the only 2 values of colour of find_item)",)


def test_a_scenario_offers_its_neighbours_in_their_order() -> None:
    specs = {f"t{number}": tool(f"t{number}", f"Do {number}00.") for number in range(12)}
    drafts = draft_scenarios([CalledTool(one, {"item_name": "lamp"}, [{"price": 12.5}]) for one in specs.values()], specs, NOW)
    for one in drafts:
        assert one.tool in one.scenarios[0].tools and len(one.scenarios[0].tools) == MOST_OFFERED
        assert list(one.scenarios[0].tools) == [name for name in specs if name in one.scenarios[0].tools]


def test_what_cannot_be_proved_is_left_out_with_the_reason() -> None:
    spec = tool(item_name={"type": "string"})
    (found,) = draft_scenarios([CalledTool(spec, {"item_name": "lamp"}, [{"price": 12.5}])], {}, NOW)
    assert found.scenarios == () and found.left_out == ("perfect: there is no tool 'find_item'",)
