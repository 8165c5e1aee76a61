"""Print again what README and docs/ show of a command's output: `scripts/update_documents.py [--check]`, after a new recording.

A fenced block below `<!-- shown: talm-sim ... -->` holds parts of what the command prints, with `[...]` between them. Each part is found by the
label its first line begins with and keeps its number of lines. A part whose label is no longer printed is named, and its document is left as it
is: choose by hand what to show. Of several commands with `&&` between them, the last one's output is shown.

`<!-- outcomes: TASK -->` is followed by the table of a task's outcomes.

With `--check`, nothing is written, and the exit code is 1 if something would be. The commands run in the order of the documents, README first,
in one directory, which has the files that a document writes, and nothing else; a command that is shown twice runs once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from talm_sim.tasks import find_task

ROOT = Path(__file__).resolve().parents[1]
SHOWN = re.compile(r"(?P<head><!-- shown: talm-sim (?P<command>.*?) -->\n```text\n)(?P<text>.*?)(?P<end>^```)", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^<!-- file: (.*?) -->\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
OUTCOMES = re.compile(r"(?P<head><!-- outcomes: (?P<task>\w+) -->\n)(?:\n(?:\|[^\n]*\n)+)?")
LEFT_OUT = "[...]"


def update_text(shown: str, printed: list[str]) -> str:
    """Return the parts of `printed` that a block shows.

    Args:
        shown: The block's lines, with a line `[...]` between its parts.
        printed: Every line of the command's output.

    Raises:
        LookupError: If a part's label is not printed behind the part before it.
    """
    parts: list[list[str]] = [[]]
    for line in shown.splitlines():
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    kept, at = list[str](), 0
    for number, part in enumerate(parts):
        kept += [LEFT_OUT] if number else []
        if part:
            wanted = _label(part[0])
            at = next((place for place in range(at, len(printed)) if _label(printed[place]) == wanted), -1)
            if at < 0:
                raise LookupError(f"no line there is labelled {wanted!r}")
            kept += printed[at : at + len(part)]
            at += len(part)
    return "".join(f"{line}\n" for line in kept)


def _label(line: str) -> str:
    """Return what a line begins with, up to its first wide gap, and how far it is set in."""
    text = line.lstrip()
    return " " * (len(line) - len(text)) + re.split(r"\s{2,}", text)[0]


@cache
def _print(commands: str, directory: Path) -> list[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TALM_SIM_")}
    environ |= {"COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    for command in commands.split(" && talm-sim "):
        words = [sys.executable, "-m", "talm_sim", *command.split()]
        done = subprocess.run(words, cwd=directory, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"talm-sim {command}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def outcome_table(task: str) -> str:
    """Return the table of a task's outcomes, in Markdown; `talm-sim explain` says when those of other tasks than `talm` hold."""
    told = task == "talm"
    rows = [f"| {one.words} | `{one.name}` | {one.kind} |{f' {one.about} |' if told else ''}\n" for one in find_task(task).outcomes]
    head = "| the agent | name | is | when |\n|---|---|---|---|\n" if told else "| the agent | name | is |\n|---|---|---|\n"
    return "".join([head, *rows])


def _keep(file: Path, text: str, *, check: bool) -> int:
    """Write a file if it is not up to date; with `check`, return 1 instead."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{file.relative_to(ROOT)}: shows what is no longer printed", file=sys.stderr)
        return 1
    file.write_text(text, encoding="utf-8")
    print(f"{file.relative_to(ROOT)}: updated")
    return 0


def main(check: bool) -> int:
    """Update or check every document; the exit code is 1 if a part was not found, or a checked document is not up to date."""
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            text = document.read_text(encoding="utf-8")
            for place, written in FILE.findall(text) if SHOWN.search(text) else ():
                (directory / place).write_text(written, encoding="utf-8")
            try:
                new = SHOWN.sub(
                    lambda block: f"{block['head']}{update_text(block['text'], _print(block['command'], directory))}{block['end']}", text
                )
            except LookupError as err:
                print(f"{document.relative_to(ROOT)}: {err}", file=sys.stderr)
                wrong = 1
                continue
            new = OUTCOMES.sub(lambda one: f"{one['head']}\n{outcome_table(one['task'])}", new)
            wrong = _keep(document, new, check=check) or wrong
    return wrong


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
