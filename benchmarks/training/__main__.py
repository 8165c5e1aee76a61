"""Does training on rows of task `when2call` teach when to call, or only wording? The experiment that docs/training.md registers.

    python -m benchmarks.training [--out DIR] [--model hf/DIR] [--jobs N] [--batch-size N] [--quick]

It makes the rows, trains the arms with `talm-sim train`, scores them with `talm-sim run` and prints the comparison. Stopped or killed, the same
command continues: what is finished is not done again. `--quick` goes the same way with a few rows, and its figures say nothing. The published
rows are read from $TALM_SIM_BENCH_DATA/when2call if that is set. The exit status is 2 if a step fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.training.rows import PARTS, SEED, digest_of, make_parts, permute_classes, write_rows
from benchmarks.training.tables import ARMS, print_tables
from talm_sim.store.stored_run import load_run

RECIPE = Path(__file__).parent / "recipe.toml"
RATES = ("5e-6", "2e-5", "1e-4", "5e-4")
ITSELF = {"rows": 64, "epochs": 30, "batch": 4, "rate": "5e-4"}
"""The check that the chain works: rows that are trained on and scored."""
PUBLISHED = "when2call_sample.jsonl"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done, and where.

    Attributes:
        out: Folder of all that is made.
        model: The base.
        sizes: Categories and sources of each part.
        rates: The learning rates that are tried.
        itself: How the first check is trained.
        limit: Options that cut the published rows short.
        run: Further options of `talm-sim run`.
        train: Further options of `talm-sim train`.
    """

    out: Path
    model: str
    sizes: dict[str, tuple[int, int]]
    rates: Sequence[str]
    itself: dict[str, Any]
    limit: Sequence[str]
    run: Sequence[str]
    train: Sequence[str]

    def step(self, name: str, finished: Callable[[], bool], *command: object) -> None:
        """Run `talm-sim` with a command unless it has been finished; its output is in a file, its time beside it.

        Raises:
            SystemExit: It failed.
        """
        log, taken = self.out / "logs" / f"{name}.log", self.out / "logs" / f"{name}.json"
        if finished():
            print(f"{name}: finished before", flush=True)
            return
        log.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "talm_sim", *map(str, command)]
        before = json.loads(taken.read_text())["seconds"] if taken.exists() else 0.0
        print(f"{name}: begins", flush=True)
        began = time.monotonic()
        with log.open("a", encoding="utf-8") as file:
            failed = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
        seconds = time.monotonic() - began
        taken.write_text(json.dumps({"seconds": before + seconds, "command": ["talm-sim", *words[3:]]}) + "\n", encoding="utf-8")
        if failed or not finished():
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
            sys.exit(f"{name}: failed (exit status {failed}); {log} ends:\n" + "\n".join(last))
        print(f"{name}: took {seconds / 60:.1f} min", flush=True)

    def train_arm(self, name: str, method: str, rows: str, rate: str, *options: object) -> None:
        """Train an adapter."""
        folder = self.out / "adapters" / name
        fixed = ("--recipe", RECIPE, "--learning-rate", rate, "--model", self.model, "--out", folder, *self.train)
        self.step(f"train-{name}", lambda: _is_trained(folder), "train", method, self.out / "rows" / f"{rows}.jsonl", *fixed, *options)

    def score(self, name: str, items: Path, adapter: str = "", *options: object) -> None:
        """Score a model on items: the base, or with an adapter."""
        runs = self.out / "runs"
        model = ("--model", self.model, *self.run, *(("-M", f"lora={self.out / 'adapters' / adapter}") if adapter else ()))
        command = ("run", "--task", "when2call", "--scenarios", items, "--template", "default", "--live", *model, "--run-id", name, *options)
        if (runs / name).exists():
            command = ("resume", name, "--live")
        self.step(f"score-{name}", lambda: _is_scored(runs / name), *command, "--run-dir", runs, "--quiet")

    def score_all(self, arm: str, adapter: str = "") -> None:
        """Score an arm on the test items and, where they are, the published rows."""
        self.score(f"{arm}-test", self.out / "items" / "test.jsonl", adapter)
        if published := find_published():
            self.score(f"{arm}-published", published, adapter, *self.limit)

    def macro_f1(self, name: str) -> float:
        """Return the macro F1 of a finished run."""
        measure = load_run(self.out / "runs" / name).summary()[0].measure("macro_f1")
        assert measure is not None and measure.value is not None
        return float(measure.value)


def find_published() -> Path | None:
    """Return the file of the published rows; None where nobody says where it is."""
    root = os.environ.get("TALM_SIM_BENCH_DATA")
    return Path(root) / "when2call" / PUBLISHED if root else None


