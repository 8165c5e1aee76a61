"""The command line: the only room that prints.

Data goes to standard output, talk to standard error. Exit codes: 0 done; 1 finished, but episodes failed or a check found something; 2 usage,
or something the user must mend first; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from talm_sim.cli.root import root
from talm_sim.cli.text import clean

__all__ = ["main"]

PROGRAM = "talm-sim"
COMPLETION = "_TALM_SIM_COMPLETE"
"""Environment variable by which a shell asks what completes a word."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: Words after the program's name; those of the process by default.
    """
    for stream in (sys.stdout, sys.stderr):
        # A lone surrogate in a model's text, or a terminal without UTF-8, must not end a run.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    if COMPLETION in os.environ:
        import talm_sim.cli.completing  # noqa: F401  # knows how bash is answered
    try:
        code = root.main(args=None if arguments is None else list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as err:
        click.echo(err.ctx.get_help())  # what Click raises holds the page as an error's text
        code = 0
    except click.ClickException as err:
        return _complain(err.format_message())
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        return _after_closed_pipe()
    except SystemExit as end:
        # Click answers a closed pipe with exit 1, which here would mean failed episodes; shell completion ends so, too.
        return _after_closed_pipe() if end.code == 1 else int(end.code or 0)
    except Exception as err:
        from talm_sim.errors import PrerequisiteError

        if not isinstance(err, PrerequisiteError):
            raise
        return _complain(str(err))
    return code if isinstance(code, int) else 0


def _complain(message: str) -> int:
    """Print one line and return the exit code of a usage error; the message may quote a file or a server."""
    click.echo(f"{PROGRAM}: error: {' '.join(clean(message).split())}", err=True)
    return 2


def _after_closed_pipe() -> int:
    """Let nothing more be written to a pipe whose reader has gone, the interpreter's last flush included."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
