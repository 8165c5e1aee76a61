"""The answer of a run on one screen: what its episodes came to, what two controls came to, the commonest cause, one example."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from talm_sim.config import Traffic
from talm_sim.errors import command_lines, line_to_copy
from talm_sim.models.registry import has_traffic
from talm_sim.store.causes import RunOnScreen, find_causes, find_idle, find_lost
from talm_sim.tasks import Task
from talm_sim.tasks.control_outcomes import controls_of
from talm_sim.tasks.outcomes import BETTER_STYLES, BY_SUCCESS
from talm_sim.types import Line, Measure, Row, Summary
from talm_sim.types.measures import Better
from talm_sim.types.written_figures import decimal, interval

WIDTH = 80
_WORDS, _BAR, _NAME = 36, 18, 29
_FEW = 10
"""Below so many episodes each has a line of its own, and there are no shares, which would say little."""
_Style = Literal["plain", "strong", "faint", "good", "bad", "notice"]
_PARTS = " ▏▎▍▌▋▊▉█"
_MOST_NAMED = 5
_PLAYED_BY = {"sim": "a script, no language model", "agent": "your own agent", "hf": "on this machine", "vllm": "on this machine"}
"""Who plays, by the provider of the model; of all others, a live model does."""
_FILLS: Mapping[Better, str] = {"higher": "█", "neither": "▒", "lower": "░"}
_Lines = Iterator[tuple[Line, ...]]


def screen_lines(run: RunOnScreen, named: str, alerts: Sequence[str] = ()) -> _Lines:
    """Yield the lines of the screen, each of parts with their styles; none is wider than 80 columns."""
    with run.at_once():
        rows, summaries = run.rows(), [one for one in run.summary() if not one.derived]
        shown = [one for one in summaries if one.measures_in("outcome")]
        yield (Line(text=_title(run, summaries), style="strong"),)
        yield from _wrapped(_made_by(run, named), "  ", "faint", most=2)
        scored = [row for row in rows if row.scored]
        if len(scored) < _FEW:
            yield from _episodes(run, rows)
        elif len(shown) == 1:
            yield from _bars(shown[0])
            yield from _controls(run, shown[0])
        else:
            yield from _groups(run.job.task, shown)
        yield from _judged(run, summaries)
        yield from _not_scored(run, summaries)
        for alert in (*find_lost(run, rows), *find_idle([(run, rows)]), *alerts):
            yield from _wrapped(alert, "  note: ", "notice")
        for cause in islice(find_causes(run, rows), 1) if len(scored) >= _FEW else ():
            yield from _wrapped(cause, "  why: ", "notice")
        yield from _example(run, rows, shown) if len(scored) >= _FEW else ()
        yield ()
        yield from _next_steps(run, rows, shown, named)


def screen_text(run: RunOnScreen, named: str) -> str:
    """Return the screen as text, as `print` shows it."""
    return "\n".join(_printable("".join(part.text for part in parts)).rstrip() for parts in screen_lines(run, named))


def _printable(text: str) -> str:
    """Return a line without what a terminal would act on: it goes to standard output as it is."""
    return "".join(sign if sign.isprintable() else " " * sign.isspace() for sign in text)


def group_words(task: Task[Any], group: str) -> str:
    """Return a group's name, with what its scenarios are where the name reads as a grade."""
    said = task.about_groups.get(group, "").partition(":")[0] if group == "perfect" else ""
    return f"{group} ({said})" if said else group


def _title(run: RunOnScreen, summaries: Sequence[Summary]) -> str:
    config = run.config
    control = "control: " if config.model.startswith("sim/") else ""
    number = sum(one.total for one in summaries) or run.total
    size = f"{number:,} episode{'' if number == 1 else 's'}"
    whole = f"{control}{config.model_and_adapter}: {run.job.task.name}, {group_words(run.job.task, config.split)}, {size}"
    return textwrap.shorten(whole, WIDTH, placeholder=" ...")


def _made_by(run: RunOnScreen, named: str) -> str:
    config = run.config
    provider = config.model.partition("/")[0]
    replayed = config.models is Traffic.REPLAY and has_traffic(config.model)
    model = "imported" if run.imported else "a replayed recording" if replayed else _PLAYED_BY.get(provider, "live")
    return "; ".join(filter(None, [model, run.job.task.label(run), f"run {named}"]))


