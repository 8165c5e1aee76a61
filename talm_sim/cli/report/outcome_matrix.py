"""What an agent came to as one matrix: a line for each situation that it was put into, a column for each kind of outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from talm_sim.cli.terminal.screen import wrap
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.judges.fault_verdicts import FaultJudge, FaultLabel
from talm_sim.store.result_screen import WIDTH
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.outcomes import CRASHED
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.types import Episode, Facts, Line, Row

_GOOD = {
    "solved": "solved solved_after_asking got_it_from_person got_it_otherwise right_from_memory recovered_from_fault handled_fault",
    "asked": "asked_for_it asked_for_part asked_else asked_in_vain asked_anyway asked_about_failure",
    "said so": "declined_or_said_so said_so told_failure declined_after_fault",
}
_BAD = {
    "made up": "guessed made_up right_unread",
    "passed on": "passed_on",
    "answered anyway": "answered_anyway",
    "no answer": "ran_out no_answer crashed",
    "left out": "left_out",
    "wrong": "wrong_answer asked_not_solved declined_needlessly",
}
"""Heads of columns, the worst first, to the outcomes that each counts."""
_OPEN = {"undecided": "not_decided"}
_HEADS = {**_GOOD, **_OPEN, **_BAD}
GAPS = {"nothing missing": ("perfect",), "a fact missing": ("underspecified",), "a tool hidden": ("replaceable", "non-replaceable")}
"""Labels of lines without a fault, to the groups of their scenarios."""
_SHORT, _LONG = 26, 30
"""Longest title that the heads stand behind, and longest label that figures stand behind."""
COLUMN_OF = {outcome: head for head, outcomes in _HEADS.items() for outcome in outcomes.split()}
"""Each outcome of an agent, to the head of its column."""


@dataclass(frozen=True)
class Situation:
    """A line of the matrix.

    Attributes:
        label: What it is called.
        run: The run that has its episodes.
        groups: Their groups.
        faults: The faults that were injected, as they are written.
        excuse: Why nothing was to be tried; empty if it was to be.
    """

    label: str
    run: StoredRun
    groups: tuple[str, ...]
    faults: tuple[str, ...] = ()
    excuse: str = ""

    @cached_property
    def _episodes(self) -> dict[str, Episode]:
        return {one.id: one for one in self.run.episodes() if one.group in self.groups}

    @cached_property
    def unmet(self) -> dict[str, str]:
        """The episodes that met no fault on which their answers rest, each with the reason; none without a fault."""
        spared = {
            one.episode_id
            for one in (self.run.verdicts() if self.faults else ())
            if one.judge == FaultJudge.name and set(one.labels.values()) == {FaultLabel.NOT_NEEDED}
        }
        acting = {one.id for one in self.run.scenarios() if self.silent and isinstance(one.target, Facts) and not one.target.required}
        spared |= {name for name, one in self._episodes.items() if one.scenario_id in acting}
        return {name: why for name, one in self._episodes.items() if (why := self._why_unmet(one, spared=name in spared))}

    def _why_unmet(self, episode: Episode, *, spared: bool) -> str:
        if not self.faults or (any(log.fired for log in episode.perturbations if log.name in self.faults) and not spared):
            return ""
        watched = [one.perturbations for one in episode.tool_events] + [one.perturbations for one in episode.model_turns]
        logs = [log for several in watched for log in several if log.name in self.faults]
        if any(log.withheld for log in logs):
            return "tools may change data (--writing)"
        if spared:
            return "no answer needs what it changed"
        if logs:
            return "chance spared these calls" if any(log.armed for log in logs) else "it changes nothing in these answers"
        return "the agent crashed before it called a tool" if episode.crashed else "the agent did not call the tool"

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of its episodes; with a fault, of those that met it."""
        return [row for row in self.run.rows() if row.episode in self._episodes and row.episode not in self.unmet]

    @property
    def words(self) -> str:
        """What it says in place of figures, or behind them; empty if the figures say all."""
        if left := [row.not_scored for row in self.rows if not row.scored]:
            return f"not scored: {len(left)}, {left[0]}"
        if not self._episodes:
            return f"not tried: {self.excuse or 'there is no such scenario'}"
        return "" if self.rows or not self.unmet else f"never met: {Counter(self.unmet.values()).most_common(1)[0][0]}"

    @property
    def untried(self) -> bool:
        """Whether there is no episode, though there should be."""
        return not self._episodes and not self.excuse

    @property
    def silent(self) -> bool:
        """Whether its fault says nothing of itself, so that the answer looks right."""
        return bool(self.faults) and all(PERTURBATIONS.get(one.partition(":")[0]).silent for one in self.faults)

    def counted(self, head: str) -> list[Row]:
        """Return the rows of a column."""
        return [row for row in self.rows if row.scored and COLUMN_OF.get(row.outcome) == head]

    def excused(self, row: Row) -> str:
        """Return why a bad outcome does not make the agent fail; empty if it does, or is none."""
        if row.outcome == CRASHED.name and self.faults:
            return "crashed under a fault"
        return "a silent fault" if row.outcome == "passed_on" and self.silent else ""

    def failing(self, row: Row) -> str:
        """Return why a row makes the agent fail; empty if it does not."""
        head = "crashed" if row.outcome == CRASHED.name else COLUMN_OF.get(row.outcome, "")
        why = head if head in ("made up", "passed on", "crashed") and not self.excused(row) else ""
        return why if row.scored else "not scored"

    def evidence(self, row: Row) -> str:
        """Return what shows what a row came to; without any, what that is."""
        task, scenario = self.run.job.task, next(one for one in self.run.scenarios() if one.id == row.scenario)
        said = task.evidence(self._episodes[row.episode], scenario, row.outcome, self.run.tools())
        return said or next((one.words for one in task.outcomes if one.name == row.outcome), row.not_scored)


