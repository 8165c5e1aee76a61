"""Resuming a run of task when2call: what decides its prompts must be what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import resume, run


@pytest.mark.parametrize("change", ["edited", "removed", "restored"])
def test_a_template_that_changed_is_named(tmp_path: Path, change: str) -> None:
    template = tmp_path / "mine.jinja"
    wording = "{% macro prompt(tools, question) %}{% for tool in tools %}{{ tool }}{% endfor %}{{ question }}{% endmacro %}"
    wording += "{% macro tool_call(text) %}{{ text }}{% endmacro %}"
    template.write_text(wording)
    stored = run(RunConfig(task="when2call", model="sim/oracle", template=str(template), run_dir=tmp_path / "runs"), limit="1")
    template.write_text("{# new #}" + wording) if change == "edited" else template.unlink()
    if change == "restored":
        template.write_text(wording)
        assert resume(stored.path).finished == stored.total
        return
    told = {
        "edited": r"^resume: template \S*mine\.jinja has changed since the run began; restore it, or start a new run\.$",
        "removed": r"^\S*mine\.jinja: cannot be read \(No such file or directory\); template needs a Jinja file or a built-in name\.$",
    }
    with pytest.raises(PrerequisiteError, match=told[change]):
        resume(stored.path)
