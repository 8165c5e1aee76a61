"""`talm-sim scenarios list|show|schema|stats|init|check|generate|translate|review`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from talm_sim.cli.commands.translate import translate
from talm_sim.cli.making.tool_trials import arguments_option, describe_sources, writing_option
from talm_sim.cli.parsing.lazy import WholeGroup, completer_for
from talm_sim.cli.parsing.option_errors import last_value_of, values_of
from talm_sim.cli.parsing.options import OptionsCommand, parse_options
from talm_sim.cli.parsing.shared_arguments import (
    json_option,
    plugin_option,
    print_json,
    print_list,
    scenarios_option,
    sources_option,
    split_option,
    task_option,
    trust_option,
)
from talm_sim.cli.terminal.text import count, odds_words, one_line
from talm_sim.config import ENV_PREFIX, RunConfig
from talm_sim.errors import PrerequisiteError, suggest_nearest
from talm_sim.tasks.registry import find_task, known_scenarios

if TYPE_CHECKING:
    from talm_sim.scenarios.statistics import Likeness
    from talm_sim.tasks.acting.recoveries import FaultWay
    from talm_sim.tasks.base import Task
    from talm_sim.tasks.makers import Maker
    from talm_sim.types import Scenario, ToolSpec

_DEFAULT_TASK = str(RunConfig.model_fields["task"].default)
MADE_BY_DEFAULT = "when2call"
_task_option = task_option(_DEFAULT_TASK)


@click.group(cls=WholeGroup)
def command() -> None:
    """The scenarios: list, show, schema, stats, init, check, generate, translate, review."""


command.add_command(translate)


@command.command("list")
@split_option("Groups to list, as in `run --split`.")
@_task_option
@plugin_option
@scenarios_option
@json_option
def list_(split: str, task: str, file: Path | None, as_json: bool) -> None:
    """List the scenarios of a split."""
    found = find_task(task)
    try:
        found.groups(split)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--split: {err}") from None
    scenarios = known_scenarios(found, split, file)
    if as_json:
        print_json([scenario.model_dump(mode="json") for scenario in scenarios])
        return
    rows = [{"id": scenario.id, "query": one_line(scenario.query)} for scenario in scenarios]
    print_list(rows, {"id": "Scenario", "query": "Query"}, empty="no scenario")
    click.echo(", ".join(f"{number} {group}" for group, number in Counter(scenario.group for scenario in scenarios).items()), err=True)


@command.command("show")
@click.argument("scenario", metavar="SCENARIO", required=False, shell_complete=completer_for("scenario"))
@_task_option
@plugin_option
@scenarios_option
@sources_option
@trust_option
@click.option("--format", "the_format", is_flag=True, help="Print the format of a scenario file.")
def show(scenario: str | None, task: str, file: Path | None, tools_from: tuple[str, ...], trust: bool, the_format: bool) -> None:
    """Print one scenario as JSON: query, tools, gold calls or options, and what is missing.

    If the missing argument has a fixed list of possible values, a line says how likely a guess is right.
    """
    if the_format:
        click.echo(files("talm_sim.scenarios").joinpath("format.txt").read_text(encoding="utf-8"), nl=False)
        return
    if scenario is None:
        raise click.UsageError("name a SCENARIO, or add --format to see the file format.")
    found = find_task(task)
    scenarios = {item.id: item for item in known_scenarios(found, "all", file)}
    if scenario not in scenarios:
        listing = f" See: talm-sim scenarios list{'' if task == _DEFAULT_TASK else f' --task {task}'}"
        raise PrerequisiteError(f"unknown scenario '{scenario}'.{suggest_nearest(scenario, [*scenarios]) or listing}")
    print_json(scenarios[scenario].model_dump(mode="json"))
    _print_guessing_odds(found, scenarios[scenario], tools_from, trust)


@command.command("schema")
@_task_option
@plugin_option
def schema(task: str) -> None:
    """Print the JSON Schema of a line of a scenario file.

    A program or an editor can check a line with it. `scenarios check` also checks what depends on several fields together, and whether
    the tools can be called.
    """
    print_json(find_task(task).line_schema())


def _print_guessing_odds(found: Task[Any], scenario: Scenario, tools_from: tuple[str, ...], trusted: bool) -> None:
    from talm_sim.cli.commands.tools import built_in_specs

    if not scenario.missing or not scenario.gold_calls:
        return
    odds = found.guessing_odds(scenario, describe_sources(tools_from, trusted).specs if tools_from else built_in_specs())
    for argument, choices in odds.items():
        click.echo(odds_words(argument, choices), err=True)


@command.command("stats")
@_task_option
@plugin_option
@scenarios_option
@json_option
def stats(task: str, file: Path | None, as_json: bool) -> None:
    """Count the scenarios by source and group, with mean numbers of turns, APIs, words per turn, and characters per API.

    Words are runs of letters and digits, and punctuation marks. A turn is what is said, or a call with its result. An API is written as
    its source writes it. Where a paper counts the same set, its figures follow. Where a paper has such queries, the distance of the first
    words (total variation) and of the lengths in words (Kolmogorov-Smirnov) from its own are printed below: 0 is equal, 1 shares nothing.
    """
    from talm_sim.scenarios.statistics import statistics_of

    found = find_task(task)
    scenarios = known_scenarios(found, "all", file)
    counted = [(one, found.published_statistics(one)) for one in statistics_of(scenarios)]
    likeness = _likeness(found, scenarios)
    if as_json:
        beside = [asdict(likeness[one.group]) if one.group in likeness else None for one, _ in counted]
        papers = [asdict(paper) if paper else None for _, paper in counted]
        print_json([asdict(one) | {"published": paper, "distance": far} for (one, _), paper, far in zip(counted, papers, beside, strict=True)])
        return
    sets = [asdict(one) for pair in counted for one in pair if one is not None]
    rows = [
        {key: "–" if value is None else f"{value:.2f}" if isinstance(value, float) else value for key, value in one.items()} for one in sets
    ]
    heads = {"group": "Group", "instances": "n", "turns": "Turns", "apis": "APIs", "utterance_words": "Words", "api_length": "API length"}
    print_list(rows, {**heads, "source": "Source"}, empty="no scenario")
    for group, far in likeness.items():
        click.echo(f"distance of {group} from the published queries: first words {far.first_words:.2f}, lengths {far.lengths:.2f}")


def _likeness(task: Task[Any], scenarios: Sequence[Scenario]) -> dict[str, Likeness]:
    """Return how far the queries of each group are from a paper's, for the groups that a paper has."""
    from talm_sim.scenarios.statistics import likeness_of

    if task.published_queries is None:
        return {}
    published = json.loads(task.published_queries.read_text(encoding="utf-8"))
    queries = {group: [one.query for one in scenarios if one.group == group and one.query.strip()] for group in published}
    return {group: likeness_of(said, published[group]) for group, said in queries.items() if said}


