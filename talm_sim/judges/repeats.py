"""Measure the epochs of one run together: pass@k, pass^k, how many scenarios have mixed outcomes, and how far epochs lie apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb

from talm_sim.judges.stats import mean_over, share
from talm_sim.types import Measure, Row
from talm_sim.types.measures import Better, MeasurePlace

_AT, _HAT, _SPREAD = "pass@k, n: scenarios", "pass^k, n: scenarios", "epochs, n: scenarios"
"""Titles of the tables."""
_ALL_SHOWN, _FEW_SHOWN = 6, (1, 2, 3, 5, 10)
"""Up to how many epochs each k has a column, and which have one beside the largest if there are more; further ones are in the data."""


class Outcomes(dict[int, bool]):
    """The scored epochs of one scenario, each with whether it succeeded.

    Attributes:
        base: Id shared by the scenario and its variants.
    """

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base

    @property
    def successes(self) -> int:
        """The number of epochs that succeeded."""
        return sum(self.values())


def outcomes_of(rows: Iterable[Row], succeeded: Callable[[Row], bool | None]) -> dict[str, Outcomes]:
    """Return the outcomes of each scenario; a scenario without a scored epoch has none.

    Args:
        rows: The rows of a group.
        succeeded: Says whether a row's episode succeeded; None if it is not scored.
    """
    found: dict[str, Outcomes] = {}
    for row in rows:
        own = found.setdefault(row.scenario, Outcomes(row.base))
        if (outcome := succeeded(row)) is not None:
            own[row.epoch] = outcome
    return found


def pass_at(k: int, successes: int, epochs: int) -> float:
    """Return the chance that at least one of k epochs, drawn from those of a scenario, succeeded (Chen et al. 2021).

    Raises:
        ValueError: There are fewer than k epochs, or fewer than successes.

    >>> pass_at(2, 1, 4)
    0.5
    """
    return 1 - _chance_of_all(k, epochs - successes, epochs)


def pass_hat(k: int, successes: int, epochs: int) -> float:
    """Return the chance that all of k epochs, drawn from those of a scenario, succeeded (Yao et al. 2024).

    Raises:
        ValueError: There are fewer than k epochs, or fewer than successes.

    >>> pass_hat(2, 3, 4)
    0.5
    """
    return _chance_of_all(k, successes, epochs)


def _chance_of_all(k: int, such: int, epochs: int) -> float:
    if not 1 <= k <= epochs or not 0 <= such <= epochs:
        raise ValueError(f"{k} of {epochs} epochs, {such} of them of a kind, cannot be drawn.")
    return comb(such, k) / comb(epochs, k)


def repeat_measures(scenarios: Mapping[str, Outcomes], epochs: int) -> list[Measure]:
    """Return what the epochs of a group say together; intervals have the scenario, and what shares its base, as the unit.

    Args:
        scenarios: The outcomes of each scenario.
        epochs: The number of epochs of the run.
    """
    if max(map(len, scenarios.values()), default=0) < 2:
        return []
    shown = range(1, epochs + 1) if epochs <= _ALL_SHOWN else (*_FEW_SHOWN, epochs)
    found = []
    for k in range(1, epochs + 1):
        own = [one for one in scenarios.values() if len(one) >= k]
        at = [(one.base, pass_at(k, one.successes, len(one))) for one in own]
        hat = [(one.base, pass_hat(k, one.successes, len(one))) for one in own]
        words = ("the chance that at least one of k epochs succeeds", "the chance that all of k epochs succeed") if k == 1 else ("", "")
        found.append(_mean(f"pass_at_{k}", f"pass@{k}", at, under=_AT, shown=k in shown, note=words[0]))
        found.append(_mean(f"pass_hat_{k}", f"pass^{k}", hat, under=_HAT, shown=k in shown, note=words[1]))
    return [*found, *_agreement(scenarios, epochs)]


def _mean(name: str, head: str, values: Sequence[tuple[str, float]], *, under: str, shown: bool, note: str) -> Measure:
    place: MeasurePlace = "column" if shown else "hidden"
    value, low, high = mean_over(values) or (None, None, None)
    better: Better = "higher"
    return Measure(
        name=name,
        head=head,
        kind="score",
        place=place,
        under=under,
        value=value,
        low=low,
        high=high,
        n=len(values),
        note=note,
        better=better,
    )


def _agreement(scenarios: Mapping[str, Outcomes], epochs: int) -> list[Measure]:
    """Return the flip rate, and the success rate of the lowest and the highest epoch."""
    repeated = {name: one for name, one in scenarios.items() if len(one) > 1}
    flips = [
        Row(episode=name, scenario=name, base=one.base, group="", values={"flips": len(set(one.values())) > 1})
        for name, one in repeated.items()
    ]
    whole = [one for one in scenarios.values() if len(one) == epochs]
    shares = shares_by_epoch(whole, epochs)
    low, high = (min(shares), max(shares)) if shares else (None, None)
    spread = None if low is None or high is None else high - low
    rest = {"kind": "score", "under": _SPREAD, "n": len(whole)}
    return [
        Measure.of(share(flips, "flips"), "flip_rate", "Flips", under=_SPREAD, note="epochs of the scenario do not agree"),
        Measure(name="epoch_lowest", head="Lowest", value=low, note="success rate of the lowest epoch", **rest),
        Measure(name="epoch_highest", head="Highest", value=high, note="success rate of the highest epoch", **rest),
        Measure(name="epoch_spread", head="Spread", value=spread, note="highest minus lowest", **rest),
        Measure(
            name="fewer_epochs",
            head="fewer epochs",
            kind="number",
            place="hidden",
            under=_SPREAD,
            value=len(scenarios) - len(whole),
            note=f"scenarios with fewer than {epochs} scored epochs",
        ),
    ]


def shares_by_epoch(scenarios: Iterable[Mapping[int, float]], epochs: int) -> list[float]:
    """Return the mean of each epoch, over the same scenarios in each; none without scenarios.

    Args:
        scenarios: The values of each scenario by epoch; each has all epochs.
        epochs: Their number.
    """
    own = list(scenarios)
    return [sum(one[epoch] for one in own) / len(own) for epoch in range(1, epochs + 1)] if own else []


def repeat_notes(scenarios: Mapping[str, Outcomes], epochs: int) -> list[str]:
    """Say which scenarios of a group are not in all of `repeat_measures`."""
    if not (fewer := sum(len(one) < epochs for one in scenarios.values())):
        return []
    if all(len(one) < 2 for one in scenarios.values()):
        known = any(scenarios.values())
        return [f"no pass@k: {'no scenario has two scored epochs' if known else 'no episode says whether it succeeded'}"]
    none = sum(not one for one in scenarios.values())
    some = f" ({none} have none)" if none else ""
    return [
        f"{fewer} of {len(scenarios)} scenarios have fewer than {epochs} scored epochs{some}: "
        "pass@k and pass^k of a larger k, Lowest, Highest and Spread are without them"
    ]
