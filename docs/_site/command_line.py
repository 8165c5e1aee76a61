"""Directive `command-line`: every command with its arguments and options, taken from the help pages themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from inspect import cleandoc

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.rst import escape

from talm_sim.cli.parsing.field_options import fields_without_flags
from talm_sim.cli.parsing.options import ConfigCommand
from talm_sim.cli.root import root
from talm_sim.tasks.registry import find_task, list_tasks

PROGRAM = "talm-sim"
ALL_OPTIONS = "talm_sim.help_all"
"""Key of Click's context by which a help page shows every option, as `--help-all` does."""
Rows = list[tuple[str, str]]


class Sections(click.HelpFormatter):
    """Collects the lists of a help page by title, in place of laying them out as text."""

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[str, Rows] = {}
        self._title = ""

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Collect what is written under a title."""
        before, self._title = self._title, name
        yield
        self._title = before

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Collect the rows of a list."""
        self.lists.setdefault(self._title, []).extend((term.strip(), text) for term, text in rows)


class CommandLine(SphinxDirective):
    """Describes all commands, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        lines = [line for name in root.list_commands(click.Context(root)) for line in describe([name], top=True)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def describe(path: Sequence[str], *, top: bool = False) -> Iterator[str]:
    """Yield the lines of reStructuredText that describe a command, and the commands below it."""
    context = click.Context(root, info_name=PROGRAM)
    command: click.Command = root
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    title = " ".join([PROGRAM, *path])
    yield from (f".. _command-{'-'.join(path)}:", "", title, ("-" if top else "~") * len(title), "")
    yield from paragraphs(cleandoc(command.help or ""))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from describe([*path, name])
        return
    yield from (".. code-block:: text", "", f"   {title} {' '.join(command.collect_usage_pieces(context))}", "", f".. program:: {title}", "")
    for heading, rows in option_lists(command, context).items():
        yield from (f"**{escape(heading)}**", "")
        for term, text in rows:
            yield from (f".. option:: {term}", "", f"   {escape(text)}", "")


def option_lists(command: click.Command, context: click.Context) -> dict[str, Rows]:
    """Return the lists of a command's help page, with the options of every task."""
    tasks = [find_task(name) for name in list_tasks()] if isinstance(command, ConfigCommand) else [None]
    lists: dict[str, Rows] = {}
    for task in tasks:
        page = Sections()
        context.meta.update({ALL_OPTIONS: True, "task": task})
        with context.scope(cleanup=False) if task else nullcontext():
            command.format_options(context, page)
        for title, rows in page.lists.items():
            lists.setdefault(title, rows)
    if command.name == "run":
        lists["Options without a flag"] = list(dict.fromkeys(row for task in tasks for row in fields_without_flags(task)))
    return lists


def paragraphs(text: str) -> Iterator[str]:
    """Yield a help text as reStructuredText; a paragraph that Click must not wrap is shown as it is."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield from ("::", "", *(f"   {line}" for line in paragraph.splitlines()[1:]), "")
        else:
            yield from (escape(" ".join(paragraph.split())), "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
