"""`talm-sim export cassettes`."""

from __future__ import annotations

from pathlib import Path

import click

from talm_sim.cli.text import count
from talm_sim.errors import PrerequisiteError

__all__ = ["command"]


@click.group()
def command() -> None:
    """Write out what the package holds."""


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
    "--from", "source", type=click.Path(path_type=Path), metavar="DIR", help="Directory of packed recordings. Default: the shipped ones."
)
def cassettes(target: Path, source: Path | None) -> None:
    """Unpack the recordings into JSON cassettes that plain vcrpy reads."""
    from talm_sim.tools_env.cassettes import export, shipped_cassettes

    source = source or shipped_cassettes()
    written = export(source, target)
    if not written:
        raise PrerequisiteError(f"{source}: holds no packed recording.")
    click.echo(target)
    click.echo(f"{count(len(written), 'file')} written; replay them with: talm-sim run --replay --cassettes {target}", err=True)
