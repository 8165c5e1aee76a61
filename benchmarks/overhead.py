"""What the machinery costs an episode, against stated limits.

Episodes of the control model `sim/oracle`: an awareness question, two in-process model turns, one tool call replayed from the shipped
recording, stored in the run store, 64 in flight. Each measurement is a process of its own, so its peak memory is its own.

    python benchmarks/overhead.py [--quick]
    python benchmarks/overhead.py --against PYTHON [--pairs N]

The second form compares this version with another installation, such as the one before, whose interpreter is PYTHON: pairs of runs, the two
sides by turns, so that what else the machine does meets both. The median of the pairs' ratios counts; processor time is steadier than time
on a shared machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import talm_sim
from talm_sim import RunConfig, run
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.groups import draw_sample
from talm_sim.types import Facts

IN_FLIGHT = 64
SCENARIOS = 50
LATENCY = 0.2
MODEL_CALLS = 3
LEAST_RATE, LEAST_SHARE, MOST_MEMORY, MOST_GROWTH = 200.0, 0.90, 300.0, 1.15
MOST_RATIO, PAIRS = 1.03, 10
ORACLE: dict[str, Any] = {"one_call": True, "split": "underspecified", "model": "sim/oracle", "human": "none", "tools": "replay"}


def _one_call_scenarios(file: Path) -> None:
    """Write packaged under-specified scenarios, of which the first gold call lacks something, cut down to that call."""
    lines: list[str] = []
    recorded = draw_sample(one.id for one in find_task("talm").read(["perfect"]))
    for scenario in find_task("talm").read(["underspecified"]):
        turn = scenario.turns[0]
        assert isinstance(scenario.target, Facts)
        if scenario.base not in recorded or any(turn.gold_calls[0].arguments.get(gap.name) != gap.value for gap in scenario.missing):
            continue
        facts = Facts(required=tuple(fact for fact in scenario.target.required if fact.call == 0))
        cut = scenario.model_copy(update={"turns": (turn.model_copy(update={"gold_calls": turn.gold_calls[:1]}),), "target": facts})
        lines.append(cut.model_dump_json())
        if len(lines) == SCENARIOS:
            break
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _measure(options: dict[str, Any]) -> dict[str, Any]:
    """Run in this process and return seconds, processor seconds, episodes and peak memory in MB.

    Another version runs this too, so it is public names only, and events by their names.
    """
    times: dict[str, float] = {}

    def watch(event: object) -> None:
        kind = type(event).__name__
        if kind == "RunStarted":
            times["start"], times["cpu_start"] = time.perf_counter(), time.process_time()
        elif kind == "EpisodeFinished":
            times["end"], times["cpu_end"] = time.perf_counter(), time.process_time()
            times["episodes"] = times.get("episodes", 0) + 1

    with tempfile.TemporaryDirectory() as folder:
        if options.pop("one_call"):
            options["scenarios"] = Path(folder) / "one_call.jsonl"
            _one_call_scenarios(options["scenarios"])
        stored = run(RunConfig(run_dir=Path(folder) / "runs", max_episodes=IN_FLIGHT, **options), on_event=watch)
        judged, cpu_judged = time.perf_counter(), time.process_time()
        wrong = [episode.id for episode in stored.episodes() if not episode.termination.completed]
    assert not wrong, f"episodes that did not complete: {wrong[:3]}"
    return {
        "seconds": times["end"] - times["start"],
        "cpu": times["cpu_end"] - times["cpu_start"],
        "judged": judged - times["start"],
        "cpu_judged": cpu_judged - times["cpu_start"],
        "episodes": times["episodes"],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "place": str(Path(talm_sim.__file__).parent),
    }


def _apart(python: str = sys.executable, environ: Mapping[str, str] | None = None, **options: Any) -> dict[str, Any]:
    """`_measure` in a fresh process."""
    command = [python, __file__, "--worker", json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        sys.exit(2)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _against(python: str, pairs: int) -> bool:
    """Run this version and another one by turns, print what an episode costs here in terms of there, and tell whether the limit was kept."""
    # What leads this interpreter to this version must not lead the other one here.
    elsewhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found: dict[str, list[dict[str, Any]]] = {"new": [], "old": []}
    for number in range(pairs):
        for side in ("new", "old") if number % 2 else ("old", "new"):
            where: dict[str, Any] = {} if side == "new" else {"python": python, "environ": elsewhere}
            found[side].append(_apart(**where, **ORACLE, epochs=20))
    places = {side: results[0]["place"] for side, results in found.items()}
    if places["new"] == places["old"]:
        sys.exit(f"{python}: has this very version ({places['new']}); name the interpreter of another installation.")
    print(f"new {places['new']}\nold {places['old']}\n{pairs} pairs of {found['new'][0]['episodes']:.0f} episodes, new / old")
    kept = True
    for what, name, limited in (
        ("processor time an episode", "cpu", True),
        ("time an episode", "seconds", False),
        ("  with judging and the table, processor time", "cpu_judged", False),
        ("  with judging and the table, time", "judged", False),
    ):
        each = {side: [result[name] / result["episodes"] for result in results] for side, results in found.items()}
        ratios = [new / old for new, old in zip(each["new"], each["old"], strict=True)]
        median = statistics.median(ratios)
        shown = f"{median:.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        cost = " / ".join(f"{1e3 * statistics.median(each[side]):.2f}" for side in ("new", "old"))
        if limited:
            kept = _line(what, shown, f"<= {MOST_RATIO}", median <= MOST_RATIO)
        else:
            print(f"{what:<52} {shown:>12}")
        print(f"{'  median, ms':<52} {cost:>12}", flush=True)
    return kept


def _line(what: str, figure: str, limit: str, kept: bool) -> bool:
    print(f"{what:<52} {figure:>12}   {limit:<16} {'kept' if kept else 'MISSED'}", flush=True)
    return kept


def main() -> int:
    """Print each figure beside its limit; exit 1 if one is missed, 2 if it could not be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure once, not three times, and leave the run of 10,000 episodes out")
    parser.add_argument("--against", metavar="PYTHON", help="compare with the version that this interpreter has installed")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of runs to compare by")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(_measure(json.loads(arguments.worker))))
        return 0
    if arguments.against:
        return 0 if _against(arguments.against, arguments.pairs) else 1
    times = 1 if arguments.quick else 3
    small = max((_apart(**ORACLE, epochs=20) for _ in range(times)), key=lambda result: result["episodes"] / result["seconds"])
    rate = small["episodes"] / small["seconds"]
    kept = [_line(f"1,000 episodes, best of {times}, episodes/s", f"{rate:.0f}", f">= {LEAST_RATE:.0f}", rate >= LEAST_RATE)]
    print(f"{'  with judging and the table, episodes/s':<52} {small['episodes'] / small['judged']:>12.0f}")
    kept.append(_line("  peak memory, MB", f"{small['memory']:.0f}", f"<= {MOST_MEMORY:.0f}", small["memory"] <= MOST_MEMORY))
    late = {"latency": str(LATENCY)}
    slow = min((_apart(**ORACLE, epochs=20, model_options=late) for _ in range(times)), key=lambda result: result["seconds"])
    ideal = math.ceil(slow["episodes"] / IN_FLIGHT) * MODEL_CALLS * LATENCY
    share = ideal / slow["seconds"]
    what = f"1,000, {LATENCY} s a model call, best of {times}, share of ideal"
    kept.append(_line(what, f"{share:.2f}", f">= {LEAST_SHARE}", share >= LEAST_SHARE))
    print(f"{'  ideal and measured, s':<52} {ideal:>6.1f} {slow['seconds']:>5.1f}")
    sdk = _apart(one_call=False, split="all", human="none")
    print(f"{'model turns replayed, episodes/s':<52} {sdk['episodes'] / sdk['seconds']:>12.0f}")
    if not arguments.quick:
        large = _apart(**ORACLE, epochs=200)
        growth = large["memory"] / small["memory"]
        kept.append(_line("10,000 episodes: peak memory, times that of 1,000", f"{growth:.2f}", f"<= {MOST_GROWTH}", growth <= MOST_GROWTH))
        print(f"{'  episodes/s':<52} {large['episodes'] / large['seconds']:>12.0f}")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
