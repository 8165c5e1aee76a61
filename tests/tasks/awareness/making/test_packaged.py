"""The package's own scenarios of task talm, as instances of awareness: what is removed leaves nothing that can be served."""

from __future__ import annotations

from typing import Any

import pytest

from talm_sim.tasks.awareness.making.packaged import from_talm
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn, YesNo


def spec(name: str, required: list[str]) -> ToolSpec:
    properties = {one: {"type": "string"} for one in ["city", "day", "unit"]}
    return ToolSpec(name=name, category="made", description=name, parameters={"properties": properties, "required": required})


SPECS = {"get_sun": spec("get_sun", ["city", "day"]), "get_rain": spec("get_rain", ["city"])}
SUN = GoldCall(tool="get_sun", arguments={"city": "Oslo", "day": "Monday"})
RAIN = GoldCall(tool="get_rain", arguments={"city": "Bergen", "unit": "mm"})
FACTS = (Fact(name="sunrise", value="06:12", call=0, pointer="/sunrise"),)


def talm(id_: str, group: str, query: str, calls: tuple[GoldCall, ...], missing: tuple[Missing, ...] = (), base: str = "") -> Scenario:
    return Scenario(
        id=id_,
        task="talm",
        group=group,
        turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=calls),),
        tools=tuple(call.tool for call in calls),
        target=Facts(required=FACTS),
        missing=missing,
        source=Source(name="talm-sim", base=base),
    )


def gone(name: str, value: Any) -> Missing:
    return Missing(kind=MissingKind.ARGUMENT, name=name, value=value)


@pytest.mark.parametrize(
    ("calls", "missing", "group", "kept"),
    [
        ((SUN,), (gone("day", "Monday"),), "underspecified", True),
        ((SUN, RAIN), (gone("day", "Monday"),), "underspecified", False),  # the rain can still be looked up
        ((SUN, RAIN), (gone("day", "Monday"), gone("city", "Bergen")), "several-gaps", True),
        ((SUN, RAIN), (gone("city", "Oslo"), gone("day", "Monday")), "several-gaps", False),  # both of one call
        ((RAIN,), (gone("unit", "mm"),), "underspecified", False),  # not required
        ((SUN,), (gone("day", "Monday"),), "late-gap", False),
    ],
)
def test_a_variant_is_taken_only_if_no_call_can_be_made(
    calls: tuple[GoldCall, ...], missing: tuple[Missing, ...], group: str, kept: bool
) -> None:
    perfect = talm("weather-1", "perfect", "Sunrise in Oslo on Monday, rain in Bergen in mm?", calls)
    variant = talm("weather-1.u", group, "Sunrise there then, and rain?", calls, missing, base="weather-1")
    loaded = from_talm([perfect, variant], SPECS)
    assert [one.id for one in loaded.scenarios] == ["weather-1.complete"] and loaded.asked == {"weather-1.complete": FACTS}
    assert set(loaded.removed or ()) == ({"weather-1.complete"} if kept else set())
    if kept:
        made = (loaded.removed or {})["weather-1.complete"]
        assert (made.id, made.group, made.query, made.source.base) == (
            "weather-1.complete.removed",
            "removed",
            "Sunrise there then, and rain?",
            "weather-1.complete",
        )
        assert made.target == YesNo(gold="no", relevant=tuple(call.tool for call in calls), made_by="people")
        assert made.missing == missing and made.shown_tools == loaded.scenarios[0].shown_tools


def test_a_tool_that_nobody_knows_is_named() -> None:
    loaded = from_talm([talm("weather-1", "perfect", "Sun?", (GoldCall(tool="get_moon", arguments={}),))], SPECS)
    assert not loaded.scenarios and "there is no specification of 'get_moon'" in str(loaded.problems[0])
