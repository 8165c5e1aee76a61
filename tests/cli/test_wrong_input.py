"""A table of wrong inputs: each gets one line that names the place and the fix, exit code 2, and no traceback; nothing is left behind.

Wrong files are in `test_wrong_files.py`, wrong servers in `test_wrong_servers.py`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from tests.cli.wrong import Talm, check_table

pytestmark = [pytest.mark.usefixtures("nothing_given"), pytest.mark.timeout(900)]


def test_a_wrong_command_line(talm: Talm) -> None:
    check_table(__file__, "command_lines", lambda line: talm(*line.split()))


def test_a_wrong_variable(talm: Talm) -> None:
    def ask(given: dict[str, str]) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            return talm("run")

    check_table(__file__, "environment", ask)


PYTHON: list[tuple[str, Callable[[], Any], str]] = [
    ("run('perfect')", lambda: talm_sim.run("perfect"), r"^'perfect' is not a RunConfig; name the option, as in split='perfect'\.$"),  # type: ignore[arg-type]
    ("split 3", lambda: talm_sim.RunConfig(split=3), r"^split: 3 is not text"),
    (
        "split of 3",
        lambda: talm_sim.RunConfig(split=["perfect", 3]),
        r"^split: 3 is not a name; every item of the list must be one, in quotes\.$",
    ),
    ("display", lambda: talm_sim.RunConfig(display="loud"), r"^display: 'loud' is not one of 'full', "),
    ("unknown option", lambda: talm_sim.run(splt="perfect"), r"^unknown option 'splt'\. Did you mean 'split'\?$"),
    ("unknown, kept", lambda: talm_sim.run(talm_sim.RunConfig(splt="perfect")), r"splt: unknown option of task talm\. Did you mean 'split'\?$"),
    ("another task's", lambda: talm_sim.run(mode="judge"), r"^mode is an option of task when2call"),
    (
        "a judge without its model",
        lambda: talm_sim.run(judge="llm"),
        r"^judge 'llm' needs a model: add judge_model=\"PROVIDER/NAME\"\.$",
    ),
    (
        "not recorded",
        lambda: talm_sim.run(model="openai/gpt-4o", models="replay"),
        r"there are no recordings of it in .*; add models=\"live\"\.$",
    ),
    ("a cell's perturbation", lambda: talm_sim.ablate(over={"perturb": ["time-out"]}), r"^cell perturb=time-out: perturb time-out: unknown"),
    ("too few", lambda: talm_sim.run(limit="900-901"), r"choose another split or limit, or give scenarios=\"FILE\"\.$"),
    ("tools that are none", lambda: talm_sim.run(tools=[3]), r"^tools: 3: is an object of type int"),
    ("judge", lambda: talm_sim.RunConfig(judge=3), r'^judge: 3 is not a list; write one, for example \["A", "B"\]\.$'),
    ("ablate a text", lambda: talm_sim.ablate(over={"split": "perfect"}), r"give 'split' a list of values"),
]


def test_a_wrong_call() -> None:
    missed = []
    for name, call, told in PYTHON:
        try:
            call()
        except PrerequisiteError as err:
            if "\n" in str(err) or not re.search(told, str(err)):
                missed.append(f"{name}: {err}")
        else:
            missed.append(f"{name}: is not refused")
        assert not Path("runs").exists(), name
    assert missed == []


def test_a_wrong_call_is_told_without_a_page_of_our_own_frames() -> None:
    for call in (lambda: talm_sim.run(split="perfct"), lambda: talm_sim.ablate(over={"split": ["perfct"]})):
        with pytest.raises(PrerequisiteError) as failure:
            call()
        assert len(traceback.extract_tb(failure.value.__traceback__)) <= 5


def test_a_notebook_shows_the_line_alone() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shown: list[str] = []
    shell._showtraceback = lambda kind, error, lines: shown.extend(lines)
    shell.run_cell("import talm_sim; talm_sim.run(split='perfct')")
    assert shown == ["PrerequisiteError: split: unknown split 'perfct' of task talm. Did you mean 'perfect'?"]
