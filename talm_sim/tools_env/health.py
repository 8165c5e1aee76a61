"""Whether tools are up: each is called some times, and what it answers is held against what it says it answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from talm_sim.errors import ProviderError, ToolError, ToolsGoneError
from talm_sim.recordings import HttpResponse
from talm_sim.schemas import validator_of
from talm_sim.tools_env.environment import validate_arguments
from talm_sim.tools_env.examples import example_arguments
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import JsonObject

__all__ = ["ToolHealth", "check_tools"]

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ToolHealth:
    """How a tool does.

    Attributes:
        tool: Its name.
        source: Where it comes from.
        up: Whether it answers; None where it was not called.
        status: What it answers with, or why it does not.
        median_ms: Milliseconds a call takes; None where none was answered.
        p95_ms: Milliseconds that 95 of 100 calls stay within.
        matches: Whether the answer fits the source's schema of it; None where there is none, or nothing to compare.
        arguments: What it was called with.
    """

    tool: str
    source: str
    up: bool | None
    status: str
    median_ms: float | None = None
    p95_ms: float | None = None
    matches: bool | None = None
    arguments: JsonObject | None = None


async def check_tools(
    tools: Tools, *, times: int = 3, writing: bool = False, on_checked: Callable[[ToolHealth], None] = lambda health: None
) -> list[ToolHealth]:
    """Call every tool, several at once.

    Args:
        tools: They are live.
        times: Calls of each.
        writing: Whether to call those that may change something, too: all that are not read with GET.
        on_checked: Told of each when it is done.

    Returns:
        One entry a tool, in order.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def check(tool: str) -> ToolHealth:
        async with gate:
            health = await _check(tools, tool, times, writing=writing)
        on_checked(health)
        return health

    return list(await asyncio.gather(*map(check, tools.specs)))


async def _check(tools: Tools, tool: str, times: int, *, writing: bool) -> ToolHealth:
    source = tools.source_of(tool)
    if not writing and tools.routes[tool].method != "GET":
        return ToolHealth(tool, source, None, "not called: may change something")
    arguments, given = example_arguments(tools.specs[tool])
    try:
        validate_arguments(tools.specs[tool], arguments)
    except ToolError:
        return ToolHealth(tool, source, None, "not called: no arguments known")
    took: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        try:
            response, _ = await tools.call(tool, arguments)
        except TimeoutError:
            return ToolHealth(tool, source, False, "timeout", arguments=arguments)
        except (ProviderError, ToolsGoneError) as err:
            return ToolHealth(tool, source, False, str(err), arguments=arguments)
        took.append((time.perf_counter() - started) * 1e3)
    # Who refuses arguments that were made up is up.
    up = response.status < 400 or (response.status < 500 and not given)
    matches = _matches(tools.response_schema(tool), response)
    return ToolHealth(tool, source, up, f"HTTP {response.status}", median(took), _p95(took), matches, arguments)


def _matches(schema: JsonObject, response: HttpResponse) -> bool | None:
    if not schema or not 200 <= response.status < 300:
        return None
    try:
        return bool(validator_of(schema).is_valid(json.loads(response.body)))
    except Exception:  # a schema of anybody's may lead nowhere
        return False


def _p95(took: Sequence[float]) -> float:
    return sorted(took)[max(0, -(-95 * len(took) // 100) - 1)]
