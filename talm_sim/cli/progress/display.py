"""Displays of a run in progress. Every display listens to the run's events; all but `json` write to standard error."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from talm_sim.cli.progress.budget_lines import describe_reached, describe_spent
from talm_sim.cli.progress.tally import Tally
from talm_sim.cli.terminal.text import as_json, count, one_line, safe_text
from talm_sim.runs.events import (
    BudgetReached,
    BudgetSpent,
    EpisodeFinished,
    EpisodeWaiting,
    JudgeProgress,
    RequestRetried,
    RunEvent,
    RunFinished,
    RunStarted,
    ServersChanged,
    ShardsProgress,
    ToolsRestarted,
)

_LIVE = ("live", "record")
_SILENCE_S = 30.0
"""Seconds of retries or judging after which a plain display says something."""


class Display:
    """Shows only what must be seen: that requests leave the machine, that tools or servers died, what a budget left. This is the others' base.

    Attributes:
        finished: Episodes finished by now, earlier sessions included.
        spent: What the command spent; None before its end, or if it has no budget.
    """

    _talks = False
    """Whether it shows what need not be seen."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.started: RunStarted | None = None
        self.finished = 0
        self.tally = Tally()
        self.spent: BudgetSpent | None = None
        self._noticed: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def __call__(self, event: RunEvent) -> None:
        """Process an event and show it."""
        if isinstance(event, RunStarted):
            self.started, self.finished = event, event.finished
        elif isinstance(event, EpisodeFinished | ShardsProgress):
            self.finished = event.finished
        elif isinstance(event, BudgetSpent):
            self.spent = event
        self.tally(event)
        self.show(event)

    def show(self, event: RunEvent) -> None:
        """Show an event."""
        if isinstance(event, RunStarted):
            self.announce_live(event)
        elif isinstance(event, ToolsRestarted):
            self.console.print(describe_restart(event), style="bold yellow", soft_wrap=True)
        elif isinstance(event, ServersChanged) and (event.reason or self._talks):
            self.console.print(describe_servers(event), style="bold yellow", soft_wrap=True)
        elif isinstance(event, BudgetReached) and self._talks:
            self.console.print(describe_reached(event), style="bold yellow", soft_wrap=True)
        elif isinstance(event, BudgetSpent) and (event.left or self._talks):
            for line in describe_spent(event):
                self.console.print(line, soft_wrap=True, highlight=False)

    def announce_live(self, event: RunStarted) -> None:
        """Say that requests go to a provider, before the first one does."""
        for line in self.live_notice(event):
            self.console.print(line, style="bold yellow", soft_wrap=True)

    def live_notice(self, event: RunStarted) -> list[str]:
        """Return the lines that say that requests leave, and other notices, each once however many runs follow each other."""
        asked = (("model", event.model, event.models), ("person played by", event.person, event.person_traffic))
        due = [_live_line(role, model, traffic) for role, model, traffic in asked if traffic in _LIVE] + [*map(one_line, event.notices)]
        new = [one for one in dict.fromkeys(due) if one not in self._noticed]
        self._noticed.update(new)
        return new

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep the screen still, for a question to a person."""
        yield


class PlainDisplay(Display):
    """Lines for a file: begin and end, every tenth of the episodes, every new failure, every question.

    Args:
        logged: Whether each episode's end is logged already, so that a failure need not be reported twice.
    """

    _talks = True

    def __init__(self, console: Console, *, logged: bool = False) -> None:
        super().__init__(console)
        self._logged = logged
        self._tenths = 0
        self._failures: set[str] = set()
        self._spoke = time.monotonic()
        self._kept: list[str] | None = None

    def show(self, event: RunEvent) -> None:
        """Print what is due."""
        super().show(event)
        match event:
            case RunStarted():
                self._tenths = 10 * event.finished // max(1, event.total)
                self._failures.clear()
                self._print(describe_start(event))
            case EpisodeFinished():
                self._print_episode(event)
            case ShardsProgress() if event.shard:
                self._print(_describe_shard(event))
            case ShardsProgress() if self._is_overdue():
                self._print(f"{event.finished:,} of {count(event.total, 'episode')} finished")
            case EpisodeWaiting():
                for question in event.questions:
                    self._print(f"waiting: {safe_text(event.episode_id)} asks: {one_line(question)}")
            case RequestRetried() if self.tally.retried == 1 or self._is_overdue():
                self._print(self.tally.requests())
            case JudgeProgress() if event.done == event.total or self._is_overdue():
                of = f"{event.done:,} of " if event.done < event.total else ""
                self._print(f"judge {safe_text(event.judge)}: {of}{count(event.total, 'episode')}")
            case RunFinished():
                self._print(describe_end(event))
            case _:
                pass

    def _print_episode(self, event: EpisodeFinished) -> None:
        failure = f"{event.termination.value}: {one_line(event.error)}"
        if (event.termination.failed or event.crashed) and failure not in self._failures and not self._logged:
            self._failures.add(failure)
            self._print(f"{'failed: ' if event.termination.failed else ''}{safe_text(event.episode_id)} {failure}")
        tenths = 10 * event.finished // event.total
        if tenths > self._tenths:
            self._tenths = tenths
            place = f"[{event.finished:>{len(str(event.total))}}/{event.total}] {100 * event.finished // event.total} %"
            self._print(f"{place}: {' · '.join(filter(None, (self.tally.episodes(), self.tally.requests())))}")

    def _is_overdue(self) -> bool:
        return time.monotonic() - self._spoke > _SILENCE_S

    def _print(self, line: str) -> None:
        self._spoke = time.monotonic()
        if self._kept is None:
            self.console.print(line, soft_wrap=True)
        else:
            self._kept.append(line)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep messages back until the question is answered."""
        self._kept = []
        try:
            yield
        finally:
            lines, self._kept = self._kept, None
            for line in lines:
                self._print(line)


