"""`talm-sim judge RUN`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from talm_sim.cli.parsing.field_options import ConfigOption
from talm_sim.cli.parsing.lazy import completer_for, exit_codes
from talm_sim.cli.parsing.options import ConfigCommand, collect
from talm_sim.cli.parsing.shared_arguments import INTERRUPTED, command_line, one_run_argument, run_dir_option
from talm_sim.config import Scope

_SCOPES = (Scope.SCORING, Scope.OPERATIONAL)
_WITHOUT = ("run_dir", "run_id", "on", "name", "tools", "max_episodes", "controls", "gate", "baseline", "junit", "summary")
_FILE = click.Path(path_type=Path, dir_okay=False)


def _of_people(*names: str, **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(*names, cls=ConfigOption, section="People (--judge person)", **settings)


_OF_PEOPLE = (
    _of_people("--name", metavar="NAME", default="", shell_complete=completer_for("people"), help="Your name."),
    _of_people("--sample", metavar="N", type=click.IntRange(1), help="Judge N drawn at random: 20 of each verdict, then in proportion."),
    _of_people("--reviews", metavar="N", type=click.IntRange(1), help="Only episodes with fewer than N reviews.  [default: all]"),
    _of_people("--seed", metavar="N", type=int, help="Seed of the sample.  [default: 0]"),
    _of_people("--question", metavar="NAME", default="", shell_complete=completer_for("question"), help="Which of several questions to ask."),
    _of_people("--scenarios", metavar="FILE", type=click.Path(path_type=Path), help="Judge scenarios in place of a run; no model is run."),
    _of_people(
        "--task",
        metavar="NAME",
        default="",
        shell_complete=completer_for("task"),
        help="Task of FILE, if FILE does not name it; without FILE, the packaged scenarios of this task.",
    ),
    _of_people("--settle", is_flag=True, help="Decide what people differ on."),
    _of_people("--labels-in", metavar="F.csv", type=_FILE, help="Read labels that were given elsewhere."),
    _of_people("--labels-out", metavar="F.csv", type=_FILE, help="Write the labels that were given; - for standard output."),
    _of_people("--json", "as_json", is_flag=True, help="Print the agreement so far, and ask nothing."),
)
_NAMES = ("name", "sample", "reviews", "seed", "question", "scenarios", "task", "settle", "labels_in", "labels_out", "as_json")


def _people_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OF_PEOPLE):
        command = option(command)
    return command


@click.command(cls=ConfigCommand, scopes=_SCOPES, without=_WITHOUT, flags=("paired_run",), stored=True, epilog=exit_codes(0, 1, 2, 4, 130))
@one_run_argument
@run_dir_option
@_people_options
def command(run: str | None, run_dir: Path, **options: Any) -> int:
    """Score a stored run again.

    Without RUN, it is the newest. Its episodes stay as they are. The judges given here are stored with it, and its table uses them from now on.

    With --judge person, people judge at the terminal, with one key per verdict: they see neither other verdicts nor the model's name or the
    group. Their verdicts are in a table of their own, and other judges do not change them.
    """
    given = {name: options.pop(name) for name in _NAMES}
    from talm_sim.judges.person import asks_people  # not at the top: a help page needs no judges

    if asks_people(options["judge"]):
        if len(options["judge"]) > 1:
            raise click.UsageError("--judge person: people judge by themselves; use other judges in a command of their own.")
        return _judge_by_people(run, run_dir, given, plain=options["display"] == "plain")
    wanted = [name for name, value in given.items() if value is not None and value is not False and value != ""]
    if wanted:
        flag = "--json" if wanted[0] == "as_json" else f"--{wanted[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} goes with --judge person.")
    return _judge(run, run_dir, options)


def _judge(run: str | None, run_dir: Path, options: dict[str, Any]) -> int:
    from talm_sim.store.stored_run import load_run

    stored, scoring = load_run(run, run_dir), collect(options)
    from talm_sim.cli.report.blocks import blocks_of, reading_together
    from talm_sim.cli.run_session import display_config, print_result, watching
    from talm_sim.runs.api import judge
    from talm_sim.runs.prices import prices_of

    talk = display_config(scoring)
    prices = prices_of(talk)
    with watching(talk, again=command_line()) as session:
        done = judge(stored.path, on_event=session.display, **scoring)
    if session.interrupted:
        return INTERRUPTED
    with reading_together([done]):
        return print_result([done], blocks_of([done], talk, prices), talk, prices, spent=session.spent, again=command_line())


def _judge_by_people(run: str | None, run_dir: Path, given: dict[str, Any], *, plain: bool) -> int:
    """Find the run, and do what is asked: take labels, write them, print how far people agree, or let a person judge."""
    from talm_sim.cli.person import blind_judging as session
    from talm_sim.store.people.ballot import choose_question
    from talm_sim.store.stored_run import load_run

    alone = given["scenarios"] is not None or bool(given["task"])
    if run is not None and alone:
        raise click.UsageError(f"RUN and {'--task' if given['scenarios'] is None else '--scenarios'} exclude each other.")
    if str(given["labels_out"]) == "-" and given["as_json"]:
        raise click.UsageError("--labels-out - and --json: both go to standard output; give one of them, or a file.")
    if given["settle"] and given["name"]:
        raise click.UsageError("--settle decides for all; leave out --name.")
    stored = session.run_of_scenarios(given["scenarios"], run_dir, given["task"]) if alone else load_run(run, run_dir)
    question = choose_question(stored, given["question"])
    done = False
    if given["labels_in"] is not None:
        session.take_labels(stored, question, given["labels_in"], given["name"], size=given["sample"], seed=given["seed"])
        done = True
    if given["labels_out"] is not None:
        session.write_labels(stored, question, given["labels_out"], size=given["sample"], seed=given["seed"])
        done = True
    if given["as_json"]:
        session.print_agreement(stored, question)
        done = True
    if done:
        return 0
    if not (given["name"] or given["settle"]):
        raise click.UsageError("--judge person: say who judges: --name NAME.")
    asked = {name: given[name] for name in ("seed", "reviews", "settle")}
    return session.let_judge(stored, question, given["name"], size=given["sample"], plain=plain, **asked)
