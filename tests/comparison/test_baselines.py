"""Gates against a baseline: red where a measure is worse and the test says so, seldom where nothing changed, and never unsaid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks import baseline_gates
from talm_sim.common.gate import read_gate
from talm_sim.comparison.baselines import check_against, find_targets
from talm_sim.comparison.bounded_gates import GateResult
from talm_sim.comparison.compared_rows import Column, Side
from talm_sim.comparison.gate_set import Gates
from talm_sim.errors import NotComparableError, PrerequisiteError
from talm_sim.tasks.talm.task import TalmTask
from talm_sim.types import Measure, Row
from talm_sim.types.measures import Better

Values = Mapping[str, Sequence[bool | None]]
"""`group.measure` to the value of each scenario."""


def side(values: Values, better: Mapping[str, Better] | None = None, *, name: str = "kept", epochs: int = 1) -> Side:
    """Return a side of task `talm` with these values, the same in each epoch."""
    rows: dict[str, Row] = {}
    columns = []
    for key, said in values.items():
        group, _, measure = key.rpartition(".")
        known = [value for value in said if value is not None]
        whole = sum(known) / len(known) if known else None
        columns.append(
            Column(group=group, measure=Measure(name=measure, head=measure, value=whole, better=(better or {}).get(measure, "higher")))
        )
        for epoch in range(1, epochs + 1):
            for place, value in enumerate(said):
                scenario = f"{group}-{place}"
                row = rows.setdefault(
                    f"{scenario}@{epoch}", Row(episode=f"{scenario}@{epoch}", scenario=scenario, base=scenario, group=group, epoch=epoch)
                )
                rows[row.episode] = row.model_copy(update={"values": {**row.values, measure: value}})
    return Side(
        name=name,
        label="m",
        task="talm",
        judges={},
        judged={},
        scoring={},
        settings={},
        version="",
        texts={row.scenario: "" for row in rows.values()},
        rows=tuple(rows.values()),
        columns=tuple(columns),
    )


def check(baseline: Side, run: Side, *gates: str) -> list[GateResult]:
    return check_against(baseline, run, find_targets([read_gate(gate) for gate in gates], baseline))


def test_only_a_change_for_the_worse_is_missed() -> None:
    high, low = side({"perfect.pass_rate": [True] * 10}), side({"perfect.pass_rate": [True] * 2 + [False] * 8})
    (worse,), (better,), (same,) = check(high, low), check(low, high), check(high, high)
    assert (worse.passed, better.passed, same.passed) == (False, True, True)
    assert worse.p == better.p == pytest.approx(2 / 2**8)
    assert worse.line.startswith("gate missed: perfect.pass_rate against kept: .20 after 1.00, difference \N{MINUS SIGN}.80 [")
    assert worse.line.endswith("p .008, n 10")
    assert same.found == "1.00 after 1.00, difference .00 [\N{MINUS SIGN}.28 to +.28], p 1.000, n 10"


def test_a_close_miss_says_that_a_baseline_of_few_epochs_may_be_lucky() -> None:
    high, low = [True] * 8 + [False] * 4, [True] * 2 + [False] * 10
    (once,) = check(side({"perfect.pass_rate": high}), side({"perfect.pass_rate": low}))
    assert not once.passed
    assert re.search(r"p \.031, n 12, about \d+ would decide, the baseline has 1 epoch and may be a lucky draw$", once.found)
    (often,) = check(side({"perfect.pass_rate": high}, epochs=3), side({"perfect.pass_rate": low}, epochs=3))
    assert not often.passed and "lucky" not in often.found


def test_p_values_are_corrected_for_the_number_of_gates() -> None:
    before: Values = {f"{group}.pass_rate": [True] * 6 for group in ("perfect", "underspecified")}
    after: Values = {f"{group}.pass_rate": [False] * 6 for group in ("perfect", "underspecified")}
    kept, run = side(before), side(after)
    assert [one.p for one in check(kept, run, "perfect.pass_rate")] == [pytest.approx(2 / 2**6)]
    assert [one.passed for one in check(kept, run, "perfect.pass_rate")] == [False]
    assert [one.p for one in check(kept, run)] == [pytest.approx(4 / 2**6)] * 2
    assert [one.passed for one in check(kept, run)] == [True, True], "one of two tests at .031 is .062"


def test_a_difference_that_is_not_decided_names_the_number_that_would_decide() -> None:
    kept = side({"perfect.pass_rate": [True] * 12 + [False] * 8})
    run = side({"perfect.pass_rate": [True] * 8 + [False] * 4 + [True] + [False] * 7})
    (found,) = check(kept, run)
    assert found.passed and "p .375, n 20, about " in found.found and found.found.endswith(" would decide")
    number = int(found.found.split("about ")[1].split()[0])
    assert 60 <= number <= 120, "discordance 5 / 20, difference 3 / 20: by Connor's formula 84"


def test_no_value_is_missed() -> None:
    kept, run = side({"perfect.pass_rate": [True] * 4}), side({"perfect.pass_rate": [None] * 4})
    assert [(one.passed, one.found) for one in check(kept, run)] == [(False, "no value, n 0")]


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("skip", "nothing says whether more of skip is better; write skip>=NUMBER or <=NUMBER."),
        ("pass_rat", "there is no measure 'pass_rat'. Did you mean 'pass_rate'?"),
        ("tokens", "there is no measure 'tokens'."),
        ("unavailable.pass_rate", "repeats other groups' episodes; name one of those."),
    ],
)
def test_what_cannot_be_worse_is_refused(gate: str, said: str) -> None:
    kept = side({"perfect.pass_rate": [True] * 4, "perfect.skip": [True] * 4}, {"skip": "neither"})
    average = Column(group="unavailable", derived=True, measure=Measure(name="pass_rate", head="PR", value=0.5, better="higher"))
    with pytest.raises(PrerequisiteError) as caught:
        check(kept.model_copy(update={"columns": (*kept.columns, average)}), kept, gate)
    assert said in str(caught.value)


def test_without_a_gate_the_measures_of_success_are_checked() -> None:
    kept = side({"perfect.pass_rate": [True] * 4, "perfect.awareness": [True] * 4, "no-tools.pass_rate": [None] * 3})
    assert [(one.group, one.measure.name) for one in find_targets([], kept)] == [("perfect", "pass_rate")]
    with pytest.raises(PrerequisiteError, match=r"baseline: nothing says by which measure task talm succeeds; name one: --gate MEASURE"):
        find_targets([], side({"perfect.other": [True] * 4}))


def test_of_a_task_without_success_the_headline_measures_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TalmTask, "success", ())
    monkeypatch.setattr(TalmTask, "headline", {"Aware": ("perfect.awareness", "underspecified.awareness"), "Skip": "perfect.skip"})
    kept = side({"perfect.awareness": [True] * 4, "perfect.skip": [True] * 4, "perfect.pass_rate": [True] * 4}, {"skip": "neither"})
    assert [(one.group, one.measure.name) for one in find_targets([], kept)] == [("perfect", "awareness")]


def test_a_file_is_a_baseline(tmp_path: Path) -> None:
    kept = side({"perfect.pass_rate": [True] * 4}, epochs=3)
    file = tmp_path / "kept.jsonl"
    file.write_text("".join(f"{line}\n" for line in kept.lines()), encoding="utf-8")
    assert Gates([], file)
    with pytest.raises(PrerequisiteError, match=r"there is no file '.*other\.jsonl'; make it with: talm-sim export baseline RUN "):
        Gates([], tmp_path / "other.jsonl")
    file.write_text(file.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(NotComparableError, match=r"baseline: .*: is of format 3, which a later talm-sim writes"):
        Gates([], file)
    file.write_text(file.read_text().replace('"format": 3', '"format": 2')[:-20])
    with pytest.raises(PrerequisiteError, match=r"baseline: .*:13: is not JSON; restore the file"):
        Gates([], file)


@pytest.fixture
def without_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interval takes most of the time and decides nothing."""
    monkeypatch.setattr("talm_sim.comparison.differences.difference_interval", lambda *_: None)


@pytest.mark.usefixtures("without_intervals")
@pytest.mark.parametrize("kind", list(baseline_gates.KINDS))
def test_two_runs_of_one_agent_are_seldom_red(kind: str) -> None:
    assert baseline_gates.fresh_pairs(kind, pairs=200, n=72, epochs=1, seed=0) <= 0.05


@pytest.mark.usefixtures("without_intervals")
def test_a_fall_from_60_to_40_percent_is_found() -> None:
    assert 0.75 <= baseline_gates.drops(500, 110, 0.6, 0.4, seed=0) <= 0.86
