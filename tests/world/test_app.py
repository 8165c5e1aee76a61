"""What holds for every category, whoever adds one."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import httpx2
import pytest
import requests

from talm_sim.errors import ToolError
from talm_sim.tools_env.routes import LOGICAL_HOST, build_request
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.tools_env.trial_arguments import example_arguments
from talm_sim.types import ToolSpec
from talm_sim.world import HEALTH_PATH, routers
from talm_sim.world.app import create_app
from talm_sim.world.process import ToolService
from talm_sim.world.serve import _bind

CATEGORIES = sorted(module.name for module in pkgutil.iter_modules(routers.__path__))
BIG = {"content", "developer_tools", "finance", "games", "geo", "government", "inspiration", "open_data", "science"}
"""The categories that have most of the paper's queries."""
EDGES = ("0001-01-01", "9999-12-31", "a" * 5_000, "\u202e\U0001f600", "9" * 400, "../..", "nan", "1e999", "((((", "9**9**9")


@cache
def _operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths: dict[str, dict[str, dict[str, Any]]] = create_app().openapi()["paths"]
    return [(path, method, operation) for path, item in paths.items() for method, operation in item.items()]


def test_there_are_as_many_categories_and_tools_as_the_readme_says() -> None:
    sizes = Counter(operation["tags"][0] for _, _, operation in _operations())
    assert set(sizes) == set(CATEGORIES) and len(sizes) == 21 and sizes.total() >= 200
    assert {category for category, size in sizes.items() if size >= 13} == BIG and min(sizes.values()) >= 6


def test_tool_names_are_unique_and_short() -> None:
    names = [operation["operationId"] for _, _, operation in _operations()]
    assert len(set(names)) == len(names)
    assert [name for name in names if not name.isidentifier() or name.lower() != name or len(name) > 40] == []


def test_every_operation_tells_a_model_what_it_does() -> None:
    for path, method, operation in _operations():
        assert method == "get", path
        summary = operation["summary"]
        assert summary.endswith(".") and summary.count(". ") == 0 and len(summary) <= 160, summary
        assert isinstance(operation["x-human-replaceable"], bool), path
        for parameter in operation["parameters"]:
            assert parameter["description"], (path, parameter["name"])
            shown = parameter["schema"].get("examples") or "enum" in str(parameter["schema"]) or not parameter.get("required")
            assert shown, (path, parameter["name"])


def test_building_the_application_reads_no_data() -> None:
    caches = []
    for category in CATEGORIES:
        module = importlib.import_module(f"{routers.__name__}.{category}")
        caches += [value for value in vars(module).values() if hasattr(value, "cache_info") and value.__module__ == module.__name__]
    before = [one.cache_info() for one in caches]
    create_app().openapi()
    assert caches and [one.cache_info() for one in caches] == before, "neither read anew nor taken from what was read"


async def test_health_answers_and_is_no_tool() -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=create_app()), base_url="http://service") as client:
        answer = await client.get(HEALTH_PATH)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert HEALTH_PATH not in {path for path, _, _ in _operations()}


async def test_invalid_arguments_are_explained_in_one_sentence() -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=create_app()), base_url="http://service") as client:
        answer = await client.get("/transportation/distance", params={"origin": "JFK", "destination": "a-very-long-code"})
    assert answer.status_code == 422
    assert answer.json() == {"detail": "destination: String should have at most 4 characters"}


@pytest.mark.live
def test_every_tool_answers_its_own_examples(specs: dict[str, ToolSpec], ask: Callable[..., Any]) -> None:
    for name, spec in specs.items():
        example = example_arguments(spec)
        assert example.made_up == (), name
        arguments = example.arguments
        first = ask(name, **arguments)
        assert first == ask(name, **arguments), f"{name} is not deterministic"
        assert isinstance(first, dict) and first, name


async def test_an_answer_is_sent_at_once() -> None:
    """The kernel holds the second packet of an answer back, until the client's 40 ms later, from sockets that asyncio does not know for TCP."""
    spared: list[int] = []

    async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spared.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with _bind(0) as listener:
        async with await asyncio.start_server(look, sock=listener):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            assert await reader.read() == b""
            writer.close()
    assert spared == [1]


def test_the_service_package_stays_out_of_a_replay() -> None:
    """Reading specs and loading scenarios must not pull in the web framework."""
    code = "import talm_sim.scenarios.load, talm_sim.types, sys; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_values_at_the_edges_break_no_tool(specs: dict[str, ToolSpec], tools: HttpTools, service: ToolService) -> None:
    broken = []
    with requests.Session() as session:
        session.trust_env = False
        for number, (name, spec) in enumerate(specs.items()):
            edges = {"integer": -(10**30), "number": -1e308, "boolean": True, "string": EDGES[number % len(EDGES)]}
            fields: dict[str, dict[str, Any]] = spec.parameters["properties"]
            arguments = {field: one.get("enum", [edges.get(one.get("type", "string"))])[0] for field, one in fields.items()}
            with suppress(ToolError):
                url = build_request(tools.routes[name], arguments).url.replace(LOGICAL_HOST, service.base_url)
                status = session.get(url, timeout=30).status_code
                broken += [(name, arguments, status)] if status >= 500 else []
    assert not broken
