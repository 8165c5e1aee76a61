"""What a run looks like while it goes on. Every display listens to the run's events; all but `json` write to standard error."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from talm_sim.cli.text import clean, count, one_line
from talm_sim.runs.events import EpisodeFinished, EpisodeStarted, EpisodeWaiting, JudgeProgress, RunEvent, RunFinished, RunStarted

__all__ = ["Display", "FullDisplay", "JsonDisplay", "PlainDisplay", "open_display"]

_LIVE = ("live", "record")


class Display:
    """Shows nothing but what nobody may miss: that requests leave the machine. Base of the others.

    Attributes:
        started: The run, once it has begun.
        finished: Episodes finished by now, earlier sessions included.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.started: RunStarted | None = None
        self.finished = 0
        self._waiting: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def __call__(self, event: RunEvent) -> None:
        """Take notice of an event and show it."""
        if isinstance(event, RunStarted):
            self.started, self.finished = event, event.finished
        elif isinstance(event, EpisodeStarted):
            self._waiting.discard(event.episode_id)
        elif isinstance(event, EpisodeWaiting):
            self._waiting.add(event.episode_id)
        elif isinstance(event, EpisodeFinished):
            self.finished = event.finished
        self.show(event)

    def show(self, event: RunEvent) -> None:
        """Show an event."""
        if isinstance(event, RunStarted):
            self.announce_live(event)

    def announce_live(self, event: RunStarted) -> None:
        """Say that requests go to a provider, before the first one does."""
        if event.models in _LIVE:
            recorded = ", recorded" if event.models == "record" else ""
            self.console.print(f"live: {one_line(event.model.split('/', 1)[0])} (model {one_line(event.model)}{recorded})", style="bold yellow")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the screen still, for a question to a person."""
        yield


class PlainDisplay(Display):
    """One line for every episode."""

    def show(self, event: RunEvent) -> None:
        """Print a line."""
        super().show(event)
        match event:
            case RunStarted():
                self.console.print(_opening(event), soft_wrap=True)
            case EpisodeFinished():
                error = f": {one_line(event.error)}" if event.error else ""
                place = f"[{event.finished:>{len(str(event.total))}}/{event.total}]"
                line = f"{place} {clean(event.episode_id)} {event.termination.value} {event.elapsed_s:.1f} s{error}"
                self.console.print(line, soft_wrap=True)
            case EpisodeWaiting():
                for question in event.questions:
                    self.console.print(f"waiting: {clean(event.episode_id)} asks: {one_line(question)}", soft_wrap=True)
            case JudgeProgress() if event.done == event.total:
                self.console.print(f"judge {clean(event.judge)}: {count(event.total, 'episode')}", soft_wrap=True)
            case RunFinished():
                self.console.print(_closing(event), soft_wrap=True)
            case _:
                pass


class JsonDisplay(Display):
    """Every event as one JSON object a line, on standard output."""

    def show(self, event: RunEvent) -> None:
        """Write the line."""
        super().show(event)
        self.write({"event": _snake(type(event).__name__), **asdict(event)})

    @staticmethod
    def write(document: dict[str, Any]) -> None:
        """Write one object and let it be seen at once."""
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
        sys.stdout.flush()


class _Bars(Progress):
    """Progress bars with a line of counts below."""

    counts = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.counts:
            yield Text(self.counts, style="dim", no_wrap=True, overflow="ellipsis")


class FullDisplay(Display):
    """A progress bar with the time left, and below it what became of the episodes so far."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars = _bars(console)
        # Until the run begins: a live tool service takes its time.
        self._tasks: dict[str, TaskID] = {"starting": self._bars.add_task("starting", total=None)}
        self._ended: Counter[str] = Counter()
        self._running: set[str] = set()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, event: RunEvent) -> None:
        """Move the bars."""
        super().show(event)
        match event:
            case RunStarted():
                self.console.print(_opening(event))
                self._forget()
                self._tasks["episodes"] = self._bars.add_task("episodes", total=event.total, completed=event.finished)
            case EpisodeStarted():
                self._running.add(event.episode_id)
            case EpisodeWaiting():
                self._running.discard(event.episode_id)
            case EpisodeFinished():
                self._running.discard(event.episode_id)
                self._ended[event.termination.value] += 1
                self._bars.update(self._tasks["episodes"], completed=event.finished)
            case JudgeProgress():
                self._judged(event)
            case RunFinished():
                self.console.print(_closing(event))
        self._bars.counts = self._counts()

    def _forget(self) -> None:
        """Drop the bars and counts of an earlier run of the same session."""
        for task in self._tasks.values():
            self._bars.remove_task(task)
        self._tasks.clear()
        self._ended.clear()
        self._running.clear()
        self._waiting.clear()

    def _judged(self, event: JudgeProgress) -> None:
        name = one_line(event.judge, 20)
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(f"judge {name}", total=event.total)
        self._bars.update(self._tasks[name], completed=event.done, total=event.total)

    def _counts(self) -> str:
        parts = [f"{name} {number}" for name, number in self._ended.most_common()]
        if self._waiting:
            parts.append(f"waiting for an answer {len(self._waiting)}")
        if self._running:
            parts.append(f"running {len(self._running)}")
        return " · ".join(parts)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bars off the screen."""
        self._bars.stop()
        try:
            yield
        finally:
            self._draw_anew()

    def _draw_anew(self) -> None:
        """Go on with new bars: rich's would first erase as many lines as they had, the person's answer among them."""
        old, self._bars = self._bars, _bars(self.console)
        for name, task in self._tasks.items():
            before = old.tasks[old.task_ids.index(task)]
            self._tasks[name] = self._bars.add_task(before.description, total=before.total, completed=int(before.completed))
            self._bars.tasks[-1].start_time = before.start_time
        self._bars.counts = old.counts
        self._bars.start()


def _bars(console: Console) -> _Bars:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn())
    return _Bars(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True)


def open_display(name: str, console: Console) -> Display:
    """Return the display of a `RunConfig.display` value; without a terminal, `full` is `plain`."""
    if name == "full" and not console.is_terminal:
        name = "plain"
    kinds: dict[str, type[Display]] = {"full": FullDisplay, "plain": PlainDisplay, "json": JsonDisplay, "none": Display}
    return kinds[name](console)


def _opening(event: RunStarted) -> str:
    before = f", {event.finished:,} finished before" if event.finished else ""
    waiting = f", {event.waiting:,} waiting" if event.waiting else ""
    return (
        f"{one_line(event.run_id)}: {count(event.total, 'episode')}{before}{waiting}; "
        f"{one_line(event.model)} ({event.models}), tools {event.tools}, human {event.human}"
    )


def _closing(event: RunFinished) -> str:
    ends = ", ".join(f"{number:,} {name}" for name, number in sorted(event.terminations.items(), key=lambda item: -item[1]))
    waiting = f"; {count(event.waiting, 'episode')} waiting for an answer" if event.waiting else ""
    return f"{event.finished:,} of {count(event.total, 'episode')} in {event.elapsed_s:.1f} s: {ends or 'nothing new'}{waiting}"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
