"""Run the campaign: `python -m campaign [PART ...]`.

Every part is a file of this package that holds `PARTS`; all chance comes from the seed, so a failure can be repeated.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import campaign
from campaign.base import ROOT, Outcome, Part

_SHOWN_FAILURES: Final = 20


def _parts() -> dict[str, Part]:
    """All parts by name, in the order of their files."""
    found: dict[str, Part] = {}
    for info in pkgutil.iter_modules(campaign.__path__):
        if not info.name.startswith("__"):
            module = importlib.import_module(f"campaign.{info.name}")
            found |= {part.name: part for part in getattr(module, "PARTS", ())}
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[PART]...")
@click.option("--seed", default=1, show_default=True, help="Seed of all random choices.")
@click.option("--short", is_flag=True, help="Try a few cases per part: the whole campaign takes under 3 minutes.")
@click.option("--count", type=click.IntRange(min=1), help="Number of cases per part.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(min=1), help="Parts to run at the same time.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the files in this folder.")
@click.option("--list", "listed", is_flag=True, help="List the parts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per part.")
def main(names: tuple[str, ...], seed: int, short: bool, count: int | None, jobs: int, keep: Path | None, listed: bool, as_json: bool) -> None:
    """Attack the program and print what was tried and what failed; the exit status is 1 if anything failed."""
    parts = _parts()
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise click.UsageError(f"there is no part '{unknown[0]}'; the parts are: {', '.join(parts)}.")
    chosen = [parts[name] for name in names or parts]
    if listed:
        for part in chosen:
            click.echo(f"{part.name:16} {part.what} ({part.full} {part.unit}; {part.short} in the short form)")
        return
    counts = {part.name: count or (part.short if short else part.full) for part in chosen}
    chosen = [part for part in chosen if counts[part.name]]  # some are played in the full form alone
    if as_json and len(chosen) == 1:
        found = _play(chosen[0], counts[chosen[0].name], seed, keep)
        click.echo(json.dumps(found))
        sys.exit(bool(found["failures"]))
    results = list(_play_each(chosen, counts, seed, jobs, keep))
    if as_json:
        for result in results:
            click.echo(json.dumps(result))
    else:
        _print(results, seed)
    sys.exit(any(result["failures"] for result in results))


def _play(part: Part, count: int, seed: int, keep: Path | None) -> dict[str, Any]:
    scratch = (keep or Path(tempfile.mkdtemp(prefix="talm-sim-campaign-"))).resolve() / part.name
    scratch.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        outcome = part.play(count, random.Random(f"{seed} {part.name}"), scratch)
    finally:
        if keep is None:
            shutil.rmtree(scratch.parent, ignore_errors=True)
    return {"part": part.name, "what": part.what, "unit": part.unit, **asdict(outcome), "seconds": round(time.monotonic() - began, 1)}


def _play_each(parts: list[Part], counts: dict[str, int], seed: int, jobs: int, keep: Path | None) -> Iterator[dict[str, Any]]:
    """Play each part in a process of its own: one that dies takes none of the others with it."""

    def play(part: Part) -> dict[str, Any]:
        command = [sys.executable, "-m", "campaign", part.name, "--json", "--seed", str(seed), "--count", str(counts[part.name])]
        if keep is not None:
            command += ["--keep", str(keep.resolve())]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        try:
            result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            words = (done.stderr.strip().splitlines() or ["no word"])[-1]
            broken = Outcome(tried=0, failures=[f"the part itself ended with {done.returncode}: {words}"])
            result = {"part": part.name, "what": part.what, "unit": part.unit, **asdict(broken), "seconds": 0.0}
        failed = len(result["failures"])
        click.echo(f"{part.name}: {result['tried']} {part.unit}, {failed} failed, {result['seconds']:.0f} s", err=True)
        return result

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(play, parts)


def _print(results: list[dict[str, Any]], seed: int) -> None:
    console = Console(highlight=False)
    table = Table(title=f"Campaign, seed {seed}", title_justify="left")
    for head in ("part", "tried", "failed", "found", "s"):
        table.add_column(head, justify="right" if head in {"tried", "failed", "s"} else "left")
    for result in results:
        facts = "; ".join(f"{name} {value}" for name, value in result["figures"].items())
        words = ". ".join(filter(None, (result["what"], facts)))
        cells = (result["part"], f"{result['tried']:,}", str(len(result["failures"])), escape(words), f"{result['seconds']:.0f}")
        table.add_row(*cells)
    console.print(table)
    for result in results:
        for line in result["failures"][:_SHOWN_FAILURES]:
            console.print(f"{result['part']}: {ascii(line)[1:-1]}", markup=False, soft_wrap=True)
        if len(result["failures"]) > _SHOWN_FAILURES:
            console.print(f"{result['part']}: and {len(result['failures']) - _SHOWN_FAILURES} more (--json prints all)")


if __name__ == "__main__":
    main()
