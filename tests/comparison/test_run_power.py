"""What several epochs of a stored run say together, and what a run can tell apart, of any task."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from talm_sim import PrerequisiteError, StoredRun, load_run, power
from talm_sim.comparison.run_power import drops_found
from talm_sim.config import RunConfig
from talm_sim.judges.power import find_discordance, pairs_needed
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.store import RunStore, create_run
from talm_sim.tasks.registry import TASKS
from talm_sim.types import Termination
from tests.offered import bring_along
from tests.runs.scripted import finished, scenarios

COINS = """
from talm_sim import Measure, Row, SingleStepTask, Summary, TaskOptions, register_task, share


@register_task
class Coins(SingleStepTask[TaskOptions]):
    name, splits, success, about = "coins", {"all": ("perfect",)}, ("heads",), "Heads?"

    def request(self, scenario, job):
        raise NotImplementedError

    def rows(self, run):
        for episode in run.episodes():
            yield Row.of(episode, None, values={"heads": "heads" in episode.answer, "tails": "heads" not in episode.answer, "length": 3})

    def summarize(self, rows, run):
        measures = (Measure.of(share(rows, "heads"), "heads", "Heads"), Measure.of(share(rows, "tails"), "tails", "Tails", better="lower"))
        return [Summary.of("perfect", rows, measures=measures), Summary.of("again", rows, measures=measures, derived=True)]
"""


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with bring_along(monkeypatch, tmp_path, TASKS, COINS) as load:
        load()
        yield


async def tossed(directory: Path, outcomes: Sequence[Sequence[bool | None]], name: str = "r") -> StoredRun:
    """Store a run with these outcomes, by scenario and epoch; None is a failed episode."""
    made = scenarios(len(outcomes))
    config = RunConfig(task="coins", model="sim/scripted", run_dir=directory, epochs=len(outcomes[0]))
    path = create_run(directory, name, describe_run(config, made), made)
    async with RunStore.open(path) as store:
        for place, (scenario, own) in enumerate(zip(made, outcomes, strict=True)):
            for epoch, heads in enumerate(own, 1):
                end = {"termination": Termination.INFRASTRUCTURE_ERROR} if heads is None else {"answer": "heads" if heads else "tails"}
                await store.finish(finished(scenario, epoch=epoch, **end), place)
    return load_run(path)


@pytest.mark.usefixtures("coins")
async def test_a_strangers_task_has_what_several_epochs_say(tmp_path: Path) -> None:
    stored = await tossed(tmp_path, [(True, False, True), (True, True, True), (False, None, False)])
    own, derived = stored.summary()
    record = stored.summary_records()[0]
    assert (record["pass_at_1_n"], record["pass_at_3_n"], record["pass_hat_3"]) == (3, 2, 0.5)
    assert record["pass_at_1"] == pytest.approx((2 / 3 + 1 + 0) / 3) and record["flip_rate"] == pytest.approx(1 / 3)
    assert (record["epoch_lowest"], record["epoch_highest"], record["fewer_epochs"]) == (0.5, 1.0, 1)
    assert own.notes[0].startswith("1 of 3 scenarios have fewer than 3 scored epochs:")
    assert derived.measure("pass_at_1") is None, "an average of groups has no epochs of its own"


@pytest.mark.usefixtures("coins")
async def test_one_epoch_has_the_tasks_measures_alone(tmp_path: Path) -> None:
    stored = await tossed(tmp_path, [(True,), (False,)])
    assert [one.name for one in stored.summary()[0].measures] == ["solved", "not_solved", "heads", "tails"] and stored.summary()[0].notes == ()


@pytest.mark.usefixtures("coins")
async def test_at_one_epoch_the_power_is_that_of_independent_runs(tmp_path: Path) -> None:
    stored = await tossed(tmp_path, [(place < 43,) for place in range(72)])
    (found,) = power(stored, "heads", drop=0.2)
    apart = find_discordance(43 / 72, 0.2)
    assert (found.n, found.n_for_power_80, found.discordance_of) == (72, pairs_needed(apart), "independent runs")
    assert found.discordance == pytest.approx(apart.total) and found.power == pytest.approx(0.61, abs=0.01)
    (other,) = power(stored, "heads", n=found.n_for_power_80)
    assert other.drop == pytest.approx(0.2, abs=0.005) and other.power == pytest.approx(0.8, abs=0.002)
    (both,) = power(stored, "heads", n=found.n_for_power_80, drop=0.2)
    assert both.power is not None and both.power >= 0.8
    (alone,) = power(stored, "heads")
    assert alone.n == 72 and alone.drop is not None and alone.drop > 0.2
    assert drops_found(stored.rows(), stored.summary(), stored.job.task.succeeded) == {"perfect": alone.drop}


@pytest.mark.usefixtures("coins")
async def test_of_several_epochs_pairs_of_them_say_how_often_runs_differ(tmp_path: Path) -> None:
    draw = random.Random(1)
    chances = [draw.betavariate(0.5, 0.5) for _ in range(60)]
    outcomes = [tuple(draw.random() < chance for _ in range(4)) for chance in chances]
    stored = await tossed(tmp_path, outcomes)
    (found,) = power(stored, "heads", drop=0.01)
    pairs = [one[a] != one[b] for one in outcomes for a in range(4) for b in range(a)]
    assert found.discordance_of == "own epochs"
    assert found.discordance == pytest.approx(sum(pairs) / len(pairs), abs=0.02)
    assert found.discordance is not None and found.discordance < find_discordance(found.share or 0, 0.01).total


@pytest.mark.usefixtures("coins")
async def test_where_lower_is_better_the_worse_run_is_above(tmp_path: Path) -> None:
    stored = await tossed(tmp_path, [(place < 43,) for place in range(72)])
    (heads,), (tails,) = power(stored, "heads", drop=0.2), power(stored, "tails", drop=0.2)
    assert (tails.share, tails.worse) == pytest.approx((29 / 72, 29 / 72 + 0.2))
    assert (tails.power, tails.n_for_power_80) == (heads.power, heads.n_for_power_80)


@pytest.mark.usefixtures("coins")
async def test_what_has_no_power_is_said_in_one_line(tmp_path: Path) -> None:
    stored = await tossed(tmp_path, [(True,), (False,), (False,), (None,)])
    assert power(stored, "heads")[0].drop is None, "three scenarios find nothing"
    for given, message in (
        ({"measure": "head"}, "Did you mean 'heads'?"),
        ({"measure": "length"}, "is not a share of the episodes"),
        ({"measure": "heads", "drop": 0.5}, r"cannot get worse by so much; it is perfect 0\.33"),
        ({"measure": "heads", "drop": 0}, "give a share from 0.001 to 1"),
        ({"measure": "heads", "drop": float("nan")}, "give a share"),
        ({"measure": "heads", "n": 0}, "give a number of scenarios"),
    ):
        with pytest.raises(PrerequisiteError, match=message):
            power(stored, **given)
    with pytest.raises(PrerequisiteError, match="no measure is a share"):
        power(await tossed(tmp_path, [(None,)], "none"), "heads")
