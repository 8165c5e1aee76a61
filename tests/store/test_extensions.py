"""A run made with something of the user's: it says what is missing without it, and imports nothing by itself."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import judge, resume, run
from talm_sim.store.files.manifest import MANIFEST
from talm_sim.store.listing import list_runs
from talm_sim.store.stored_run import StoredRun, load_run
from tests.runs.crafting import changed
from tests.runs.recorded_world import make_world
from tests.warm import warm_python

PLUGIN = """
from pathlib import Path
from langchain_core.messages import HumanMessage
from talm_sim import HumanReply, Judge, Measured, Perturbation, Request, Row, SingleStepTask, Summary
from talm_sim import register_provider, register_judge, register_perturbation, register_task, register_responder
from talm_sim.types import ModelTurn

Path(__file__).with_suffix(".imported").touch()

@register_judge
class Short(Judge):
    name = "short"
    measure = Measured(name="short", head="Short", about="the answer is short")
    async def __call__(self, episode, scenario):
        return self.verdict(episode, len(episode.answer) < 9999)

@register_perturbation
class Quiet(Perturbation):
    name = "quiet"
    about = "Does nothing."

@register_responder("parrot", about="Says what it was asked.")
def parrot(context):
    async def answer(question, ask):
        return HumanReply(question, "parrot")
    return answer

class Silent:
    name = "mine/silent"
    async def generate(self, messages, tools, settings):
        return ModelTurn(text="Yes", raw_text="Yes")
    async def aclose(self):
        pass

@register_provider("mine")
def silent(request):
    return Silent()

@register_task
class Echo(SingleStepTask):
    name = "echo"
    splits = {"all": ("perfect",)}
    def read_line(self, line, where, task):
        return super().read_line(line, where, "talm")
    def request(self, scenario, job):
        return Request([HumanMessage(scenario.query)])
    def control(self, name, scenario):
        return Silent()
    def rows(self, run):
        return [Row(episode=one.id, scenario=one.scenario_id, base=one.scenario_id, group="all") for one in run.episodes()]
    def summarize(self, rows, run):
        return [Summary(group="all", n=len(rows), total=len(rows))]
"""
ROOT = Path(__file__).parents[2]
MAKE = """
import json, sys
from pathlib import Path
from talm_sim import run
from tests.runs.crafting import changed
from tests.runs.recorded_world import make_world
options = {**make_world(Path(sys.argv[1])), "limit": "1", "models": "live", "run_id": "made", **json.loads(sys.argv[2])}
stored = run(**options, plugin=("brought_along",))
assert stored.finished == stored.total == 1, list(stored.episodes())
"""
KINDS: dict[str, dict[str, Any]] = {
    "judge short": {"judge": ["short"]},
    "perturbation quiet": {"perturb": ["quiet"]},
    "responder parrot": {"human": "parrot"},
    "provider mine": {"model": "mine/silent"},
    "task echo": {"task": "echo", "split": "all"},
}
TO_READ = {"task echo"}
"""What cannot even be read without the plugin: what it counts is not known."""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], StoredRun]:
    """Makes a run with a thing of the plugin's in another process, and leaves the plugin where it could be imported from."""

    def make(thing: str) -> StoredRun:
        (tmp_path / "brought_along.py").write_text(PLUGIN)
        command = [warm_python(), "-c", MAKE, str(tmp_path), json.dumps(KINDS[thing])]
        path = f"{ROOT}:{tmp_path}"
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": path, "HOME": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        (tmp_path / "brought_along.imported").unlink()
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        return load_run(tmp_path / "runs" / "made")

    return make


@pytest.mark.parametrize("thing", KINDS)
def test_what_a_run_was_made_with_is_asked_for_in_one_line(made: Callable[[str], StoredRun], tmp_path: Path, thing: str) -> None:
    stored = made(thing)
    assert stored.manifest.brought == {thing: "--plugin brought_along"}
    kind, _, name = thing.partition(" ")
    line = rf"^\S+/runs/made: {kind} '{name}' is not known here; add (?:--)?plugin brought_along\.$"
    with pytest.raises(PrerequisiteError, match=line):
        resume(stored.path)
    for read in (stored.summary, stored.to_records):
        if thing in TO_READ:
            with pytest.raises(PrerequisiteError, match=line):
                read()
        else:
            assert read()
    if thing in TO_READ | {"judge short"}:
        with pytest.raises(PrerequisiteError, match=line):
            judge(stored.path)
    if thing not in TO_READ:
        assert {verdict.judge for verdict in judge(stored.path, judge=("reference",)).verdicts()} == {"reference"}
    assert [info.problem for info in list_runs(tmp_path / "runs")] == [""]
    assert not (tmp_path / "brought_along.imported").exists()


def test_a_plugin_that_a_run_directory_names_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run from elsewhere is untrusted input."""
    stored = run(**make_world(tmp_path), limit="1")
    (tmp_path / "crafted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    manifest = stored.path / MANIFEST
    document = json.loads(manifest.read_text())
    document["config"]["plugin"] = ["crafted"]
    manifest.write_text(json.dumps(document))
    with changed(stored.path):
        pass  # whoever crafts a run can seal it
    again = resume(stored.path)
    judge(stored.path, judge=("reference",))
    assert run(again.config, run_id="another").summary()
    assert not (tmp_path / "crafted.imported").exists()


def test_a_run_of_the_format_before_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = run(**make_world(tmp_path), limit="1")
    manifest = stored.path / MANIFEST
    document = json.loads(manifest.read_text())
    assert document["format"] == 6
    old = {"format": 5, "config": document["config"], "versions": {"talm-sim": "0.0.9"}}
    manifest.write_text(json.dumps(document | old))
    line = "run.json: has run format 5, made by talm-sim 0.0.9; this version reads format 6: make the run again with `talm-sim run`."
    for use in (load_run, resume, judge):
        with pytest.raises(PrerequisiteError, match=rf"^\S+{re.escape(line)}$"):
            use(stored.path)
    (listed,) = list_runs(tmp_path / "runs")
    assert listed.problem.endswith(line)
    assert main(["report", str(stored.path)]) == 2
    assert capsys.readouterr() == ("", f"talm-sim: error: {manifest}: {line.removeprefix('run.json: ')}\n")
    assert main(["runs", "delete", str(stored.path), "--yes"]) == 0
