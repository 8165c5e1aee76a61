"""Agents of several frameworks, honest and lying, over tools of three sources: the table of a perturbed run tells them apart in each.

Those of frameworks that are in no default environment are tested in the one that scripts/extras.sh makes, as are the tools of an MCP server.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import talm_sim
from talm_sim.store.stored_run import StoredRun
from tests.models.loopback import Loopback, chat_answer, loopback
from tests.museums import (
    Version,
    compiled_graph,
    doubled_price,
    handed_function,
    model_server,
    plain_function,
    recipe,
    source_of,
    write_scenarios,
)

EXPLICIT, ELSEWHERE, SILENT = "http-500", "http-500:tool=ticket_price", "test-doubled-price"
HANDED = "openai-api/stand/small"
OWN = {"function": plain_function, "handed model": handed_function, "graph": compiled_graph}
"""Agents that are made here; the others are files of examples/agents, on a model server that behaves as the version says."""
RECIPES = {"langchain_agent": "langchain_openai", "openai_agents": "agents", "pydantic_agent": "pydantic_ai"}
"""Name of each file, to the module that it needs."""
LABELS = {
    EXPLICIT: {"honest": "told", "lying": "fabricated"},
    ELSEWHERE: {"honest": "recovered", "lying": "fabricated"},
    SILENT: {"honest": "recovered", "lying": "propagated"},
}
__all__ = ["doubled_price"]
pytestmark = pytest.mark.usefixtures("doubled_price")
SHARES = ("told", "recovered", "fabricated", "propagated")
KEPT: list[ModuleType] = []
"""Recipes: their clients keep connections on the loop of agents, which outlive a test, and must not be found unclosed by another."""


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(chat_answer("unasked")) as running, pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI", "STAND"):
            patch.setenv(f"{name}_BASE_URL", running.url)
            patch.setenv(f"{name}_API_KEY", "sk-none-needed-0123456789")
        yield running


@pytest.fixture(scope="module")
def recipes(server: Loopback) -> dict[str, Any]:
    """The agents of the recipes whose frameworks are installed."""
    found = {}
    for name, module in RECIPES.items():
        if importlib.util.find_spec(module) is not None:
            KEPT.append(recipe(name))
            found[name] = getattr(KEPT[-1], "build", None) or KEPT[-1].act
    return found


class Stage:
    """Plays a version of an agent under a fault."""

    def __init__(self, directory: Path, server: Loopback, recipes: dict[str, Any]) -> None:
        self.directory, self.server, self.recipes = directory, server, recipes
        self.scenarios = str(write_scenarios(directory / "museums.jsonl"))

    def play(self, agent: str, version: Version, fault: str, **tools: Any) -> StoredRun:
        self.server.reply = model_server(version)
        # LangChain's graph would raise what its tools raise.
        more: dict[str, Any] = {"handed model": {"model": HANDED}, "langchain_agent": {"tool_errors": "text"}}.get(agent, {})
        played = OWN[agent](version) if agent in OWN else self.recipes[agent]
        world: dict[str, Any] = {"scenarios": self.scenarios, "run_dir": self.directory, "human": "none", "progress": False}
        return talm_sim.run(agent=played, perturb=fault, **world, **tools, **more)


@pytest.fixture
def stage(tmp_path: Path, server: Loopback, recipes: dict[str, Any]) -> Stage:
    return Stage(tmp_path, server, recipes)


def shares(stored: StoredRun) -> dict[str, tuple[int | None, int | None]]:
    """The shares of labels in the table, as k and n."""
    (summary,) = stored.summary()
    found = {name: summary.measure(f"fault_{name}") for name in SHARES}
    return {name: (one.k, one.n) for name, one in found.items() if one is not None}


def expected(label: str) -> dict[str, tuple[int, int]]:
    return {name: (2 if name == label else 0, 2) for name in SHARES}


@pytest.mark.parametrize(
    ("agent", "kind"), [*((agent, "python") for agent in (*OWN, *RECIPES)), *(("function", kind) for kind in ("openapi", "mcp"))]
)
def test_the_table_tells_an_honest_agent_from_a_lying_one(stage: Stage, agent: str, kind: str) -> None:
    for module in (*([RECIPES[agent]] if agent in RECIPES else []), *(["mcp"] if kind == "mcp" else [])):
        pytest.importorskip(module, reason=f"{module} is not installed; scripts/extras.sh installs it")
    versions: tuple[Version, ...] = ("honest", "lying")
    with source_of(kind, stage.directory) as tools:
        for fault in (EXPLICIT, SILENT):
            for version in versions:
                stored = stage.play(agent, version, fault, **tools)
                assert [episode.error for episode in stored.episodes()] == ["", ""], (fault, version)
                assert shares(stored) == expected(LABELS[fault][version]), (fault, version)


def test_whoever_has_another_tool_recovers_from_a_fault_of_one(stage: Stage) -> None:
    with source_of("python", stage.directory) as tools:
        assert shares(stage.play("function", "honest", ELSEWHERE, **tools)) == expected("recovered")
        assert shares(stage.play("function", "lying", ELSEWHERE, **tools)) == expected("fabricated")
