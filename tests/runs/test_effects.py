"""Effects of an ablation: checked against pandas and numpy on a killed and resumed grid, and against sums by hand on made-up cells."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talm_sim.judges.stats import share
from talm_sim.runs.ablate import Ablation, ablate
from talm_sim.runs.effects import CellRows, Effect, estimate_effects
from talm_sim.runs.listing import list_runs
from talm_sim.tasks.talm.measures import BLOCKERS
from talm_sim.types import Measure, Row, Summary
from tests.runs.recorded_world import make_world

GRID: dict[str, list[Any]] = {"human": ["none", "simulated"], "perturb": ["", "http-500:p=0.4"], "finish": ["tool", "text"]}
FACTORS: dict[str, tuple[Any, ...]] = {"a": ("x", "y"), "b": (1, 2, 3), "c": ("", "on")}


# --- a grid that was killed, against pandas -----------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_a_killed_and_resumed_grid_has_the_effects_that_pandas_computes(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; it is in the extra 'pandas'")
    options: dict[str, Any] = {"split": "underspecified", "model": "sim/asker", "tools": "replay", "limit": "60"}
    lines = "".join(f"{name} = {json.dumps(values)}\n" for name, values in GRID.items())
    (tmp_path / "grid.toml").write_text(f"[grid]\n{lines}", encoding="utf-8")
    words = ["ablate", "--grid", "grid.toml", *(word for name, value in options.items() for word in (f"--{name}", value))]
    command = [sys.executable, "-m", "talm_sim", *words]
    child = subprocess.Popen([*command, "--display", "json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    moment, seen = random.Random(27).randrange(60, 420), 0
    for line in child.stdout:
        seen += line.startswith('{"event": "episode_finished"')
        if seen == moment:
            os.kill(child.pid, signal.SIGKILL)
            break
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    kept = {stored.id: stored.finished for stored in list_runs(tmp_path / "runs")}
    assert moment <= sum(kept.values()) < 480
    resumed = subprocess.run([*command, "--display", "none", "--effects", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    done = ablate(over=GRID, run_dir=tmp_path / "runs", **options)
    assert len(list((tmp_path / "runs").iterdir())) == 8, "the command line and Python mean the same runs"
    assert [cell.run.finished for cell in done.cells] == [60] * 8
    records = json.loads(resumed.stdout)
    assert records == done.effects()
    _check_against_pandas(pandas, done, records)


def _check_against_pandas(pandas: Any, done: Ablation, records: list[dict[str, Any]]) -> None:
    names = list(GRID)
    frames = []
    for cell in done.cells:
        frame = cell.run.to_pandas()
        for name in names:
            frame[f"factor {name}"] = str(cell.values[name])
        frame["base"] = [scenario.base for scenario in cell.run.scenarios()]
        frames.append(frame)
    every = pandas.concat(frames, ignore_index=True)
    measures = sorted({record["measure"] for record in records if record["effect"] != "none"})
    assert {"pass_rate", "asked", "went_ahead"} <= set(measures) and len(measures) >= 5
    nonzero = compared = 0
    for measure in measures:
        every[measure] = every[measure].astype(float)
        means = every.groupby([f"factor {name}" for name in names])[measure].mean()
        for record in (one for one in records if one["measure"] == measure):
            if record["effect"] == "main":
                expected = _difference(means, record, "").mean()
            else:
                expected = _difference(_difference(means, record, ""), record, "with_").mean()
            assert abs(expected - record["value"]) <= 1e-12
            nonzero, compared = nonzero + (abs(expected) > 0.01), compared + 1
            assert (record["n"], record["scenarios"], record["not_scored"]) == (480, 60, 0)
            assert record["low"] < record["high"]
    assert compared == 6 * len(measures) and nonzero >= 6, "effects of nothing would prove nothing"
    _check_intervals(every, records)


def _difference(means: Any, record: dict[str, Any], which: str) -> Any:
    level = f"factor {record[f'{which}factor']}"
    return means.xs(str(record[f"{which}level"]), level=level) - means.xs(str(record[f"{which}against"]), level=level)


def _check_intervals(every: Any, records: list[dict[str, Any]]) -> None:
    """Compare with numpy's percentiles of 4,000 draws of scenarios, of the contrasts that pandas pivots."""
    import numpy

    (record,) = (one for one in records if (one["measure"], one["factor"], one["with_factor"]) == ("pass_rate", "human", "perturb"))
    table = every.pivot_table(index="base", columns=["factor human", "factor perturb", "factor finish"], values="pass_rate")
    sign = [(1 if human == "simulated" else -1) * (1 if perturb else -1) / 2 for human, perturb, _ in table.columns]
    contrasts = (table.to_numpy() * numpy.array(sign)).sum(axis=1)
    draws = numpy.random.default_rng(1).integers(0, len(contrasts), size=(4000, len(contrasts)))
    low, high = numpy.percentile(contrasts[draws].mean(axis=1), [2.5, 97.5])
    assert record["low"] == pytest.approx(low, abs=0.03) and record["high"] == pytest.approx(high, abs=0.03)


