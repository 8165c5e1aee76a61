"""Run a session at the terminal: progress, questions, Ctrl-C, the table, and what to do next. Imports the machinery of episodes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from talm_sim.cli.parsing.shared_arguments import OUT_OF_BUDGET, command_line, short_name
from talm_sim.cli.person.sitting import TerminalResponder
from talm_sim.cli.progress.budget_lines import left_over
from talm_sim.cli.progress.display import Display, JsonDisplay, open_display
from talm_sim.cli.report.against_paper import print_against
from talm_sim.cli.report.blocks import summary_records
from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.printed_screen import print_screens
from talm_sim.cli.report.run_usage import total_usage
from talm_sim.cli.terminal.console import say, stderr, stdout, with_command
from talm_sim.cli.terminal.signals import only_ends
from talm_sim.cli.terminal.streams import silence_stdout, streams_kept, until_reader_leaves
from talm_sim.cli.terminal.text import count, count_each, one_line, safe_text
from talm_sim.config import RunConfig, Traffic, spell
from talm_sim.errors import OptionError, PrerequisiteError, line_to_copy
from talm_sim.models import control_names
from talm_sim.runs.api import AGAIN, resume, run
from talm_sim.runs.events import BudgetSpent
from talm_sim.runs.prices import Price
from talm_sim.runs.tool_sources import resume_command
from talm_sim.store.causes import find_lost, is_lost
from talm_sim.store.files.manifest import control_name
from talm_sim.store.result_screen import quoted_row
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.outcomes import CRASHED
from talm_sim.tools_env.routes import LOGICAL_HOST
from talm_sim.types import Termination

CONTROLS = tuple(f"sim/{control}" for control in control_names.CONTROLS)
"""Models printed by `--controls`: scripts whose true metric values are known."""
FAULT_CONTROLS = tuple(f"sim/{control}" for control in control_names.FAULT_CONTROLS)
"""Models that it prints besides where faults were injected."""
_OF_COMMAND = ("display", "quiet", "log_level", "against", "budget", "prices", "name")
"""Options that a command on a stored run has for itself."""


class _WatchedWork:
    """Work that is watched.

    Attributes:
        display: Shows its progress; pass it as `on_event`.
    """

    def __init__(self, display: Display, ask: TerminalResponder) -> None:
        self.display = display
        self.ask = ask
        self.command = command_line()
        self.interrupted = False

    @property
    def spent(self) -> BudgetSpent | None:
        """What was spent where a budget left something undone; None if nothing was left."""
        found = self.display.spent
        return found if found is not None and found.left else None


@contextmanager
def watching(config: RunConfig, again: str = "") -> Iterator[_WatchedWork]:
    """Show the progress of the work in the block.

    Args:
        config: How to show it: `display`, `quiet` and `log_level`; and `name`, who answers questions.
        again: The command that continues it; by default, the one that resumes the run.
    """
    console = stderr()
    # `quiet` silences messages, not what a program reads.
    name = "none" if config.quiet and config.display != "json" else config.display
    display = open_display(name, console, logged=config.log_level in ("debug", "info"))
    session = _WatchedWork(display, TerminalResponder(display, console, config.name, plain=config.display == "plain"))
    try:
        with ExitStack() as stack:
            stack.enter_context(streams_kept())
            stack.enter_context(logging_to(console, config.log_level))
            stack.enter_context(display)
            stack.enter_context(closing(session.ask))
            yield session
    except BrokenPipeError:
        silence_stdout()
        where = f"{_format_progress(display)}, all kept; " if display.started else ""
        again = again or _resume(display)
        raise PrerequisiteError(
            f"the output is no longer read; {where}{f'continue with: {again}' if again else 'nothing had started'}"
        ) from None
    except KeyboardInterrupt:
        only_ends()
        session.interrupted = True
        again = again or _resume(display)
        kept = ", ".join(filter(None, (_format_progress(display), session.ask.counts())))
        with suppress(OSError):  # the terminal may have gone
            say(console, f"\ninterrupted: {kept}; everything is kept." if kept else "\ninterrupted before anything started")
            if again:
                click.echo(f"Continue with: {again}", err=True)


def _format_progress(display: Display) -> str:
    return f"{display.finished:,} of {count(display.started.total, 'episode')} finished" if display.started else ""


def _resume(display: Display) -> str:
    """Return the command that continues the run on display; empty if none had started."""
    if not display.started:
        return ""
    if display.started.continues:
        return display.started.continues
    path = Path(display.started.path)
    return resume_command(StoredRun(path).job, short_name(path))


def display_config(overrides: Mapping[str, Any]) -> RunConfig:
    """Return how a command on a stored run is shown: by its own options, whatever the run was made with."""
    try:
        return RunConfig(**{name: overrides[name] for name in _OF_COMMAND if name in overrides})
    except OptionError as err:
        raise PrerequisiteError(f"{spell(err.name, RunConfig)}: {err.fault}") from None


def print_result(
    runs: Sequence[StoredRun],
    blocks: Sequence[Block],
    config: RunConfig,
    prices: Mapping[str, Price] | None = None,
    *,
    spent: BudgetSpent | None = None,
    again: str = "",
) -> int:
    """Print the table of a run and those beside it (with display `json`, as the last line of the stream), then where to look next.

    Returns:
        The exit code: 4 if a budget left something undone; else 1 if episodes failed, if all of them wait for an answer, or if too few answers
        or verdicts came.
    """
    stored = runs[0]
    with until_reader_leaves():
        if config.display == "json":
            groups, cost = summary_records(runs, config.against), total_usage(stored, prices).record()
            JsonDisplay.write({"event": "summary", "run": stored.id, "path": str(stored.path), "groups": groups, "took": cost})
        else:
            print_screens(runs, blocks) if config.against is None else print_against(blocks, explained=not config.quiet)
    waits = _print_next_step(stored, config, spent, again)
    return OUT_OF_BUDGET if spent else int(bool(stored.failed or waits or is_lost(stored, stored.rows())))


def run_controls(stored: StoredRun) -> list[StoredRun]:
    """Run the control models over the run's scenarios; each is a separate run beside it."""
    job = stored.job.task.for_control(stored.job)
    job = job.having(models=None, tool_format="auto", model_options={}, judge=(), judge_model=None)
    found = []
    for model in (*CONTROLS, *(FAULT_CONTROLS if getattr(job.options, "perturb", ()) else ())):
        if model == stored.job.config.model:
            continue
        if model in FAULT_CONTROLS:  # it needs more turns than the model had
            job = job.having(turn_limit=None)
        name = control_name(stored.id, model)
        before = stored.path.parent / name
        # A second session of the run finds the controls of the first.
        try:
            found.append(resume(before) if before.exists() else run(job.having(model=model, run_id=name).config, large=True))
        except PrerequisiteError as err:  # the run itself is done, and its table is wanted
            click.echo(f"no row for {model}: {safe_text(str(err))}", err=True)
    return found


