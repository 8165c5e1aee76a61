"""Files of scenario lines, and the package's own scenarios of task talm, of which what is removed leaves nothing that can be served."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import find_task
from talm_sim.tasks.awareness.maker import from_talm, load_lines
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn, YesNo
from talm_sim.world.described import built_in_tools
from tests.tables import labelled
from tests.tasks.awareness.making.made import asked

GOOD = asked("What was SQ on 1 March?", stock_code="SQ", date="2022-03-01")


def line(**change: object) -> str:
    return json.dumps(json.loads(GOOD.model_dump_json()) | change)


@labelled
def test_a_broken_line_is_named_and_the_rest_goes_on(tmp_path: Path, broken: str, fault: str) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(f"{GOOD.model_dump_json()}\n{broken}\n{line(id='three')}", encoding="utf-8")
    loaded = load_lines(file)
    assert [scenario.id for scenario in loaded.scenarios] == ["mine.1", "three"]
    (problem,) = loaded.problems
    assert str(problem).startswith(f"{file}:2: {fault}")
    assert "\n" not in str(problem)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        load_lines(tmp_path / "none.jsonl")
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(PrerequisiteError, match="is not UTF-8"):
        load_lines(tmp_path / "latin")


def test_the_packages_own_scenarios_are_complete_ones() -> None:
    perfect = find_task("talm").read(["perfect"])
    loaded = from_talm([*perfect, *find_task("talm").read(["underspecified"])], built_in_tools().specs)
    assert (len(loaded.scenarios), loaded.problems) == (len(perfect), ())
    first = loaded.scenarios[0]
    assert (first.id, first.gold_calls, first.source.licence) == (f"{perfect[0].id}.complete", perfect[0].gold_calls, "Apache-2.0")
    assert [problem.fault for problem in from_talm(perfect[:1], {}).problems] == [
        f"tools: there is no specification of '{perfect[0].tools[0]}'; correct the name."
    ]


ANY = st.recursive(
    st.none() | st.integers(0, 3) | st.text("a{", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "name", "messages"]), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["id", "task", "turns", "shown_tools", "target", "missing", "source", "else"]), ANY, max_size=3))
def test_whatever_stands_in_a_line_gives_a_scenario_or_a_named_problem(
    tmp_path_factory: pytest.TempPathFactory, change: dict[str, object]
) -> None:
    file = tmp_path_factory.mktemp("lines") / "mine.jsonl"
    file.write_text(line(**change), encoding="utf-8")
    loaded = load_lines(file)
    assert len(loaded.scenarios) + len(loaded.problems) == 1
    assert all(str(problem).startswith(f"{file}:1: ") and "\n" not in str(problem) for problem in loaded.problems)


def spec(name: str, required: list[str]) -> ToolSpec:
    properties = {one: {"type": "string"} for one in ["city", "day", "unit"]}
    return ToolSpec(name=name, category="made", description=name, parameters={"properties": properties, "required": required})


SPECS = {"get_sun": spec("get_sun", ["city", "day"]), "get_rain": spec("get_rain", ["city"])}
SUN = GoldCall(name="get_sun", arguments={"city": "Oslo", "day": "Monday"})
RAIN = GoldCall(name="get_rain", arguments={"city": "Bergen", "unit": "mm"})
FACTS = (Fact(name="sunrise", value="06:12", call=0, pointer="/sunrise"),)


def talm(id_: str, group: str, query: str, calls: tuple[GoldCall, ...], missing: tuple[Missing, ...] = (), base: str = "") -> Scenario:
    return Scenario(
        id=id_,
        task="talm",
        group=group,
        turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=calls),),
        tools=tuple(call.name for call in calls),
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
        assert made.target == YesNo(gold="no", relevant=tuple(call.name for call in calls), made_by="people")
        assert made.missing == missing and made.shown_tools == loaded.scenarios[0].shown_tools
