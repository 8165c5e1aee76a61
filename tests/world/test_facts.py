"""Every tool gives the fact that is expected of it, and two of each category a fact that is known from elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonpointer import resolve_pointer

from tests.in_process import direct_caller

FACTS = Path(__file__).parent / "facts"
"""One file a category: `[[fact]]` tables with `tool`, `arguments`, `pointer` into the answer, `value`, and `known_from` where it is known."""
CATEGORIES = sorted({spec.category for spec in direct_caller().specs.values()})


def facts_of(category: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((FACTS / f"{category}.toml").read_text(encoding="utf-8"))["fact"]
    return found


@pytest.mark.parametrize("category", CATEGORIES)
def test_tools_give_the_expected_facts(category: str) -> None:
    call = direct_caller()
    for fact in facts_of(category):
        value = resolve_pointer(call(fact["tool"], fact["arguments"]), fact["pointer"])
        assert type(value) is type(fact["value"]) and value == fact["value"], fact


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_tool_of_a_category_has_a_fact_and_two_are_known_from_elsewhere(category: str) -> None:
    facts = facts_of(category)
    assert {fact["tool"] for fact in facts} == {name for name, spec in direct_caller().specs.items() if spec.category == category}
    assert len([fact for fact in facts if fact.get("known_from")]) >= 2


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_tool_says_whether_a_person_can_stand_in_for_it_and_why(category: str) -> None:
    silent = [name for name, spec in direct_caller().specs.items() if spec.category == category and not spec.human_replaceable_reason]
    assert silent == []


ANSWERS = """
import asyncio, json, sys
from tests.in_process import direct_caller
call = direct_caller()
for tool, arguments in json.load(sys.stdin):
    print(tool, *asyncio.run(call.ask(tool, arguments)))
"""


def test_answers_depend_on_no_clock_time_zone_locale_or_order_of_hashes() -> None:
    asked = [(fact["tool"], fact["arguments"]) for category in CATEGORIES for fact in facts_of(category)][::3]
    environ = {**os.environ, "TZ": "America/St_Johns", "LC_ALL": "de_DE.UTF-8", "PYTHONHASHSEED": "2", "PYTHONUTF8": "1"}
    text = json.dumps(asked, default=str)
    done = subprocess.run([sys.executable, "-c", ANSWERS], input=text, env=environ, capture_output=True, text=True, check=True)
    call = direct_caller()
    here = [" ".join(map(str, (tool, *asyncio.run(call.ask(tool, arguments))))) for tool, arguments in json.loads(text)]
    assert done.stdout.splitlines() == [line for one in here for line in one.splitlines()]
