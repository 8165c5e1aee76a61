"""Runs started from Python: silent in a script, shown where that is asked for and in a notebook; tables of HTML."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

import talm_sim
from talm_sim.types import Measure, Summary
from tests.runs.recorded_world import make_world

CELL = """import talm_sim
stored = talm_sim.run({options}, limit='2')
stored"""


def test_a_script_is_silent_unless_it_asks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    world = make_world(tmp_path)
    stored = talm_sim.run(**world)
    talm_sim.resume(stored.path)
    assert capfd.readouterr() == ("", "")
    heard: list[object] = []
    talm_sim.run(**world, progress=True, on_event=heard.append)
    out, err = capfd.readouterr()
    assert (out, "4 episodes; sim/oracle" in err, "4 of 4 episodes in" in err) == ("", True, True)
    assert heard
    talm_sim.judge(stored.path, judge=("reference",), progress=True)
    assert "judge reference" not in capfd.readouterr().out


def test_tables_of_html_are_escaped_and_say_what_a_script_is(tmp_path: Path) -> None:
    stored = talm_sim.run(**make_world(tmp_path))
    page = stored._repr_html_()
    assert page == f"<pre>{escape(str(stored))}</pre>" and page.count("solved it") == 4
    rate = Measure(name="m", head="<b>", value=0.5, low=0.1, high=0.9, note='"more"')
    bad = Summary(group="<script>", n=3, total=5, not_scored={"context_overflow": 2}, measures=(rate,))
    assert "<td>&lt;script&gt;</td><td>3 (+2 not scored)</td><td>.50 [.10–.90]</td>" in bad._repr_html_()
    assert '<th title="&quot;more&quot;">&lt;b&gt;</th>' in bad._repr_html_()
    assert rate._repr_html_() == "<b>&lt;b&gt;</b> .50 [.10–.90] <small>&quot;more&quot;</small>"
    grid = talm_sim.ablate(over={"epochs": [1, 2]}, **make_world(tmp_path / "more"))
    assert grid._repr_html_().count("<tr>") == 3


def test_in_a_real_notebook(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    options = ", ".join(f"{name}={str(value)!r}" for name, value in make_world(tmp_path).items())
    cells = [nbformat.v4.new_code_cell(source) for source in (CELL.format(options=options), "await talm_sim.resume_async(stored.path)")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    first, second = ([output["data"] for output in cell["outputs"]] for cell in notebook["cells"])
    assert first[0]["text/plain"].endswith("2 answered") and "2 of 2 episodes in" in first[0]["text/plain"]
    assert first[1]["text/html"].startswith("<pre>")
    assert "nothing new" in second[0]["text/plain"]
