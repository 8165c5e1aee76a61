"""Print the screen of each run of a command: what its agent did, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from talm_sim.cli.parsing.shared_arguments import short_name
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.result_table import print_table
from talm_sim.cli.terminal.console import stdout
from talm_sim.cli.terminal.text import safe_text
from talm_sim.store.result_screen import screen_lines
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Line

STYLES = {"plain": "", "strong": "bold", "faint": "dim", "good": "green", "bad": "red", "notice": "yellow"}
"""Styles of a `Line` on a terminal."""


def print_screens(runs: Sequence[StoredRun], blocks: Sequence[Block]) -> None:
    """Print the screen of each run on standard output, one below the other, each with its block's alerts.

    A run whose scored episodes came to nothing that has a name, such as imported words without turns, is printed as a table.
    Blocks behind those of the runs, such as how far people agree, are tables below.
    """
    console, further = stdout(), blocks[len(runs) :]
    for number, (run, block) in enumerate(zip(runs, blocks, strict=False)):
        if number:
            console.print()
        if (run.imported or any(row.scored for row in run.rows())) and not any(one.measures_in("outcome") for one in block.summaries):
            print_table([block])
            continue
        print_lines(screen_lines(run, short_name(run.path), block.alerts))
    if further:
        console.print()
        print_table(further)


def print_lines(lines: Iterable[tuple[Line, ...]]) -> None:
    """Print lines of styled parts on standard output."""
    console = stdout()
    for parts in lines:
        console.print(Text.assemble(*((safe_text(part.text), STYLES[part.style]) for part in parts)), soft_wrap=True)
