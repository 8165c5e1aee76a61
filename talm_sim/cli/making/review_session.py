"""`talm-sim scenarios review` as a whole: who decides what, and what is printed and written at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.making.reviewing import merge_lines, review_entries, summary_lines
from talm_sim.cli.parsing.arguments import print_json
from talm_sim.cli.person.by_key import Keyboard
from talm_sim.cli.terminal.console import stderr
from talm_sim.cli.terminal.text import strip_control
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.making.merging import Merge, open_merge
from talm_sim.scenarios.making.review import Review, Reviewer, open_review

__all__ = ["merge_session", "review_session"]


def review_session(place: Path, reviewer: Reviewer, *, rejected: bool, name: str, as_json: bool) -> None:
    """Let a person decide, or print their progress."""
    review = open_review(place, reviewer, rejected=rejected, name=name)
    if as_json:
        print_json(asdict(review.summary()))
        return
    if not sys.stdin.isatty():
        raise PrerequisiteError("reviewing needs a terminal, and standard input is not one; --json prints the summary so far.")
    _decide(review)
    summary = review.summary()
    for line in summary_lines(summary):
        click.echo(strip_control(line))
    if summary.kept:
        click.echo(f"kept rows: {review.write_kept()}", err=True)


def merge_session(place: Path, reviewer: Reviewer, *, rejected: bool, as_json: bool) -> None:
    """Print how far the reviewers agree; at a terminal, settle their differences; write what is kept."""
    merge = open_merge(place, reviewer, rejected=rejected)
    if as_json:
        print_json(_merge_record(merge))
    else:
        if merge.disputed.waiting() and sys.stdin.isatty():
            for line in merge_lines(merge):
                click.echo(strip_control(line), err=True)
            _decide(merge.disputed)
        for line in merge_lines(merge):
            click.echo(strip_control(line))
    click.echo(f"kept rows: {merge.write_kept()}", err=True)


def _merge_record(merge: Merge) -> Mapping[str, Any]:
    return {
        "agreement": [asdict(one) for one in merge.agreements()],
        "agreed": len(merge.agreed),
        "settled": merge.disputed.summary().decided,
        "to_settle": [entry.title for entry in merge.disputed.waiting()],
        "not_decided_by_two": len(merge.undecided),
    }


def _decide(review: Review) -> None:
    console = stderr()
    with Keyboard(console, plain=console.is_dumb_terminal) as keyboard:
        review_entries(review, console, keyboard.read, _edit_line, keyboard.press)


def _edit_line(text: str) -> str | None:
    """Let the person edit a text in place; if the terminal cannot do that, they type a new one."""
    if not sys.stdout.isatty():
        return sys.stdin.readline() or None
    try:
        import readline  # not on every system
    except ImportError:
        return sys.stdin.readline() or None
    readline.set_startup_hook(lambda: readline.insert_text(" ".join(strip_control(text).split())))
    try:
        return input()
    except EOFError:
        return None
    finally:
        readline.set_startup_hook(None)
