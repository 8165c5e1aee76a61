"""Tasks by name: built in, registered, offered by a package; none is imported before its name is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import TASKS, SingleStepTask, TaskOptions, find_task, list_tasks, register_task
from tests.offered import bring_along

TOY = """
from talm_sim.tasks import SingleStepTask, register_task

@register_task
class Toy(SingleStepTask):
    name = "toy"
    splits = {"all": ("one",)}

    def request(self, scenario, job): raise NotImplementedError
    def rows(self, run): return ()
    def summarize(self, rows, run): return []
"""

LIMITED = """
from talm_sim.config import GEN, option
from talm_sim.tasks import TaskOptions

class Options(TaskOptions):
    limit: int = option(1, GEN, "x")

Toy.options = Options
"""


def _after(code: str) -> list[str]:
    """The modules of tasks there are after some code, in a process of its own."""
    code += "\nprint(*sorted(name for name in sys.modules if name.split('.')[:2] == ['talm_sim', 'tasks'] and name.count('.') > 2"
    code += " and name.split('.')[2] not in ('acting', 'paper', 'templates')))"  # what tasks share
    code += "\nprint(*sorted({'langgraph', 'langchain_core', 'openai', 'requests', 'sqlite3'} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", "import sys\n" + code], capture_output=True, text=True, check=True).stdout.splitlines()


def test_listing_imports_no_task() -> None:
    code = "from talm_sim.tasks.registry import TASKS, list_tasks\nassert list_tasks() and 'talm' in TASKS and 'tlam' not in TASKS"
    assert _after(f"{code}\nimport talm_sim.tasks\nassert talm_sim.tasks.list_tasks() == list_tasks()") == ["", ""]


def test_finding_one_imports_only_that_one() -> None:
    found, heavy = _after("from talm_sim.tasks.registry import find_task\nassert find_task('when2call').splits")
    assert "talm_sim.tasks.when2call.task" in found.split()
    assert not any(name.startswith("talm_sim.tasks.talm") for name in found.split())
    assert heavy == "", "options and splits of a task need no agent and no model"


@pytest.mark.parametrize("entry", ["", "toy = Toy"])
def test_a_task_of_ones_own_is_one_class(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, TOY, entry=entry) as load:
        if not entry:
            load()
        assert list_tasks() == ["talm", "when2call", "awareness", "refusal", "toy"]
        assert ("brought_along" in sys.modules) is not bool(entry)
        task = find_task("toy")
        assert (task.name, task is find_task("toy"), task.own_judges, task.about) == ("toy", True, (), "")
        assert TASKS.origin("toy") == ("package toy" if entry else "--plugin brought_along")
    assert "toy" not in list_tasks()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Toy: ...", r"^task 'toy' \(package toy\) is not a subclass of talm_sim.Task\.$"),
        ("Toy = 3", r"^task 'toy' \(package toy\) is not a subclass of talm_sim.Task\.$"),
        (TOY.replace("    name =", "    nom =").replace("@register_task", ""), r"^task 'toy' \(package toy\) declares no `name`\.$"),
        (TOY.replace('"toy"', '"tyo"').replace("@register_task", ""), r"^task 'toy' \(package toy\) calls itself 'tyo'\.$"),
        (
            TOY.replace('{"all": ("one",)}', '{"one": ("one",)}').replace("@register_task", ""),
            r"^task 'toy' \(package toy\) declares no split `all`",
        ),
        (TOY.replace("    def rows", "    def lines").replace("@register_task", ""), r"^task 'toy' \(package toy\) lacks rows\.$"),
        (TOY.replace("@register_task", "") + LIMITED, r"^task 'toy' \(package toy\) has an option 'limit', which all tasks share\.$"),
    ],
)
def test_what_is_no_task_is_one_line(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        bring_along(monkeypatch, tmp_path, TASKS, text, entry="toy = Toy"),
        pytest.raises(PrerequisiteError, match=message),
    ):
        find_task("toy")


def test_a_class_that_is_no_task_is_not_registered() -> None:
    class Bare:
        name = "toy"

    class Empty(SingleStepTask[TaskOptions]):
        name = "toy"
        splits: ClassVar = {"all": ("one",)}

    for task, message in ((Bare, "Bare is not a subclass of talm_sim.Task"), (Empty, "Empty lacks request, rows, summarize")):
        with pytest.raises(TypeError, match=message):
            register_task(task)  # type: ignore[type-var]
    assert "toy" not in TASKS
