"""`talm-sim view RUN...`."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.shared_arguments import plugin_option, run_dir_option, warn_unclosed
from talm_sim.cli.terminal.text import safe_text
from talm_sim.config import check_person
from talm_sim.errors import PrerequisiteError
from talm_sim.store.stored_run import load_run


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completer_for("run"))
@run_dir_option
@plugin_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port on loopback; 0 picks a free one.")
@click.option(
    "--name",
    default="",
    metavar="NAME",
    envvar="TALM_SIM_NAME",
    show_envvar=True,
    help="Your name in comments; the page has a field for it, too.",
)
@click.option("--no-browser", is_flag=True, help="Only print the link. Default: also open a browser if there is a screen.")
def command(runs: tuple[str, ...], run_dir: Path, port: int, name: str, no_browser: bool) -> None:
    """Show runs as a page in the browser, live while they go on.

    The page is that of `report --html`, with every transcript. While a run goes on, finished episodes appear by themselves. On the page you
    can write comments on episodes: they are kept in the run and exported with it, and count in no rate. Without RUN, the newest run is shown.

    Ctrl-C ends it. Only this machine can reach the page, and only with the link, which works once; Enter prints a new one.
    """
    from talm_sim.cli.view.app import (
        Guard,
        make_app,  # not at the top: a help page needs no server
    )
    from talm_sim.cli.view.watched import WatchedRuns
    from talm_sim.world.serve import serve_app

    try:
        check_person(name)
    except ValueError as err:
        raise PrerequisiteError(f"--name: {err}.") from None
    stored = [load_run(run, run_dir) for run in runs or (None,)]
    for one in stored:
        if not one.closed:
            warn_unclosed(one.path, imported=one.imported)
    watched = WatchedRuns(stored)
    watched.state()  # what cannot be read is said here, not on a page
    guards: list[Guard] = []

    def make(address: str) -> Guard:
        guards.append(Guard(make_app(watched, name), address))
        return guards[0]

    def ready(address: str) -> None:
        click.echo(guards[0].new_link())
        names = ", ".join(safe_text(one.id) for one in stored)
        click.echo(f"Showing {names}. The link works once; Enter prints another, Ctrl-C ends.", err=True)
        threading.Thread(target=_print_links, args=(guards[0].new_link,), daemon=True).start()
        if not no_browser and _has_screen():
            _open_browser(guards[0].new_link())

    try:
        serve_app(make, port, on_ready=ready)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


def _print_links(new_link: Callable[[], str]) -> None:
    """Print a link for each line that is typed here; a process in the background would be stopped for reading it."""
    while sys.stdin is not None and sys.stdin.isatty():
        ready = select.select([0], [], [])[0]
        if os.tcgetpgrp(0) != os.getpgrp():
            time.sleep(1)
        elif ready and os.read(0, 1024):
            click.echo(new_link())
        else:
            return


def _has_screen() -> bool:
    """Return whether the user can see a browser that is opened on this machine."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(link: str) -> None:
    import webbrowser

    # In a thread: a browser in the terminal returns when it is closed.
    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
