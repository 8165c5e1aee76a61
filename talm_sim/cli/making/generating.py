"""`talm-sim scenarios generate` at the terminal: its progress and its results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from talm_sim.cli.parsing.shared_arguments import command_line, print_json, print_list
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.common.interrupts import run_in_order
from talm_sim.errors import line_to_copy
from talm_sim.runs.make_scenarios import bound_of, make_scenarios
from talm_sim.scenarios.making.outcome import Made
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.makers import Maker


def making_session(task: str, maker: Maker[Any, Any, Any]) -> dict[str, Any]:
    """Make scenarios and return the report."""
    console = stderr()
    model = maker.options.model

    def announce(recorded: Path | None, bound: Bound) -> None:
        where = f", recorded below {recorded}" if recorded else ""
        console.print(f"live: {one_line(model.split('/', 1)[0])} (model {one_line(model)}{where})", style="bold yellow")
        console.print(f"{_format_bound(bound)}; retries are extra", soft_wrap=True)

    try:
        with _progress(console, maker.noun) as on_progress:
            return run_in_order(make_scenarios(task, maker, command=command_line(), on_live=announce, on_progress=on_progress))
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may have gone
            click.echo(f"interrupted; finished work is kept in {maker.options.out}; run the same command to continue", err=True)
        raise


def print_bound(maker: Maker[Any, Any, Any], *, as_json: bool) -> None:
    """Print what making the scenarios may cost, and make nothing."""
    number, bound = bound_of(maker)
    if as_json:
        tokens = {"input_tokens": bound.input_tokens, "output_tokens": bound.output_tokens}
        print_json({"sources": number, "model": maker.options.model, "requests": bound.most, **tokens})
        return
    click.echo(f"{count(number, maker.noun)}, model {one_line(maker.options.model)}: {_format_bound(bound)}")
    click.echo("nothing was made; retries are extra", err=True)


def _format_bound(bound: Bound) -> str:
    return f"at most {count(bound.most, 'request')}, {bound.input_tokens:,} tokens in, {bound.output_tokens:,} out"


def print_report(report: Mapping[str, Any], maker: Maker[Any, Any, Any]) -> None:
    """Print what was made and what was rejected, and why."""
    for number, (rows, heads) in enumerate(maker.listings(report)):
        if number and rows:
            click.echo()
        if rows or not number:
            print_list(rows, heads, empty="nothing was made")
    sources = report["sources"]
    click.echo(f"{sources['finished']} of {count(sources['asked'], maker.noun)}", err=True)
    for note in maker.notes(report):
        click.echo(one_line(note, 300), err=True)
    for one in sources["failed"]:
        click.echo(f"failed {one_line(one['id'])}: {one_line(one['reason'])}; run the same command to try again", err=True)
    out = maker.options.out
    review = f"; review them with: {line_to_copy('talm-sim', 'scenarios', 'review', str(out))}" if maker.reviewer else ""
    click.echo(f"written to {out}{review}", err=True)


@contextmanager
def _progress(console: Console, noun: str) -> Iterator[Callable[[int, int, Made | None], None]]:
    """Show a bar with the time left on a terminal, otherwise a line for every source."""
    if console.is_terminal:
        columns = (TextColumn(f"{noun}s"), BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
        bars = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
        task = bars.add_task("", total=None)

        def move(done: int, total: int, outcome: Made | None) -> None:
            bars.start()  # not earlier: errors about what is missing are printed without a bar
            bars.update(task, completed=done, total=total)

        try:
            yield move
        finally:
            if bars.live.is_started:
                bars.stop()
        return
    began, before = time.monotonic(), 0

    def line(done: int, total: int, outcome: Made | None) -> None:
        nonlocal before
        if outcome is None:
            before = done
            console.print(f"{count(total, noun)}, {done} finished before", soft_wrap=True)
            return
        left = (time.monotonic() - began) / max(1, done - before) * (total - done)
        what = f"failed: {outcome.failed}" if outcome.failed else outcome.summary_text
        text = f"[{done:>{len(str(total))}}/{total}] {one_line(outcome.source)}: {what}; about {left:.0f} s left"
        console.print(one_line(text, 300), soft_wrap=True)

    yield line
