"""Try every tool with example arguments, several tools at once; report what each answered, and why some were not called."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from talm_sim.errors import ProviderError, ToolError, ToolsGoneError
from talm_sim.recordings import FAULT_HEADER, HttpResponse
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.perturbations import Outcome
from talm_sim.tools_env.routes import FUNCTION_ERROR, fill_path
from talm_sim.tools_env.tool_answers import read_answer
from talm_sim.tools_env.toolbox import Tools
from talm_sim.tools_env.trial_arguments import Example, example_arguments
from talm_sim.types import JsonObject

AT_ONCE = 8
"""Tools that are called at the same time; the calls of one tool follow each other."""
MAY_CHANGE = "may change data"
"""Why a tool is not called without being asked for."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call."""

    response: HttpResponse | None
    failure: str
    took_ms: float

    @property
    def ok(self) -> bool:
        """Whether it is a successful answer, as a run reads it."""
        return self.response is not None and not self._fault

    @property
    def said(self) -> str:
        """How it failed, in a line; empty if it did not."""
        if self.response is None or self.ok:
            return self.failure
        if self.response.status < 300:
            return f"HTTP {self.response.status}: {_shorten(self._fault)}"
        if self.response.status < 400:
            return f"HTTP {self.response.status}: it redirects, and redirects are not followed"
        text = self.response.body.decode(errors="replace")
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = text
        detail = read.get("detail", read) if isinstance(read, dict) else read
        told = _shorten(detail if isinstance(detail, str) else json.dumps(detail, ensure_ascii=False))
        if self.response.header(FAULT_HEADER) == FUNCTION_ERROR:
            return told
        return f"HTTP {self.response.status}{': ' + told if told else ''}"

    @property
    def _fault(self) -> str:
        """Return what an agent would be told instead of the answer; empty if it is shown the answer."""
        assert self.response is not None
        try:
            read_answer(Outcome.of(self.response))
        except ToolError as err:
            return str(err)
        return ""

    def value(self) -> Any:
        """Return the successful answer; None if it has no body."""
        assert self.response is not None
        return json.loads(self.response.body) if self.response.body.strip() else None


def _shorten(text: str) -> str:
    """Return a text on one line; what is cut ends with three dots."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3].rstrip()}..."


@dataclass(frozen=True, slots=True)
class Trial:
    """A tool and the results of its calls.

    Attributes:
        example: The arguments of its calls, also if it was not called.
        answers: Results of its calls, in order; one without an answer is the last.
        not_called: Why it was not called; empty if it was.
    """

    tool: str
    source: str
    example: Example
    answers: tuple[CallResult, ...] = ()
    not_called: str = ""


async def try_tools(
    tools: Tools,
    names: Iterable[str] | None = None,
    *,
    times: int,
    writing: bool = False,
    given: Mapping[str, JsonObject] | None = None,
    on_tried: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Call every tool.

    Returns:
        One entry per tool, in order.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def attempt(tool: str) -> Trial:
        async with gate:
            trial = await _try(tools, tool, times, (given or {}).get(tool), writing=writing)
        on_tried(trial)
        return trial

    return list(await asyncio.gather(*map(attempt, tools.specs if names is None else names)))


async def _try(tools: Tools, tool: str, times: int, given: JsonObject | None, *, writing: bool) -> Trial:
    example = example_arguments(tools.specs[tool], given)
    trial = Trial(tool, tools.source_of(tool), example)
    if why := tools.explain_unexecuted(tool):
        return _not_called_trial(trial, f"it cannot be executed here ({why})")
    if given is None and not writing and not tools.only_reads(tool):
        return _not_called_trial(trial, MAY_CHANGE)
    try:
        validate_arguments(tools.specs[tool], example.arguments)
        fill_path(tools.routes[tool], example.arguments)
    except ToolError as err:
        return _not_called_trial(trial, f"no suitable arguments are known ({_shorten(str(err))})")
    return Trial(tool, trial.source, example, await call_times(tools, tool, example.arguments, times))


def _not_called_trial(trial: Trial, why: str) -> Trial:
    return Trial(trial.tool, trial.source, trial.example, not_called=why)


async def call_times(tools: Tools, tool: str, arguments: JsonObject, times: int) -> tuple[CallResult, ...]:
    """Make one call several times, until no answer comes; return what became of each."""
    answers: list[CallResult] = []
    while len(answers) < times and (not answers or answers[-1].response is not None):
        answers.append(await _call(tools, tool, arguments))
    return tuple(answers)


async def _call(tools: Tools, tool: str, arguments: JsonObject) -> CallResult:
    started = time.perf_counter()
    response, failure = None, ""
    try:
        response, _ = await tools.call(tool, arguments)
    except TimeoutError:
        failure = "no answer in time"
    except (ProviderError, ToolsGoneError) as err:
        failure = str(err)
    return CallResult(response, failure, (time.perf_counter() - started) * 1e3)
