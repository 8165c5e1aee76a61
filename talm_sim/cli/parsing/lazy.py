"""Import on demand: the commands of a group, the completion of words in a shell, the reader of a price file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click


def completer_for(
    kind: str, place: str = "", *, several: bool = False, files: bool = False
) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return how a parameter completes its values; see `talm_sim.cli.parsing.completing`, which is imported when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from talm_sim.cli.parsing.completing import completes

        return completes(kind, place, several=several, files=files)(context, parameter, incomplete)

    return complete


def _read_prices(_: click.Context, __: click.Parameter, file: Path | None) -> Any:
    from talm_sim.runs.prices import read_prices

    return None if file is None else read_prices(file)


prices_option: Callable[..., Any] = click.option(
    "--prices", type=click.Path(path_type=Path), metavar="F.toml", callback=_read_prices, help="Also print the cost, at these prices."
)
"""Read prices of models before anything is done, so that a mistake in the file costs no run."""


_EXIT_CODES = {
    0: "done",
    1: "a failed episode, a missed gate or a finding",
    2: "something to fix first",
    3: "not comparable",
    4: "budget spent",
    130: "interrupted",
}


def exit_codes(*codes: int, but: str = "") -> str:
    """Return the line of a help page about these exit codes, or about all; `but` is what 1 means there."""
    meant = _EXIT_CODES | ({1: but} if but else {})
    return f"Exit codes: {'; '.join(f'{code} {meant[code]}' for code in codes or meant)}."


class WholeGroup(click.Group):
    """A group whose help page has the first sentence of each command, and cuts none."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one definition list."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(10_000)) for name, command in commands if command])


class LazyGroup(click.Group):
    """A group with its commands in titled sections.

    Args:
        sections: Title to command name to (`module:attribute`, short help).
    """

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, tuple[str, str]]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections
        self._entries = {name: entry for section in sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List names in the order of the help page."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for an unknown name."""
        if cmd_name not in self._entries:
            return None
        module, _, attribute = self._entries[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one definition list per section; the column of names is equally wide in all of them."""
        width = max(map(len, self._entries))
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), short) for name, (_, short) in entries.items()])
