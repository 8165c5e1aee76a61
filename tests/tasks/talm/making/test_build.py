from __future__ import annotations

from pathlib import Path

import pytest

from scripts.build_scenarios import build_scenarios
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import write_scenarios
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Scenario
from tests.tables import labelled
from tests.tasks.talm.making.toy import SEED, SPECS, call_toy, write_seed

HEIGHT_CALL = GoldCall(name="get_height", arguments={"code": "LPB"})
SUM_CALL = GoldCall(name="add_up", arguments={"first": 17, "second": 26})


def _build(directory: Path, text: str = SEED) -> dict[str, list[Scenario]]:
    return build_scenarios(write_seed(directory, text), SPECS, call_toy)


def _facts(scenario: Scenario) -> tuple[Fact, ...]:
    assert isinstance(scenario.target, Facts)
    return scenario.target.required


def test_the_perfect_scenario_and_each_variant_hold_computed_facts(tmp_path: Path) -> None:
    (perfect,) = _build(tmp_path)["perfect"]
    assert (perfect.id, perfect.base, perfect.source.licence) == ("toys-01", "toys-01", "Apache-2.0")
    assert (perfect.tools, perfect.gold_calls) == (("get_height", "add_up"), (HEIGHT_CALL, SUM_CALL))
    assert _facts(perfect) == (
        Fact(name="height", value=13355, call=0, pointer="/feet"),
        Fact(name="sum", value=43, accepted=("forty-three",), call=1, pointer="/sum"),
    )
    assert (perfect.missing, perfect.perturbations) == ((), ())
    groups = _build(tmp_path)
    (perfect,), (variant,) = groups["perfect"], groups["underspecified"]
    assert (variant.id, variant.base) == ("toys-01.underspecified", "toys-01")
    assert variant.query == "How high, in feet, is the airport, and what do 17 and 26 make?"
    (missing,) = variant.missing
    assert missing == Missing(
        kind=MissingKind.ARGUMENT, name="code", value="LPB", removed_text="of La Paz (LPB)", human_answer="The one of La Paz, LPB."
    )
    assert (variant.tools, variant.gold_calls, variant.target) == (perfect.tools, perfect.gold_calls, perfect.target)
    (variant,) = groups["replaceable"]
    assert groups["non-replaceable"] == []
    assert variant.id == "toys-01.replaceable"
    assert variant.missing == (Missing(kind=MissingKind.TOOL, name="get_height", human_answer="It lies 13,355 feet up."),)
    assert variant.perturbations == ("mask:tool=get_height",)
    assert (variant.tools, variant.gold_calls) == (("get_height", "add_up"), (SUM_CALL,))
    assert [(fact.name, fact.value, fact.call, fact.pointer) for fact in _facts(variant)] == [
        ("height", 13355, None, ""),
        ("sum", 43, 0, "/sum"),
    ]
    (perfect,), (variant,) = groups["perfect"], groups["no-tools"]
    assert (variant.id, variant.tools, variant.gold_calls, variant.missing) == ("toys-01.no-tools", (), (), ())
    assert variant.query == perfect.query
    assert [(fact.value, fact.call) for fact in _facts(variant)] == [(13355, None), (43, None)]


def test_a_tool_no_person_can_replace_makes_a_non_replaceable_variant(tmp_path: Path) -> None:
    text = SEED.replace('tool = "get_height"\nhuman_answer = "It lies {height:,} feet up."', 'tool = "add_up"')
    groups = _build(tmp_path, text)
    (variant,) = groups["non-replaceable"]
    assert groups["replaceable"] == []
    assert variant.missing == (Missing(kind=MissingKind.TOOL, name="add_up"),)
    assert variant.gold_calls == (HEIGHT_CALL,)
    assert [fact.call for fact in _facts(variant)] == [0, None]


def test_what_is_written_loads_again_and_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    groups = _build(tmp_path)
    for directory in ("one", "two"):
        write_scenarios(groups, tmp_path / directory)
    written = [group for group in GROUPS if groups[group]]
    assert {file.stem for file in (tmp_path / "one").iterdir()} == {*written}
    for group in written:
        file = tmp_path / "one" / f"{group}.jsonl"
        assert file.read_bytes() == (tmp_path / "two" / f"{group}.jsonl").read_bytes()
        assert find_task("talm").read([group], file) == groups[group]


@labelled
def test_a_seed_that_does_not_work_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SEED
    with pytest.raises(PrerequisiteError, match=rf"toys\.toml: .*{message}"):
        _build(tmp_path, SEED.replace(old, new))


def test_a_directory_without_seeds_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="no seeds"):
        build_scenarios(tmp_path, SPECS, call_toy)
