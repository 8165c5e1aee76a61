from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import ASK_HUMAN
from talm_sim.types import FINISH, AwarenessKind, ToolSpec

TOOL = ToolSpec(name="airport_info", description="Facts {tools} of an airport.", parameters={"type": "object", "properties": {"code": {}}})


def test_question_names_query_and_tools_and_leaves_braces_alone() -> None:
    question = load_prompts().awareness_question(AwarenessKind.TOOL, "Where is {HAN}? {query}", [TOOL])
    assert "Where is {HAN}? {query}" in question
    assert '- {"name": "airport_info", "description": "Facts {tools} of an airport.", "parameters": {"type": "object"' in question


@pytest.mark.parametrize("kind", list(AwarenessKind))
def test_a_question_shows_what_each_argument_is_and_names_three_grounds(kind: AwarenessKind) -> None:
    code = {"type": "string", "description": "Code of {query}."}
    parameters = {"type": "object", "properties": {"code": code}, "required": ["code"]}
    question = load_prompts().awareness_question(kind, "q", [TOOL.model_copy(update={"parameters": parameters})])
    assert json.dumps(parameters) in question, "types, what is required, and descriptions, word for word"
    grounds = [line[:2] for line in question.splitlines() if line[:1].isdigit()]
    assert grounds == ["1.", "2.", "3."] and "know" in question and "both together" in question


def test_without_tools_the_question_says_none() -> None:
    assert "Tools: none" in load_prompts().awareness_question(AwarenessKind.INFORMATION, "q", [])


def test_no_system_text_urges_to_ask_and_without_tools_none_speaks_of_them() -> None:
    prompts = load_prompts()
    texts = [prompts.system_for(tools=tools, finish=finish) for tools in (True, False) for finish in (True, False)]
    assert not any(word in text for text in texts for word in (ASK_HUMAN, "ask the person"))
    with_finish, plain, *without = texts
    assert FINISH in with_finish and FINISH not in plain
    assert not any(word in text for text in without for word in ("tool", "memory", FINISH))
    assert "only if you absolutely need" in prompts.human_tool().description
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
