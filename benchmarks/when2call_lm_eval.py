"""Multiple choice by log-probability against lm-evaluation-harness: the same figures, in how much less time.

Writes the task that `talm-sim export lm-eval` writes into a temporary folder, runs lm-eval's `hf` backend
over it and talm-sim's scoring over its rows, on the same cores in the same process, one request at a time, without a network. Compared are the
log-probability of every option, the chosen options, accuracy, length-normalised accuracy and macro F1. lm-eval's `acc_norm` divides by
characters; its `acc_bytes` divides by UTF-8 bytes as the paper does, so that is what ours must equal. Loading is not timed.

    TALM_SIM_BENCH_DATA=DIR python benchmarks/when2call_lm_eval.py MODEL [--limit N] [--template NAME] [--threads N] [--device D]
    [--least-ratio X] [--served MODEL_SPEC]

`--served` scores the same rows on a server too (openai-api/vllm/NAME, with VLLM_BASE_URL set) and compares that with lm-eval in the same way,
times apart.

Needs lm-eval 0.4.13 and scikit-learn beside `talm-sim[local]`. Exit status 1 when a log-probability differs by more than 1e-3, a metric is not
identical, or the ratio of times is below X (4).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.models.base import TextModel
from talm_sim.models.registry import open_model
from talm_sim.tasks.templates import load_template
from talm_sim.tasks.when2call.harness import HARNESS_TASK, harness_files
from talm_sim.tasks.when2call.published import read_rows
from talm_sim.tasks.when2call.scores import BEHAVIOURS, confusion, macro_f1

MOST_DIFFERENCE, LEAST_RATIO = 1e-3, 4.0


@dataclass(frozen=True)
class Row:
    """A question as both sides see it; options stand in the order of `BEHAVIOURS`."""

    prompt: str
    options: tuple[str, ...]
    gold: int


@dataclass(frozen=True)
class Outcome:
    """What one side found."""

    logprobs: list[list[float]]
    metrics: dict[str, float]
    wall: float
    cpu: float


def rows_of(files: dict[str, str]) -> list[Row]:
    found = [json.loads(line) for line in files["rows.jsonl"].split("\n") if line]
    return [Row(one["prompt"], tuple(one["choices"]), one["gold"]) for one in found]


def run_talm_sim(rows: Sequence[Row], model: TextModel) -> Outcome:
    async def score_all() -> list[list[float]]:
        found = await asyncio.gather(*(model.score(row.prompt, row.options) for row in rows))
        return [[one.logprob for one in options] for options in found]

    wall, cpu = time.perf_counter(), time.process_time()
    logprobs = asyncio.get_event_loop().run_until_complete(score_all())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    chosen = [argmax(values) for values in logprobs]
    by_byte = [
        argmax([value / len(text.encode()) for value, text in zip(values, row.options, strict=True)]) for values, row in _zip(logprobs, rows)
    ]
    golds = [row.gold for row in rows]
    f1 = macro_f1(confusion([BEHAVIOURS[gold] for gold in golds], [BEHAVIOURS[one] for one in chosen]))
    return Outcome(logprobs, {"acc": _share(chosen, golds), "acc_norm": _share(by_byte, golds), "macro F1": f1 or 0.0}, wall, cpu)


def _zip(logprobs: list[list[float]], rows: Sequence[Row]) -> list[tuple[list[float], Row]]:
    return list(zip(logprobs, rows, strict=True))


def argmax(values: Sequence[float]) -> int:
    """The index of the largest value, of several the first."""
    return max(range(len(values)), key=lambda index: values[index])


def _share(chosen: Sequence[int], golds: Sequence[int]) -> float:
    return sum(one == gold for one, gold in zip(chosen, golds, strict=True)) / len(golds)


def run_lm_eval(files: dict[str, str], directory: str, device: str, scratch: Path) -> Outcome:
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_CACHE": str(scratch / "cache")}
    from datasets import disable_progress_bars
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    disable_progress_bars()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    for name, text in files.items():
        (scratch / name).write_text(text, encoding="utf-8")
    seconds = {"wall": 0.0, "cpu": 0.0}

    class Timed(HFLM):  # type: ignore[misc]  # lm-eval has no types
        def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            answer = super().loglikelihood(requests, disable_tqdm=not sys.stderr.isatty())
            seconds.update(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
            return answer

    lm = Timed(pretrained=directory, dtype="float32", batch_size=1, device=device)
    tasks = TaskManager(include_path=str(scratch), include_defaults=False)
    report = simple_evaluate(model=lm, tasks=[HARNESS_TASK], task_manager=tasks, bootstrap_iters=0, log_samples=True)
    samples = sorted(report["samples"][HARNESS_TASK], key=lambda sample: int(sample["doc_id"]))
    for row, sample in zip(rows_of(files), samples, strict=True):
        asked = (
            [(request["arg_0"], request["arg_1"]) for request in sample["arguments"].values()]
            if isinstance(sample["arguments"], dict)
            else [tuple(arguments[:2]) for arguments in sample["arguments"]]
        )
        assert asked == [(row.prompt, option) for option in row.options], "lm-eval was asked something else"
    figures = report["results"][HARNESS_TASK]
    metrics = {"acc": figures["acc,none"], "acc_norm": figures["acc_bytes,none"], "macro F1": figures["f1,none"]}
    print(f"lm-eval's own acc_norm, by characters: {figures['acc_norm,none']:.4f}")
    logprobs = [[float(answer[0]) for answer in sample["filtered_resps"]] for sample in samples]
    return Outcome(logprobs, metrics, seconds["wall"], seconds["cpu"])


def agree(ours: Outcome, theirs: Outcome, name: str) -> bool:
    """Print both outcomes and return whether `name`'s equals lm-eval's."""
    pairs = [(a, b) for mine, other in zip(ours.logprobs, theirs.logprobs, strict=True) for a, b in zip(mine, other, strict=True)]
    difference = max(abs(a - b) for a, b in pairs)
    print(f"log-probabilities of {len(pairs)} options: largest difference {difference:.2e} (at most {MOST_DIFFERENCE:.0e})")
    other = [n for n, (a, b) in enumerate(zip(ours.logprobs, theirs.logprobs, strict=True)) if argmax(a) != argmax(b)]
    print(f"rows with another choice: {other or 'none'}")
    good = difference <= MOST_DIFFERENCE and not other
    for metric, value in ours.metrics.items():
        same = abs(value - theirs.metrics[metric]) < 1e-12
        good &= same
        label = f"{metric} (acc_bytes)" if metric == "acc_norm" else metric
        print(f"{label}: {name} {value:.6f}, lm-eval {theirs.metrics[metric]:.6f}: {'identical' if same else 'DIFFERENT'}")
    return good


def fast_enough(ours: Outcome, theirs: Outcome, least_ratio: float) -> bool:
    """Print both times and return whether ours is at least `least_ratio` times as fast."""
    ratio = theirs.wall / ours.wall
    print(f"seconds: talm-sim {ours.wall:.1f}, lm-eval {theirs.wall:.1f}: {ratio:.2f} times as fast (at least {least_ratio:g})")
    print(f"seconds of computing: talm-sim {ours.cpu:.1f}, lm-eval {theirs.cpu:.1f}: ratio {theirs.cpu / ours.cpu:.2f}")
    return ratio >= least_ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="model directory")
    parser.add_argument("--limit", type=int, help="the first N rows only")
    parser.add_argument("--template", default="default")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--least-ratio", type=float, default=LEAST_RATIO, help="times as fast that is enough; 0 beside other work")
    parser.add_argument("--served", metavar="MODEL_SPEC", help="score the rows on a server too, as openai-api/vllm/NAME")
    args = parser.parse_args()
    base = os.environ.get("TALM_SIM_BENCH_DATA", "")
    file = Path(base) / "when2call" / "when2call_sample.jsonl"
    if not base or not file.is_file():
        print("set TALM_SIM_BENCH_DATA to a folder that holds when2call/when2call_sample.jsonl", file=sys.stderr)
        return 2
    options = {"dtype": "float32", "batch_size": "1", "threads": str(args.threads), "device": args.device}
    model = open_model(f"hf/{args.model}", options=options)
    assert isinstance(model, TextModel)
    files = harness_files(list(read_rows(file))[: args.limit], load_template(args.template, model))
    rows = rows_of(files)
    print(f"{len(rows)} rows, {args.threads} threads, template {args.template}", flush=True)
    asyncio.set_event_loop(asyncio.new_event_loop())
    # A prompt of its own: none of the rows' may be known before the clock runs.
    run_talm_sim([Row("A question to warm up with", ("One answer.", "Another.", "A third.", "A fourth."), 0)], model)
    ours = run_talm_sim(rows, model)
    print(f"talm-sim: {ours.wall:.1f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        theirs = run_lm_eval(files, args.model, args.device, Path(folder))
    good = agree(ours, theirs, "talm-sim")
    good &= fast_enough(ours, theirs, args.least_ratio)
    if args.served:
        served = open_model(args.served, options={"tokenizer": args.model})
        assert isinstance(served, TextModel)
        good &= agree(run_talm_sim(rows, served), theirs, args.served)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
