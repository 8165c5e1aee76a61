"""The labelled answers of simulated people, and what the checker says of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from talm_sim.agent.person.faults import find_faults
from talm_sim.agent.person.knowledge import Knowledge, knowledge_of
from talm_sim.tools_env.service.described import built_in_tools
from talm_sim.types import Scenario, ToolSpec
from tests.labelled_scenarios import labelled_scenarios

FILE = Path(__file__).with_name("answers.jsonl")


def records(file: Path = FILE) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@cache
def scenarios() -> dict[str, Scenario]:
    return labelled_scenarios()


@cache
def specs() -> Mapping[str, ToolSpec]:
    return built_in_tools().specs


@cache
def known(scenario: str) -> Knowledge:
    return knowledge_of(scenarios()[scenario], specs())


def verdict(record: dict[str, Any]) -> str:
    """The gravest fault that is found, or `ok`."""
    earlier = record.get("earlier", [])
    asked = [*(question for question, _ in earlier), record["question"]]
    found = find_faults(record["answer"], asked, known(record["scenario"]), [answer for _, answer in earlier])
    return found[0].kind if found else "ok"
