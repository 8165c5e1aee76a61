"""What the documents say is true: what they show is printed, their links lead somewhere, the examples run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from talm_sim.runs.resolve import load_config
from talm_sim.tasks import job_of
from tests.warm import warm_python

HERE = Path(__file__).parents[2]
README = (HERE / "README.md").read_text(encoding="utf-8")


@pytest.mark.documents
@pytest.mark.timeout(300)
def test_what_is_shown_is_what_is_printed(tmp_path: Path) -> None:
    assert README.count("<!-- shown: talm-sim ") == 4
    execute([str(HERE / "scripts" / "update_documents.py"), "--check"], tmp_path, timeout=290)


def test_the_options_file_is_read_by_every_task_it_has_a_table_for(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"^<!-- file: options.toml -->\n```toml\n(.*?)^```", (HERE / "docs" / "runs.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    file = tmp_path / "options.toml"
    file.write_text(text, encoding="utf-8")
    talm = job_of(load_config(file, environ={}))
    assert (talm.task.name, talm.options.human, talm.options.turn_limit) == ("talm", "simulated", 3)
    choices = job_of(load_config(file, environ={}, task="when2call", split="all"))
    assert (choices.options.mode, choices.config.model) == ("judge", "sim/asker")


@pytest.mark.parametrize("document", [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))], ids=lambda path: path.stem)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


@pytest.mark.documents
@pytest.mark.live
def test_the_examples_run_on_the_default_install(tmp_path: Path) -> None:
    table = execute([str(HERE / "examples" / "ablation.py")], tmp_path, without="pandas")
    assert [line.split("passed ")[1][:4] for line in table.splitlines()] == ["1.00", "0.00", "0.00", "0.00"]
    execute(["-m", "talm_sim", "run", "--split", "underspecified", "--scenario", "language-02.underspecified", "--display", "none"], tmp_path)
    read = execute([str(HERE / "examples" / "load_results.py")], tmp_path, without="pandas")
    assert "underspecified" in read and "and was told:" in read


@pytest.mark.documents
def test_the_example_of_the_shipped_recording_runs(tmp_path: Path) -> None:
    lines = execute([str(HERE / "examples" / "run_in_python.py")], tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["human none", "human recorded"]


def test_make_help_lists_every_target() -> None:
    makefile = (HERE / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    documented = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(documented) == sorted(phony[1].split())


def execute(arguments: list[str], directory: Path, without: str = "", timeout: int = 110) -> str:
    """Run Python on some arguments, a package that is not in the default install put out of the way."""
    if without:
        (directory / "absent").mkdir(exist_ok=True)
        (directory / "absent" / f"{without}.py").write_text(f"raise ModuleNotFoundError('{without}')\n", encoding="utf-8")
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TALM_SIM_")} | {"COLUMNS": "80"}
    environ["PYTHONPATH"] = os.pathsep.join([str(directory / "absent"), str(HERE)])
    done = subprocess.run([warm_python(), *arguments], cwd=directory, env=environ, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
