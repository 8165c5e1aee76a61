"""The texts a model is told belong to a run: resuming compares them; the names of recordings do not change with them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import talm_sim.agent.prompts
from talm_sim.common.toml_files import packaged_toml
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError
from talm_sim.recordings.library import shipped_cassettes
from talm_sim.runs.api import resume, run
from talm_sim.tasks import job_of
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.templates import list_templates
from tests.runs.recorded_world import make_world

TEMPLATE = "{% macro prompt(tools, question) %}{{ question }}{% endmacro %}{% macro tool_call(text) %}{{ text }}{% endmacro %}"
SHIPPED = {"none": "9b2be1366c53", "recorded": "e4782d6006e5"}
"""Who answers, to the key that stands in the names of the shipped recordings: it may never change."""
RECORDED = sorted(file for file in shipped_cassettes().glob("openai-api--vllm--smollm2-135m/*.zip") if file.stem != "generate")


def test_a_built_in_prompt_that_changed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = run(**make_world(tmp_path))
    assert resume(stored.path).finished == 4

    def changed(package: str) -> dict[str, Any]:
        texts = packaged_toml(package)
        return {**texts, "agent": {**texts["agent"], "system": "Be brief."}}

    monkeypatch.setattr(talm_sim.agent.prompts, "packaged_toml", changed)
    with pytest.raises(PrerequisiteError, match=r"^resume: prompt system has changed since the run began; restore it, or start a new run\.$"):
        resume(stored.path)


def test_a_prompt_file_that_changed_is_named_with_its_text(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.toml"
    prompts.write_text('[awareness]\ntool = "Can you? {query} {tools}"\n')
    stored = run(**make_world(tmp_path), prompts=prompts)
    prompts.write_text('# a remark changes nothing\n[awareness]\ntool = "Can you? {query} {tools}"\n')
    assert resume(stored.path).finished == 4
    prompts.write_text('[awareness]\ntool = "Could you? {query} {tools}"\n')
    with pytest.raises(PrerequisiteError, match=r"^resume: \S*prompts\.toml: prompt awareness_tool has changed since the run began; "):
        resume(stored.path)


@pytest.mark.parametrize("name", list_templates())
def test_a_file_named_like_a_style_is_not_that_style(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    job = job_of(RunConfig(task="when2call", model="sim/oracle", template=name))

    def wording() -> Mapping[str, str]:
        return run(job.config, limit="1").manifest.wording

    before = recording_key(job), (wording() if name == "default" else {})
    (tmp_path / name).write_text(TEMPLATE)
    assert (recording_key(job), wording() if name == "default" else {}) == before


@pytest.mark.parametrize("group", [file.stem for file in RECORDED])
def test_the_shipped_recordings_are_found_under_the_keys_they_were_made_with(group: str) -> None:
    (file,) = (file for file in RECORDED if file.stem == group)
    with zipfile.ZipFile(file) as archive:
        found = {match[1] for name in archive.namelist() if (match := re.search(r"/1-0-([0-9a-f]{12})\.json$", name))}
    assert found == set(SHIPPED.values())
    for human, key in SHIPPED.items():
        assert recording_key(job_of(RunConfig(human=human, split=group))) == key
