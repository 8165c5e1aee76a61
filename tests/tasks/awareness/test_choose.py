"""The packaged pairs are chosen so that neither the groups, nor the questions' form, nor the shown tools give the answer."""

from __future__ import annotations

import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from talm_sim.tasks.awareness.making.loaded import complete_scenario
from talm_sim.tasks.awareness.making.pool import pool_of
from talm_sim.tasks.awareness.making.remove import make_removed_scenario
from talm_sim.tasks.awareness.making.replace import replace_tools
from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, Source, YesNo
from tests.tasks.awareness.making.made import Words, tool

ROOT = Path(__file__).resolve().parents[3]
CATEGORIES = ("art", "food", "geo", "jobs")


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_awareness", ROOT / "scripts" / "make_awareness.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def items(number: int = 12) -> list[Scenario]:
    """Requests of four categories, each with replaced tools, every third with a value that is gone."""
    tools = {name: [tool(f"get_{name}_{place}", f"{name} word{place}", ["code"]) for place in range(4)] for name in CATEGORIES}
    made: list[Scenario] = []
    for category in CATEGORIES:
        for place in range(number):
            needed = tools[category][place % 4]
            call = GoldCall(name=needed["name"], arguments={"code": f"Q{place}"})
            said = [{"role": "user", "content": f"Which {category} belongs to Q{place}, please?"}]
            made.append(complete_scenario(f"{category}-{place:02}.complete", said, [needed], [call.name], Source(name="made"), [call]))
    pool = pool_of(made, Words())
    found: list[Scenario] = []
    for place, original in enumerate(made):
        replaced = replace_tools(original, pool, limit=0.99)
        assert isinstance(replaced, Scenario)
        found += [original, replaced]
        if place % 3 == 0:
            value = original.gold_calls[0].arguments["code"]
            less = {"role": "user", "content": original.query.replace(str(value), "it" if len(str(value)) == 2 else "one")}
            turns = (original.turns[0].model_copy(update={"messages": (less,)}),)
            missing = Missing(kind=MissingKind.ARGUMENT, name="code", value=value)
            found.append(make_removed_scenario(original, turns, [missing], "people"))
    return found


def test_half_is_yes_each_original_is_in_one_pair_and_categories_take_turns(maker: ModuleType) -> None:
    for pairs, removed in ((20, 10), (44, 16), (1000, 16)):  # 48 originals, 16 of them with something removed
        chosen = maker.choose(items(), pairs)
        assert len(chosen) == min(pairs, 48) == len({original.id for original, _ in chosen})
        assert Counter(changed.group for _, changed in chosen) == {"removed": removed, "replaced": len(chosen) - removed}
        assert all(changed.base == original.id for original, changed in chosen)
        assert {one.target.gold for one, _ in chosen} == {"yes"} and {one.target.gold for _, one in chosen} == {"no"}
        spread = Counter(original.id.partition("-")[0] for original, _ in chosen)
        assert max(spread.values()) - min(spread.values()) <= 1 and len(spread) == 4


def test_a_sound_set_passes_and_each_flaw_is_named(maker: ModuleType) -> None:
    pairs = maker.choose(items(), 24)
    assert maker.find_problems(pairs) == []
    original, changed = next(pair for pair in pairs if pair[1].group == "replaced")
    more = changed.model_copy(update={"shown_tools": (*changed.shown_tools, original.shown_tools[0])})
    found = maker.find_problems([(original, more), *(pair for pair in pairs if pair[0] is not original)])
    assert any("needed API shown" in one for one in found) and f"{changed.id}: shows 2 tools, its original 1" in found
    assert "an original stands in two pairs" in maker.find_problems([*pairs, pairs[0]])


def test_a_question_or_a_list_of_tools_that_tells_the_gold_is_found(maker: ModuleType) -> None:
    pairs = maker.choose(items(), 24)
    told = [
        (a, b.model_copy(update={"turns": (b.turns[0].model_copy(update={"messages": ({"role": "user", "content": "So?"},)}),)}))
        for a, b in pairs
    ]
    assert dict(maker.form(told))["the question"] == 1.0
    one = tool("always_wrong", "No", ["code"])
    marked = [(a, _showing(b, one)) for a, b in pairs]
    assert dict(maker.form(marked))["the list of tools"] > 0.95


def _showing(changed: Scenario, spec: dict[str, object]) -> Scenario:
    import json

    assert isinstance(changed.target, YesNo)
    return changed.model_copy(update={"shown_tools": (json.dumps(spec),)})
