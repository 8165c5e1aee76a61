"""Show the progress of calls from Python: below a notebook's cell, and in a script if it is asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from talm_sim.cli.progress.budget_lines import describe_reached, describe_spent
from talm_sim.cli.progress.display import Display, describe_end, describe_restart, describe_servers, describe_start, open_display
from talm_sim.cli.terminal.console import stderr
from talm_sim.runs.events import (
    BudgetReached,
    BudgetSpent,
    JudgeProgress,
    OnEvent,
    RunEvent,
    RunFinished,
    RunStarted,
    ServersChanged,
    ToolsRestarted,
    ignore_events,
)

_EVERY_S = 0.2


@contextmanager
def progress(wanted: bool | None) -> Iterator[OnEvent]:
    """Show progress in a notebook; elsewhere on standard error, if it is `wanted`."""
    if _in_notebook():
        with _NotebookDisplay() as display:
            yield display
    elif wanted:
        with open_display("full", stderr()) as display:
            yield display
    else:
        yield ignore_events


def _in_notebook() -> bool:
    """Return whether this is a kernel, which shows what a cell displays; nothing is imported to find out."""
    interactive = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")


class _NotebookDisplay(Display):
    """Lines below the cell: a run's beginning and end stay, the progress in between is overwritten."""

    def __init__(self) -> None:
        super().__init__(stderr())
        self._kept: list[str] = []
        self._judging = ""
        self._output: Any = None
        self._drawn = 0.0

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self._draw()

    def show(self, event: RunEvent) -> None:
        """Rewrite the lines if something has changed."""
        match event:
            case RunStarted():
                self._kept += [*self.live_notice(event), describe_start(event)]
                self._judging = ""
            case ToolsRestarted():
                self._kept.append(describe_restart(event))
            case ServersChanged():
                self._kept.append(describe_servers(event))
            case JudgeProgress():
                self._judging = f"judge {event.judge} {event.done:,}/{event.total:,}"
            case RunFinished():
                self._kept.append(describe_end(event))
                self.started = None
            case BudgetReached():
                self._kept.append(describe_reached(event))
            case BudgetSpent():
                self._kept += describe_spent(event)
            case _:
                pass
        if isinstance(event, RunStarted | RunFinished) or time.monotonic() - self._drawn > _EVERY_S:
            self._draw()

    def _draw(self) -> None:
        from IPython import display

        self._drawn = time.monotonic()
        if not (lines := [*self._kept, *self._status_lines()]):
            return
        content = {"text/plain": "\n".join(lines)}
        if self._output is None:
            show: Any = display.display  # IPython says nothing of its types
            self._output = show(content, raw=True, display_id=True)
        else:
            self._output.update(content, raw=True)

    def _status_lines(self) -> list[str]:
        if self.started is None:
            return []
        place = f"{self.finished:,}/{self.started.total:,} episodes"
        return [" · ".join(part for part in (place, self.tally.episodes(), self.tally.requests(), self._judging) if part)]
