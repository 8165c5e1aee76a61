"""The tables of the training experiment: figures are measures of the runs, and intervals of differences are those of `talm-sim compare`."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.training.rows import CLASSES, OTHER, TRAINED, digest_of
from talm_sim.comparison.compared_rows import Side
from talm_sim.comparison.differences import difference_of, pair_rows
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Row
from talm_sim.types.written_figures import decimal, interval

ARMS = ("base", "sft", "permuted", "rpo")
PAIRS = (("base", "sft"), ("base", "permuted"), ("base", "rpo"), ("permuted", "sft"))
GROUP = "all"
_TOOL = "tool_hallucination"
_MEASURES = ("accuracy", "macro_f1", *(f"recall_{gold}" for gold in CLASSES), _TOOL)
_HEADS = {"accuracy": "Acc", "macro_f1": "macro F1", _TOOL: "tool hallucination"}


def print_tables(out: Path, adapters: Mapping[str, str], *, published: bool) -> None:
    """Print what each arm scores, the paired differences, and what was trained on what.

    Args:
        out: The experiment's folder.
        adapters: The folder of each arm's adapter.
        published: Whether the published rows were scored as well.
    """
    for items in ("test", "published") if published else ("test",):
        runs = {arm: load_run(out / "runs" / f"{arm}-{items}") for arm in ARMS}
        _print_scores(f"{items} items", runs)
        sides = {arm: _side_of(run) for arm, run in runs.items()}
        run = runs["base"]
        _print_differences(f"{items} items, paired", sides, run)
        for words in (TRAINED, OTHER) if items == "test" else ():
            alike = {one.id for one in run.scenarios() if one.source.name.endswith(words)}
            _print_differences(f"test items, {words}, paired", {arm: _part(side, alike) for arm, side in sides.items()}, run)
    _print_made(out, adapters)


def _print_scores(title: str, runs: Mapping[str, StoredRun]) -> None:
    print(f"\n{title}\n  {'':26}" + "".join(f"{arm:>18}" for arm in runs))
    summaries = {arm: run.summary()[0] for arm, run in runs.items()}
    print(f"  {'scored (not scored)':26}" + "".join(f"{f'{one.n} ({one.total - one.n})':>18}" for one in summaries.values()))
    for name in _MEASURES:
        cells = []
        for summary in summaries.values():
            measure = summary.measure(name)
            size = f" n {measure.n}" if measure and name == _TOOL else ""
            cells.append(f"{decimal(measure.value) if measure else ''} {interval(measure)}{size}")
        print(f"  {_head(name):26}" + "".join(f"{cell:>18}" for cell in cells))
    print("  chosen, by right answer")
    for arm, summary in summaries.items():
        for matrix in summary.matrices:
            for gold, counts in zip(matrix.rows, matrix.counts, strict=True):
                if any(counts):
                    chosen = ", ".join(f"{number:,} {name}" for name, number in zip(matrix.columns, counts, strict=True))
                    print(f"    {arm:10}{gold:18}{chosen}")


def _print_differences(title: str, sides: Mapping[str, Side], run: StoredRun) -> None:
    print(f"\n{title}\n  {'second less first':26}{'n':>6}{'first':>8}{'second':>8}{'difference':>12}{'95 %':>16}{'p':>8}")
    summary = run.summary()[0]
    for first, second in PAIRS:
        pair = pair_rows(sides[first], sides[second])
        print(f"  {second} against {first}")
        for name in _MEASURES:
            measure = summary.measure(name)
            found = measure and difference_of(pair, GROUP, measure, derived=False, seed=0)
            if found:
                print(f"    {_head(name):24}{_line(found, name)}")


def _line(found: Mapping[str, Any], name: str) -> str:
    low, high, p = found["low"], found["high"], found["p"]
    limits = "" if low is None else f"{decimal(low)} to {decimal(high)}"
    regression = " regression" if name == f"recall_{CLASSES[0]}" and high is not None and high < 0 else ""
    values = "".join(f"{decimal(found[key]):>8}" for key in ("first", "second"))
    return f"{found['pairs']:>6}{values}{decimal(found['difference']):>12}{limits:>16}{'' if p is None else f'{p:.3f}':>8}{regression}"


def _side_of(run: StoredRun) -> Side:
    """Return a run's side of a comparison; a row's answer also counts for the recall of its class."""
    side = Side.of_run(run)
    rows = (row.model_copy(update={"values": {**row.values, **dict(_recall(row))}}) for row in side.rows)
    return side.model_copy(update={"rows": tuple(rows)})


def _recall(row: Row) -> Iterator[tuple[str, bool]]:
    if row.scored:
        yield f"recall_{row.labels['gold']}", row.labels["chosen"] == row.labels["gold"]


def _part(side: Side, scenarios: Container[str]) -> Side:
    """Return a side with the rows of some scenarios; its table is of all of them, and so is left out."""
    return side.model_copy(update={"rows": tuple(row for row in side.rows if row.scenario in scenarios), "columns": ()})


def _head(name: str) -> str:
    return _HEADS.get(name, name.replace("_", " ", 1))


def _print_made(out: Path, adapters: Mapping[str, str]) -> None:
    print("\nhours")
    for file in sorted((out / "logs").glob("*.json")):
        print(f"  {file.stem:26}{json.loads(file.read_text(encoding='utf-8'))['seconds'] / 3600:8.2f}")
    print("digests (SHA-256)")
    for file in sorted((*(out / "items").glob("*.jsonl"), *(out / "rows").glob("*.jsonl"))):
        print(f"  {file.parent.name}/{file.name:24}{digest_of(file)}")
    for arm, folder in adapters.items():
        if arm != "base":
            print(f"  adapter {arm:22}{digest_of(out / 'adapters' / folder / 'adapter_model.safetensors')}")
    card = json.loads((out / "adapters" / adapters["sft"] / "training.json").read_text(encoding="utf-8"))
    print(f"  base {card['model']}: {card['model_digest']}")
