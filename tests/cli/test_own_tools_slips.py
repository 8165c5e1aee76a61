"""Own scenarios without own tools, own tools without own scenarios, an agent without its model: the missing option is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.wrong import Talm, check

SCENARIO = {"id": "search", "group": "perfect", "tools": ["search_flights"], "turns": [{"messages": [{"role": "user", "content": "Hi?"}]}]}
MODULE = '''
def search_flights(origin: str) -> str:
    """Search for flights."""
    return origin


def build_with(tools, model):
    """Build an agent."""


TOOLS = [search_flights]
'''


@pytest.fixture(autouse=True)
def module(nothing_given: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A module of tools, with a scenario beside it; its name, which no other test's has."""
    name = re.sub(r"\W", "_", f"slips_{tmp_path.name}")
    Path(f"{name}.py").write_text(MODULE, encoding="utf-8")
    Path("own.jsonl").write_text(json.dumps(SCENARIO) + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_own_scenarios_without_their_tools(talm: Talm) -> None:
    told = r"scenario search: no tool 'search_flights' among the built-in ones; name the tools own\.jsonl was written for: --tools-from \S+\.$"
    check(talm("run", "--scenarios", "own.jsonl", "--model", "sim/oracle"), told)


def test_own_tools_without_their_scenarios(talm: Talm, module: str) -> None:
    told = r"no tool 'find_holiday' among yours, .* talm-sim scenarios init --tools-from .* and add --scenarios FILE\.$"
    check(talm("run", "--tools-from", f"{module}:TOOLS", "--model", "sim/oracle", "--split", "perfect", "--scenario", "calendar-01"), told)
