"""The root command: a table of subcommands, each imported only when it is called."""

from __future__ import annotations

import click

from talm_sim.cli.parsing.lazy import LazyGroup, exit_codes
from talm_sim.version import __version__

_AT = "talm_sim.cli.commands."

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Run": {
        "run": (_AT + "run:command", "Run episodes and print what they came to; without options it replays a recording, with no key."),
        "try": (_AT + "trying:command", "Try your agent on your tools: what does it do when something is missing or fails?"),
        "resume": (_AT + "resume:command", "Continue a stored run."),
        "answer": (_AT + "answer:command", "Answer what a run is waiting for: questions, calls to approve, forms."),
        "judge": (_AT + "judge:command", "Score a stored run again."),
        "ablate": (_AT + "ablate:command", "Run a grid of settings and print one matrix: a line each."),
        "train": (_AT + "train:command", "Train an adapter (LoRA) on a file of rows: sft, dpo or rpo."),
    },
    "Read": {
        "report": (_AT + "report:command", "Print the table of stored runs, or write it as a page."),
        "compare": (_AT + "compare:command", "Compare runs with the first one: differences, intervals, tests and flips."),
        "explain": (_AT + "explain:command", "Explain an outcome, a measure, a control, a split or a fault."),
        "show": (_AT + "show:command", "Print one episode as a transcript."),
        "view": (_AT + "view:command", "Show runs as a page in the browser, live while they go on."),
        "import": (_AT + "importing:command", "Import published results, or traces of an agent, as runs."),
        "export": (_AT + "export:command", "Export a stored run, recordings or training sets for other tools."),
    },
    "Look around": {
        "tasks": (_AT + "tasks:command", "The tasks: list, show."),
        "tools": (_AT + "tools:command", "The tools: list, show, check, build, licences, serve."),
        "perturbations": (_AT + "perturbations:command", "The perturbations: list, show."),
        "scenarios": (_AT + "scenarios:command", "The scenarios: list, show, schema, stats, init, check, generate, translate, review."),
        "models": (_AT + "models:command", "The model providers and local models: list, get."),
        "runs": (_AT + "runs:command", "The stored runs: list, delete, rename, merge."),
        "config": (_AT + "config:command", "The options a run would use: show, list."),
        "completion": (_AT + "completion:command", "Set up shell completion: --install."),
        "doctor": (_AT + "doctor:command", "Show what is installed and what a live run would need."),
    },
}
"""Section of the help page to name, to `module:attribute` and short help. The help is repeated here, so that printing it imports nothing."""


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"talm-sim {__version__}")
        context.exit()


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"{exit_codes()}\n\n\b\nA first run, replayed from a recording, with no key:\n  talm-sim run --split underspecified",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version.")
def root() -> None:
    """Watch what a tool-using language model does when something is missing.

    A fact the user left out, a tool that is hidden, an endpoint that is broken: does the agent notice, ask a person, decline or guess, and
    does it still solve the task?
    """