# --- made-up cells ------------------------------------------------------------------------------------------------------------------------


def make_cell(label: str, values: Sequence[tuple[str, float | None, str]], **more: Any) -> CellRows:
    """Make a cell from the base, the value and the reason not to be scored of each row."""
    rows = [
        Row(episode=f"{label}-{number}", scenario=base, base=base, group="g", not_scored=reason, values={"ok": value})
        for number, (base, value, reason) in enumerate(values)
    ]
    planned = {"g": more.pop("planned", len(rows))}
    measure = more.pop("measure", None) or Measure.of(share(rows, "ok"), "ok", "Ok", note="went well", better="higher")
    return CellRows(label, rows, {"g": Summary.of("g", rows, measures=(measure,), **more)}, planned)


def make_cells(values: dict[tuple[int, ...], list[tuple[str, float | None, str]]]) -> list[CellRows]:
    return [make_cell("-".join(map(str, place)), rows) for place, rows in values.items()]


def by_changes(effects: Sequence[Effect]) -> dict[tuple[tuple[str, Any], ...], Effect]:
    return {tuple((change.factor, change.level) for change in one.changes): one for one in effects}


@st.composite
def grids(draw: st.DrawFn) -> dict[tuple[int, ...], list[tuple[str, float | None, str]]]:
    row = st.tuples(st.sampled_from("pqrst"), st.sampled_from([True, False, None]), st.sampled_from(["", "", "", "context_overflow"]))
    places = itertools.product(range(2), range(3), range(2))
    return {place: [("p", draw(st.booleans()), ""), *draw(st.lists(row, max_size=6))] for place in places}


@settings(max_examples=25, deadline=None)
@given(values=grids())
def test_effects_are_differences_of_cell_means(values: dict[tuple[int, ...], list[tuple[str, float | None, str]]]) -> None:
    effects = by_changes(estimate_effects(FACTORS, make_cells(values)))
    means: dict[tuple[int, ...], Fraction] = {}
    for place, rows in values.items():
        scored = [int(value) for _, value, reason in rows if value is not None and not reason]
        means[place] = Fraction(sum(scored), len(scored))
    assert len(effects) == 4 + 5
    for b in (1, 2):
        expected = sum(means[a, b, c] - means[a, 0, c] for a in (0, 1) for c in (0, 1)) / 4
        assert effects[(("b", (1, 2, 3)[b]),)].value == pytest.approx(float(expected), abs=1e-12)
        both = sum((means[1, b, c] - means[1, 0, c]) - (means[0, b, c] - means[0, 0, c]) for c in (0, 1)) / 2
        assert effects[(("a", "y"), ("b", (1, 2, 3)[b]))].value == pytest.approx(float(both), abs=1e-12)
    one = effects[(("c", "on"),)]
    assert one.value == pytest.approx(float(sum(means[a, b, 1] - means[a, b, 0] for a in (0, 1) for b in range(3)) / 6), abs=1e-12)
    every = [row for rows in values.values() for row in rows]
    record = one.record()
    assert record["not_scored"] == sum(bool(reason) for _, _, reason in every)
    assert record["without_value"] == sum(value is None and not reason for _, value, reason in every)
    assert record["n"] + record["not_scored"] + record["without_value"] == len(every)
    for one in effects.values():
        assert one.low is not None and one.high is not None and one.high - one.low > 1e-12, "an interval of no width looks like proof"
        assert one.low >= -2 and one.high <= 2


@settings(max_examples=10, deadline=None)
@given(values=grids(), seed=st.integers(0, 9))
def test_neither_the_order_of_rows_nor_the_names_of_scenarios_matter(
    values: dict[tuple[int, ...], list[tuple[str, float | None, str]]], seed: int
) -> None:
    def mixed(rows: list[tuple[str, float | None, str]]) -> list[tuple[str, float | None, str]]:
        return random.Random(seed).sample([(names[base], value, reason) for base, value, reason in rows], len(rows))

    names = dict(zip("pqrst", random.Random(seed).sample(["z1", "a2", "m3", "b4", "y5"], 5), strict=True))
    before = [one.record() for one in estimate_effects(FACTORS, make_cells(values))]
    after = [one.record() for one in estimate_effects(FACTORS, make_cells({place: mixed(rows) for place, rows in values.items()}))]
    assert [{name: pytest.approx(value) if isinstance(value, float) else value for name, value in one.items()} for one in before] == after


