"""What `--on local:2` reaches, of what two plain Python processes reach together.

Each pair is one run on two processes, and two plain processes at the same time that run half of its scenarios each; which comes first
alternates. Time is that of the whole command: from the start of Python to its end, with judging and the table. Over recorded tools: the
control `sim/oracle`, whose work is all in the machinery, and the shipped recording, which is replayed through the SDK; `live` is the control
over live tools.

    python benchmarks/workers.py [--quick] [--pairs N] [--kind controls|live|replay|long]

The median of the pairs' ratios counts. On a machine that has less than two cores to spare, processor time says more: two processes on either
side. What each needs before its first episode is measured apart, by a run of one, and left out of it. `long` is `controls` four times over, in
which the start and the table are a smaller share; it is run only if it is named.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim import RunConfig, run
from talm_sim.runs.plan import plan
from talm_sim.runs.resolve import configure
from talm_sim.tasks.shared import Shared

LEAST_SHARE, MOST_PROCESSOR, PAIRS = 0.80, 1.10, 10
SHARED: dict[str, Any] = {"split": "all", "tools": "replay", "human": "none", "max_episodes": 64, "max_connections": 64}
KINDS: dict[str, dict[str, Any]] = {
    "controls": {"model": "sim/oracle", "set": "sample", "epochs": 4},
    "live": {"model": "sim/oracle", "set": "sample", "epochs": 4, "tools": "live"},
    "replay": {"set": "sample"},
    "long": {"model": "sim/oracle", "set": "sample", "epochs": 16},
}
USUAL = ("controls", "replay")
QUICK: dict[str, dict[str, Any]] = {"controls": {"model": "sim/oracle", "epochs": 4}, "replay": {}}


@dataclass(frozen=True)
class Took:
    """What one side of a pair took.

    Attributes:
        seconds: From the first start to the last end.
        processor: Processor seconds of all its processes.
        episodes: How many were finished.
    """

    seconds: float
    processor: float
    episodes: int


def _play(options: dict[str, Any]) -> int:
    """Run in this process, and return how many episodes were finished."""
    if "scenario" in options:
        options["scenario"] = tuple(options["scenario"])
    with tempfile.TemporaryDirectory() as folder:
        stored = run(RunConfig(run_dir=Path(folder) / "runs"), progress=False, **options)
        assert not stored.failed and not stored.unjudged
        return stored.finished


def _take(commands: list[dict[str, Any]]) -> Took:
    """Run each command in a process of its own, all at the same time."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    started = []
    for options in commands:
        words = [sys.executable, __file__, "--play"]
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert started[-1].stdin is not None
        started[-1].stdin.write(json.dumps(options))
        started[-1].stdin.close()
        started[-1].stdin = None
    said = [child.communicate() for child in started]
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    for child, (_, err) in zip(started, said, strict=True):
        if child.returncode:
            print(err, file=sys.stderr)
            sys.exit(2)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(seconds, processor, sum(int(out.split()[-1]) for out, _ in said))


async def _halves(options: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the options of two runs that have half of the scenarios each, alternately, so that both have as many of every group."""
    async with Shared() as shared:
        _, scenarios = plan(configure(None, options), shared)
    names = [scenario.id for scenario in scenarios]
    return [{**options, "scenario": names[half::2]} for half in (0, 1)]


def _measure(kind: str, options: dict[str, Any], pairs: int) -> bool:
    """Run the pairs of one kind, print their ratios, and tell whether the limits were kept."""
    halves = asyncio.run(_halves(options))
    start = min(_take([{**options, "scenario": halves[0]["scenario"][:1], "epochs": 1}]).processor for _ in range(2))
    found: list[tuple[Took, Took]] = []
    for number in range(pairs):
        sides = {"local": [{**options, "on": "local:2"}], "plain": halves}
        order = ("local", "plain") if number % 2 else ("plain", "local")
        took = {side: _take(sides[side]) for side in order}
        assert took["local"].episodes == took["plain"].episodes, took
        found.append((took["local"], took["plain"]))
    episodes = found[0][0].episodes
    print(f"{kind}: {pairs} pairs of {episodes:,} episodes, --on local:2 / two plain processes")
    share = [plain.seconds / local.seconds for local, plain in found]
    kept = _line("  episodes/s", share, f">= {LEAST_SHARE}", statistics.median(share) >= LEAST_SHARE)
    _line("    median, episodes/s", [episodes / statistics.median(one.seconds for one in side) for side in zip(*found, strict=True)])
    processor = [(local.processor - 3 * start) / (plain.processor - 2 * start) for local, plain in found]
    kept = _line("  processor time", processor, f"<= {MOST_PROCESSOR}", statistics.median(processor) <= MOST_PROCESSOR) and kept
    each = [statistics.median(one.processor for one in side) for side in zip(*found, strict=True)]
    _line("    with the starts, s", each)
    _line("    a start, s", [start])
    return kept


def _line(what: str, figures: list[float], limit: str = "", kept: bool = True) -> bool:
    if limit:
        shown = f"{statistics.median(figures):.3f} ({min(figures):.2f} to {max(figures):.2f})"
        print(f"{what:<32} {shown:>24}   {limit:<10} {'kept' if kept else 'MISSED'}", flush=True)
    else:
        print(f"{what:<32} {' / '.join(f'{one:.2f}' for one in figures):>24}", flush=True)
    return kept


def main() -> int:
    """Print each figure beside its limit; exit 1 if one is missed, 2 if it could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two pairs of short runs, in which the start of Python is most of the time")
    parser.add_argument("--pairs", type=int, default=0, help=f"pairs of runs of each kind (default: {PAIRS})")
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="only this kind (may be repeated)")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.play:
        print(_play(json.loads(sys.stdin.read())))
        return 0
    if (os.cpu_count() or 1) < 2:
        print("this machine has one core; two processes reach no more than one there", file=sys.stderr)
        return 2
    kinds, pairs = (QUICK, arguments.pairs or 2) if arguments.quick else (KINDS, arguments.pairs or PAIRS)
    results = [_measure(kind, {**SHARED, **options}, pairs) for kind, options in kinds.items() if kind in (arguments.kind or USUAL)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
