"""A session of a run at the terminal: progress, questions, Ctrl-C, the table, and the way on. Imports the machinery of episodes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import click

from talm_sim.cli.arguments import command_line, short_name
from talm_sim.cli.blocks import FAILED
from talm_sim.cli.console import stderr, stdout
from talm_sim.cli.layout import Block
from talm_sim.cli.progress import Display, JsonDisplay, open_display
from talm_sim.cli.responder import TerminalResponder
from talm_sim.cli.table import table_lines
from talm_sim.cli.text import clean, count, one_line
from talm_sim.errors import PrerequisiteError
from talm_sim.models import sim
from talm_sim.runs.api import resume, run
from talm_sim.runs.load import StoredRun

__all__ = ["CONTROLS", "INTERRUPTED", "Session", "failed", "print_blocks", "print_result", "run_controls", "watching"]

CONTROLS = tuple(f"sim/{control}" for control in sim.CONTROLS)
"""Models printed by `--controls`: scripts whose true metric values are known."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class Session:
    """Work that is watched.

    Attributes:
        display: Shows its progress; hand it over as `on_event`.
        ask: Puts a run's open questions to the person at the terminal.
        command: The command line as it was typed.
        interrupted: Whether Ctrl-C ended it.
    """

    def __init__(self, display: Display, ask: TerminalResponder) -> None:
        self.display = display
        self.ask = ask
        self.command = command_line()
        self.interrupted = False


@contextmanager
def watching(display_name: str, again: str = "") -> Iterator[Session]:
    """Show the progress of the work done within. Ctrl-C ends it with the line to go on printed, and is told by `interrupted`.

    Args:
        display_name: As of `RunConfig.display`.
        again: The command that goes on; by default, that which resumes the run.
    """
    console = stderr()
    display = open_display(display_name, console)
    session = Session(display, TerminalResponder(display, console, plain=display_name == "plain"))
    try:
        with ExitStack() as stack:
            stack.enter_context(display)
            stack.enter_context(closing(session.ask))
            yield session
    except KeyboardInterrupt:
        session.interrupted = True
        if display.started and not again:
            again = shlex.join(["talm-sim", "resume", short_name(Path(display.started.path))])
        done = f"{display.finished:,} of {count(display.started.total, 'episode')} finished" if display.started else ""
        kept = ", ".join(filter(None, (done, session.ask.counts())))
        click.echo(f"\ninterrupted: {kept}; all of it is kept." if kept else "\ninterrupted: nothing had begun", err=True)
        if again:
            click.echo(f"Continue with: {again}", err=True)


def print_blocks(blocks: Sequence[Block]) -> None:
    """Print the table on standard output."""
    console = stdout()
    for line in table_lines(blocks):
        console.print(line, soft_wrap=True)


def print_result(runs: Sequence[StoredRun], blocks: Sequence[Block], display_name: str) -> int:
    """Print the table of a run and those beside it (with display `json`, as the last line of the stream), then where to look next.

    Returns:
        The exit code.
    """
    stored = runs[0]
    if display_name == "json":
        groups = [record for item in runs for record in item.summary_records()]
        JsonDisplay.write({"event": "summary", "run": stored.id, "path": str(stored.path), "groups": groups})
    else:
        print_blocks(blocks)
    _say_what_next(stored, failed(blocks[0]))
    return 1 if failed(blocks[0]) else 0


def run_controls(stored: StoredRun) -> list[StoredRun]:
    """Run the control models over the run's scenarios; each is a run of its own beside it."""
    job = stored.job.task.for_control(stored.job)
    job = job.having(models=None, tool_format="auto", model_options={}, judge=(), judge_model=None)
    found = []
    for model in CONTROLS:
        name = f"{stored.id}.{model.replace('/', '-')}"
        before = stored.path.parent / name
        # A second session of the run finds the controls of the first.
        try:
            found.append(resume(before) if before.exists() else run(job.having(model=model, run_id=name).config))
        except PrerequisiteError as err:  # the run itself is done, and its table is wanted
            click.echo(f"no row of {model}: {clean(str(err))}", err=True)
    return found


def failed(block: Block) -> int:
    """How many episodes of a run did not do what they should have."""
    real = (summary for summary in block.summaries if not summary.derived)
    return sum(number for summary in real for name, number in summary.not_scored.items() if name in FAILED)


def _say_what_next(stored: StoredRun, failures: int) -> None:
    path = shlex.quote(short_name(stored.path))
    lines = [""]
    if failures:
        first = next(episode for episode in stored.episodes() if episode.termination.value in FAILED)
        lines.append(f"{count(failures, 'episode')} failed, such as {first.id}: {one_line(first.error, 300)}")
    waiting = stored.pending()
    if waiting:
        lines.append(f"{count(len(waiting), 'question')} open. Answer with: talm-sim answer {path}")
    if stored.finished < stored.total:
        lines.append(f"not finished. Continue with: talm-sim resume {path}")
    example = next((episode.id for episode in stored.episodes()), None)
    if example is not None:
        lines.append(f"one episode: talm-sim show {shlex.quote(clean(f'{short_name(stored.path)}:{example}'))}")
        lines.append(f"this table:  talm-sim report {path}")
    click.echo("\n".join(lines), err=True)
