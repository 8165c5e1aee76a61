"""How often a gate against a baseline is red: of two runs of the same agent, and of a run that is worse.

    .venv/bin/python benchmarks/baseline_gates.py

The episodes are simulated rows, which go through the function that checks the gates of `talm-sim run --baseline`. An agent passes each
scenario with a probability of its own: the same for all, or one that is drawn for each (Beta(.5, .5): most are nearly sure). Seeded; about two
minutes on one core. The interval of the difference, which takes most of the time and decides nothing, is left out.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from statistics import mean

from talm_sim.comparison import differences
from talm_sim.comparison.baselines import check_against, find_targets
from talm_sim.comparison.compared_rows import Column, Side
from talm_sim.types import Measure, Row

GROUP, MEASURE = "underspecified", "pass_rate"
KINDS: dict[str, Callable[[random.Random], float]] = {
    "the same, .60": lambda draw: 0.6,
    "Beta(.5, .5)": lambda draw: draw.betavariate(0.5, 0.5),
}
"""How the scenarios' chances of a pass are drawn, by what the table calls it."""


def simulate(chances: Sequence[float], epochs: int, draw: random.Random) -> Side:
    """Return a run of an agent that passes each scenario with its chance."""
    rows = [
        Row(
            episode=f"s{place}@{epoch}",
            scenario=f"s{place}",
            base=f"s{place}",
            epoch=epoch,
            group=GROUP,
            values={MEASURE: draw.random() < chance},
        )
        for epoch in range(1, epochs + 1)
        for place, chance in enumerate(chances)
    ]
    passed = mean(bool(row.values[MEASURE]) for row in rows)
    measure = Measure(name=MEASURE, head="PR", value=passed, k=round(passed * len(rows)), n=len(rows), better="higher")
    return Side(
        name="simulated",
        label="simulated",
        task="talm",
        judges={},
        judged={},
        scoring={},
        settings={},
        version="",
        texts={row.scenario: "" for row in rows},
        rows=tuple(rows),
        columns=(Column(group=GROUP, measure=measure),),
    )


def is_red(baseline: Side, run: Side) -> bool:
    """Return whether the gate is missed."""
    (result,) = check_against(baseline, run, find_targets((), baseline))
    return not result.passed


def fresh_pairs(kind: str, pairs: int, n: int, epochs: int, seed: int) -> float:
    """Return the share of red gates of fresh baselines and fresh reruns of one agent."""
    draw = random.Random(seed)
    red = 0
    for _ in range(pairs):
        chances = [KINDS[kind](draw) for _ in range(n)]
        red += is_red(simulate(chances, epochs, draw), simulate(chances, epochs, draw))
    return red / pairs


def kept_baselines(kind: str, baselines: int, reruns: int, n: int, epochs: tuple[int, int], seed: int) -> list[float]:
    """Return for each of several baselines the share of reruns of the same agent that are red against it; `epochs` are those of each."""
    draw = random.Random(seed)
    found = []
    for _ in range(baselines):
        chances = [KINDS[kind](draw) for _ in range(n)]
        kept = simulate(chances, epochs[0], draw)
        found.append(mean(is_red(kept, simulate(chances, epochs[1], draw)) for _ in range(reruns)))
    return found


def drops(runs: int, n: int, before: float, after: float, seed: int) -> float:
    """Return the share of red gates where the chance of a pass falls."""
    draw = random.Random(seed)
    return mean(is_red(simulate([before] * n, 1, draw), simulate([after] * n, 1, draw)) for _ in range(runs))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a tenth of the comparisons")
    options = parser.parse_args()
    setattr(differences, "difference_interval", lambda *_: None)  # noqa: B010
    less = 10 if options.quick else 1
    for kind in KINDS:
        share = fresh_pairs(kind, 200 // less, 72, 1, options.seed)
        print(f"fresh baseline, fresh rerun; chances {kind}; n 72, 1 epoch: {share:.1%} of {200 // less} red", flush=True)
    for kind in KINDS:
        for epochs in ((1, 1), (5, 5), (5, 1)):
            shares = sorted(kept_baselines(kind, 20, 200 // less, 72, epochs, options.seed))
            print(
                f"20 kept baselines, {200 // less} reruns each; chances {kind}; n 72, epochs {epochs[0]} and {epochs[1]}: "
                f"{mean(shares):.1%} red, of the unluckiest baseline {shares[-1]:.1%}, over 5 % in {sum(one > 0.05 for one in shares)}",
                flush=True,
            )
    for n in (72, 100, 110, 120):
        print(f".60 falls to .40, n {n}: {drops(500 // less, n, 0.6, 0.4, options.seed):.1%} of {500 // less} red", flush=True)


if __name__ == "__main__":
    main()
