"""Simulate the pass rate that people's labels of a sample give, and print how often its 95 % interval holds the true rate, and its width.

Each run has 300 episodes: 100 scenarios under 3 conditions. A scenario's chance to pass is drawn from a beta distribution whose mean is the
true rate, so that its episodes are alike (intraclass correlation .3). The run's judge is right on 85 % of what it decides, and decides 90 %;
a third of its errors are made by whole scenarios. People are right.

    python scripts/labels_simulation.py [RUNS] [CORRELATION]
"""

from __future__ import annotations

import random
import sys
from math import sqrt

from talm_sim.store.people.labelled_rate import Member, labelled_rate
from talm_sim.store.people.sample import draw

_SCENARIOS, _CONDITIONS, _RIGHT, _UNDECIDED, _SHARED = 100, 3, 0.85, 0.1, 1 / 3


def _run(rate: float, correlation: float, chance: random.Random) -> dict[str, tuple[str, bool, str]]:
    """Return each episode's base, whether it passes, and what the judge says."""
    spread = 1 / correlation - 1
    found = {}
    for scenario in range(_SCENARIOS):
        passes, misread = chance.betavariate(rate * spread, (1 - rate) * spread), chance.random() > _RIGHT
        for condition in range(_CONDITIONS):
            truth = chance.random() < passes
            wrong = misread if chance.random() < _SHARED else chance.random() > _RIGHT
            said = "undecided" if chance.random() < _UNDECIDED else "passed" if truth != wrong else "failed"
            found[f"{scenario}-{condition}"] = str(scenario), truth, said
    return found


def simulate(runs: int, labels: int, rate: float, correlation: float = 0.3) -> tuple[float, float]:
    """Return the coverage and the mean width of the interval."""
    chance = random.Random(f"{labels} {rate} {correlation}")
    held, width = 0, 0.0
    for number in range(runs):
        run = _run(rate, correlation, chance)
        sample = draw({episode: said for episode, (_, _, said) in run.items()}, number, labels)
        members = [Member(base, said, 1.0, truth if one in sample.episodes else None) for one, (base, truth, said) in run.items()]
        found = labelled_rate(members)
        assert found is not None
        _, low, high = found
        held += low <= rate <= high
        width += high - low
    return held / runs, width / runs


if __name__ == "__main__":
    runs, correlation = int([*sys.argv, "2000"][1]), float([*sys.argv[2:], "0.3"][0])
    for labels in (30, 60, 150):
        for rate in (0.1, 0.5, 0.9):
            held, width = simulate(runs, labels, rate, correlation)
            print(f"{labels} labels, rate {rate}: holds in {held:.3f} (+-{sqrt(held * (1 - held) / runs):.3f}), width {width:.3f}", flush=True)