class JsonDisplay(Display):
    """Prints every event as one JSON object per line, on standard output."""

    def show(self, event: RunEvent) -> None:
        """Write the line."""
        super().show(event)
        self.write({"event": re.sub("(?<!^)(?=[A-Z])", "_", type(event).__name__).lower(), **asdict(event)})

    @staticmethod
    def write(document: dict[str, Any]) -> None:
        """Write one object and let it be seen at once."""
        sys.stdout.write(as_json(document) + "\n")
        sys.stdout.flush()


class _Bars(Progress):
    """Progress bars with lines of counts below: a fixed one, and one that is asked for whenever the screen is drawn."""

    counts = ""
    ask: Callable[[], str] = str

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        for line in (self.counts, self.ask()):
            if line:
                yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")


class _Times(ProgressColumn):
    """The time since the start, and the time left if it can be told: `3 s, about 40 s left`."""

    def render(self, task: Task) -> Text:
        """Return the text for one bar."""
        spent = _short_time(task.finished_time if task.finished else task.elapsed or 0)
        left = "" if task.finished or task.time_remaining is None else f", about {_short_time(task.time_remaining)} left"
        return Text(spent + left, no_wrap=True)


def _short_time(seconds: float | None) -> str:
    """Return a time in few letters.

    >>> _short_time(3.2), _short_time(75), _short_time(7380)
    ('3 s', '1 min 15 s', '2 h 3 min')
    """
    whole = int(seconds or 0)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


