"""`talm-sim scenarios init` at the terminal: call the tools, draft scenarios, and write a file that says what to edit."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.making.tool_trials import TrialTools, trial_tools
from talm_sim.cli.parsing.shared_arguments import command_line, print_json, print_list
from talm_sim.cli.terminal.text import as_json, count, odds_words, one_line, one_line_text
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.recordings.shared_files import write_atomically
from talm_sim.scenarios.jsonl import COMMENT, short_form
from talm_sim.tasks.talm.making.check import LOOKS_SECRET
from talm_sim.tasks.talm.making.drafts import NOTHING_STABLE, CalledTool, Draft, differ_in_ids_alone, draft_scenarios
from talm_sim.tasks.talm.making.other_values import retry_with_other_values
from talm_sim.tools_env.trials import AT_ONCE, MAY_CHANGE, CallResult, Trial, call_times
from talm_sim.types import JsonObject

CALLS = 2
"""Number of calls of each tool: a value that differs between them is not a fact."""
_KEPT = "; if it keeps what a call changed: talm_sim.tool_factory (docs/tools.md)"


@dataclass(frozen=True, slots=True)
class DraftedTool:
    """A tool with what was made for it.

    Attributes:
        tried: How it was called in the end; None where the calls gave nothing to make a scenario of.
        draft: Its scenarios; also None in that case.
        given_away: Whether a description says the first call's value of the argument that would be missing.
    """

    trial: Trial
    tried: CalledTool | None
    draft: Draft | None
    why: str
    given_away: bool = False

    @property
    def groups(self) -> list[str]:
        """Groups of its scenarios."""
        return [scenario.group for scenario in self.draft.scenarios] if self.draft else []

    @property
    def arguments(self) -> JsonObject:
        """What it was called with."""
        return self.tried.arguments if self.tried else self.trial.example.arguments

    @property
    def made_up(self) -> list[str]:
        """Names of the arguments that nobody gave."""
        return [name for name in self.trial.example.made_up if not self.tried or name not in self.tried.instead_of]

    @property
    def doubt(self) -> str:
        """Why its scenarios may ask for nothing real; empty without a reason."""
        empty = self.groups and self.made_up and self.tried and re.search(r"\[\]|\{\}|: null", as_json(self.tried.answers[0]))
        return f"a part of its answer is empty{_guessed_arguments_hint(self.trial)}" if empty else ""

    @property
    def remarks(self) -> list[str]:
        """Remarks about the values, for readers of the scenarios."""
        replaced = self.tried.instead_of if self.tried and "underspecified" in self.groups else {}
        said = [f"{name}: {as_json(self.arguments[name])}, because the descriptions say {as_json(old)}" for name, old in replaced.items()]
        if self.draft and self.draft.choices:
            missing = next(scenario.missing for scenario in self.draft.scenarios if scenario.group == "underspecified")
            said += [odds_words(missing[0].name if missing else "", self.draft.choices)]
        return said


def drafting_session(
    out: Path, sources: tuple[str, ...], trusted: bool, *, arguments: Path | None, writing: bool, force: bool, as_records: bool
) -> None:
    """Write the file, and print what is in it and what was left out."""
    if out.exists() and not force:
        raise PrerequisiteError(f"{out}: already exists; choose another --out, or add --force to replace it.")
    if out.is_dir() or not out.parent.is_dir():
        raise PrerequisiteError(
            f"{out}: {'is a folder' if out.is_dir() else 'its folder does not exist'}; name a file in an existing folder: --out FILE."
        )
    outcomes = asyncio.run(_draft_tools(sources, trusted, arguments, writing=writing))
    if as_records:
        print_json([_record(one) for one in outcomes])
    else:
        _print_outcomes(outcomes)
    if not any(one.groups for one in outcomes):
        raise PrerequisiteError(f"no scenarios could be made, so {out} was not written. {suggest_fix(outcomes)}")
    lines = _lines(outcomes, out, sources, trusted)
    write_atomically(out, "".join(f"{line}\n" for line in lines).encode(), replace=force)
    _print_next_steps(outcomes, out, sources, trusted)


async def _draft_tools(sources: tuple[str, ...], trusted: bool, arguments: Path | None, *, writing: bool) -> list[DraftedTool]:
    async with trial_tools(sources, trusted, times=CALLS, writing=writing, arguments=arguments) as found:
        return await draft_tools(found, writing=writing)


async def draft_tools(found: TrialTools, *, writing: bool) -> list[DraftedTool]:
    """Make scenarios for tools that were called; where a description gives a value away, a tool is called again with others."""
    gate, tools = asyncio.Semaphore(AT_ONCE), found.tools

    async def call_again(tried: CalledTool, arguments: JsonObject) -> list[Any]:
        if not writing and not tools.only_reads(tried.spec.name):
            return []
        async with gate:
            answers = await call_times(tools, tried.spec.name, arguments, CALLS)
        return _values(answers) or []

    kept = {one.tool: "" if tools.only_reads(one.tool) else _KEPT for one in found.trials}
    read = {trial.tool: _read(trial, kept[trial.tool]) for trial in found.trials}
    called = [
        CalledTool(
            tools.specs[one.tool],
            one.example.arguments,
            answers,
            one.source,
            frozenset(found.given.get(one.tool, ())),
            acts=writing and not tools.only_reads(one.tool),
        )
        for one in found.trials
        if (answers := read[one.tool][0])
    ]
    first = draft_scenarios(called, tools.specs)
    called = await retry_with_other_values(called, tools.specs, call_again)
    drafts = {draft.tool: draft for draft in draft_scenarios(called, tools.specs)}
    given_away = {draft.tool for draft in first if draft.given_away}
    tried = {one.spec.name: one for one in called}
    return [
        DraftedTool(
            one,
            tried.get(one.tool),
            drafts.get(one.tool),
            read[one.tool][1] or _why_none(one, drafts[one.tool], kept[one.tool], writing=writing),
            one.tool in given_away,
        )
        for one in found.trials
    ]


def _why_none(trial: Trial, draft: Draft, kept: str, *, writing: bool) -> str:
    """Return why a tool that answered has no scenario; empty if it has some."""
    if draft.scenarios:
        return ""
    said = "; ".join(draft.left_out)
    if said != NOTHING_STABLE:
        return said
    more, values = "", _values(trial.answers) or []
    if kept and differ_in_ids_alone(values):
        more = "" if writing else "; with --writing, the call alone is asked for"
    elif values[0] != values[-1]:
        said, more = f"it was called twice, and answered {one_line(as_json(values[0]), 80)} and then {one_line(as_json(values[-1]), 80)}", kept
    return f"{said}{_guessed_arguments_hint(trial)}{more}"


def _read(trial: Trial, kept: str) -> tuple[list[Any], str]:
    """Return what a tool answered; or nothing, and the reason."""
    if trial.not_called:
        return [], f"not called: {trial.not_called}"
    place, failed = next(((place, one.said) for place, one in enumerate(trial.answers) if not one.ok), (0, ""))
    if place:
        return [], f"it was called twice, and the second call failed: {failed}{_guessed_arguments_hint(trial)}{kept}"
    if failed:
        return [], f"{failed}{_guessed_arguments_hint(trial)}"
    values = _values(trial.answers)
    if values and trial.example.made_up and _says_nothing(values[0], [*trial.example.arguments.values()]):
        return [], f"its answer is empty{_guessed_arguments_hint(trial)}"
    return (values, "") if values else ([], "its answer is not JSON")


def _says_nothing(answer: Any, sent: Sequence[Any]) -> bool:
    """Return whether an answer holds no value but nothing, zeros and what was sent."""
    if isinstance(answer, dict | list):
        return all(_says_nothing(part, sent) for part in (answer.values() if isinstance(answer, dict) else answer))
    return not answer or answer in sent


def _values(answers: Sequence[CallResult]) -> list[Any] | None:
    """Return what was answered; None if an answer failed or is not JSON."""
    try:
        return [one.value() for one in answers] if all(one.ok for one in answers) else None
    except (ValueError, RecursionError):
        return None


def _guessed_arguments_hint(trial: Trial) -> str:
    """Return the end of a message about a call that may have failed because of its arguments."""
    made_up = {name: trial.example.arguments[name] for name in trial.example.made_up}
    return f" (with made-up {_format_arguments(made_up)})" if made_up else ""


def suggest_fix(outcomes: Sequence[DraftedTool]) -> str:
    """Say what may help where no scenarios could be made."""
    if any(one.trial.not_called == MAY_CHANGE for one in outcomes):
        them = "them" if len(outcomes) > 1 else "it"
        return f"Declare what only reads (in Python: FUNCTION.read_only = True; docs/tools.md); to call {them} anyway: --writing."
    return "Give working arguments with --arguments FILE."


def _record(one: DraftedTool) -> dict[str, Any]:
    return {
        "tool": one.trial.tool,
        "source": one.trial.source,
        "arguments": one.arguments,
        "made_up": one.made_up,
        "instead_of": one.tried.instead_of if one.tried else {},
        "scenarios": [scenario.id for scenario in one.draft.scenarios] if one.draft else [],
        "choices": one.draft.choices if one.draft else None,
        "left_out": one.draft.left_out if one.draft and one.groups else [],
        "why_none": one.why,
    }


def _print_outcomes(outcomes: Sequence[DraftedTool]) -> None:
    rows = [
        {"tool": one.trial.tool, "arguments": one_line(_format_arguments(one.arguments), 100), "groups": ", ".join(one.groups)}
        for one in outcomes
        if one.groups
    ]
    print_list(rows, {"tool": "Tool", "arguments": "Called with", "groups": "Scenarios"}, empty="no scenarios", broadest=30)
    for one in outcomes:
        for reason in [one.why] if one.why else one.draft.left_out if one.draft else ():
            click.echo(one_line(f"{'left out' if one.groups else 'not written'}: {one.trial.tool}: {reason}", 400), err=True)


def _print_next_steps(outcomes: Sequence[DraftedTool], out: Path, sources: tuple[str, ...], trusted: bool) -> None:
    groups = Counter(group for one in outcomes for group in one.groups)
    said = ", ".join(f"{number} {group}" for group, number in groups.items())
    for line in _summarize_yield(outcomes):
        click.echo(one_line(line, 400), err=True)
    click.echo(f"{one_line_text(str(out))}: {count(groups.total(), 'scenario')} ({said}); edit their wording, then run:", err=True)
    for line in _commands(out, sources, trusted):
        click.echo(f"  {one_line_text(line)}", err=True)


def _summarize_yield(outcomes: Sequence[DraftedTool]) -> Iterator[str]:
    """Report which values the descriptions gave away, what was done about it, and what can still be guessed."""
    before = [one for one in outcomes if one.given_away and one.groups]
    kept = [one for one in before if "underspecified" in one.groups]
    after = sum("underspecified" in one.groups for one in outcomes)
    if before:
        lost, replaced = len(before) - len(kept), sum(bool(one.tried and one.tried.instead_of) for one in kept)
        became = {
            "now use another value": replaced,
            "leave out another argument": len(kept) - replaced,
            "are left out (give other values: --arguments FILE)": lost,
        }
        said = ", ".join(f"{number} {what}" for what, number in became.items() if number)
        yield f"underspecified: {after} of {after + lost} kept. The descriptions gave the missing value away in {len(before)}: {said}."
    odds = [f"{one.trial.tool} 1 in {one.draft.choices}" for one in outcomes if one.draft and one.draft.choices]
    if odds:
        yield f"The missing value is one of a short list, so a guess may be right: {', '.join(odds)}."


def _commands(out: Path, sources: tuple[str, ...], trusted: bool) -> list[str]:
    more = [*(word for source in sources for word in ("--tools-from", source)), *(["--trust"] if trusted else [])]
    return [
        line_to_copy("talm-sim", "scenarios", "check", "--scenarios", str(out), *more),
        line_to_copy("talm-sim", "run", "--scenarios", str(out), *more, *(() if sources else ("--live",)), "--model", "PROVIDER/NAME"),
    ]


def _lines(outcomes: Sequence[DraftedTool], out: Path, sources: tuple[str, ...], trusted: bool) -> Iterator[str]:
    """Return the file's lines; text from elsewhere is on one line in a comment, and escaped in a scenario."""
    prove, run = _commands(out, sources, trusted)
    for text in (
        f"Scenarios made by: {command_line()}",
        "",
        "Each tool was called as in `gold_calls` and returned the fact in `target`. The wording is machine-made: edit",
        "`content`, `removed_text` (it must appear in the perfect scenario's `content`) and `human_answer`, then check everything again:",
        f"  {prove}",
        f"  {run}",
        "Lines starting with // are comments. For the meaning of each key: talm-sim scenarios show --format",
    ):
        yield _comment(text)
    for one in outcomes:
        if one.draft and one.groups:
            yield ""
            yield from _describe_trial(one)
            yield from (as_json(short_form(scenario)) for scenario in one.draft.scenarios)
    if idle := [one for one in outcomes if not one.groups]:
        yield ""
        yield _comment(
            'Left out. If the arguments were the reason, give better ones in a file, {"TOOL": {"ARGUMENT": VALUE}}: --arguments FILE'
        )
        yield from (_comment(f"  {one.trial.tool}: {one.why}") for one in idle)


def _describe_trial(one: DraftedTool) -> Iterator[str]:
    assert one.tried is not None
    answer = as_json(one.tried.answers[0])
    yield _comment(f"{one.trial.tool} answered: {answer[:300]}{'...' if len(answer) > 300 else ''}")
    if one.made_up:
        yield _comment(f"  made up, please check: {', '.join(one.made_up)}")
    yield from (_comment(f"  {remark}") for remark in one.remarks)
    yield from (_comment(f"  left out: {reason}") for reason in (one.draft.left_out if one.draft else ()))


def _format_arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={as_json(value)}" for name, value in arguments.items()) or "nothing"


def _comment(text: str) -> str:
    """Return a comment line; text that looks like a credential is replaced."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    return f"{COMMENT} {indent}{LOOKS_SECRET.sub('[a secret?]', one_line(text, 600))}".rstrip()
