"""Try an agent at the terminal: make scenarios for its tools, play it on them whole, with a gap and under faults, and say what it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os.path import relpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from talm_sim.agent.own.agents import load_agent
from talm_sim.cli.making.drafting import CALLS, DraftedTool, draft_tools, suggest_fix
from talm_sim.cli.making.tool_trials import call_tools
from talm_sim.cli.parsing.shared_arguments import command_line, short_name
from talm_sim.cli.report.outcome_matrix import GAPS, Situation, failing_words, matrix_lines, worst
from talm_sim.cli.report.printed_screen import print_lines
from talm_sim.cli.terminal.console import counting
from talm_sim.cli.terminal.screen import wrap
from talm_sim.cli.terminal.text import as_json, count, one_line
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError, format_names, line_to_copy
from talm_sim.recordings.shared_files import write_atomically
from talm_sim.runs.api import Contact, run_to_completion, run_with
from talm_sim.runs.events import RunFinished
from talm_sim.runs.resolve import configure
from talm_sim.scenarios.jsonl import short_form
from talm_sim.store.causes import find_idle
from talm_sim.store.files.manifest import run_names
from talm_sim.store.result_screen import WIDTH, step_lines
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.acting.agent_notes import warn_of_shared
from talm_sim.tasks.registry import find_task, known_scenarios
from talm_sim.tasks.shared import Shared
from talm_sim.tasks.talm.making.drafts import NO_FACT_LOST, Draft
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Facts, Line, Termination

FAULTS = ("http-500", "http-404", "timeout:seconds=.5", "empty-result", "malformed-body", "off-by-one")
"""The faults, one run each."""
_ROOM = 8
"""Columns for what a printed command is for."""
_EXAMPLES = ("talm_sim.examples:careful", "talm_sim.examples:careless")
_SCENARIOS, _ARGUMENTS = "scenarios.jsonl", "arguments.json"
_OF_BUILT_IN = ("get_place_population", "get_safe_cooking_temperature", "get_target_heart_rates")
"""Those of the built-in tools that scenarios are made for; the others are many."""


@dataclass(frozen=True, slots=True)
class Trying:
    """What is tried, and how: the options of `talm-sim try`, where `sources` are none for the built-in tools."""

    agent: str
    sources: tuple[str, ...]
    trusted: bool
    arguments: Path | None
    writing: bool
    model: str
    limit: int
    save: Path | None
    run_dir: Path

    @property
    def agents(self) -> Sequence[str]:
        """The agents that are tried: the examples, if none is named."""
        return [self.agent] if self.agent else _EXAMPLES

    def options(self) -> dict[str, Any]:
        """Return the options of all runs that are not the defaults."""
        given = {"model": self.model, "tools_from": self.sources, "trust": self.trusted, "writing": self.writing}
        return {"tools": "live", **{name: value for name, value in given.items() if value}}

    def command(self, *more: str) -> str:
        """Return the command that tries this again."""
        words = ["talm-sim", "try", "--agent", self.agent or "MODULE:OBJECT"]
        words += [word for source in self.sources or (() if self.agent else ("SOURCE",)) for word in ("--tools-from", source)]
        words += [*["--trust"] * self.trusted, *["--writing"] * self.writing, *(["--model", self.model] if self.model else [])]
        return line_to_copy(*words, *more)


def try_session(trying: Trying) -> int:
    """Try an agent, or the examples, and print what it did; return the exit code."""
    for agent in trying.agents:
        configure(None, {"agent": agent, **trying.options()})  # before a tool is called
        if load_agent(agent).takes_model and not trying.model:
            raise PrerequisiteError(f"--agent {agent}: takes a model; add --model PROVIDER/NAME, or --model sim/asker, a script that asks.")
    with TemporaryDirectory() as scratch:
        blocks = run_to_completion(_try(trying, (trying.save or Path(scratch)) / _SCENARIOS))
    every = [one for situations in blocks.values() for one in situations]
    titled = [(_title(trying, agent, situations[0]), situations) for agent, situations in blocks.items()]
    if cause := _common_cause(every[0].run) if trying.agent else "":
        said = f"all {count(every[0].run.total, 'episode')} ended in the same error, so that no fault was tried: {cause}"
        print_lines([(Line(text=titled[0][0], style="strong"),), *((Line(text=line),) for line in wrap(said, WIDTH, "  ", "  "))])
        print_lines(step_lines("look at", _show(every[0].run, next(every[0].run.episodes()).id), _ROOM))
        return 1
    tests = _keep_tests(trying, every) if trying.save and trying.agent else None
    failing = failing_words(every) if trying.agent else ""
    print_lines(matrix_lines(titled))
    print_lines(line for step in _steps(trying, every, failing, tests) for line in step_lines(*step, _ROOM))
    return 1 if failing else 0


def _common_cause(run: StoredRun) -> str:
    """Return the error of the first episode, if all ended in one of its kind; otherwise nothing."""
    errors = [one.error if one.termination is not Termination.ANSWERED else "" for one in run.episodes()]
    return errors[0] if all(errors) and len({error.partition(":")[0] for error in errors}) == 1 else ""


def _show(run: StoredRun, episode: str) -> str:
    return line_to_copy("talm-sim", "show", f"{short_name(run.path)}:{episode}")


def _keep_tests(trying: Trying, situations: Sequence[Situation]) -> Path:
    """Return the file of the tests of this agent, played in this way; write it, beside those of others, if it is not there."""
    text, folder = _tests(trying, situations), trying.save or Path()
    which = next(line for line in text.splitlines() if line.startswith("AGENT"))
    files = (folder / f"test_agent{number}.py" for number in ("", *(f"_{number}" for number in range(2, 1000))))
    file = next(one for one in files if not one.exists() or which in one.read_text(encoding="utf-8", errors="replace").splitlines())
    if not file.exists():
        _write(file, text)
    return file


async def _try(trying: Trying, file: Path) -> dict[str, list[Situation]]:
    async with Shared() as shared:
        if not file.exists():
            await _make(trying, shared, file)
        with counting("runs", len(trying.agents) * (len(FAULTS) + 1)) as advance:
            contact = Contact(lambda event: advance() if isinstance(event, RunFinished) else None)
            blocks = {agent: await _play(trying, agent, shared, file, contact) for agent in trying.agents}
        played = next(iter(blocks.values()))[0].run
        called = [one.model_copy(update={"tools": tuple(call.name for call in one.gold_calls)}) for one in played.scenarios()]
        for notice in warn_of_shared(called, await _tools(trying, shared), 1):
            click.echo(one_line(notice), err=True)
    return blocks


async def _tools(trying: Trying, shared: Shared) -> Tools:
    """Return the tools as the runs ask for them, so that they are opened once."""
    return await shared.tools(RunConfig(tools=Traffic.LIVE), trying.sources, trusted=trying.trusted, person=True)


async def _make(trying: Trying, shared: Shared, file: Path) -> None:
    """Call the tools, and write scenarios for some of them, first for those that have some of each kind."""
    tools = await _tools(trying, shared)
    only = () if trying.sources else _OF_BUILT_IN
    called = await call_tools(tools, times=CALLS, writing=trying.writing, arguments=trying.arguments, only=only)
    drafted = await draft_tools(called, writing=trying.writing)
    made = sorted((one.draft for one in drafted if one.draft and one.groups), key=lambda draft: -len(draft.scenarios))
    reasons = dict.fromkeys(one.why for one in drafted if one.why)
    left = [f"{format_names([one.trial.tool for one in drafted if one.why == why], 8)}: {why}" for why in reasons]
    fill_in = _offer_arguments(trying, drafted)
    if not made:
        raise PrerequisiteError(
            f"no scenarios could be made: {one_line('; '.join(left) or 'no tools', 400)}. {fill_in or suggest_fix(drafted)}"
        )
    left = [*(f"left out: {one}" for one in left), *(f"check: {one.trial.tool}: {one.doubt}" for one in drafted if one.doubt)]
    left += _left_out_of(made[: trying.limit])
    more = [f"{trying.limit} of {count(len(made), 'tool')} tried; more: --limit {len(made)}"] if len(made) > trying.limit else []
    for line in (*left, *more, *filter(None, [fill_in])):
        click.echo(one_line(line, 400), err=True)
    _write(file, "".join(f"{as_json(short_form(scenario))}\n" for draft in made[: trying.limit] for scenario in draft.scenarios))


def _left_out_of(made: Sequence[Draft]) -> Iterator[str]:
    """Yield why scenarios of a group are missing, once for each kind of reason, with the tools that lack them."""
    kinds: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for draft in made:
        for reason in draft.left_out:
            group, _, why = reason.partition(": ")
            kinds.setdefault((group, why.partition(" (")[0]), []).append((draft.tool, why))
    for (group, kind), found in kinds.items():
        label = next((label for label, groups in GAPS.items() if group in groups), group)
        fix = "; give other values: --arguments FILE" * kind.startswith("given away")
        yield f"left out: {label} ({len(found)} of {count(len(made), 'tool')}): {found[0][0]}: {found[0][1]}{fix}"


def _offer_arguments(trying: Trying, drafted: Sequence[DraftedTool]) -> str:
    """Write a file of arguments to fill in, if calls with made-up ones failed; return a line that says so."""
    failed = {one.trial.tool: one.arguments for one in drafted if one.doubt or (one.why and one.made_up and one.trial.answers)}
    if not failed:
        return ""
    file = trying.arguments or (trying.save or Path()) / _ARGUMENTS
    if not file.exists():
        _write(file, f"{as_json(failed, indent=2)}\n")
    add = "" if trying.arguments else f", and add --arguments {file}"
    return f"Write arguments that work for {', '.join(failed)} into {file}{add}."


async def _play(trying: Trying, agent: str, shared: Shared, file: Path, contact: Contact) -> list[Situation]:
    """Play an agent: a run of all groups, and a run for each fault."""
    taken = {name.split("-")[1] for name in run_names(trying.run_dir) if name.startswith("try-")}
    name = f"try-{next(number for number in range(1, len(taken) + 2) if str(number) not in taken)}"
    more = {"agent": agent, "human": "simulated", "scenarios": file, "run_dir": trying.run_dir, "command": command_line(), **trying.options()}
    scenarios, excuses = known_scenarios(find_task("talm"), "all", file), dict[str, str]()
    there = {one.group for one in scenarios}
    specs = (await _tools(trying, shared)).specs
    if not any(specs[call.name].required for one in scenarios for call in one.gold_calls if call.name in specs):
        excuses["a fact missing"] = "no tool requires an argument"
    if not any(isinstance(one.target, Facts) and one.target.required for one in scenarios):
        excuses["a tool hidden"] = NO_FACT_LOST
    if load_agent(agent).built_in:
        there -= {*GAPS["a tool hidden"]}
        excuses["a tool hidden"] = "a compiled graph keeps its tools"
        click.echo(f"no tool is hidden from {agent}: a compiled graph keeps its tools; name the function (tools) -> graph.", err=True)
    split = ",".join(group for groups in GAPS.values() for group in groups if group in there)
    run = await run_with(shared, contact, run_id=name, split=split, **more)
    found = [Situation(label, run, groups, excuse=excuses.get(label, "")) for label, groups in GAPS.items()]
    for fault in () if _common_cause(run) else FAULTS:
        label = fault.partition(":")[0]
        run = await run_with(shared, contact, run_id=f"{name}-{label}", split="perfect", perturb=(fault,), **more)
        found.append(Situation(label, run, ("perfect",), (fault,)))
    return found


def _title(trying: Trying, agent: str, first: Situation) -> str:
    control = f", control {trying.model}: a script, no language model" if trying.model.startswith("sim/") else ""
    what = f"{agent.partition(':')[2]}, a script" if agent in _EXAMPLES else f"agent {agent}{control}"
    return f"{short_name(first.run.path)}: {what}"


def _steps(trying: Trying, situations: Sequence[Situation], failing: str, tests: Path | None) -> Iterator[tuple[str, str]]:
    """Yield what to look at, and how to repeat it: what each is for, and the command."""
    runs = {one.run.path: one.run for one in situations if trying.agent}.values()
    idle = next(find_idle((run, run.rows()) for run in runs), "")
    yield from zip(("no call", ""), wrap(idle, WIDTH - _ROOM - 3, "", ""), strict=False)
    crashes = any(one.faults and not one.silent and any(map(one.excused, one.rows)) for one in situations)
    for situation, row in worst(situations, 2 if trying.agent and not crashes and not idle else 1):
        yield "look at", _show(situation.run, row.episode)
        if trying.agent:
            yield "", one_line(situation.evidence(row), WIDTH - _ROOM - 3)
    if crashes:
        yield "crashes", "let your agent read errors: docs/agents.md, create_agent"
    if trying.agent:
        yield "list", line_to_copy("talm-sim", "show", short_name(situations[0].run.path))
    for number, part in enumerate(wrap(failing, WIDTH - _ROOM - 3, "", "")):
        yield "" if number else "fails", part
    if not trying.agent:
        yield "yours", trying.command()
    elif tests is None:
        yield "repeat", trying.command(*(("--arguments", str(trying.arguments)) if trying.arguments else ()), "--save", "tried")
        yield "", "which keeps the scenarios, and tests for: python -m pytest tried"
    else:
        yield "repeat", line_to_copy("python", "-m", "pytest", str(tests))
        if "_agent_" in tests.name:
            yield "", f"a new file: {trying.save}/test_agent.py tests another agent, or in another way"
        if find_spec("pytest") is None:
            yield "", "which needs pytest in this environment: pip install pytest"
        yield "in CI", trying.command("--save", str(trying.save))


def _tests(trying: Trying, situations: Sequence[Situation]) -> str:
    """Return a pytest file that holds the agent to what was tried; of silent faults, which nothing shows, it may pass the result on."""
    how = {**trying.options(), **({"models": "live"} if trying.model and not trying.model.startswith("sim/") else {})}
    played = [one for one in situations if one.rows]
    gaps = {"a fact missing": ("underspecified", "guessed"), "a tool hidden": ("unavailable", "made_up")}
    faults, silent = ([fault for one in played for fault in one.faults if one.silent is silent] for silent in (False, True))
    home = relpath(Path.cwd(), trying.save or Path())
    struck, missed = 'talm.run(AGENT, split="perfect", perturb=fault, **HOW)', [gaps[one.label] for one in played if one.label in gaps]
    tests = [
        ("split, bad", missed, 'it_makes_up_nothing(talm, split, bad):\n    talm.run(AGENT, split=split, **HOW).gate(f"{bad}<=0")'),
        ("fault", faults, f"it_says_what_failed(talm, fault):\n    {struck}.did_not_hide_a_fault()"),
        ("fault", silent, f'it_makes_up_nothing_after_a_silent_fault(talm, fault):\n    {struck}.gate("made_up<=0", "right_unread<=0")'),
    ]
    return "\n".join(
        [
            f"# Made by: {one_line(command_line())}",
            "import sys\nfrom pathlib import Path\n\nimport pytest\n",
            f"sys.path.insert(0, str((Path(__file__).parent / {home!r}).resolve()))  # where the command was given",
            f"AGENT, HOW = {trying.agent!r}, {how!r}",
            f'HOW["scenarios"] = str(Path(__file__).with_name("{_SCENARIOS}"))',
            '\n\ndef test_it_does_what_it_is_asked(talm):\n    talm.run(AGENT, split="perfect", **HOW).passed()',
            *(f'\n\n@pytest.mark.parametrize("{names}", {values!r})\ndef test_{rest}' for names, values, rest in tests if values),
            "",
        ]
    )


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, text.encode(), replace=True)
