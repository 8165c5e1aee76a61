"""What the machinery costs an episode, against stated limits.

Episodes of the control model `sim/oracle`: an awareness question, two in-process model turns, one tool call replayed from the shipped
recording, stored in the run store, 64 in flight. Each measurement is a process of its own, so its peak memory is its own.

    python benchmarks/overhead.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from talm_sim import run
from talm_sim.runs.events import EpisodeFinished, RunStarted
from talm_sim.scenarios.load import load_scenarios
from talm_sim.types import Facts

IN_FLIGHT = 64
SCENARIOS = 50
LATENCY = 0.2
MODEL_CALLS = 3
LEAST_RATE, LEAST_SHARE, MOST_MEMORY, MOST_GROWTH = 200.0, 0.90, 300.0, 1.15


def _one_call_scenarios(file: Path) -> None:
    """Write packaged under-specified scenarios cut down to their first gold call."""
    lines = []
    for scenario in load_scenarios(["underspecified"])[:SCENARIOS]:
        turn = scenario.turns[0]
        assert isinstance(scenario.target, Facts)
        facts = Facts(required=tuple(fact for fact in scenario.target.required if fact.call == 0))
        cut = scenario.model_copy(update={"turns": (turn.model_copy(update={"gold_calls": turn.gold_calls[:1]}),), "target": facts})
        lines.append(cut.model_dump_json())
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _measure(options: dict[str, Any]) -> dict[str, float]:
    """Run in this process and return seconds, episodes and peak memory in MB."""
    times: dict[str, float] = {}

    def watch(event: object) -> None:
        if isinstance(event, RunStarted):
            times["start"] = time.perf_counter()
        elif isinstance(event, EpisodeFinished):
            times["end"] = time.perf_counter()
            times["episodes"] = times.get("episodes", 0) + 1

    with tempfile.TemporaryDirectory() as folder:
        if options.pop("one_call"):
            options["scenarios"] = Path(folder) / "one_call.jsonl"
            _one_call_scenarios(options["scenarios"])
        stored = run(run_dir=Path(folder) / "runs", max_episodes=IN_FLIGHT, on_event=watch, **options)
        judged = time.perf_counter()
        wrong = [episode.id for episode in stored.episodes() if not episode.termination.completed]
    assert not wrong, f"episodes that did not complete: {wrong[:3]}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": times["end"] - times["start"], "judged": judged - times["start"], "episodes": times["episodes"], "memory": memory}


def _apart(**options: Any) -> dict[str, float]:
    """`_measure` in a fresh process."""
    done = subprocess.run([sys.executable, __file__, "--worker", json.dumps(options)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _line(what: str, figure: str, limit: str, kept: bool) -> bool:
    print(f"{what:<52} {figure:>12}   {limit:<16} {'kept' if kept else 'MISSED'}", flush=True)
    return kept


def main() -> int:
    """Print each figure beside its limit; exit 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave the run of 10,000 episodes out")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(_measure(json.loads(arguments.worker))))
        return 0
    oracle = {"one_call": True, "split": "underspecified", "model": "sim/oracle", "human": "none", "tools": "replay"}
    small = max((_apart(**oracle, epochs=20) for _ in range(3)), key=lambda result: result["episodes"] / result["seconds"])
    rate = small["episodes"] / small["seconds"]
    kept = [_line("1,000 episodes, best of 3, episodes/s", f"{rate:.0f}", f">= {LEAST_RATE:.0f}", rate >= LEAST_RATE)]
    print(f"{'  with judging and the table, episodes/s':<52} {small['episodes'] / small['judged']:>12.0f}")
    kept.append(_line("  peak memory, MB", f"{small['memory']:.0f}", f"<= {MOST_MEMORY:.0f}", small["memory"] <= MOST_MEMORY))
    slow = min((_apart(**oracle, epochs=20, model_options={"latency": str(LATENCY)}) for _ in range(3)), key=lambda result: result["seconds"])
    ideal = math.ceil(slow["episodes"] / IN_FLIGHT) * MODEL_CALLS * LATENCY
    share = ideal / slow["seconds"]
    kept.append(_line(f"1,000, {LATENCY} s a model call, best of 3, share of ideal", f"{share:.2f}", f">= {LEAST_SHARE}", share >= LEAST_SHARE))
    print(f"{'  ideal and measured, s':<52} {ideal:>6.1f} {slow['seconds']:>5.1f}")
    sdk = _apart(one_call=False, split="all", human="none")
    print(f"{'model turns replayed through the SDK, episodes/s':<52} {sdk['episodes'] / sdk['seconds']:>12.0f}")
    if not arguments.quick:
        large = _apart(**oracle, epochs=200)
        growth = large["memory"] / small["memory"]
        kept.append(_line("10,000 episodes: peak memory, times that of 1,000", f"{growth:.2f}", f"<= {MOST_GROWTH}", growth <= MOST_GROWTH))
        print(f"{'  episodes/s':<52} {large['episodes'] / large['seconds']:>12.0f}")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
