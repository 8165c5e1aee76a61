"""`talm-sim explain WORD`."""

from __future__ import annotations

import re

import click

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.shared_arguments import plugin_option
from talm_sim.cli.report.explanations import explained_entries
from talm_sim.cli.terminal.screen import wrap
from talm_sim.errors import PrerequisiteError, suggest_nearest

_WIDTH = 79


@click.command()
@click.argument("word", shell_complete=completer_for("explained"))
@plugin_option
def command(word: str) -> int:
    """Explain an outcome, a measure, a control, a split or a fault.

    Rows and columns of `talm-sim try` are explained, too.
    """
    found = [lines for name, lines in explained_entries() if _plain(word) in {_plain(one) for one in name}]
    if not found:
        known = sorted({one for name, _ in explained_entries() for one in name})
        raise PrerequisiteError(
            f"explain: nothing is called '{word}'.{suggest_nearest(word, known) or ' See: talm-sim report --all, docs/numbers.md'}"
        )
    for number, lines in enumerate(dict.fromkeys(found)):
        if number:
            click.echo()
        for line in lines:
            for part in wrap(line, _WIDTH, "", "  "):
                click.echo(part)
    return 0


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word.casefold()).strip().removeprefix("sim/")