@command.command("init")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="File to write.")
@sources_option
@trust_option
@plugin_option
@arguments_option
@writing_option
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def init(out: Path, tools_from: tuple[str, ...], trust: bool, arguments: Path | None, writing: bool, force: bool, as_json: bool) -> None:
    """Write first scenarios for your tools, from real calls of each tool.

    Each call becomes a request, and a value from its answer becomes the fact to find. One variant leaves a required argument out of the
    request, and another hides the tool. Arguments come from --arguments, otherwise from examples in the tool's description, otherwise they
    are made up. The value that is left out never appears in a description: the tool is called with other values until one works. Tools
    that cannot be used are listed with the reason. Please edit the wording afterwards.
    """
    from talm_sim.cli.making.drafting import drafting_session

    drafting_session(out, tools_from, trust, arguments=arguments, writing=writing, force=force, as_records=as_json)


@command.command("check")
@split_option("Groups to check.")
@click.option("--faults", is_flag=True, help="Also try to get around injected faults.")
@click.option(
    "--perturb",
    multiple=True,
    metavar="NAME[:k=v,...]",
    shell_complete=completer_for("perturb"),
    help="With --faults: this fault in place of all; repeatable.",
)
@click.option("--writing", is_flag=True, help="With --faults: also repeat calls that may change data.")
@_task_option
@scenarios_option
@sources_option
@trust_option
@plugin_option
@json_option
def check(
    split: str,
    faults: bool,
    perturb: tuple[str, ...],
    writing: bool,
    task: str,
    file: Path | None,
    tools_from: tuple[str, ...],
    trust: bool,
    as_json: bool,
) -> int:
    """Check every scenario: can it be read and played, and does it contain what the measures need?

    Every line is read as a run would read it. A task whose agent acts also checks the tools. Task talm checks that gold calls work and return
    the required facts, that what was removed cannot be read from the user's words or from the tools' descriptions, that exactly the missing
    tools are hidden, and that no query occurs twice. The exit code is 1 if something is wrong.

    With --faults, every fault strikes every tool of the gold calls, and the calls are made: is there a way to the facts? The table counts
    the first way that works: the changed result itself, the same call again, a call named in `alternatives`, another read, a person, or
    none, when the only right answer is to say so. It does not change the exit code.
    """
    from talm_sim.tasks.agent_task import AgentTask
    from talm_sim.tools_env.caller import ToolCaller

    found = find_task(task)
    acts = isinstance(found, AgentTask)
    if tools_from and not acts:
        raise click.UsageError(f"--tools-from: the scenarios of task {task} are checked without calling a tool; leave it out.")
    _check_fault_options(task, acts=acts, faults=faults, perturb=perturb, writing=writing)
    scenarios = known_scenarios(found, split, file)
    odds: dict[str, int] = {}
    ways: list[FaultWay] = []
    if isinstance(found, AgentTask):
        with ToolCaller(tools_from or found.tools_from, trusted=trust) as call:
            problems = found.prove(scenarios, call, packaged=file is None)
            odds = {name: choices for scenario in scenarios for name, choices in _named_odds(found, scenario, call.specs)}
            if faults:
                from talm_sim.cli.making.fault_ways import print_ways, try_faults, way_records

                ways = try_faults(call, scenarios, perturb, writing=writing)
    else:
        problems = found.prove(scenarios, None, packaged=file is None)
    records = [asdict(one) for one in problems]
    if as_json:
        print_json({"problems": records, "faults": way_records(ways)} if faults else records)
    else:
        for problem in problems:
            click.echo(one_line(str(problem), 1000))
        if faults:
            print_ways(ways)
    if guessed := [f"{name} 1 in {choices}" for name, choices in odds.items()]:
        click.echo(f"the missing value is one of a few, so a guess may be right: {', '.join(guessed)}", err=True)
    verdict = f"{count(len(problems), 'problem')} found" if problems else "all sound" if acts else "all can be run"
    click.echo(f"{count(len(scenarios), 'scenario')} {'checked' if acts else 'read'}: {verdict}", err=True)
    return 1 if problems else 0