def _print_next_step(stored: StoredRun, config: RunConfig, spent: BudgetSpent | None, again: str) -> bool:
    """Print what failed, what waits and how to continue; return whether nothing is finished because every episode waits."""
    name = short_name(stored.path)
    prices = [] if config.prices is None else ["--prices", str(config.prices)]
    again = (again if spent else "") or resume_command(stored.job, name, *(["--budget", config.budget, *prices] if spent else ()))
    lines, failures, crashed = [""], stored.failed, stored.crashed_episodes()
    shown = config.against is None and stdout().is_terminal and stderr().is_terminal  # what the screen above says is not said again
    if failures:
        first = next(episode for episode in stored.episodes() if episode.termination.failed)
        known = shown and any(find_lost(stored, stored.rows()))
        example = "" if known else f", for example {safe_text(first.id)}: {one_line(first.error, 300)}"
        lines.append(f"{count(failures, 'episode')} failed{example}")
        if stored.terminations.keys() & set(AGAIN):
            lines.append(with_command("retry them with", again))
        if Termination.REPLAY_MISS in stored.terminations and stored.job.config.tools is Traffic.REPLAY:
            missed = [one.error for one in stored.episodes() if one.termination is Termination.REPLAY_MISS]
            if any(LOGICAL_HOST in error for error in missed):
                live = resume_command(stored.job, name, "--failed", "replay_miss", tools="live")
                lines.append(with_command("call the tools instead of replaying them", live))
    if crashed:
        first = next((episode for episode in crashed if episode.traceback), crashed[0])
        number = count(len(crashed), "episode")
        quoted = quoted_row(stored) if shown else None
        known = quoted is not None and quoted.outcome == CRASHED.name
        example = "" if known else f", for example {safe_text(first.id)}: {one_line(first.error, 300)}"
        lines.append(f"the agent raised an error in {number}{example}")
        if first.traceback and not known:
            lines.append(with_command("its traceback", line_to_copy("talm-sim", "show", f"{name}:{first.id}")))
    waiting, finished = stored.open_items, stored.finished
    if waiting:
        asked = () if finished else stored.pending(limit=1)
        such = "".join(f"nothing is finished yet: {safe_text(one.episode_id)} asks: {one_line(one.question)}\n" for one in asked)
        lines.append(such + with_command(f"{count_each(waiting)} open. Answer with", line_to_copy("talm-sim", "answer", name)))
    if spent is not None:
        lines.append(with_command(f"the budget is spent: {left_over(spent)}. Continue with", again))
    elif finished < stored.total:
        lines.append(with_command("not finished. Continue with", again))
    seen = next((episode.id for episode in stored.episodes()), None)
    if seen is not None and not config.quiet and config.against is not None:
        lines.append(with_command("show an episode", line_to_copy("talm-sim", "show", f"{name}:{seen}")))
        lines.append(with_command("print this table", line_to_copy("talm-sim", "report", name)))
    if lines[1:]:
        click.echo("\n".join(lines), err=True)
    return bool(waiting) and not finished


class _Handler(logging.Handler):
    """Prints records through a console, so that a line does not break the progress bar."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        self._console.print(safe_text(self.format(record)), soft_wrap=True)


@contextmanager
def logging_to(console: Console, level: str | None) -> Iterator[None]:
    """Print what the package logs within the block; nothing if no level is given."""
    if level is None:
        yield
        return
    logger, handler = logging.getLogger("talm_sim"), _Handler(console)
    before, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagates
