"""`talm-sim scenarios schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from talm_sim.tasks.registry import TASKS
from tests.cli.wrong import Talm
from tests.offered import bring_along

RIDDLES = """
from talm_sim import SingleStepTask, register_task


@register_task
class Riddles(SingleStepTask):
    name, about, target = "riddles", "Can it solve riddles?", "solution"
    splits = {"all": ("short", "long")}
    request = rows = summarize = None
"""


def test_the_schema_of_the_default_task_and_of_a_named_one(talm: Talm) -> None:
    code, out, err = talm("scenarios", "schema")
    assert (code, err) == (0, "")
    schema = json.loads(out)
    assert schema["title"] == "Scenario of task talm"
    assert "underspecified" in schema["properties"]["group"]["enum"]
    code, out, _ = talm("scenarios", "schema", "--task", "refusal")
    assert code == 0
    assert json.loads(out)["required"] == ["id", "group", "turns", "task", "target"]


def test_your_own_task_has_one(talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, RIDDLES):
        code, out, err = talm("scenarios", "schema", "--task", "riddles", "--plugin", "brought_along")
    assert code == 0, err
    check = Draft202012Validator(json.loads(out))
    line = {"id": "a", "task": "riddles", "group": "short", "turns": [{"messages": [{"role": "user", "content": "What has keys?"}]}]}
    assert check.is_valid(line | {"target": {"type": "solution", "word": "piano"}})
    assert not check.is_valid(line)
    assert not check.is_valid(line | {"group": "middle", "target": {"type": "solution"}})
