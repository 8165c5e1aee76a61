"""`talm-sim export cassettes|when2call`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.arguments import command_line
from talm_sim.cli.terminal.text import count
from talm_sim.errors import PrerequisiteError, line_to_copy

__all__ = ["command"]


@click.group()
def command() -> None:
    """Export what the package contains."""


@command.command("cassettes")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("cassettes-export"),
    show_default=True,
    help="Directory to write.",
)
@click.option(
    "--from", "source", type=click.Path(path_type=Path), metavar="DIR", help="Directory of packed recordings. Default: the bundled ones."
)
def cassettes(target: Path, source: Path | None) -> None:
    """Unpack recordings into JSON cassettes that plain vcrpy can read."""
    from talm_sim.recordings import export, shipped_cassettes

    source = source or shipped_cassettes()
    written = export(source, target)
    if not written:
        raise PrerequisiteError(f"{source}: contains no packed recordings.")
    click.echo(target)
    replay = line_to_copy("talm-sim", "run", "--replay", "--cassettes", str(target))
    click.echo(f"{count(len(written), 'file')} written; replay them with: {replay}", err=True)


@command.command("when2call")
@click.argument("scenarios", type=click.Path(path_type=Path), metavar="SCENARIOS")
@click.option("--kind", type=click.Choice(["mcq", "sft", "preference"]), required=True, help="Rows to write: questions or training rows.")
@click.option("--form", type=click.Choice(["when2call", "trl"]), default="when2call", show_default=True, help="Format to write.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="JSONL file to write; its data card goes to FILE's .json."
)
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Random seed.")
@click.option(
    "--balance",
    type=click.Choice(["natural", "paper"]),
    default="natural",
    show_default=True,
    help="Keep all classes as they are, or in the paper's proportions.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def when2call(scenarios: Path, out: Path, force: bool, **options: Any) -> None:
    """Write a test or training set from multiple-choice scenarios.

    SCENARIOS is a JSONL file of scenarios or of When2Call's test rows, or hub:OWNER/DATASET[:FILE]. Half of a preference set rejects a
    wrong behaviour, the other half a damaged tool call. A data card is written next to FILE: sources and licences, settings, counts, and
    what was left out and why.
    """
    from talm_sim.recordings.files import write_atomically
    from talm_sim.scenarios.hub import local_file
    from talm_sim.tasks import find_task
    from talm_sim.tasks.when2call.published import TASK
    from talm_sim.tasks.when2call.training.sets import build_set, card

    beside = out.with_suffix(".json")
    if out == beside:
        raise PrerequisiteError(f"--out: '{out}' would be overwritten by its own data card; choose a name that ends in .jsonl.")
    for path in (out, beside):
        if path.exists() and not force:
            raise PrerequisiteError(f"{path}: exists; choose another --out, or add --force to overwrite it.")
    task = find_task(TASK)
    found = local_file(scenarios, task.hub_file)
    read = task.read(task.splits["all"], found)
    made = build_set(read, options["kind"], options["form"], seed=options["seed"], balance=options["balance"])
    text = made.text().encode()
    described = card(
        made,
        read,
        [{"file": str(scenarios), "sha256": hashlib.sha256(found.read_bytes()).hexdigest()}],
        command=command_line(),
        seed=options["seed"],
        balance=options["balance"],
        sha256=hashlib.sha256(text).hexdigest(),
    )
    write_atomically(out, text)
    write_atomically(beside, (json.dumps(described, indent=1, ensure_ascii=False) + "\n").encode())
    click.echo(out)
    left = sum(map(len, made.left_out.values()))
    click.echo(f"{count(len(made.rows), 'row')} from {count(len(read), 'scenario')}, {left:,} left out; why: {beside}", err=True)
