from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import ASK_HUMAN
from talm_sim.types import AwarenessKind, ToolSpec

TOOL = ToolSpec(name="airport_info", description="Facts {tools} of an airport.", parameters={"type": "object", "properties": {"code": {}}})


def test_question_names_query_and_tools_and_leaves_braces_alone() -> None:
    question = load_prompts().awareness_question(AwarenessKind.TOOL, "Where is {HAN}? {query}", [TOOL])
    assert "Where is {HAN}? {query}" in question
    assert "- airport_info(code): Facts {tools} of an airport." in question.replace("none", "")


def test_without_tools_the_question_says_none() -> None:
    assert "Tools: none" in load_prompts().awareness_question(AwarenessKind.INFORMATION, "q", [])


def test_human_is_only_mentioned_where_there_is_one() -> None:
    prompts = load_prompts()
    assert ASK_HUMAN in prompts.system_for(human=True)
    assert ASK_HUMAN not in prompts.system_for(human=False)
    assert prompts.human_tool().required == ("question",)


def test_a_users_file_replaces_only_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[agent]\nsystem = "Be brief."\n[judge]\nllm = "not ours"\n')
    ours, theirs = load_prompts(), load_prompts(file)
    assert theirs.system == "Be brief."
    assert theirs.awareness_tool == ours.awareness_tool


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agent]\nsistem = 'x'", "unknown key 'agent.sistem'. Did you mean 'system'?"),
        ("[agnet]\nsystem = 'x'", "unknown table 'agnet'. Did you mean 'agent'?"),
        ("[agent]\nsystem = 3", "'agent.system' must be a text."),
        ("agent = 3", "'agent' must be a table of texts."),
        ("[agent", "not valid TOML"),
    ],
)
def test_bad_file_is_named_with_its_fix(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(PrerequisiteError, match=r"mine\.toml") as err:
        load_prompts(file)
    assert message in str(err.value)
    assert "\n" not in str(err.value).strip()


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="cannot be read"):
        load_prompts(tmp_path / "none.toml")
