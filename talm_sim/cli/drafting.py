"""`talm-sim scenarios init` at the terminal: the tools are called, scenarios drafted, and a file written that says what to mend in it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.arguments import command_line, print_json, print_list
from talm_sim.cli.text import as_json, count, flat, one_line
from talm_sim.cli.trying import try_all
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.files import write_atomically
from talm_sim.scenarios.build import short_form
from talm_sim.scenarios.check import LOOKS_SECRET
from talm_sim.scenarios.jsonl import COMMENT

if TYPE_CHECKING:
    from talm_sim.scenarios.drafts import Draft
    from talm_sim.tools_env.toolbox import Tools
    from talm_sim.tools_env.trials import Trial

__all__ = ["drafting_session"]

CALLS = 2
"""Of each tool: what differs between them is no fact."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A tool with what was made for it.

    Attributes:
        trial: How it was called.
        draft: Its scenarios; None where the calls gave nothing to make one of.
        why: Why it has none.
    """

    trial: Trial
    draft: Draft | None
    why: str

    @property
    def groups(self) -> list[str]:
        return [scenario.group for scenario in self.draft.scenarios] if self.draft else []


def drafting_session(
    out: Path, sources: tuple[str, ...], trusted: bool, *, arguments: Path | None, writing: bool, force: bool, as_records: bool
) -> None:
    """Make the file, and say what is in it and what is not.

    Raises:
        PrerequisiteError: The file is there already, a source cannot be opened, or no tool gave a scenario; nothing is written then.
    """
    if out.exists() and not force:
        raise PrerequisiteError(f"{out}: is there already; choose another --out, or add --force to replace it.")
    if out.is_dir() or not out.parent.is_dir():
        raise PrerequisiteError(
            f"{out}: {'is a folder' if out.is_dir() else 'its folder is not there'}; name a file in one that is: --out FILE."
        )
    tools, tried = try_all(sources, trusted, times=CALLS, writing=writing, arguments=arguments)
    outcomes = _outcomes(tools, tried)
    if as_records:
        print_json([_record(one) for one in outcomes])
    else:
        _tell(outcomes)
    if not any(one.groups for one in outcomes):
        raise PrerequisiteError(f"no tool gave a scenario, so {out} was not written. {_mend(outcomes)}")
    lines = _lines(outcomes, out, sources, trusted)
    write_atomically(out, "".join(f"{line}\n" for line in lines).encode(), replace=force)
    _tell_next(outcomes, out, sources, trusted)


def _outcomes(tools: Tools, tried: Sequence[Trial]) -> list[_Outcome]:
    from talm_sim.scenarios.drafts import Tried, draft_scenarios

    answers: dict[str, list[Any]] = {}
    why: dict[str, str] = {}
    for trial in tried:
        failed = next((one.said for one in trial.answers if not one.ok), "")
        if trial.not_called or failed:
            why[trial.tool] = f"not called: {trial.not_called}" if trial.not_called else f"{failed}{_guessed(trial)}"
            continue
        try:
            answers[trial.tool] = [one.value() for one in trial.answers]
        except (ValueError, RecursionError):
            why[trial.tool] = "its answer is no JSON"
    called = [Tried(tools.specs[one.tool], one.example.arguments, answers[one.tool]) for one in tried if one.tool in answers]
    drafts = {draft.tool: draft for draft in draft_scenarios(called, tools.specs)}
    return [_Outcome(one, drafts.get(one.tool), why.get(one.tool, "") or _why_none(drafts[one.tool])) for one in tried]


def _guessed(trial: Trial) -> str:
    """The end of a message about a call that may have failed by its arguments."""
    made_up = {name: trial.example.arguments[name] for name in trial.example.made_up}
    return f" (with made-up {_written(made_up)})" if made_up else ""


def _why_none(draft: Draft) -> str:
    return "" if draft.scenarios else "; ".join(draft.left_out)


def _mend(outcomes: Sequence[_Outcome]) -> str:
    from talm_sim.tools_env.trials import MAY_CHANGE

    if all(one.trial.not_called == MAY_CHANGE for one in outcomes):
        return f"Nobody says of {'these tools that they' if len(outcomes) > 1 else 'this tool that it'} only read; to call them: --writing."
    return "Give arguments they can be called with: --arguments FILE."


def _record(one: _Outcome) -> dict[str, Any]:
    return {
        "tool": one.trial.tool,
        "source": one.trial.source,
        "arguments": one.trial.example.arguments,
        "made_up": one.trial.example.made_up,
        "scenarios": [scenario.id for scenario in one.draft.scenarios] if one.draft else [],
        "left_out": one.draft.left_out if one.draft and one.groups else [],
        "why_none": one.why,
    }


def _tell(outcomes: Sequence[_Outcome]) -> None:
    rows = [
        {"tool": one.trial.tool, "arguments": one_line(_written(one.trial.example.arguments), 100), "groups": ", ".join(one.groups)}
        for one in outcomes
        if one.groups
    ]
    print_list(rows, {"tool": "Tool", "arguments": "Called with", "groups": "Scenarios"}, empty="no scenario", broadest=30)
    for one in outcomes:
        for reason in [one.why] if one.why else one.draft.left_out if one.draft else ():
            click.echo(one_line(f"{'left out' if one.groups else 'not written'}: {one.trial.tool}: {reason}", 400), err=True)


def _tell_next(outcomes: Sequence[_Outcome], out: Path, sources: tuple[str, ...], trusted: bool) -> None:
    groups = Counter(group for one in outcomes for group in one.groups)
    said = ", ".join(f"{number} {group}" for group, number in groups.items())
    click.echo(f"{flat(str(out))}: {count(groups.total(), 'scenario')} ({said}); mend their wording, then", err=True)
    for line in _commands(out, sources, trusted):
        click.echo(f"  {flat(line)}", err=True)


def _commands(out: Path, sources: tuple[str, ...], trusted: bool) -> list[str]:
    more = [*(word for source in sources for word in ("--tools-from", source)), *(["--trust"] if trusted else [])]
    return [
        shlex.join(["talm-sim", "scenarios", "check", "--scenarios", str(out), *more]),
        shlex.join(["talm-sim", "run", "--scenarios", str(out), *more, *([] if sources else ["--tools", "live"]), "--model", "PROVIDER/NAME"]),
    ]


def _lines(outcomes: Sequence[_Outcome], out: Path, sources: tuple[str, ...], trusted: bool) -> Iterator[str]:
    """The file's lines; whatever comes from elsewhere is flat in a comment and escaped in a scenario."""
    prove, run = _commands(out, sources, trusted)
    for text in (
        f"Scenarios made by: {command_line()}",
        "",
        "Each tool was called as `gold_calls` says, and answered the fact in `target`. The wording is a machine's: mend what stands in",
        "`content`, `removed_text` (it must stand in the perfect one's `content`) and `human_answer`, then prove all of it again:",
        f"  {prove}",
        f"  {run}",
        "Lines that begin with // are comments. What each key means: talm-sim scenarios show --format",
    ):
        yield _comment(text)
    for one in outcomes:
        if one.draft and one.groups:
            yield ""
            yield from _about(one)
            yield from (as_json(short_form(scenario)) for scenario in one.draft.scenarios)
    idle = [one for one in outcomes if not one.groups]
    if idle:
        yield ""
        yield _comment('Not here; where arguments were the reason, give better ones in a file, {"TOOL": {"ARGUMENT": VALUE}}: --arguments FILE')
        yield from (_comment(f"  {one.trial.tool}: {one.why}") for one in idle)


def _about(one: _Outcome) -> Iterator[str]:
    answer = as_json(one.trial.answers[0].value())
    yield _comment(f"{one.trial.tool} answered: {answer[:300]}{'...' if len(answer) > 300 else ''}")
    if one.trial.example.made_up:
        yield _comment(f"  made up, so look at it: {', '.join(one.trial.example.made_up)}")
    yield from (_comment(f"  left out: {reason}") for reason in (one.draft.left_out if one.draft else ()))


def _written(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={as_json(value)}" for name, value in arguments.items()) or "nothing"


def _comment(text: str) -> str:
    """A comment line; a text that looks like a credential is kept out of it."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    return f"{COMMENT} {indent}{LOOKS_SECRET.sub('[a secret?]', one_line(text, 600))}".rstrip()