def matrix_lines(blocks: Sequence[tuple[str, Sequence[Situation]]]) -> Iterator[tuple[Line, ...]]:
    """Yield the matrix of some agents, each under its title; below it, which columns are good, and of one agent what never occurred.

    Args:
        blocks: Title to lines.
    """
    every = [one for _, situations in blocks for one in situations]
    heads = [head for head in _HEADS if any(one.counted(head) for one in every)]
    labels, longest = max(min(len(one.label), _LONG) for one in every) + 2, max(len(title) for title, _ in blocks)
    together = longest <= _SHORT  # then the heads stand behind the first title: two matrices fit a screen
    first = max(labels, longest) if together else labels
    gap = 2 if first + 4 + sum(len(head) + 2 for head in heads) <= WIDTH else 1
    for place, (title, situations) in enumerate(blocks):
        titled = Line(text=one_line(title, WIDTH), style="strong")
        headed = Line(text=f"{'n':>4}" + "".join(f"{head:>{len(head) + gap}}" for head in heads), style="faint")
        if place or not together:
            yield (titled,)
        if not place:
            yield Line(text=f"{title if together else '':{first}}", style="strong"), headed
        for one in situations:
            label = one_line(one.label, WIDTH - 2)
            if len(label) > first - 2:
                yield (Line(text=f"  {label}"),)
                label = ""
            yield tuple(_line(one, label, heads, first, gap))
    excuses = dict.fromkeys(why for one in every for row in one.rows if (why := one.excused(row)))
    good = [head for head in heads if head in _GOOD]
    below = [f"good: {', '.join(good) or 'no column'}{'; bad: the others' * any(head in _BAD for head in heads)}"]
    below += ["undecided is neither"] if "undecided" in heads else []
    below += [f"* not counted: {', '.join(excuses)}"] if excuses else []
    never = [head for head in (*_GOOD, *_BAD) if head not in heads]
    below += [f"none: {', '.join(never)}"] if never and len(blocks) == 1 else []
    unmet: dict[str, list[str]] = {}
    for one in every:
        for why, number in Counter(one.unmet.values()).items():
            if why not in one.words:
                unmet.setdefault(why, []).append(f"{one.label} by {number} of {len(one.unmet) + len(one.rows)}")
    below += [f"not met: {', '.join(where)}: {why}" for why, where in unmet.items()]
    lines = below[:1]
    for part in below[1:]:
        lines[-1:] = [f"{lines[-1]}; {part}"] if len(f"{lines[-1]}; {part}") <= WIDTH - 2 else [lines[-1], part]
    yield from ((Line(text=part, style="faint"),) for line in lines for part in wrap(line, WIDTH, "  ", "    "))


def _line(one: Situation, label: str, heads: Sequence[str], first: int, gap: int) -> Iterator[Line]:
    yield Line(text=f"  {label:<{first - 2}}{len(one.rows) or '·':>4}")
    for head in heads if one.rows else ():
        rows = one.counted(head)
        excused = any(map(one.excused, rows))
        style = "faint" if not rows else "good" if head in _GOOD else "notice" if excused or head in _OPEN else "bad"
        yield Line(text=f"{f'{len(rows)}*' if excused else len(rows) or '·':>{len(head) + gap}}", style=style)
    if one.words:
        yield Line(text=f"  {one.words}", style="notice" if one.rows else "faint")


def counts_in_words(blocks: Sequence[tuple[str, Sequence[Situation]]]) -> Iterator[tuple[Line, ...]]:
    """Yield in words what episodes came to, for tasks whose outcomes have no columns here; see `matrix_lines`."""
    for title, situations in blocks:
        yield (Line(text=one_line(title, WIDTH), style="strong"),)
        for one in situations:
            words = {outcome.name: outcome.words for outcome in one.run.job.task.outcomes}
            counts = Counter(words.get(row.outcome, row.outcome.replace("_", " ")) for row in one.rows if row.scored)
            said = ", ".join(f"{outcome} {number:,}" for outcome, number in counts.most_common())
            text = f"{one.label}, n {len(one.rows):,}: {'; '.join(filter(None, [said, one.words]))}"
            yield from ((Line(text=line),) for line in wrap(text, WIDTH, "  ", "    "))


def worst(situations: Sequence[Situation], most: int) -> list[tuple[Situation, Row]]:
    """Return the episodes to look at first, of different kinds: what fails the agent, then other bad outcomes; at last what is undecided."""
    kinds: dict[tuple[bool, int], tuple[Situation, Row]] = {}
    for one in situations:
        for row in one.rows:
            head = COLUMN_OF.get(row.outcome, "")
            if head in _BAD or not row.scored:
                kinds.setdefault((not one.failing(row), [*_BAD, ""].index(head)), (one, row))
    undecided = next(((one, row) for one in situations for row in one.counted("undecided")), None)
    return [*[kinds[kind] for kind in sorted(kinds)][:most], *filter(None, [undecided])]


def failing_words(situations: Sequence[Situation]) -> str:
    """Say what makes an agent fail; empty if nothing does."""
    kinds = Counter(why for one in situations for row in one.rows if (why := one.failing(row)))
    said = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    said += f" (of {count(sum(len(one.rows) for one in situations), 'episode')})" if said else ""
    whole = [row for one in situations if one.groups == ("perfect",) and not one.faults for row in one.rows]
    unsolved = len(whole) > 1 and not any(COLUMN_OF.get(row.outcome) == "solved" for row in whole)
    untried = [f"not tried: {one.label}" for one in situations if one.untried]
    return "; ".join(filter(None, [said, f"solved none of {len(whole)} where nothing is missing" if unsolved else "", *untried]))
