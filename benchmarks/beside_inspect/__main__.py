"""What an episode costs here and in Inspect: the same model, tool and questions played by both, by turns, each time in a fresh process.

    sh scripts/exports.sh
    python -m benchmarks.beside_inspect [--rounds N] [--episodes N] [--quick]

An episode is two model calls and one tool call, counted by the model and the tool and again in what is kept; a side that counts otherwise ends
the comparison. Time is that of one call of `run` or `eval`, from question to kept and scored episode, without imports. The ideal is what the
model takes: ceil(episodes / in flight) * 2 * latency. Inspect is measured as it is by default, and without what it writes for its live view.
Figures are medians over the rounds; ratios are of two processes that ran one after the other. There is no limit: the exit status is 2 if the
figures could not be had.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.beside_inspect.work import WITHOUT_LIVE_VIEW

ROOT = Path(__file__).parents[2]
INSPECT = os.environ.get("TALM_SIM_EXPORTS_PYTHON", str(ROOT / ".venv-exports" / "bin" / "python"))
OURS, THEIRS, QUIET = "talm-sim", "inspect_ai", "without live view"
SIDES = {
    OURS: (sys.executable, "benchmarks.beside_inspect.ours"),
    THEIRS: (INSPECT, "benchmarks.beside_inspect.theirs"),
    QUIET: (INSPECT, "benchmarks.beside_inspect.theirs", WITHOUT_LIVE_VIEW),
}
SETTINGS = ((64, 0.0), (64, 0.2), (512, 0.2), (512, 2.0))
"""Episodes in flight, and seconds per model call."""
MODEL_CALLS = 2

Results = dict[str, list[dict[str, Any]]]


def play(side: str, episodes: int, in_flight: int, latency: float, home: str) -> dict[str, Any]:
    """Measure one side in a process of its own.

    Raises:
        SystemExit: It failed, or did other work than it should.
    """
    python, module, *more = SIDES[side]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECT_", "TALM_SIM_"))}
    environ |= {"XDG_DATA_HOME": home, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", module, str(episodes), str(in_flight), str(latency), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environ)
    if done.returncode:
        print(f"{side}: {done.stderr}", file=sys.stderr)
        sys.exit(2)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    calls = {"model_calls": MODEL_CALLS * episodes, "tool_calls": episodes}
    if result["made"] != calls or result["kept"] != {"episodes": episodes, "right": episodes, **calls}:
        print(f"{side}: did other work than {calls}: {result}", file=sys.stderr)
        sys.exit(2)
    return result


def middle(results: Sequence[dict[str, Any]], figure: Callable[[dict[str, Any]], float]) -> float:
    return statistics.median(figure(one) for one in results)


def show(found: Results, episodes: int, in_flight: int, latency: float) -> None:
    """Print what was found in one setting."""
    ideal = math.ceil(episodes / in_flight) * MODEL_CALLS * latency
    print(f"\n{in_flight} in flight, {latency:g} s per model call" + (f": ideal {ideal:.1f} s" if ideal else ""))
    print(f"{'':20}{'episodes/s':>11}{'processor':>12}{'of ideal':>10}{'at once':>9}{'memory':>9}{'kept':>9}")
    for side, results in found.items():
        rate = middle(results, lambda one: episodes / one["seconds"])
        cost = middle(results, lambda one: 1e3 * one["cpu"] / episodes)
        share = f"{middle(results, lambda one: ideal / one['seconds']):.2f}" if ideal else "-"
        at_once, memory = middle(results, lambda one: one["at_once"]), middle(results, lambda one: one["memory"])
        size = middle(results, lambda one: one["bytes"] / episodes / 1e3)
        print(f"{side:20}{rate:11.0f}{cost:9.1f} ms{share:>10}{at_once:9.0f}{memory:6.0f} MB{size:6.1f} kB")
    for side in (THEIRS, QUIET):
        spans = []
        for figure in ("seconds", "cpu"):
            ratios = [theirs[figure] / ours[figure] for ours, theirs in zip(found[OURS], found[side], strict=True)]
            spans.append(f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")
        print(f"{'  ' + side:20} / talm-sim: time {spans[0]}, processor time {spans[1]}", flush=True)


def main() -> int:
    """Print the figures of each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times each side plays each setting")
    parser.add_argument("--episodes", type=int, default=1024, help="episodes of each")
    parser.add_argument("--quick", action="store_true", help="one round of 64 episodes: it shows that both sides do the same work, and no more")
    arguments = parser.parse_args()
    if not Path(INSPECT).exists():
        print(f"{INSPECT}: is not there; run: sh scripts/exports.sh", file=sys.stderr)
        return 2
    rounds, episodes, settings = (1, 64, SETTINGS[1:2]) if arguments.quick else (arguments.rounds, arguments.episodes, SETTINGS)
    what = f"{episodes:,} episodes of {MODEL_CALLS} model calls and 1 tool call"
    print(f"{what}, rounds: {rounds}, cores: {os.cpu_count()}, load at the start: {os.getloadavg()[0]:.1f}")
    found: dict[tuple[int, float], Results] = {setting: {side: [] for side in SIDES} for setting in settings}
    with tempfile.TemporaryDirectory() as home:
        for number in range(rounds):
            for (in_flight, latency), results in found.items():
                for side in SIDES if number % 2 else reversed(SIDES):
                    one = play(side, episodes, in_flight, latency, home)
                    results[side].append(one)
                    where = f"round {number + 1}, {in_flight} in flight, {latency:g} s: {side}"
                    print(f"{where}: {one['seconds']:.2f} s, processor {one['cpu']:.2f} s", file=sys.stderr, flush=True)
    print(" and ".join(found[settings[0]][side][0]["package"] for side in (OURS, THEIRS)))
    for (in_flight, latency), results in found.items():
        show(results, episodes, in_flight, latency)
    print(f"\nEach process made and kept {MODEL_CALLS * episodes:,} model calls and {episodes:,} tool calls; every answer was right.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
