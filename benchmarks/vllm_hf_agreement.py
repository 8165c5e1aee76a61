"""Do `vllm/` and `hf/` choose the same option? Scores When2Call's rows with both, each in a process of its own.

    TALM_SIM_BENCH_DATA=DIR python benchmarks/vllm_hf_agreement.py MODEL [--limit N] [--json FILE]

MODEL is a directory. Needs the environment of scripts/local_vllm.sh. Prints the share of rows on which the most likely option is the same, any
other row with its margin (how much more likely the chosen option is than the other engine's choice, in nats), and the largest difference of one
option's log-probability. Exit code 1 below 99 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from talm_sim.models.base import TextModel
from talm_sim.models.registry import open_model
from talm_sim.tasks.templates import load_template
from talm_sim.tasks.when2call.published import read_rows
from talm_sim.types import Choice

LEAST_SHARE = 0.99


@dataclass(frozen=True)
class Row:
    """A question as both engines get it."""

    id: str
    prompt: str
    options: tuple[str, ...]
    names: tuple[str, ...]


def read(path: Path, limit: int | None) -> list[Row]:
    template = load_template("default", None)
    rows = []
    for scenario in read_rows(path)[:limit]:
        target = scenario.target
        assert isinstance(target, Choice)
        prompt = template.prompt(scenario.query, scenario.shown_tools)
        options = tuple(template.option(option) for option in target.options)
        rows.append(Row(scenario.id, prompt, options, tuple(option.behaviour.value for option in target.options)))
    return rows


def scores(name: str, options: dict[str, str], rows: list[Row]) -> tuple[list[list[float]], float]:
    """Log-probability of every option, and the seconds it took without loading."""

    async def all_rows() -> tuple[list[list[float]], float]:
        model = open_model(name, options=options)
        text = cast("TextModel", model)
        try:
            await text.score("Hello", [" there"])
            start = time.perf_counter()
            found = await asyncio.gather(*(text.score(row.prompt, row.options) for row in rows))
            return [[one.logprob for one in row] for row in found], time.perf_counter() - start
        finally:
            await model.aclose()

    return asyncio.run(all_rows())


def best(values: list[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    folder = os.environ.get("TALM_SIM_BENCH_DATA")
    if not folder:
        print("set TALM_SIM_BENCH_DATA to the folder that holds when2call/when2call_sample.jsonl", file=sys.stderr)
        return 2
    rows = read(Path(folder) / "when2call" / "when2call_sample.jsonl", args.limit)
    found: dict[str, list[list[float]]] = {}
    for provider, options in (("hf", {"dtype": "float32"}), ("vllm", {"dtype": "float32", "kv_gib": "1"})):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            found[provider], seconds = pool.submit(scores, f"{provider}/{args.model}", options, rows).result()
        print(f"{provider}: {len(rows)} rows in {seconds:.1f} s", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"ids": [row.id for row in rows], **found}, indent=1), encoding="utf-8")
    apart = [(row, hf, vllm) for row, hf, vllm in zip(rows, found["hf"], found["vllm"], strict=True) if best(hf) != best(vllm)]
    for row, hf, vllm in apart:
        one, other = best(hf), best(vllm)
        print(f"{row.id}: hf {row.names[one]} by {hf[one] - hf[other]:.2g}, vllm {row.names[other]} by {vllm[other] - vllm[one]:.2g}")
    worst = max(abs(a - b) for hf, vllm in zip(found["hf"], found["vllm"], strict=True) for a, b in zip(hf, vllm, strict=True))
    share = 1 - len(apart) / len(rows)
    print(f"same choice: {len(rows) - len(apart)} of {len(rows)} ({share:.2%}); largest difference of a log-probability {worst:.2g}")
    return 0 if share >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