def _bars(summary: Summary) -> _Lines:
    """Yield a bar for each outcome that occurred, and a line with those that did not."""
    measures = summary.measures_in("outcome")
    yield (Line(text=f"{'':{_WORDS + _BAR + 2}}episodes share 95 % int.", style="faint"),)
    for one in measures:
        if one.k:
            yield _bar(one)
    if never := [one.head for one in measures if not one.k]:
        yield from _wrapped(", ".join(never), "  none: ", "faint")
    solved = summary.measure("pass_rate")
    if solved is not None and solved.n and not any(one.name == "solved" for one in measures):
        yield (Line(text=f"  {'and solved the task':<{_WORDS}}{'':{_BAR}} {_figures(solved)}", style="faint"),)


def _bar(one: Measure) -> tuple[Line, ...]:
    share = one.value or 0
    eighths = max(1, round(share * _BAR * 8))
    bar = "█" * (eighths // 8) + (_PARTS[eighths % 8] if eighths % 8 else "")
    style = BETTER_STYLES[one.better]
    words = textwrap.shorten(one.head, _WORDS, placeholder="...")
    return Line(text=f"  {words:<{_WORDS}}"), Line(text=f"{bar:<{_BAR}}", style=style), Line(text=f" {_figures(one)}")


def _figures(one: Measure) -> str:
    return f"{one.k or 0:>7,}  {decimal(one.value):>4}  {interval(one):>8}"


def _controls(run: RunOnScreen, summary: Summary) -> _Lines:
    """Yield what two controls came to, in one line each, so that a count has a scale."""
    words = {one.name: one.words for one in run.job.task.outcomes}
    for kind, name, counts in controls_of(run.job, summary.group):
        total = sum(counts.values())
        said = ", ".join(f"{words.get(outcome, outcome)} {decimal(number / total)}" for outcome, number in counts.items())
        yield from _wrapped(said, f"  control, {kind} ({name}): ", "faint")


def _groups(task: Task[Any], summaries: Sequence[Summary]) -> _Lines:
    """Yield a bar in parts and the counts in words for each group."""
    yield ()
    for summary in summaries:
        measures = [one for one in summary.measures_in("outcome") if one.k]
        total = sum(one.k or 0 for one in measures)
        yield Line(text=f"  {group_words(task, summary.group):<{_NAME}}{summary.n:>6,}  ", style="strong"), *_parted(measures, total)
        said = [f"{one.head} {one.k:,}" for one in sorted(measures, key=lambda one: -(one.k or 0))]
        rest = len(said) - _MOST_NAMED
        yield from _wrapped(", ".join(said[:_MOST_NAMED]) + (f", and {rest} more" if rest > 0 else ""), "    ", "plain")


def _parted(measures: Sequence[Measure], total: int) -> Iterator[Line]:
    """Yield one bar for all outcomes: good ones, then neutral, then bad ones."""
    width, filled, begun = WIDTH - _NAME - 10, 0, 0
    for better, fill in _FILLS.items():
        begun += sum(one.k or 0 for one in measures if one.better == better)
        end = round(width * begun / total) if total else 0
        yield Line(text=fill * (end - filled), style=BETTER_STYLES[better])
        filled = end


def _episodes(run: RunOnScreen, rows: Sequence[Row]) -> _Lines:
    words = {one.name: one for one in run.job.task.outcomes or BY_SUCCESS}
    yield ()
    for row in rows if len(rows) < _FEW else (row for row in rows if row.scored):
        outcome = words.get(row.outcome)
        unscored = f"not scored: {row.not_scored}" if row.not_scored else "no outcome"
        said = outcome.words if outcome else row.outcome.replace("_", " ") or unscored
        style = BETTER_STYLES[outcome.better] if outcome else "plain"
        yield Line(text=f"  {textwrap.shorten(row.episode, 40, placeholder='...'):<42}"), Line(text=said[: WIDTH - 44], style=style)


def _judged(run: RunOnScreen, summaries: Sequence[Summary]) -> _Lines:
    """Yield what each judge says that the task does not read itself: the user asked for it."""
    for judge, declared in run.measures().items():
        found = [(one.group, measure) for one in summaries if (measure := one.measure(declared.name)) is not None and measure.n]
        if judge not in run.job.task.own_judges and found:
            said = ", ".join(f"{group} {decimal(measure.value)} ({measure.k or 0:,} of {measure.n:,})" for group, measure in found)
            yield from _wrapped(f"{declared.about}: {said}", f"  judge {judge}: ", "plain")


def _not_scored(run: RunOnScreen, summaries: Sequence[Summary]) -> _Lines:
    ends: dict[str, int] = {}
    for summary in summaries:
        for why, number in summary.not_scored.items():
            ends[why] = ends.get(why, 0) + number
    if ends:
        yield from _wrapped(", ".join(f"{number:,} {why.replace('_', ' ')}" for why, number in ends.items()), "  not scored: ", "notice")
    if run.finished < run.total:
        waits = f", {run.waiting:,} of them waiting for an answer" if run.waiting else ""
        yield (Line(text=f"  not finished: {run.total - run.finished:,} of {run.total:,}{waits}", style="notice"),)


def quoted_row(run: RunOnScreen) -> Row | None:
    """Return the episode that the screen quotes as an example; None if it quotes none."""
    rows, shown = run.rows(), [one for one in run.summary() if not one.derived and one.measures_in("outcome")]
    found = _worst(rows, shown) if sum(row.scored for row in rows) >= _FEW else None
    return found and found[0]


def _worst(rows: Sequence[Row], summaries: Sequence[Summary]) -> tuple[Row, Measure] | None:
    """Return the first episode with the commonest bad outcome; None without any."""
    bad = [
        (one.k or 0, one, summary.group) for summary in summaries for one in summary.measures_in("outcome") if one.better == "lower" and one.k
    ]
    if not bad:
        return None
    _, measure, group = max(bad, key=lambda one: one[0])
    return next((row, measure) for row in rows if row.group == group and row.outcome == measure.name)


def _example(run: RunOnScreen, rows: Sequence[Row], summaries: Sequence[Summary]) -> _Lines:
    if (found := _worst(rows, summaries)) is None:
        return
    row, measure = found
    episode = run.episode(row.episode)
    scenario = next((one for one in run.scenarios() if one.id == row.scenario), None)
    said = "" if scenario is None else run.job.task.evidence(episode, scenario, row.outcome, run.tools())
    yield from _wrapped(f"{row.episode} {measure.head}: {said}" if said else row.episode, "  example: ", "plain", most=2)


def _next_steps(run: RunOnScreen, rows: Sequence[Row], summaries: Sequence[Summary], named: str) -> _Lines:
    found = _worst(rows, summaries)
    episode = found[0].episode if found else next((row.episode for row in rows), None)
    if episode is not None:
        yield from step_lines("see one episode", line_to_copy("talm-sim", "show", f"{named}:{episode}"))
    if found:
        yield from step_lines("what it means", line_to_copy("talm-sim", "explain", found[1].name))
    yield from step_lines("every table", line_to_copy("talm-sim", "report", named, "--all"))


def step_lines(what: str, command: str, room: int = 16) -> _Lines:
    """Yield a command to copy behind what it is for, which has `room` columns; one that is too wide goes on in the next line."""
    for number, line in enumerate(command_lines(command, WIDTH - room - 3)):
        yield Line(text=f"  {'' if number else what:<{room}} ", style="faint"), Line(text=line)


def _wrapped(text: str, first: str, style: _Style, most: int = 3) -> _Lines:
    """Yield a text in lines; a command at its end, which is to be copied, begins a line of its own where it would be broken."""
    wrapper = textwrap.TextWrapper(WIDTH, first, " " * min(len(first), 4), max_lines=most, placeholder=" ...", break_on_hyphens=False)
    whole = " ".join(text.split())
    said, between, command = whole.partition(": talm-sim ")
    lines = wrapper.wrap(whole)
    alone = bool(between) and not any(f"talm-sim {command}" in line for line in lines)
    for line in wrapper.wrap(f"{said}:") if alone else lines:
        yield (Line(text=line, style=style),)
    for line in command_lines(f"talm-sim {command}", WIDTH - 4) if alone else ():
        yield (Line(text=f"    {line}", style=style),)