def test_the_bootstrap_draws_scenarios_and_not_rows() -> None:
    """Ten equal repeats of each scenario leave the interval as it is."""
    rng = random.Random(3)
    rows = {place: [(f"s{number}", rng.random() < 0.3 + 0.4 * place, "") for number in range(30)] for place in (0, 1)}
    once, often = (
        estimate_effects({"a": (0, 1)}, [make_cell(str(place), rows[place] * times) for place in (0, 1)])[0].record() for times in (1, 10)
    )
    assert (often["n"], often["scenarios"]) == (600, 30)
    assert [often[end] for end in ("value", "low", "high")] == pytest.approx([once[end] for end in ("value", "low", "high")])


def test_scenarios_are_drawn_in_all_cells_at_once() -> None:
    """Where each scenario is alike in both cells, but for a few, the difference is far surer than the difference of two groups would be."""
    alike = [(f"s{number}", number % 2 == 0, "") for number in range(40)]
    better = [(base, True if number in (1, 3, 5) else value, reason) for number, (base, value, reason) in enumerate(alike)]
    (effect,) = estimate_effects({"a": (0, 1)}, [make_cell("0", alike), make_cell("1", better)])
    assert effect.value == pytest.approx(3 / 40)
    assert effect.low is not None and effect.high is not None
    assert 0 <= effect.low < effect.high < 0.18, "independent groups of 40 would give about -.14 to .29"


@pytest.mark.parametrize(
    ("first", "second", "value", "low", "high"),
    [(False, True, 1.0, 1 - 2 * 0.060172, 1.0), (True, True, 0.0, -0.060172, 0.060172), (True, False, -1.0, -1.0, -1 + 2 * 0.060172)],
)
def test_where_all_scenarios_are_alike_the_interval_is_that_of_none_in_so_many(
    first: bool, second: bool, value: float, low: float, high: float
) -> None:
    """Wilson's upper limit of 0 of 60 is z² / (60 + z²) = .060172, with z = 1.959964."""
    cells = [make_cell(str(place), [(f"s{number}", said, "") for number in range(60)]) for place, said in enumerate((first, second))]
    (effect,) = estimate_effects({"a": ("", "on")}, cells)
    assert (effect.value, effect.low, effect.high) == pytest.approx((value, low, high), abs=1e-5)


def test_counts_that_are_all_alike_have_no_interval() -> None:
    cells = [
        make_cell(
            str(place),
            [(f"s{number}", 3 + place, "") for number in range(5)],
            measure=Measure(name="ok", head="N", kind="number", value=3 + place),
        )
        for place in (0, 1)
    ]
    (effect,) = estimate_effects({"a": (0, 1)}, cells)
    assert (effect.value, effect.low, effect.high) == (1.0, None, None)


def test_a_measure_without_effects_says_why() -> None:
    rows: list[tuple[str, float | None, str]] = [("s", True, ""), ("t", False, "")]
    lacking = Measure(name="ok", head="Ok")
    other = Measure(name="ok", head="Ok", value=0.7)
    for cell, why in (
        (make_cell("late", rows, measure=lacking), "no value in cell late"),
        (make_cell("late", rows, measure=other), "not a mean of the episodes' values"),
        (make_cell("late", rows, derived=True), "repeats the episodes of other groups"),
        (CellRows("late", [], {}, {}), "no group g in cell late"),
    ):
        (effect,) = estimate_effects({"a": (0, 1)}, [make_cell("early", rows), cell])
        assert (effect.why, effect.changes, effect.value) == (why, (), None)
        assert (effect.record()["effect"], effect.record()["why"]) == ("none", why)


def test_one_value_per_option_has_no_effects(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    assert ablate(over={"epochs": [1]}, **world).effects() == []
    assert ablate(**world).effects() == []


def test_what_has_not_finished_or_is_not_scored_is_counted(tmp_path: Path) -> None:
    world = {**make_world(tmp_path), "split": "underspecified", "model": "sim/asker"}
    waits = ablate(over={"human": ["simulated", "terminal"]}, **world).effects()
    means = [one for one in waits if one["measure"] not in {"ask_f1", *BLOCKERS}]
    assert {(one["why"], one["n"], one["unfinished"]) for one in means} == {("no group underspecified in cell human=terminal", 4, 4)}
    missed = ablate(over={"human": ["none", "simulated"]}, **world).effects()
    assert {(one["why"], one["not_scored"]) for one in missed} == {("no value in cell human=none", 4)}, "replay misses"
    cells = [make_cell("0", [("s", True, "")]), make_cell("1", [("s", False, ""), ("t", None, ""), ("u", True, "replay_miss")], planned=5)]
    (effect,) = (one.record() for one in estimate_effects({"a": (0, 1)}, cells))
    assert {name: effect[name] for name in ("n", "not_scored", "without_value", "unfinished")} == {
        "n": 2, "not_scored": 1, "without_value": 1, "unfinished": 2,
    }  # fmt: skip
