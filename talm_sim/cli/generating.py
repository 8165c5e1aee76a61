"""`talm-sim scenarios generate` at the terminal: how it goes on, and what it made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from talm_sim.cli.arguments import command_line, print_list
from talm_sim.cli.console import stderr
from talm_sim.cli.text import count, one_line
from talm_sim.runs.generating import generate_items
from talm_sim.scenarios.generate.options import GenerateOptions
from talm_sim.scenarios.generate.pipeline import Outcome

__all__ = ["generate_session", "print_report"]


def generate_session(options: GenerateOptions) -> dict[str, Any]:
    """Generate items and return the report.

    Raises:
        PrerequisiteError: Something is missing or wrong; the message says what to mend.
    """
    console = stderr()

    def announce(recorded: Path | None) -> None:
        where = f", recorded below {recorded}" if recorded else ""
        console.print(f"live: {one_line(options.model.split('/', 1)[0])} (model {one_line(options.model)}{where})", style="bold yellow")

    try:
        with _progress(console) as on_progress:
            return asyncio.run(generate_items(options, command=command_line(), on_live=announce, on_progress=on_progress))
    except KeyboardInterrupt:
        click.echo(f"interrupted; what was finished is kept in {options.out}, and the same command goes on", err=True)
        raise


def print_report(report: Mapping[str, Any], out: Path) -> None:
    """Print what was made and what was rejected, and why."""
    rows = [
        {"item": name, "made": str(item["made"]), "rejected": str(item["rejected"]), "not_tried": str(sum(item["not_tried"].values()))}
        for name, item in report["items"].items()
    ]
    print_list(rows, {"item": "Right answer", "made": "Items made", "rejected": "Given up", "not_tried": "Not tried"}, empty="no item")
    why = [
        {"count": str(one["count"]), "item": one["item"], "text_of": one["text_of"], "check": one["check"]}
        for one in report["rejected_texts"]["why"]
    ]
    if why:
        click.echo()
        heads = {"count": "Texts", "item": "Item", "text_of": "Text", "check": "Failed check"}
        print_list(why, heads, empty="")
    sources, shown = report["sources"], report["rows"]
    lost = f", {count(len(sources['not_derived']), 'scenario')} could not be taken apart" if sources["not_derived"] else ""
    click.echo(f"{sources['finished']} of {count(sources['asked'], 'source question')}{lost}", err=True)
    rejected = count(report["rejected_texts"]["total"], "text")
    click.echo(f"{count(shown['total'], 'row')}: {_parts(shown['tools_shown'], 'tools')}; {rejected} rejected", err=True)
    for reason, number in sources["dropped"].items():
        click.echo(f"dropped {number}: {one_line(reason)}", err=True)
    for one in sources["failed"]:
        click.echo(f"failed {one_line(one['id'])}: {one_line(one['reason'])}; the same command tries it again", err=True)
    click.echo(f"written to {out}; read through them: talm-sim scenarios review {out}", err=True)


def _parts(counts: Mapping[str, int], noun: str) -> str:
    return ", ".join(f"{number:,} with {name} {noun.removesuffix('s') if name == '1' else noun}" for name, number in counts.items()) or "none"


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[int, int, Outcome | None], None]]:
    """A bar with the time left on a terminal, else a line for every source question."""
    if console.is_terminal:
        columns = (TextColumn("source questions"), BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
        bars = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        task = bars.add_task("", total=None)

        def move(done: int, total: int, outcome: Outcome | None) -> None:
            bars.start()  # not before: what is missing is told without a bar
            bars.update(task, completed=done, total=total)

        try:
            yield move
        finally:
            if bars.live.is_started:
                bars.stop()
        return
    began, before = time.monotonic(), 0

    def line(done: int, total: int, outcome: Outcome | None) -> None:
        nonlocal before
        if outcome is None:
            before = done
            console.print(f"{count(total, 'source question')}, {done} finished before", soft_wrap=True)
            return
        left = (time.monotonic() - began) / max(1, done - before) * (total - done)
        made = f"{count(len({row['correct_answer'] for row in outcome.rows}), 'item')}, {len(outcome.given_up)} given up"
        what = outcome.dropped or (f"failed: {outcome.failed}" if outcome.failed else made)
        text = f"[{done:>{len(str(total))}}/{total}] {one_line(outcome.source)}: {what}; about {left:.0f} s left"
        console.print(one_line(text, 300), soft_wrap=True)

    yield line
