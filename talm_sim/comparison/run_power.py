"""Compute the power of a run: how likely McNemar's exact test tells a worse run from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.judges.power import find_discordance, find_drop, pairs_needed, power as power_of_test
from talm_sim.judges.repeats import Outcomes, outcomes_of, pass_hat
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import FrozenModel, Row, Summary

__all__ = ["Power", "drops_found", "power"]

_SMALLEST_DROP, _MOST_PAIRS = 0.001, 1_000_000
OWN_EPOCHS, INDEPENDENT = "own epochs", "independent runs"


class Power(FrozenModel):
    """How likely a worse run is told apart from a run, in one group; each of the two is taken with one epoch per scenario.

    The test is McNemar's exact one, two-sided at .05.
    """

    run: str
    group: str
    measure: str
    n: int
    """Scenarios: those of the run, or the number that was asked about."""
    share: float | None
    """The measure in this run, as a mean over scenarios; None without a value."""
    worse: float | None = None
    """The measure in the worse run; None if no drop could be asked about, or none is found."""
    drop: float | None = None
    """How far it is worse."""
    discordance: float | None = None
    """Share of the scenarios in which the two runs differ."""
    discordance_of: Literal["own epochs", "independent runs"]
    """What the discordance is from: how often two epochs of a scenario differ in this run; at one epoch, independent runs."""
    power: float | None = None
    """Chance that the test tells the two apart."""
    n_for_power_80: int | None = None
    """Scenarios that give a power of .8 for the drop."""


def power(run: StoredRun, measure: str, *, drop: float | None = None, n: int | None = None) -> list[Power]:
    """Return for each group how likely a test tells this run apart from one like it that is worse.

    The worse run succeeds in each scenario less often by the same factor. How often both runs succeed is computed from pairs of epochs of a
    scenario; at one epoch, as if the runs were independent.

    Args:
        run: The run.
        measure: A measure that is a share of episodes, a judge's as well.
        drop: How far the other run is worse, in shares; by default, the smallest drop that is found with a power of .8.
        n: The number of scenarios; by default, those of the group.

    Raises:
        PrerequisiteError: The measure is not a share of this run's episodes, the drop or the number cannot be used, or no group can get worse
            by the drop.
    """
    if drop is not None and not _SMALLEST_DROP <= drop <= 1:
        raise PrerequisiteError(f"drop {drop:g}: give a share from {_SMALLEST_DROP} to 1, for example .1 for ten points.")
    if n is not None and not 1 <= n <= _MOST_PAIRS:
        raise PrerequisiteError(f"n {n}: give a number of scenarios from 1 to {_MOST_PAIRS:,}.")
    with run.at_once():
        rows, summaries = run.rows(), run.summary()
    _check_measure(measure, rows, run)
    found = []
    for summary in summaries:
        own = summary.measure(measure)
        inverted = own is not None and own.better == "lower"
        if outcomes := _outcomes(summary, rows, partial(_is_good, measure=measure, inverted=inverted)):
            found.append(_power_of_group(run.id, summary.group, measure, outcomes, drop, n, inverted=inverted))
    if drop is not None and all(one.drop is None for one in found):
        values = ", ".join(f"{one.group} {one.share:.2f}" for one in found)
        raise PrerequisiteError(f"drop {drop:g}: {measure} cannot get worse by so much; it is {values}.")
    return found


def drops_found(rows: Sequence[Row], summaries: Sequence[Summary], succeeded: Callable[[Row], bool | None]) -> dict[str, float]:
    """Return for each group the smallest drop in successes that is found with a power of .8, if any is."""
    found = {}
    for summary in summaries:
        outcomes = _outcomes(summary, rows, succeeded)
        share, both = _estimate(outcomes)
        if share is not None and (drop := find_drop(len(outcomes), share, both)) is not None:
            found[summary.group] = drop
    return found


def _check_measure(measure: str, rows: Sequence[Row], run: StoredRun) -> None:
    known = list(dict.fromkeys(name for row in rows if row.scored for name, value in row.values.items() if isinstance(value, bool)))
    if not known:
        raise PrerequisiteError(f"{run.path}: no measure is a share of its episodes.")
    if measure not in known:
        raise PrerequisiteError(f"power: '{measure}' is not a share of the episodes of {run.path}.{did_you_mean(measure, known)}")


def _is_good(row: Row, *, measure: str, inverted: bool) -> bool | None:
    value = row.values.get(measure) if row.scored else None
    return None if value is None else bool(value) is not inverted


def _outcomes(summary: Summary, rows: Iterable[Row], is_good: Callable[[Row], bool | None]) -> dict[str, Outcomes]:
    """Return the outcomes of the scenarios of a group that have any."""
    own = () if summary.derived else (row for row in rows if row.group == summary.group)
    return {name: one for name, one in outcomes_of(own, is_good).items() if one}


def _estimate(outcomes: Mapping[str, Outcomes]) -> tuple[float | None, float | None]:
    """Return the mean success of scenarios, and how often two epochs of one both succeed; the second is None at one epoch."""
    if not outcomes:
        return None, None
    repeated = [one for one in outcomes.values() if len(one) > 1]
    own = repeated or list(outcomes.values())
    share = sum(one.successes / len(one) for one in own) / len(own)
    return share, sum(pass_hat(2, one.successes, len(one)) for one in own) / len(own) if repeated else None


def _power_of_group(
    run: str, group: str, measure: str, outcomes: Mapping[str, Outcomes], drop: float | None, n: int | None, *, inverted: bool
) -> Power:
    share, both = _estimate(outcomes)
    assert share is not None
    pairs = len(outcomes) if n is None else n
    plain = Power(
        run=run,
        group=group,
        measure=measure,
        n=pairs,
        share=1 - share if inverted else share,
        discordance_of=INDEPENDENT if both is None else OWN_EPOCHS,
    )
    lost = find_drop(pairs, share, both) if drop is None else drop
    if lost is None or lost > share:
        return plain
    apart = find_discordance(share, lost, both)
    worse = share - lost
    more = {
        "worse": 1 - worse if inverted else worse,
        "drop": lost,
        "discordance": apart.total,
        "power": power_of_test(pairs, apart),
        "n_for_power_80": pairs_needed(apart),
    }
    return plain.model_copy(update=more)
