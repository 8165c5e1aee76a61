"""What the documents say is true: their commands parse, their Python runs, their examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from talm_sim.cli.root import root
from talm_sim.runs.resolve import load_config
from talm_sim.tasks import job_of

HERE = Path(__file__).parents[2]
README = (HERE / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


COMMANDS = sorted({line[line.index("talm-sim ") :] for block in blocks("sh") for line in block.splitlines() if "talm-sim " in line})


def parse(command: click.Command, arguments: list[str], name: str, parent: click.Context | None = None) -> click.Context:
    """Parse a command line down to its last command without doing anything; raises what the user would be told."""
    if not isinstance(command, click.Group):
        return command.make_context(name, arguments, parent=parent)
    context = click.Context(command, info_name=name, parent=parent)
    inner_name, inner, rest = command.resolve_command(context, arguments)
    assert inner is not None and inner_name is not None
    return parse(inner, rest, inner_name, context)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_readme_is_one(line: str) -> None:
    words = shlex.split(line)
    if words[-1] == "--help":
        with pytest.raises(click.exceptions.Exit) as ended:
            parse(root, words[1:], "talm-sim")
        assert ended.value.exit_code == 0
        return
    context = parse(root, words[1:], "talm-sim")
    assert context.command_path.split() == words[: len(context.command_path.split())]


def test_the_readme_shows_commands_of_every_kind() -> None:
    verbs = {line.split()[1] for line in COMMANDS}
    assert verbs >= {"run", "resume", "answer", "report", "show", "ablate", "export", "tasks", "perturbations"}


def test_the_first_two_commands_do_their_own_set_up() -> None:
    first, second = blocks("sh")[:2]
    steps = first.strip().split(" && ")
    assert steps == [
        "python3 -m venv .venv",
        ".venv/bin/pip install -q .",
        ".venv/bin/talm-sim run --split underspecified",
    ]
    assert second.strip() == "sh scripts/test.sh"
    script = (HERE / "scripts" / "test.sh").read_text(encoding="utf-8")
    assert "sh scripts/setup.sh" in script
    for name in ("setup.sh", "test.sh"):
        subprocess.run(["sh", "-n", HERE / "scripts" / name], check=True)


def test_the_table_is_what_is_printed(tmp_path: Path) -> None:
    (said,) = re.findall(r"<!-- table: (.*?) -->\n```text\n", README)
    assert said == "talm-sim report of two runs of the underspecified split, with human none and recorded"
    for human in ("none", "recorded"):
        execute(["-m", "talm_sim", "run", "--split", "underspecified", "--human", human, "--run-id", human, "--display", "none"], tmp_path)
    assert execute(["-m", "talm_sim", "report", "none", "recorded"], tmp_path) == blocks("text")[0]


def test_the_options_file_is_read_by_every_task_it_has_a_table_for(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    file = tmp_path / "options.toml"
    file.write_text(text, encoding="utf-8")
    talm = job_of(load_config(file, environ={}))
    assert (talm.task.name, talm.options.human, talm.options.turn_limit) == ("talm", "simulated", 3)
    choices = job_of(load_config(file, environ={}, task="when2call", split="all"))
    assert (choices.options.mode, choices.config.model) == ("judge", "sim/asker")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (HERE / target).exists()


@pytest.mark.live
@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_readmes_python_runs(number: int, tmp_path: Path) -> None:
    done = execute(["-c", blocks("python")[number]], tmp_path)
    assert "k=3 n=3" in done
    assert "'pass_rate': True" in done


@pytest.mark.live
def test_the_examples_run(tmp_path: Path) -> None:
    table = execute([str(HERE / "examples" / "ablation.py")], tmp_path)
    lines = [line.split() for line in table.splitlines()]
    assert lines[0] == ["perturb", "group", "n", "pass_rate", "pass_rate_low", "pass_rate_high"]
    assert [line[-3] for line in lines[1:]] == ["1.0", "0.0", "0.0", "0.0"]
    run = next(path.name for path in (tmp_path / "runs").iterdir())
    assert "perfect  answered" in execute([str(HERE / "examples" / "load_results.py"), run], tmp_path)


def test_the_example_of_the_shipped_recording_runs(tmp_path: Path) -> None:
    lines = execute([str(HERE / "examples" / "run_in_python.py")], tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["human none", "human recorded"]


def test_make_help_lists_every_target() -> None:
    makefile = (HERE / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    documented = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(documented) == sorted(phony[1].split())


def execute(arguments: list[str], directory: Path) -> str:
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")} | {"PYTHONPATH": str(HERE), "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *arguments], cwd=directory, env=environ, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