class FullDisplay(Display):
    """A progress bar with the time left, and below it the outcomes of episodes so far, tokens and retries."""

    _talks = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._bars = _make_bars(console, self.tally)
        # Until the run starts: a live tool service takes its time.
        self._tasks: dict[str, TaskID] = {"starting": self._bars.add_task("starting", total=None)}

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
                self.console.print(describe_start(event))
                self._forget()
                self._tasks["episodes"] = self._bars.add_task("episodes", total=event.total, completed=event.finished)
            case EpisodeFinished():
                self._bars.update(self._tasks["episodes"], completed=event.finished)
            case ShardsProgress():
                self._update_shards(event)
            case JudgeProgress():
                self._update_judge_bar(event)
            case RunFinished():
                self.console.print(describe_end(event))
            case _:
                pass
        self._bars.counts = self.tally.episodes()

    def _forget(self) -> None:
        """Drop the bars of an earlier run of the same session."""
        for task in self._tasks.values():
            self._bars.remove_task(task)
        self._tasks.clear()

    def _update_shards(self, event: ShardsProgress) -> None:
        if "shards" not in self._tasks:
            self._tasks["shards"] = self._bars.add_task("shards", total=event.shards)
        self._bars.update(self._tasks["episodes"], completed=event.finished)
        self._bars.update(self._tasks["shards"], completed=event.shards - event.left)
        if event.error:
            self.console.print(_describe_shard(event), soft_wrap=True)

    def _update_judge_bar(self, event: JudgeProgress) -> None:
        name = one_line(event.judge, 20)
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(f"judge {name}", total=event.total)
        self._bars.update(self._tasks[name], completed=event.done, total=event.total)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bars off the screen."""
        self._bars.stop()
        try:
            yield
        finally:
            self._draw_anew()

    def _draw_anew(self) -> None:
        """Continue with new bars: rich's would first erase as many lines as they had, the person's answer among them."""
        old, self._bars = self._bars, _make_bars(self.console, self.tally)
        for name, task in self._tasks.items():
            before = old.tasks[old.task_ids.index(task)]
            self._tasks[name] = self._bars.add_task(before.description, total=before.total, completed=int(before.completed))
            self._bars.tasks[-1].start_time = before.start_time
        self._bars.counts = old.counts
        self._bars.start()


def _make_bars(console: Console, tally: Tally) -> _Bars:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None), MofNCompleteColumn(), _Times())
    bars = _Bars(*columns, console=console, transient=True)
    bars.ask = tally.requests
    return bars


def open_display(name: str, console: Console, *, logged: bool = False) -> Display:
    """Return the display of a `RunConfig.display` value; without a terminal, `full` is `plain`."""
    if name == "plain" or (name == "full" and not console.is_terminal):
        return PlainDisplay(console, logged=logged)
    kinds: dict[str, type[Display]] = {"full": FullDisplay, "json": JsonDisplay, "none": Display}
    return kinds[name](console)


def describe_start(event: RunStarted) -> str:
    """Describe in one line what is about to run."""
    before = f", {event.finished:,} finished before" if event.finished else ""
    before += f", {event.again:,} tried again" if event.again else ""
    waiting = f", {event.waiting:,} waiting" if event.waiting else ""
    return (
        f"{one_line(event.run_id)}: {count(event.total, 'episode')}{before}{waiting}; "
        f"{one_line(event.model)} ({event.models}), tools {event.tools}, human {event.human}"
    )


def _live_line(role: str, model: str, traffic: str) -> str:
    recorded = ", recorded" if traffic == "record" else ""
    return f"live: {one_line(model.split('/', 1)[0])} ({role} {one_line(model)}{recorded})"


def describe_restart(event: ToolsRestarted) -> str:
    """Describe in one line what happened to the tools."""
    return f"the tool service died ({event.reason}): it was restarted, which happens once per command; unanswered calls are sent again"


def describe_servers(event: ServersChanged) -> str:
    """Describe in one line which server is left out, or answers again."""
    place = f"{one_line(event.model)} at {one_line(event.server)}"
    if not event.reason:
        return f"{place} answers again: {event.in_use} of {count(event.total, 'server')} in use"
    left = f"{event.in_use} of {count(event.total, 'server')} in use, tried again in {event.pause_s:.0f} s"
    return f"left out: {place}: {one_line(event.reason)}; {left}"


def _describe_shard(event: ShardsProgress) -> str:
    end = f"failed: {one_line(event.error).rstrip('.')}" if event.error else "is finished"
    node = f" on {one_line(event.node)}" if event.node else ""
    return f"shard {event.shard}{node} {end}; {event.finished:,} of {count(event.total, 'episode')}, {count(event.left, 'shard')} left"


def describe_end(event: RunFinished) -> str:
    """Describe in one line how the run ended."""
    ends = ", ".join(f"{number:,} {name}" for name, number in sorted(event.terminations.items(), key=lambda item: -item[1]))
    waiting = f"; {count(event.waiting, 'episode')} waiting for an answer" if event.waiting else ""
    return f"{event.finished:,} of {count(event.total, 'episode')} in {event.elapsed_s:.1f} s: {ends or 'nothing new'}{waiting}"
