"""A session of a run at the terminal: progress, questions, Ctrl-C, the table, and the way on. Imports the machinery of episodes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from talm_sim.cli.arguments import command_line, print_csv, print_json, short_name
from talm_sim.cli.blocks import FAILED, block_of
from talm_sim.cli.console import stderr, stdout
from talm_sim.cli.layout import Block
from talm_sim.cli.progress import Display, JsonDisplay, open_display
from talm_sim.cli.responder import TerminalResponder
from talm_sim.cli.table import table_lines
from talm_sim.cli.text import clean, count, one_line
from talm_sim.config import RunConfig
from talm_sim.models import sim
from talm_sim.runs.ablate import Ablation, ablate
from talm_sim.runs.api import judge, resume, run
from talm_sim.runs.batch import Ask
from talm_sim.runs.load import StoredRun

__all__ = ["CONTROLS", "ablate_session", "judge_session", "print_blocks", "resume_session", "run_session"]

CONTROLS = tuple(f"sim/{control}" for control in sim.CONTROLS)
"""Models printed by `--controls`: scripts whose true metric values are known."""
_INTERRUPTED = 130
_T = TypeVar("_T")
_Work = Callable[[Display, Ask | None], _T]


def run_session(config: RunConfig) -> int:
    """Run a config and print its table; returns the exit code."""

    def work(display: Display, ask: Ask | None) -> StoredRun:
        return run(config, on_event=display, ask=ask, command=command_line())

    stored = _watched(work, config.display, person=config.human == "terminal")
    if stored is None:
        return _INTERRUPTED
    return _print_result(stored, config.display, with_controls=config.controls)


def resume_session(stored: StoredRun, overrides: Mapping[str, Any]) -> int:
    """Go on with a stored run and print its table; returns the exit code."""
    display_name = overrides.get("display", "full")

    def work(display: Display, ask: Ask | None) -> StoredRun:
        return resume(stored.path, on_event=display, ask=ask, **overrides)

    done = _watched(work, display_name, person=stored.config.human == "terminal")
    if done is None:
        return _INTERRUPTED
    return _print_result(done, display_name, with_controls=bool(overrides.get("controls")))


def judge_session(stored: StoredRun, options: Mapping[str, Any]) -> int:
    """Judge a stored run and print its table; returns the exit code."""
    display_name = options.get("display", "full")

    def work(display: Display, ask: Ask | None) -> StoredRun:
        return judge(stored.path, on_event=display, **options)

    done = _watched(work, display_name, again=command_line())
    return _INTERRUPTED if done is None else _print_result(done, display_name, with_controls=False)


def ablate_session(config: RunConfig, over: Mapping[str, list[Any]], name: str, form: Literal["table", "json", "csv"]) -> int:
    """Run a grid and print one table; returns the exit code."""

    def work(display: Display, ask: Ask | None) -> Ablation:
        return ablate(config, over, name=name, on_event=display)

    # A person cannot sit at every cell: questions of a terminal run stay open in its store.
    done = _watched(work, config.display, again=command_line())
    if done is None:
        return _INTERRUPTED
    blocks = []
    for cell in done.cells:
        block = block_of(cell.run)
        values = ", ".join(f"{field}={_value(value)}" for field, value in cell.values.items())
        blocks.append(replace(block, title=f"{values}: {block.title}"))
    if form == "table":
        print_blocks(blocks)
    elif form == "json":
        print_json(done.to_records())
    else:
        print_csv(done.to_records())
    return 1 if any(map(_failed, blocks)) else 0


def print_blocks(blocks: Sequence[Block]) -> None:
    """Print the table on standard output."""
    console = stdout()
    for line in table_lines(blocks):
        console.print(line, soft_wrap=True)


def _watched(work: _Work[_T], display_name: str, *, person: bool = False, again: str = "") -> _T | None:
    """Do the work with its progress shown; None after Ctrl-C, with the line to go on printed."""
    console = stderr()
    display = open_display(display_name, console)
    try:
        with ExitStack() as stack:
            stack.enter_context(display)
            ask = stack.enter_context(closing(TerminalResponder(display, console))) if person else None
            return work(display, ask)
    except KeyboardInterrupt:
        if display.started and not again:
            again = shlex.join(["talm-sim", "resume", short_name(Path(display.started.path))])
        click.echo(f"\ninterrupted; {f'all that is finished is kept. Continue with: {again}' if again else 'nothing had begun'}", err=True)
        return None


def _print_result(stored: StoredRun, display_name: str, *, with_controls: bool) -> int:
    """Print the table of a run (with display `json`, as the last line of the stream), then on standard error where to look next."""
    runs = [stored, *(_run_controls(stored) if with_controls else ())]
    blocks = [block_of(item) for item in runs]
    if display_name == "json":
        groups = [record for item in runs for record in item.summary_records()]
        JsonDisplay.write({"event": "summary", "run": stored.id, "path": str(stored.path), "groups": groups})
    else:
        print_blocks(blocks)
    failed = _failed(blocks[0])
    _say_what_next(stored, failed)
    return 1 if failed else 0


def _value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "none")


def _run_controls(stored: StoredRun) -> list[StoredRun]:
    """Run the control models over the run's scenarios; each is a run of its own beside it."""
    config = stored.config
    changes: dict[str, Any] = {
        "human": "none" if config.human == "none" else "simulated",
        "models": None,
        "tool_format": "auto",
        "model_options": {},
        "judge": (),
        "judge_model": None,
    }
    found = []
    for model in CONTROLS:
        name = f"{stored.id}.{model.replace('/', '-')}"
        before = stored.path.parent / name
        # A second session of the run finds the controls of the first.
        found.append(resume(before) if before.exists() else run(config.model_copy(update={**changes, "model": model, "run_id": name})))
    return found


def _failed(block: Block) -> int:
    real = (summary for summary in block.summaries if not summary.derived)
    return sum(number for summary in real for name, number in summary.not_scored.items() if name in FAILED)


def _say_what_next(stored: StoredRun, failed: int) -> None:
    path = shlex.quote(short_name(stored.path))
    lines = [""]
    if failed:
        first = next(episode for episode in stored.episodes() if episode.termination.value in FAILED)
        lines.append(f"{count(failed, 'episode')} failed, such as {first.id}: {one_line(first.error, 300)}")
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
