"""`talm-sim tasks list|show`: the built-in ones, and those a user brings along."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from talm_sim.config import spell
from talm_sim.tasks import find_task
from talm_sim.tasks.registry import TASKS
from tests.offered import bring_along

Talm = Callable[..., tuple[int, str, str]]
COLOURS = '''
from talm_sim import Scope, SingleStepTask, TaskOptions, option, register_task


class ColourOptions(TaskOptions):
    shade: str = option("dark", Scope.SCORING, "Which shade.")


@register_task
class Colours(SingleStepTask[ColourOptions]):
    """Names of colours."""

    name, about, options = "colours", "Does it know\\x1b[31m colours?", ColourOptions
    splits = {"warm": ("red",), "all": ("red", "blue")}
    own_judges = ("hue",)
    request = rows = summarize = None
'''


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_list_names_every_task_and_what_it_asks(talm: Talm) -> None:
    code, out, err = talm("tasks", "list")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["Task", "What", "it", "asks"]
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == TASKS.names() == ["talm", "when2call", "awareness", "refusal"]
    assert max(map(len, lines)) <= 80
    assert err == "4 tasks; more of one: talm-sim tasks show TASK\n"
    text = " ".join(out.split())
    records = json.loads(talm("tasks", "list", "--json")[1])
    assert [record["name"] for record in records] == TASKS.names()
    for record in records:
        assert record["about"] == find_task(record["name"]).about and record["about"] in text
        assert record["origin"] == "built in"


@pytest.mark.parametrize("name", ["talm", "when2call", "awareness", "refusal"])
def test_show_tells_splits_options_judges_and_defaults(name: str, talm: Talm) -> None:
    task = find_task(name)
    code, out, err = talm("tasks", "show", name)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines()[2:])) <= 80
    words = out.replace(",", " ").split()
    assert {*task.splits, *task.splits["all"], *task.own_judges} <= set(words)
    record = json.loads(talm("tasks", "show", name, "--json")[1])
    assert record["splits"] == {split: list(groups) for split, groups in task.splits.items()}
    assert [option["flag"] for option in record["options"]] == [spell(field, task.options) for field in task.options.model_fields]
    assert all(option["flag"] in words and option["help"] for option in record["options"])
    assert record["defaults"] == dict(task.defaults)
    assert record["exporters"] == [*task.exporters]
    assert all(f"talm-sim export {one}" in out for one in task.exporters)
    assert f"defaults: temperature {task.defaults['temperature']}" in out
    assert out.endswith(f"\ntalm-sim run --task {name} --help\n")


@pytest.mark.parametrize("entry", ["", "colours = Colours"])
def test_ones_own_says_where_it_comes_from(entry: str, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = () if entry else ("--plugin", "brought_along")
    origin = "package toy" if entry else "--plugin brought_along"
    with bring_along(monkeypatch, tmp_path, TASKS, COLOURS, entry=entry):
        code, out, _ = talm("tasks", "list", *plugin)
        assert code == 0 and "\x1b" not in out
        assert f"colours {origin} Does it know colours?" in " ".join(out.split())
        text = " ".join(talm("tasks", "show", "colours", *plugin)[1].split())
        assert text.startswith(
            f"colours: Does it know colours? ({origin}) Names of colours. Split What its scenarios are warm red all all of red, blue"
        )
        assert "--shade dark Which shade. (scoring)" in text
        assert "judges made for it: hue" in text


def test_a_package_that_cannot_be_imported_hides_no_other(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, "1 / 0", entry="colours = Colours"):
        code, out, _ = talm("tasks", "list")
        assert code == 0
        assert "when2call" in out
        assert "task 'colours' of package toy cannot be loaded: ZeroDivisionError" in " ".join(out.split())
        code, _, err = talm("tasks", "show", "colours")
        assert code == 2
        assert "cannot be loaded: ZeroDivisionError" in err
