"""The command line: the only room that prints.

Data goes to standard output, talk to standard error. Exit codes: 0 done; 1 finished, but episodes failed, a gate was missed or a check found
something; 2 usage, or something the user must fix first; 3 two runs cannot be compared; 4 a budget left something undone; 130 interrupted
(143 by SIGTERM, 129 by SIGHUP).

From the lowest layer up:

- `terminal/` is the terminal itself, `parsing/` reads the line that is typed
- `progress/` shows a run in progress, `report/` and `pages/` show stored runs, `view/` serves their page
- `person/` lets a person answer and judge, `making/` make scenarios
- `gate_output.py` checks and prints gates, `shown_forecast.py` prints a forecast
- `run_session.py` is a session of a run, `try_session.py` tries an agent
- `commands/` holds a file for each command, `root.py` is their table
"""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

import click

from talm_sim.cli.root import root
from talm_sim.cli.terminal.signals import StopSignals, as_ctrl_c, only_ends
from talm_sim.cli.terminal.streams import data_alone, settle_stdout, silence_stdout, streams_kept, tolerate_closed_stderr
from talm_sim.cli.terminal.text import hider, safe_text
from talm_sim.common.processes import end_in_time, leave
from talm_sim.errors import EmptyShardError, NotComparableError, OutOfBudgetError, PrerequisiteError, on_command_line

__all__ = ["main"]

PROGRAM = "talm-sim"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a stream that takes no more. Those of a named file are reported by the code that opened it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A lone surrogate in a model's text, or a terminal without UTF-8, must not end a run.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if sys.stdout is None:
        return _print_usage_error("standard output is closed; redirect it to a file or to /dev/null.")
    hider.cache_clear()
    before = signal.getsignal(signal.SIGINT)
    with _on_command_line(), tolerate_closed_stderr(), data_alone(), as_ctrl_c() as ending:
        try:
            with streams_kept():
                code = root.main(args=None if arguments is None else list(arguments), prog_name=PROGRAM, standalone_mode=False)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as err:
            click.echo(err.ctx.get_help())  # what Click raises holds the page as an error's text
            code = 0
        except BaseException as err:
            # Where the terminal has gone with the signal, nothing can be printed there.
            gone = bool(ending.number) and isinstance(err, OSError)
            try:
                code = _exit_code(KeyboardInterrupt() if gone else err, ending)
            except KeyboardInterrupt as again:  # pressed again before that was heard
                code = _exit_code(again, ending)
        code = ending.code(code) if isinstance(code, int) else 0
    settle_stdout()
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the interpreter's end is no place for an error
    if arguments is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)  # the caller continues
    if arguments is None:
        end_in_time(code, lambda line: print(line, file=sys.stderr))
    return leave(code)


@contextlib.contextmanager
def _on_command_line() -> Iterator[None]:
    token = on_command_line.set(True)
    try:
        yield
    finally:
        on_command_line.reset(token)


def _exit_code(err: BaseException, ending: StopSignals) -> int:
    """Return the exit code of a command that did not end by itself; a bug is raised."""
    code = 0
    if isinstance(err, click.ClickException):
        from talm_sim.cli.parsing.option_errors import usage_message  # not at the top: a help page needs no errors

        code = _print_usage_error(usage_message(err))
    elif isinstance(err, click.Abort | KeyboardInterrupt):
        only_ends()
        # CPython remembers an interrupt inside exec(), by which dataclasses are made; `python -m talm_sim` would die of it at its end.
        exec("")
        code = 130
    elif isinstance(err, SystemExit) and err.code != 1:
        code = int(err.code or 0)
    elif isinstance(err, BrokenPipeError | SystemExit):
        # A reader that has seen enough, for example `head`, is not an error. Click's exit 1 for it would mean failed episodes here.
        silence_stdout()
    elif isinstance(err, OSError) and err.errno in _NO_ROOM and err.filename is None:
        silence_stdout()
        code = _print_usage_error(f"the output cannot be written: {err.strerror}.")
    elif isinstance(err, EmptyShardError):
        with contextlib.suppress(OSError):
            click.echo(f"{PROGRAM}: {err}", err=True)
    elif isinstance(err, PrerequisiteError):
        code = _print_usage_error(str(err))
        code = 3 if isinstance(err, NotComparableError) else 4 if isinstance(err, OutOfBudgetError) else code
    elif ending.pressed_since():
        code = _exit_code(KeyboardInterrupt(), ending)
    elif isinstance(err, PermissionError) and err.filename is not None:
        code = _print_usage_error(f"{err.filename}: {err.strerror}; give yourself the right to read and write it.")
    elif f"{type(err).__module__}.{type(err).__name__}" == "sqlite3.DatabaseError":  # itself: its kinds may be our mistakes
        code = _print_usage_error(f"the run's file run.db has been changed while it was used ({err}); talm-sim resume says what is left of it.")
    else:
        raise err
    return code


def _print_usage_error(message: str) -> int:
    """Print one line and return the exit code of a usage error; the message may quote a file or a server."""
    with contextlib.suppress(OSError):
        click.echo(f"{PROGRAM}: error: {' '.join(safe_text(message).split())}", err=True)
    return 2
