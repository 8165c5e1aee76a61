"""What is imported only when it is called: the commands of a group, and what completes a word in a shell."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import click

__all__ = ["LazyGroup", "completed"]


def completed(kind: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """How a parameter completes what it names; see `talm_sim.cli.completing`, which is imported when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
        from talm_sim.cli.completing import completes

        return completes(kind)(context, parameter, incomplete)

    return complete


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
        """Names in the order of the help page."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for an unknown name."""
        if cmd_name not in self._entries:
            return None
        module, _, attribute = self._entries[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as Click does, with a hint for a misspelt name."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as err:
            raise click.NoSuchCommand(err.command_name, possibilities=self._entries, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one definition list a section; the column of names is as wide in all of them."""
        width = max(map(len, self._entries))
        for title, entries in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), short) for name, (_, short) in entries.items()])