def _named_odds(task: Task[Any], scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Iterator[tuple[str, int]]:
    """Yield how many values each missing argument may have, under the scenario's id, and the argument's name if several are missing."""
    for argument, choices in task.guessing_odds(scenario, specs).items():
        yield f"{scenario.id} ({argument})" if len(scenario.missing) > 1 else scenario.id, choices


def _check_fault_options(task: str, *, acts: bool, faults: bool, perturb: tuple[str, ...], writing: bool) -> None:
    if faults and not acts:
        raise click.UsageError(f"--faults: the scenarios of task {task} call no tools; leave it out.")
    for name, given in (("--perturb", perturb), ("--writing", writing)):
        if given and not faults:
            raise click.UsageError(f"{name}: is an option of --faults; add --faults, or leave it out.")


def _maker(args: list[str]) -> type[Maker[Any, Any, Any]]:
    from talm_sim.foreign.plugins import load_plugins
    from talm_sim.tasks.registry import find_maker

    load_plugins(values_of("--plugin", args))
    load_plugins(os.environ.get(f"{ENV_PREFIX}PLUGIN", "").split(","), f"{ENV_PREFIX}PLUGIN")
    return find_maker(last_value_of("--task", args, MADE_BY_DEFAULT))


def _of_another_maker(args: list[str], err: click.NoSuchOption) -> click.UsageError:
    from talm_sim.tasks.registry import find_maker, list_makers

    name = err.option_name.lstrip("-").replace("-", "_")
    owner = next((task for task in list_makers() if name in find_maker(task).options_model.model_fields), "")
    return click.UsageError(f"{err.option_name} is an option of --task {owner}.") if owner else err


@command.command("generate", cls=OptionsCommand, fields=lambda args: _maker(args).options_model, foreign=_of_another_maker)
@click.option(
    "--task",
    metavar="NAME",
    shell_complete=completer_for("maker"),
    default=MADE_BY_DEFAULT,
    show_default=True,
    help="Task to make scenarios for.",
)
@click.option("--dry-run", is_flag=True, help="Print the possible cost, and make nothing.")
@plugin_option
@json_option
def generate_(task: str, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Make scenarios from others, by rules or with a model; run it again to continue.

    Task when2call (the default): each request becomes up to three multiple-choice items: unchanged, with one required value left out, and
    a related request that the tool cannot serve. Task awareness: the tools a request needs are replaced, or part of what the user said is
    removed. Task refusal: the thought that leads to the right action is written, for training. Rejected texts are kept with the reason.
    Requests that the provider failed on are retried when you run the command again; until then the exit code is 1.
    """
    from talm_sim.cli.making.generating import making_session, print_bound, print_report
    from talm_sim.tasks.registry import find_maker

    kind = find_maker(task)
    maker = kind(parse_options(kind.options_model, given))
    if dry_run:
        print_bound(maker, as_json=as_json)
        return 0
    report = making_session(task, maker)
    if as_json:
        print_json(report)
    else:
        print_report(report, maker)
    return 1 if report["sources"]["failed"] else 0


@command.command("review")
@click.argument("place", metavar="FOLDER|FILE", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", default="", help="Your name; several people can review the same files, each under their own name.")
@click.option("--merge", is_flag=True, help="Compare the reviewers' decisions, settle differences, and write what was kept.")
@click.option("--rejected", is_flag=True, help="Also review what the checks rejected: do you agree with them?")
@plugin_option
@json_option
def review(place: Path, name: str, merge: bool, rejected: bool, as_json: bool) -> None:
    """Review generated scenarios at the terminal: keep, drop or edit each; every decision is saved at once.

    With --json nothing is asked, and the decisions so far are counted. --merge prints agreement and Cohen's kappa for each pair of
    reviewers.
    """
    from talm_sim.cli.making.reviewing import merge_session, review_session
    from talm_sim.tasks.registry import reviewer_of

    if merge and name:
        raise click.UsageError("--merge covers all reviewers; leave out --name.")
    reviewer = reviewer_of(place)
    if merge:
        merge_session(place, reviewer, rejected=rejected, as_json=as_json)
    else:
        review_session(place, reviewer, rejected=rejected, name=name, as_json=as_json)
