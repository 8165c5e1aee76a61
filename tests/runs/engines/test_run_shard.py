"""A shard is a part of a run: which scenarios are in it, and what it keeps of the whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from talm_sim.common.shard import Shard
from talm_sim.config import RunConfig
from talm_sim.errors import EmptyShardError, OptionError, PrerequisiteError
from talm_sim.runs.ablation.grid import plan_cell
from talm_sim.runs.ablation.play_grid import ablate
from talm_sim.runs.api import run
from talm_sim.runs.engines.run_shard import cut_scenarios
from talm_sim.runs.forecast import episodes_of, forecast
from talm_sim.runs.resolve import configure
from talm_sim.store.files.manifest import new_run_ids
from talm_sim.tasks.shared import Shared
from talm_sim.types import Scenario, Source, Turn
from tests.runs.recorded_world import make_world

TURN = Turn(messages=({"role": "user", "content": "?"},))


def scenario(name: str, base: str = "") -> Scenario:
    return Scenario(id=name, group="perfect", turns=(TURN,), source=Source(base=base))


@st.composite
def sets(draw: st.DrawFn) -> list[Scenario]:
    """Scenarios, some of which are derived from others, in any order."""
    names = draw(st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=20))
    variants = [scenario(f"{name}.{kind}", name) for name in names for kind in draw(st.sets(st.sampled_from("xyz")))]
    return draw(st.permutations([*map(scenario, names), *variants]))


def parts_of(whole: list[Scenario], number: int) -> list[list[Scenario]]:
    found: list[list[Scenario]] = []
    for part in range(1, number + 1):
        try:
            cut = cut_scenarios(whole, str(Shard(part, number)))
        except EmptyShardError:
            found.append([])
            continue
        assert [whole[place] for place in cut.places] == cut.scenarios
        assert all(before < after for before, after in pairwise(cut.places))
        found.append([*cut.scenarios])
    return found


@settings(max_examples=30)
@given(sets(), st.integers(1, 24))
def test_every_scenario_is_in_one_shard_and_with_its_base(whole: list[Scenario], number: int) -> None:
    parts = parts_of(whole, number)
    assert sorted(one.id for part in parts for one in part) == sorted(one.id for one in whole)
    where = {one.id: place for place, part in enumerate(parts) for one in part}
    assert all(where[one.id] == where[one.base] for one in whole)


@settings(max_examples=20)
@given(sets(), sets(), st.integers(1, 24))
def test_a_growing_set_keeps_its_shards(whole: list[Scenario], more: list[Scenario], number: int) -> None:
    known = {one.id for one in whole}
    grown = [*(one for one in more if one.id not in known), *whole]
    for before, after in zip(parts_of(whole, number), parts_of(grown, number), strict=True):
        assert [one.id for one in after if one.id in known] == [one.id for one in before]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return make_world(tmp_path) | {"split": "perfect,underspecified"}


def test_a_shard_is_cut_from_what_would_be_run(world: dict[str, Any]) -> None:
    config = RunConfig(**world, limit="3", epochs=2)
    sizes = [episodes_of(config.model_copy(update={"shard": f"{part}/2"})) for part in (1, 2)]
    assert sum(sizes) == episodes_of(config) == 12
    assert [forecast(config.model_copy(update={"shard": f"{part}/2"})).episodes for part in (1, 2)] == sizes
    shard = run(config, shard="1/2")
    assert (shard.total, shard.finished) == (sizes[0], sizes[0])
    assert {one.base for one in shard.scenarios()} == {one.id for one in shard.scenarios() if one.group == "perfect"}
    assert shard.id.endswith("-perfect-underspecified-1of2")


def test_a_shard_without_scenarios_leaves_nothing(world: dict[str, Any]) -> None:
    with pytest.raises(EmptyShardError, match=r"^shard 1/100 has none of the 8 scenarios; "):
        run(**world, shard="1/100")
    assert not world["run_dir"].exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gate": ("pass_rate>=0.5",)}, "gate: "),
        ({"baseline": "another"}, "baseline: "),
        ({"ask_limit_run": 3, "human": "simulated"}, r"ask_limit_run: counts the questions of a whole run; .* use ask_limit\."),
    ],
)
def test_what_counts_over_the_whole_run_is_refused(world: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"^{said}"):
        run(**world, shard="1/2", **options)
    assert not world["run_dir"].exists()


def test_an_ablation_has_no_shards(world: dict[str, Any]) -> None:
    cells: list[tuple[str | None, dict[str, list[Any]]]] = [("1/2", {"seed": [1, 2]}), (None, {"shard": ["1/2", "2/2"]})]
    for shard, over in cells:
        with pytest.raises(PrerequisiteError, match=r"^ablate: .*; leave out shard\.$"):
            ablate(over=over, **world, shard=shard)


def test_the_cells_of_an_ablation_keep_their_names(world: dict[str, Any]) -> None:
    """A name is a digest of the options: one that did not exist yet when a cell was run must not change it."""
    job = configure(RunConfig(**world), {})
    cells = [plan_cell(job.having(shard=shard), {}, "a", Shared(), large=False) for shard in (None, "1/1")]
    assert cells[0].path == cells[1].path


def test_a_wrong_shard_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^shard: there is no shard 4/3: write I/N, with I from 1 to N\.$"):
        RunConfig(shard="4/3")
    assert RunConfig(shard="02/016").shard == "2/16"
    assert next(new_run_ids(RunConfig(shard="2/16"))).endswith("-all-2of16")
