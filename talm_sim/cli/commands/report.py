"""`talm-sim report RUN...`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.arguments import completer_for, json_option, plugin_option, print_csv, print_json, run_dir_option, warn_unclosed
from talm_sim.cli.parsing.lazy import prices_option
from talm_sim.cli.report.blocks import block_of, judge_hint, reading_together, summary_records
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.power import power_options, print_power
from talm_sim.cli.report.run_facts import run_facts
from talm_sim.cli.report.table import print_table
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import one_line
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.files import write_atomically
from talm_sim.runs.files.manifest import LATEST
from talm_sim.runs.prices import Price
from talm_sim.runs.stored_run import StoredRun, load_run

__all__ = ["command"]


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completer_for("run"))
@run_dir_option
@plugin_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--rows", is_flag=True, help="Print one line per episode instead of per group, for --csv (or --json).")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a Markdown table.")
@click.option(
    "--html", "page", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page, including pictures."
)
@click.option(
    "--picture",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write matrices, and rates with their intervals, as a picture (.png or .svg).",
)
@prices_option
@power_options
@click.option("--against", type=click.Choice(["paper"]), help="Print the paper's published results below.")
@click.option("-q", "--quiet", is_flag=True, help="Print no legend, no hints, and published results only if asked for.")
def command(
    *,
    runs: tuple[str, ...],
    run_dir: Path,
    as_json: bool,
    as_csv: bool,
    rows: bool,
    as_markdown: bool,
    page: Path | None,
    picture: Path | None,
    prices: Mapping[str, Price] | None,
    power: str | None,
    n: int | None,
    drop: float | None,
    against: str | None,
    quiet: bool,
) -> None:
    """Print the table of stored runs, or write it as a page or picture.

    Several runs are printed one below the other. Without RUN, the newest is printed. Below each rate is its 95 % Wilson interval, and n is
    the number of episodes it covers.
    """
    _check_forms(click.get_current_context().params)
    stored = [load_run(run, run_dir) for run in runs or (LATEST,)]
    with reading_together(stored):
        for item in stored:
            if not item.closed:
                warn_unclosed(item.path, imported=item.imported)
        if power is not None:
            print_power(stored, power, n=n, drop=drop, as_json=as_json, as_csv=as_csv)
            return
        if page is not None or picture is not None:
            _write(_disambiguate([block_of(item, against=against, prices=prices) for item in stored], stored), stored, page, picture)
            if not (as_json or as_csv or as_markdown or rows):
                return
        if as_json or as_csv or rows:
            records = [record for item in stored for record in item.to_records()] if rows else summary_records(stored, against)
            (print_json if as_json else print_csv)(records)
            return
        blocks = _disambiguate(
            [block_of(item, against=against, on_screen=not (as_markdown or quiet), prices=prices) for item in stored], stored
        )
        if as_markdown:
            click.echo(markdown(blocks, explained=not quiet))
            return
        print_table(blocks, explained=not quiet)
        for hint in judge_hint(stored[0]) if len(stored) == 1 and not quiet else ():
            click.echo(f"\n{hint}", err=True)


def _check_forms(given: Mapping[str, Any]) -> None:
    """Check that the options go together."""
    data = [name for name in ("as_json", "as_csv", "as_markdown") if given[name]]
    if len(data) > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    if given["rows"] and given["as_markdown"]:
        raise click.UsageError("--rows needs --csv or --json.")
    if given["prices"] is not None and (given["as_json"] or given["as_csv"] or given["rows"]):
        raise click.UsageError("--prices works with the table, --markdown and --html; --rows has the tokens per episode.")
    if given["page"] is not None and given["page"].suffix.lower() not in {".html", ".htm"}:
        raise PrerequisiteError(f"--html {given['page']}: the name must end in .html.")
    if given["power"] is None and (given["n"] is not None or given["drop"] is not None):
        raise click.UsageError("--n and --drop need --power.")
    others = ("rows", "as_markdown", "page", "picture", "prices", "against")
    if given["power"] is not None and any(given[name] not in (None, False) for name in others):
        raise click.UsageError("--power prints a table of its own; of the other forms it has --json and --csv.")


def _write(blocks: Sequence[Block], runs: Sequence[StoredRun], page: Path | None, picture: Path | None) -> None:
    """Write the requested files; all are made before the first is written. A page has tables for what cannot be drawn."""
    from talm_sim.cli.report import page as report_page
    from talm_sim.cli.report import picture as report_picture

    made: list[tuple[Path, bytes]] = []
    if page is not None:
        facts = [run_facts(run) for run in runs]
        try:
            written = report_page.report_page(blocks, facts)
        except PrerequisiteError as err:  # what draws is not installed, and every picture has its table
            stderr().print(f"tables without pictures: {err}", style="dim", soft_wrap=True)
            written = report_page.report_page(blocks, facts, drawn=False)
        made.append((page, written.encode("utf-8")))
    if picture is not None:
        made.append((picture, report_picture.picture(picture, blocks)))
    for file, data in made:
        if not file.parent.exists():
            stderr().print(f"made: {one_line(str(file.parent))}", style="dim", soft_wrap=True)
        write_atomically(file, data)
        stderr().print(f"written: {one_line(str(file))}", style="dim", soft_wrap=True)


def _disambiguate(blocks: Sequence[Block], runs: Sequence[StoredRun]) -> list[Block]:
    """Return the blocks, with the run's name after a title that several share."""
    times = Counter(block.title for block in blocks)
    return [
        replace(block, title=f"{block.title} [{run.id}]") if times[block.title] > 1 else block for block, run in zip(blocks, runs, strict=True)
    ]
