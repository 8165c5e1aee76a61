"""Tools called with a request's own values: which of them give a part of what is asked for?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from talm_sim.errors import ToolError
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.awareness.making.loaded import complete_scenario, tool_names
from talm_sim.tasks.awareness.making.pool import Pool, api_of
from talm_sim.tasks.awareness.making.replace import replace_tools
from talm_sim.tasks.awareness.making.serving import Serving
from talm_sim.types import Fact, GoldCall, Scenario, Source, ToolSpec, YesNo
from tests.in_process import direct_caller
from tests.tables import labelled
from tests.tasks.awareness.making.made import Words


def spec(name: str, *required: str, **schemas: dict[str, Any]) -> ToolSpec:
    properties = {one: schemas.get(one, {"type": "string"}) for one in required}
    return ToolSpec(name=name, category="made", description=f"About {name}", parameters={"properties": properties, "required": list(required)})


def station(arguments: Mapping[str, Any]) -> Any:
    if arguments["code"] != "DNMM":
        raise ToolError("no such code", "http_404")
    return {"code": "DNMM", "country": "Nigeria", "elevation_m": 41}


SPECS = {
    "get_station": spec("get_station", "code"),
    "get_airfield": spec("get_airfield", "code"),
    "get_field_height": spec("get_field_height", "place"),
    "get_twin": spec("get_twin", "code", "day"),
    "get_station_on": spec("get_station_on", "code", "day"),
    "count_letters": spec("count_letters", "text"),
    "get_currency": spec("get_currency", "name"),
    "find_country": spec("find_country", "word"),
    "pick": spec("pick", "mode", mode={"type": "string", "enum": ["north", "south"]}),
    "get_week": spec("get_week", "day", day={"type": "string", "format": "date"}),
    "find_by_year": spec("find_by_year", "n", n={"type": "integer", "minimum": 1900, "maximum": 2100}),
}
ANSWERS: dict[str, Any] = {
    "get_station": station,
    "get_airfield": lambda a: {"country_code": "NG", "field": a["code"]} if a["code"] == "DNMM" else {"kind": "none"},
    "get_field_height": lambda a: {"elevation_ft": 135},
    "get_twin": lambda a: {"twin": 1},
    "get_station_on": lambda a: {"seen": 1},
    "count_letters": lambda a: {"letters": len(a["text"]), "text": a["text"]},
    "get_currency": lambda a: {"code": "NGN"},
    "find_country": lambda a: {"text": "Nigeria"},
    "pick": lambda a: {"found": 41.1 if a["mode"] == "south" else 3},
    "get_week": lambda a: {"week": 7},
    "find_by_year": lambda a: {"event": "flood"} if a["n"] == 2014 else {"event": "none"},
}


def asked(query: str, tool: str, facts: tuple[Fact, ...], **arguments: Any) -> tuple[Scenario, Serving]:
    """A request of one call, and what finds tools that serve it; every tool has a gold call somewhere."""
    made = scenario("one", query, tool, arguments)
    others = [
        scenario(name, "x", name, dict.fromkeys(SPECS[name].parameters["required"], "x"))
        for name in SPECS
        if name not in ("get_station", "find_by_year")
    ]
    return made, Serving(answer, SPECS, {"one": facts}, [made, *others])


def answer(tool: str, arguments: Mapping[str, Any]) -> Any:
    return ANSWERS[tool](arguments)


def scenario(id_: str, query: str, tool: str, arguments: dict[str, Any]) -> Scenario:
    shown = [SPECS[tool].model_dump()]
    return complete_scenario(
        id_, [{"role": "user", "content": query}], shown, [tool], Source(name="made"), [GoldCall(name=tool, arguments=arguments)]
    )


COUNTRY = Fact(name="country", value="Nigeria", call=0, pointer="/country")
HEIGHT = Fact(name="height", value=41, call=0, pointer="/elevation_m")


@pytest.mark.parametrize(
    ("fact", "tool", "words"),
    [
        (COUNTRY, "find_country", "'find_country' gives the country for values of the request: text is Nigeria"),
        (COUNTRY, "get_airfield", "'get_airfield' gives the country for values of the request: country_code is NG"),
        (COUNTRY, "count_letters", ""),
        (COUNTRY, "get_field_height", ""),
        (HEIGHT, "get_field_height", "'get_field_height' returns 'elevation_ft', like the 'elevation_m' that is asked for"),
        (HEIGHT, "pick", "'pick' gives the height for values of the request: found is 41.1"),
        (HEIGHT, "get_airfield", ""),
        (Fact(name="unit", value="NGN", call=0, pointer="/currency_code"), "get_currency", "returns 'code', like the 'currency_code'"),
        (HEIGHT, "get_week", ""),
        (HEIGHT, "unknown", ""),
    ],
)
def test_a_tool_that_gives_a_part_is_found_and_another_is_not(fact: Fact, tool: str, words: str) -> None:
    original, serving = asked("What about DNMM?", "get_station", (fact,), code="DNMM")
    found = serving.find(original, tool)
    assert (words in found) if words else found == ""


def test_the_parts_of_a_date_and_numbers_that_are_said_are_tried() -> None:
    flood = (Fact(name="event", value="flood", call=0, pointer="/what"),)
    for query, arguments in (("Back then?", {"code": "2014-03-11"}), ("In 2014?", {"code": "x"})):
        original, serving = asked(query, "get_station", flood, **arguments)
        assert "event is flood" in serving.find(original, "find_by_year")
    original, serving = asked("In 2015?", "get_station", flood, code="x")
    assert serving.find(original, "find_by_year") == ""


def test_two_required_arguments_in_common_are_the_same_work() -> None:
    original, serving = asked("Which?", "get_twin", (), code="DNMM", day="Monday")
    assert serving.find(original, "get_station_on") == "'get_station_on' takes the same arguments as 'get_twin': code, day"
    assert serving.find(original, "get_station") == ""


def test_a_replacement_that_serves_is_passed_over_and_the_check_names_it() -> None:
    original, serving = asked("What about DNMM?", "get_station", (COUNTRY,), code="DNMM")
    shown = [scenario("pool", "x", name, {}) for name in ("find_country", "count_letters")]
    pool = Pool((api_of(one.shown_tools[0], one) for one in shown), Words(), serving)
    without = Pool((api_of(one.shown_tools[0], one) for one in shown), Words())
    nearest = replace_tools(original, without, limit=2.0)
    changed = replace_tools(original, pool, limit=2.0)
    assert isinstance(changed, Scenario) and tool_names(changed) == ("count_letters",)
    assert not [one for one in check_manipulated(original, changed, pool, limit=2.0)]
    assert isinstance(nearest, Scenario) and isinstance(nearest.target, YesNo)
    wrong = changed.model_copy(update={"shown_tools": (shown[0].shown_tools[0],)})
    (failed,) = check_manipulated(original, wrong, pool, limit=2.0)
    assert (failed.check, failed.review) == ("part served", False) and "text is Nigeria" in failed.words


@labelled
def test_built_in_tools_that_lead_to_an_answer_are_found(needed: str, arguments: dict[str, Any], shown: str, leads: bool) -> None:
    call = direct_caller()
    one = GoldCall(name=needed, arguments=arguments)
    said = [{"role": "user", "content": "Please look it up."}]
    made = complete_scenario("one", said, [call.specs[needed].model_dump()], [needed], Source(), [one])
    assert bool(Serving(call, call.specs, {}, [made]).find(made, shown)) is leads
