"""`talm-sim report RUN...`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.gating import Gating
from talm_sim.cli.parsing.arguments import completer_for, json_option, plugin_option, print_csv, print_json, run_dir_option, warn_unclosed
from talm_sim.cli.parsing.lazy import prices_option
from talm_sim.cli.parsing.options import config_options
from talm_sim.cli.report.blocks import block_of, judge_hint, reading_together, summary_records
from talm_sim.cli.report.files import check_page_name, write_file
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.markdown import markdown
from talm_sim.cli.report.run_facts import run_facts
from talm_sim.cli.report.table import print_table
from talm_sim.runs.files.manifest import LATEST
from talm_sim.runs.prices import Price
from talm_sim.runs.stored_run import StoredRun, load_run

__all__ = ["command"]


@config_options("gate", "baseline", "junit", "summary")
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
    against: str | None,
    quiet: bool,
    **gates: Any,
) -> int:
    """Print the table of stored runs, or write it as a page or picture.

    Several runs are printed one below the other. Without RUN, the newest is printed. Below each rate is its 95 % Wilson interval, and n is
    the number of episodes it covers.
    """
    if as_json + as_csv + as_markdown > 1:
        raise click.UsageError("--json, --csv and --markdown exclude each other.")
    if rows and as_markdown:
        raise click.UsageError("--rows needs --csv or --json.")
    if prices is not None and (as_json or as_csv or rows):
        raise click.UsageError("--prices works with the table, --markdown and --html; --rows has the tokens per episode.")
    if page is not None:
        check_page_name(page)
    gating = Gating(gates, run_dir)
    stored = [load_run(run, run_dir) for run in runs or (LATEST,)]
    with reading_together(stored):
        for item in stored:
            if not item.closed:
                warn_unclosed(item.path, imported=item.imported)
        if page is not None or picture is not None:
            _write(_disambiguate([block_of(item, against=against, prices=prices) for item in stored], stored), stored, page, picture)
        if (page is None and picture is None) or as_json or as_csv or as_markdown or rows:
            _print(stored, as_json=as_json, as_csv=as_csv, rows=rows, as_markdown=as_markdown, prices=prices, against=against, quiet=quiet)
        gating.check(stored)
        return gating.conclude(stored, lambda: _disambiguate([block_of(item, against=against, prices=prices) for item in stored], stored))


def _print(
    stored: Sequence[StoredRun],
    *,
    as_json: bool,
    as_csv: bool,
    rows: bool,
    as_markdown: bool,
    prices: Mapping[str, Price] | None,
    against: str | None,
    quiet: bool,
) -> None:
    """Print the runs in the form that was asked for."""
    if as_json or as_csv or rows:
        records = [record for item in stored for record in item.to_records()] if rows else summary_records(stored, against)
        (print_json if as_json else print_csv)(records)
        return
    blocks = _disambiguate([block_of(item, against=against, on_screen=not (as_markdown or quiet), prices=prices) for item in stored], stored)
    if as_markdown:
        click.echo(markdown(blocks, explained=not quiet))
        return
    print_table(blocks, explained=not quiet)
    for hint in judge_hint(stored[0]) if len(stored) == 1 and not quiet else ():
        click.echo(f"\n{hint}", err=True)


def _write(blocks: Sequence[Block], runs: Sequence[StoredRun], page: Path | None, picture: Path | None) -> None:
    """Write the requested files; all are made before the first is written. A page has tables for what cannot be drawn."""
    from talm_sim.cli.report import page as report_page
    from talm_sim.cli.report import picture as report_picture

    made: list[tuple[Path, bytes]] = []
    if page is not None:
        facts = [run_facts(run) for run in runs]
        made.append((page, report_page.make_page(blocks, facts).encode("utf-8")))
    if picture is not None:
        made.append((picture, report_picture.picture(picture, blocks)))
    for file, data in made:
        write_file(file, data)


def _disambiguate(blocks: Sequence[Block], runs: Sequence[StoredRun]) -> list[Block]:
    """Return the blocks, with the run's name after a title that several share."""
    times = Counter(block.title for block in blocks)
    return [
        replace(block, title=f"{block.title} [{run.id}]") if times[block.title] > 1 else block for block, run in zip(blocks, runs, strict=True)
    ]