def make_files(plan: Plan) -> None:
    """Write the items of each part, and the rows that are trained on."""
    items, rows = plan.out / "items", plan.out / "rows"
    if not all((items / f"{part}.jsonl").exists() for part in (*plan.sizes, "itself")):
        parts = make_parts(plan.sizes)
        for part, made in (*parts.items(), ("itself", parts["train"][: plan.itself["rows"]])):
            write_rows(made, items / f"{part}.jsonl")
    rows.mkdir(parents=True, exist_ok=True)
    common = ("--template", "default", "--model", plan.model, "--seed", SEED, "--force")
    for name, source, kind in (("sft", "train", "sft"), ("preference", "train", "preference"), ("itself", "itself", "sft")):
        file = rows / f"{name}.jsonl"
        plan.step(f"export-{name}", file.exists, "export", "training", items / f"{source}.jsonl", "--kind", kind, "--out", file, *common)
    if not (rows / "permuted.jsonl").exists():
        trained, of = ([json.loads(line) for line in file.read_text().splitlines()] for file in (rows / "sft.jsonl", items / "train.jsonl"))
        write_rows(permute_classes(trained, of), rows / "permuted.jsonl")


def choose_rate(plan: Plan) -> str:
    """Return the learning rate with the highest macro F1 on the validation items; of equals the lowest."""
    found = {rate: plan.macro_f1(f"validation-{rate}") for rate in plan.rates}
    for rate, value in found.items():
        print(f"learning rate {rate}: macro F1 {value:.3f} on the validation items")
    return max(plan.rates, key=lambda rate: (found[rate], -float(rate)))


def play(plan: Plan, jobs: int) -> str:
    """Train and score everything, several chains of steps at a time; return the learning rate that was chosen."""

    def itself() -> None:
        plan.train_arm("itself", "sft", "itself", plan.itself["rate"], "--epochs", plan.itself["epochs"], "--batch", plan.itself["batch"])
        plan.score("itself", plan.out / "items" / "itself.jsonl", "itself")

    def validate(rate: str) -> None:
        plan.train_arm(f"sft-{rate}", "sft", "sft", rate)
        plan.score(f"validation-{rate}", plan.out / "items" / "validation.jsonl", f"sft-{rate}")

    def arm(name: str, method: str, rows: str, rate: str) -> None:
        plan.train_arm(name, method, rows, rate)
        plan.score_all(name, name)

    together(jobs, itself, *(lambda rate=rate: validate(rate) for rate in plan.rates), lambda: plan.score_all("base"))
    print(f"the chain: {plan.itself['rows']} rows trained on themselves give macro F1 {plan.macro_f1('itself'):.3f} (at most .75)")
    rate = choose_rate(plan)
    together(
        jobs,
        lambda: arm("rpo", "rpo", "preference", rate),
        lambda: arm("permuted", "sft", "permuted", rate),
        lambda: plan.score_all("sft", f"sft-{rate}"),
    )
    return rate


def together(jobs: int, *chains: Callable[[], None]) -> None:
    """Run chains of steps, so many at a time.

    Raises:
        SystemExit: One failed; those that have begun are ended first.
    """
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(chain) for chain in chains]:
            future.result()


def _is_trained(folder: Path) -> bool:
    card = folder / "training.json"
    return card.exists() and bool(json.loads(card.read_text(encoding="utf-8"))["finished"])


def _is_scored(folder: Path) -> bool:
    if not (folder / "run.json").exists():
        return False
    run = load_run(folder)
    return run.closed and run.finished == run.total and not run.failed


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiment and print its tables."""
    parser = argparse.ArgumentParser(description="Does training on rows of task when2call teach when to call, or only wording?")
    parser.add_argument("--out", type=Path, help="folder of rows, adapters and runs (default: build/training)")
    parser.add_argument("--model", default="hf/smollm2-135m", help="the base (default: hf/smollm2-135m)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings and runs at a time (default: 1); more suit a GPU")
    parser.add_argument("--batch-size", type=int, metavar="N", help="items that are scored together")
    parser.add_argument("--device", default="auto", help="device that scores; training takes a GPU where there is one")
    parser.add_argument("--quick", action="store_true", help="a few rows and steps, to see that everything works")
    parser.add_argument("--rows-only", action="store_true", help="make the items and the rows to train on, and stop")
    given = parser.parse_args(argv)
    out = (given.out or Path("build") / ("training-quick" if given.quick else "training")).absolute()
    run = ["-M", "dtype=float32", "-M", f"device={given.device}"]
    if given.batch_size:
        run += ["-M", f"batch_size={given.batch_size}"]
        os.environ["TALM_SIM_MAX_CONNECTIONS"] = str(2 * given.batch_size)
    if given.quick:
        small = {part: (many, 4 if part == "test" else 2) for part, (many, _) in PARTS.items()}
        plan = Plan(out, given.model, small, RATES[-2:], {**ITSELF, "rows": 3, "epochs": 4}, ("--limit", "2"), run, ("--epochs", "1"))
    else:
        plan = Plan(out, given.model, dict(PARTS), RATES, ITSELF, (), run, ())
    make_files(plan)
    if given.rows_only:
        return 0
    rate = play(plan, given.jobs)
    print_tables(plan.out, {arm: f"sft-{rate}" if arm == "sft" else arm for arm in ARMS}, published=find_published() is not None)
    print(f"\nlearning rate {rate}, seed {SEED}; test items {digest_of(out / 'items' / 'test.jsonl')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
