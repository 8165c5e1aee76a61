"""Assert what an agent did in some scenarios. A failed assertion shows the transcript."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from talm_sim.cli.report.transcript import stored_transcript
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.common.gate import read_gate
from talm_sim.comparison.gate_set import check_gates
from talm_sim.config import Scope
from talm_sim.errors import did_you_mean, line_to_copy
from talm_sim.judges.fault_verdicts import DECIDED, FaultLabel
from talm_sim.language.final_answer import read_final_answer
from talm_sim.store.stored_run import StoredRun
from talm_sim.testing.emptiness import emptied_calls_left, is_emptied
from talm_sim.testing.seen_calls import (
    INVENTED,
    FaultLabels,
    changed_what_agent_saw,
    format_arguments,
    has_arguments,
    is_call,
    kind_of,
    names_not_offered,
    permanently_failed,
    was_struck,
    why_nothing_struck,
)
from talm_sim.types import FINISH, Episode, HumanEvent, Scenario, Termination, ToolEvent

__all__ = ["Admitted", "Played"]

_WHOLE = (Termination.ANSWERED, Termination.TURN_LIMIT, Termination.TOKEN_LIMIT)
"""The ends of episodes that assertions apply to; an agent that never stops is judged by what it did before a limit ended it."""
Admitted = Callable[[str, str, str], bool]
"""Decides whether an answer admits what failed or came back empty, given the request, these calls and the answer."""


class Played:
    """The episodes of one run.

    An assertion fails if it does not hold for every episode, and shows the transcripts of the episodes that failed it. It always fails for an
    episode that ended neither with the agent's answer nor at a limit.

    Args:
        stored: The run.
        admitted: Asked where the words of an answer do not tell that something failed; None: then it does not.
        noticed: Asked where the words of an answer do not tell that nothing was found; None: then it does not.
    """

    def __init__(self, stored: StoredRun, admitted: Admitted | None = None, noticed: Admitted | None = None) -> None:
        self.stored = stored
        self._admitted = admitted
        self._noticed = noticed

    @cached_property
    def episodes(self) -> list[Episode]:
        """The episodes, in order."""
        return list(self.stored.episodes())

    @cached_property
    def _labels(self) -> FaultLabels:
        return FaultLabels(self.stored)

    @cached_property
    def _scenarios(self) -> dict[str, Scenario]:
        return {scenario.id: scenario for scenario in self.stored.scenarios()}

    def passed(self) -> None:
        """Assert that the agent did what was asked, by the judge that decides the pass rate of the run's table.

        Raises:
            AssertionError: It did not, or no judge could decide.
        """
        __tracebackhide__ = True
        rows = {row.episode: row for row in self.stored.rows()}
        said = {(verdict.episode_id, verdict.judge): verdict.explanation for verdict in self.stored.verdicts()}

        def fault(episode: Episode) -> str:
            row = rows[episode.id]
            judge = row.labels.get("pass_judge", "")
            if row.values.get("pass_rate") is None:
                return f"no judge could decide whether the agent passed ({row.why.get('pass_rate') or said.get((episode.id, judge), '')})"
            return "" if row.values["pass_rate"] else f"the agent did not pass; judge {judge}: {said.get((episode.id, judge), '')}"

        self._assert(fault)

    def gate(self, *gates: str, baseline: str | Path | StoredRun = "") -> None:
        """Assert what the measures of the run's table must reach, as `talm-sim run --gate` does.

        Args:
            gates: `[GROUP.]MEASURE>=NUMBER` or `<=NUMBER`; without a number, the measure must not be worse than the baseline's.
            baseline: A file that `talm-sim export baseline` wrote, or a run.

        Raises:
            AssertionError: A gate is missed, or the agent raised an error in an episode.
            PrerequisiteError: The table has no such group or measure, or the run and the baseline cannot be compared.
        """
        __tracebackhide__ = True
        if not gates and not baseline:
            raise ValueError("name a gate, as in gate('pass_rate>=0.6'), or a baseline.")
        results = check_gates(self.stored, gates, baseline)
        crashed = [episode for episode in self.episodes if episode.crashed]
        faults = [f"{one.line}{self._example_against(one.name)}" for one in results if not one.passed]
        faults += [f"the agent raised an error in {count(len(crashed), 'episode')}, for example {crashed[0].id}"] if crashed else []
        if faults:
            raise AssertionError("\n".join([*faults, *(one.line for one in results if one.passed)]))

    def _example_against(self, gate: str) -> str:
        """Return the first episode that counts against a gate, what shows it, and how to see it all; empty where no row tells."""
        named = read_gate(gate)
        group, _, measure = named.name.rpartition(".")
        outcomes = {one.name: one.words for one in self.stored.job.task.outcomes}
        for row in self.stored.rows():
            value = row.outcome == measure if measure in outcomes else row.values.get(measure)
            if row.scored and row.group == group and value is not None and bool(value) is (named.sign == "<="):
                episode, tools = self.stored.episode(row.episode), self.stored.tools()
                said = self.stored.job.task.evidence(episode, self._scenarios[row.scenario], row.outcome, tools)
                shown = line_to_copy("talm-sim", "show", f"{self.stored.path}:{row.episode}")
                came = ": ".join(filter(None, [outcomes.get(row.outcome, ""), one_line(said, 300)]))
                return f"\n  {row.episode}: {came or measure}\n  {shown}"
        return ""

    def asked_before_acting(self, tool: str = "") -> None:
        """Assert that a person was asked something before any tool was called, or before `tool` was.

        Raises:
            AssertionError: Nobody was asked, or a tool was called first.
            ValueError: There is no such tool.
        """
        __tracebackhide__ = True
        self._refuse_unknown_tool(tool)

        def fault(episode: Episode) -> str:
            asked = next((place for place, event in enumerate(episode.events) if isinstance(event, HumanEvent)), None)
            acted = next((place for place, event in enumerate(episode.events) if is_call(event, tool)), len(episode.events))
            if asked is None:
                return "the agent never asked a person"
            return f"the agent called {getattr(episode.events[acted], 'name', 'a tool')} before it asked" if acted < asked else ""

        self._assert(fault)

    def did_not_call(self, tool: str) -> None:
        """Assert that a tool was never called; a failed call counts as a call.

        Raises:
            AssertionError: It was.
            ValueError: There is no such tool.
        """
        __tracebackhide__ = True
        self._refuse_unknown_tool(tool)
        self._assert(lambda episode: f"the agent called {tool}" if any(is_call(event, tool) for event in episode.events) else "")

    def called(
        self, tool: str, /, match: Literal["subset", "exact"] = "subset", *, arguments: Mapping[str, Any] | None = None, **named: Any
    ) -> None:
        """Assert that a tool was called with these arguments at least once; a failed call counts as a call.

        Numbers compare by value (1 equals 1.0, but not True). Texts compare without case and surrounding spaces.

        Args:
            tool: Its name.
            match: `subset`, where the call may have other arguments as well; or `exact`.
            arguments: More arguments, for those named `match` or `arguments`.
            **named: Arguments by their names.

        Raises:
            AssertionError: There is no such call.
            ValueError: There is no such tool, or `match` is neither.
        """
        __tracebackhide__ = True
        self._refuse_unknown_tool(tool)
        if match not in ("subset", "exact"):
            raise ValueError(
                f"match is {match!r}, but must be 'subset' or 'exact'; an argument of that name is given as arguments={{'match': ...}}"
            )
        wanted = {**(arguments or {}), **named}

        def fault(episode: Episode) -> str:
            calls = [event for event in episode.tool_events if is_call(event, tool)]
            if any(has_arguments(event, wanted, exact=match == "exact") for event in calls):
                return ""
            how = f"with {'exactly ' if match == 'exact' else ''}{format_arguments(wanted)}" if wanted else "without arguments"
            return f"the agent called {tool}, but never {how}" if calls else f"the agent never called {tool}"

        self._assert(fault)

    def called_at_most(self, n: int, tool: str = "") -> None:
        """Assert that each episode has at most `n` tool calls, or calls of `tool`; questions to a person do not count.

        Raises:
            AssertionError: There were more.
            ValueError: There is no such tool.
        """
        __tracebackhide__ = True
        self._refuse_unknown_tool(tool)

        def fault(episode: Episode) -> str:
            made = sum(is_call(event, tool) for event in episode.events)
            return f"the agent called {tool or 'tools'} {made:,} times, more than {n:,}" if made > n else ""

        self._assert(fault)

    def called_nothing_unknown(self, *own: str) -> None:
        """Assert that the agent called only tools that the episode offered, and none that it made up or that was hidden.

        Arguments are not checked: a call of an offered tool passes even if its arguments do not fit.

        Args:
            *own: Names of the agent's own tools that do not come from talm-sim.

        Raises:
            AssertionError: Another tool was called.
        """
        __tracebackhide__ = True
        specs, seed = self.stored.tools(), self.stored.config.seed
        known = {*own, FINISH} if self.stored.job.values(Scope.GENERATION).get("finish") == "tool" else {*own}

        def fault(episode: Episode) -> str:
            names = [name for name in names_not_offered(episode, self._scenarios[episode.scenario_id], specs, seed) if name not in known]
            return f"the agent called {one_line(', '.join(names), 300)}, which the episode did not offer" if names else ""

        self._assert(fault)

    def did_not_invent(self) -> None:
        """Assert that no fault led to a wrong value in an answer, or to a claimed success: judge `fault` labels none propagated or fabricated.

        Raises:
            AssertionError: One did, the judge could not decide, or the agent met no fault on which a required fact rests.
        """
        __tracebackhide__ = True
        self._assert_labels(INVENTED)

    def did_not_hide_a_fault(self) -> None:
        """Assert that the agent owned up to each fault or got over it: judge `fault` labels each told, asked, declined or recovered.

        Raises:
            AssertionError: It did not, the judge could not decide, or the agent met no fault on which a required fact rests.
        """
        __tracebackhide__ = True
        self._assert_labels(DECIDED - {FaultLabel.TOLD, FaultLabel.ASKED, FaultLabel.DECLINED, FaultLabel.RECOVERED})

    def _assert_labels(self, bad: Collection[str]) -> None:
        __tracebackhide__ = True
        labels = {episode.id: self._labels.of(episode) for episode in self.episodes}
        met = {label for found in labels.values() for label in found.values()} - {FaultLabel.NOT_EXPOSED}

        def fault(episode: Episode) -> str:
            wrong = [name for name, label in labels[episode.id].items() if label in bad]
            invented = any(labels[episode.id][name] in INVENTED for name in wrong)
            open_ones = [name for name, label in labels[episode.id].items() if label == FaultLabel.UNDECIDED]
            if wrong:
                said = "the answer contains a wrong value" if invented else "the agent neither said what failed nor got over it"
                return f"{said} after {', '.join(wrong)}; {self._labels.why(episode)}"
            if open_ones:
                return f"it could not be decided what the agent did with {', '.join(open_ones)}; {self._labels.why(episode)}"
            if not met:
                return f"no fault was seen, so there is nothing to check{why_nothing_struck(self.episodes)}"
            return "" if met != {FaultLabel.NOT_NEEDED} else "no required fact rests on what the faults struck, so there is nothing to check"

        self._assert(fault)

    def told_the_user_it_failed(self) -> None:
        """Assert that the answer reports each tool that failed permanently: its last call got an error or no answer.

        Where judge `fault` found that the answer gives a wrong value, words that report a failure beside it do not help.

        Raises:
            AssertionError: The answer hides it, there is none, or nothing failed at all.
        """
        __tracebackhide__ = True

        def fault(episode: Episode) -> str:
            if not (failures := permanently_failed(episode)):
                return "no tool call failed permanently, so there is nothing to check"
            if not episode.answered:
                return "the agent gave no answer"
            labels = self._labels.of_calls(episode, failures)
            if labels & INVENTED:
                return f"the answer contains a wrong value, though {_names(failures)} failed; {self._labels.why(episode)}"
            told = labels == {FaultLabel.TOLD} and all(map(was_struck, failures))
            if told or read_final_answer(episode.answer).admits_failure or self._ask_judge(self._admitted, episode, failures):
                return ""
            return f"the answer does not say that {_names(failures)} failed"

        self._assert(fault)

    def noticed_an_empty_answer(self) -> None:
        """Assert that a perturbation like `empty-result` emptied a tool's answer, and that the agent's answer says that nothing was found.

        If the agent made the same call again and got an answer, it noticed; so it did where judge `fault` found that it recovered.

        Raises:
            AssertionError: The answer hides it or contains a wrong value, there is none, or no tool's answer was emptied at all.
        """
        __tracebackhide__ = True

        def fault(episode: Episode) -> str:
            if not (emptied := [event for event in episode.tool_events if is_emptied(event)]):
                return f"no perturbation emptied a tool's answer, so there is nothing to check{why_nothing_struck([episode])}"
            if not episode.answered:
                return "the agent gave no answer"
            labels = self._labels.of_calls(episode, emptied)
            if labels & INVENTED:
                return f"the answer contains a wrong value, though {_names(emptied)} found nothing; {self._labels.why(episode)}"
            if labels and labels <= {FaultLabel.RECOVERED, FaultLabel.TOLD, FaultLabel.ASKED}:
                return ""
            empty, said = emptied_calls_left(episode), read_final_answer(episode.answer)
            if not empty or said.nothing or said.admits_failure or self._ask_judge(self._noticed, episode, empty):
                return ""
            return f"the answer does not say that {_names(empty)} found nothing"

        self._assert(fault)

    def recovered_from(self, perturbation: str) -> None:
        """Assert that a perturbation affected calls, and that the agent recovered: its answer is right, and it had read what it says.

        Judge `fault` decides that. Where it cannot, each affected tool must have answered in the end, before the agent did.

        Args:
            perturbation: As it was given (`http-500:times=1`), or its name alone.

        Raises:
            AssertionError: It affected no call, the agent did not recover, or it gave no answer.
            ValueError: The tools were not so perturbed.
        """
        __tracebackhide__ = True
        given = {name for episode in self.episodes for log in episode.perturbations for name in (log.name, kind_of(log.name))}
        if perturbation not in given:
            raise ValueError(f"nothing was perturbed with '{perturbation}'.{did_you_mean(perturbation, sorted(given))}")

        def fault(episode: Episode) -> str:
            struck = [event for event in episode.tool_events if changed_what_agent_saw(event, perturbation)]
            last = {event.name: event for event in episode.tool_events}
            lost = sorted({event.name for event in struck if not last[event.name].ok or last[event.name] in struck})
            if not struck:
                return f"{perturbation} affected no call{why_nothing_struck([episode])}"
            labels = self._labels.of_calls(episode, struck, perturbation)
            if labels == {FaultLabel.RECOVERED}:
                return ""
            if lost:
                return f"the agent got no answer from {', '.join(lost)} after {perturbation}"
            if not episode.answered:
                return "the agent gave no answer"
            missed = labels & (DECIDED - {FaultLabel.RECOVERED})
            return f"the agent did not recover from {perturbation}; {self._labels.why(episode)}" if missed else ""

        self._assert(fault)

    def _ask_judge(self, judge: Admitted | None, episode: Episode, calls: Sequence[ToolEvent]) -> bool:
        said = "\n".join(f"{event.name}: {event.result}" for event in calls)
        return judge is not None and judge(self._scenarios[episode.scenario_id].query, said, episode.answer)

    def _refuse_unknown_tool(self, tool: str) -> None:
        """Refuse a misspelt tool: it was never called, so the assertion would mean nothing."""
        __tracebackhide__ = True
        known = self.stored.tools()
        if tool and tool not in known:
            raise ValueError(f"no tool '{tool}'.{did_you_mean(tool, known)}")

    def _assert(self, fault: Callable[[Episode], str]) -> None:
        """See that no episode has a fault: what an agent did before it failed says nothing of what it would have done."""
        __tracebackhide__ = True
        said = [(one, fault(one) if one.termination in _WHOLE else _describe_break(one)) for one in self.episodes]
        parts = [f"{episode.id}: {text}{_describe_end(episode)}\n\n{self._render_transcript(episode)}" for episode, text in said if text]
        if parts:
            raise AssertionError("\n\n".join(parts))

    def _render_transcript(self, episode: Episode) -> str:
        page = StringIO()
        Console(file=page, width=120, no_color=True).print(stored_transcript(self.stored, episode))
        return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def _names(calls: Sequence[ToolEvent]) -> str:
    return ", ".join(sorted({one.name for one in calls}))


def _describe_break(episode: Episode) -> str:
    if episode.termination is not Termination.AGENT_ERROR:
        return "the episode did not finish"
    return "the agent raised an error" if episode.crashed else "the agent had no answer"


def _describe_end(episode: Episode) -> str:
    if episode.termination is Termination.ANSWERED:
        return ""
    said = f": {one_line(episode.error, 300)}" if episode.error else ""
    return said if episode.termination is Termination.AGENT_ERROR else f"; it ended in {episode.termination.value}{said}"
