"""Judges `calls` and `calls-bfcl`: they check whether the calls of an answer are the right ones, by the checks of this package.

They differ in how raw text is read: `calls` reads whatever family of models wrote it, `calls-bfcl` as BFCL does. Calls that a provider reported
are taken as they are by both. Java and JavaScript are read as BFCL has them: `[Type.method(name=value, ...)]`, each value the text of its
source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from talm_sim.judges.base import Judge, JudgeContext, judge_digest
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import parse_call, split_reasoning
from talm_sim.tasks.refusal.call_checks.all_calls import check_calls
from talm_sim.tasks.refusal.call_checks.bfcl_reading import read_as_bfcl
from talm_sim.types import Calls, Episode, JsonObject, Measured, Scenario, ToolCall, Verdict

PYTHONIC = "pythonic"
"""The way to ask for calls that BFCL's own reader is made for."""
_FENCE = re.compile(r"\A```[a-zA-Z]*\s")
_NAME = re.compile(r"[,;\s]*([A-Za-z_$][\w$.]*)\s*\(\s*")
_ARGUMENT = re.compile(r"\s*([A-Za-z_$][\w$]*)\s*=(?![=>])")
_TOKEN = re.compile(r"""["'`()\[\]{},]""")
_TEXT_ENDS = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*(?:{quote}|\Z)", re.DOTALL) for quote in "\"'`"}
_LITERAL = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}


class CallsJudge(Judge):
    """Passes an episode whose calls are those of the scenario's target; its label is the first fault."""

    name = "calls"
    measure = Measured(
        name="calls", head="Calls", about="the right functions are called with right arguments, or none where none fits", better="higher"
    )
    rules = 2

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if reason := reason_unchecked(episode, scenario):
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Calls)
        tools = tools_of(scenario)
        checked = check_calls(calls_of(episode, tools, scenario.target.syntax), scenario.target, tools)
        return self.verdict(episode, checked.outcome, checked.words, label=checked.error or "")


class BfclCallsJudge(Judge):
    """Judges as `calls` does, over the calls that BFCL reads; says nothing where calls were not asked for in Python's list syntax."""

    name = "calls-bfcl"
    measure = Measured(name="calls_bfcl", head="Calls (BFCL)", about="the same as Calls, with raw text read as BFCL reads it", better="higher")

    def __init__(self, context: JudgeContext) -> None:
        super().__init__(context)
        self.config_digest = judge_digest(self.name, self.rules, context.calls_as)

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if reason := reason_unchecked(episode, scenario):
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Calls)
        if self.context.calls_as != PYTHONIC:
            return self.verdict(episode, None, "not applicable: calls were not asked for as a list in Python's syntax")
        if scenario.target.syntax != "python":
            return self.verdict(episode, None, "not applicable: BFCL reads Java and JavaScript with parsers of its own (judge bfcl-official)")
        checked = check_calls(bfcl_calls_of(episode), scenario.target, tools_of(scenario))
        return self.verdict(episode, checked.outcome, checked.words, label=checked.error or "")


def reason_unchecked(episode: Episode, scenario: Scenario) -> str:
    """Say why the calls of an episode are not checked; empty if they are."""
    if not isinstance(scenario.target, Calls):
        return "not applicable: the scenario's target is no calls"
    if not episode.termination.completed:
        return f"not judged: the episode ended in {episode.termination.value}"
    return ""


def tools_of(scenario: Scenario) -> list[JsonObject]:
    """Return the specifications of the functions shown."""
    return [tool for tool in map(json.loads, scenario.shown_tools) if isinstance(tool, dict)]


def calls_of(episode: Episode, tools: Sequence[JsonObject], syntax: str) -> tuple[ToolCall, ...]:
    """Return the calls of an answer: those that the model's provider reported, otherwise those in the text."""
    if not episode.model_turns:
        return ()
    turn = episode.model_turns[-1]
    if turn.tool_calls or turn.unparsable_calls:
        return turn.tool_calls
    text = split_reasoning(turn.written)[0]
    source = read_source_calls(text) if syntax != "python" else ()
    return source or read_calls(text, tools).calls


def bfcl_calls_of(episode: Episode) -> tuple[ToolCall, ...]:
    """Return the calls of an answer: those that the model's provider reported, otherwise those that BFCL reads in the text."""
    if not episode.model_turns:
        return ()
    turn = episode.model_turns[-1]
    if turn.tool_calls or turn.unparsable_calls:
        return turn.tool_calls
    return read_as_bfcl(split_reasoning(turn.written)[0])


def read_source_calls(text: str) -> tuple[ToolCall, ...]:
    """Read an answer that is nothing but calls.

    The quotes of a text or character are removed if it is the whole value; what is between them is kept unchanged, as in BFCL.
    An argument without a name has an empty name.

    Returns:
        The calls; none if the answer is anything else.

    >>> read_source_calls("[Files.open(path='/tmp', sizes=new int[]{1, 2})]")[0].arguments
    {'path': '/tmp', 'sizes': 'new int[]{1, 2}'}
    """
    body = _FENCE.sub("", text.strip(), count=1).strip("` \t\r\n")
    body = body[1:-1] if body.startswith("[") and body.endswith("]") else body
    calls: list[ToolCall] = []
    at = 0
    while opened := _NAME.match(body, at):
        if (read := _arguments(body, opened.end())) is None:
            return ()
        arguments, at = read
        if not isinstance(call := parse_call(f"call-0-{len(calls)}", opened.group(1), arguments), ToolCall):
            return ()
        calls.append(call)
    return () if body[at:].strip("; \t\r\n") else tuple(calls)


def _arguments(body: str, start: int) -> tuple[dict[str, str], int] | None:
    """Return arguments by name, and where the call ends; None if it never does, or an argument is given twice."""
    arguments: dict[str, str] = {}
    opened: list[str] = []
    at = start
    while token := _TOKEN.search(body, at):
        at, mark = token.end(), token.group()
        if mark in _TEXT_ENDS:
            ended = _TEXT_ENDS[mark].match(body, at)
            at = ended.end() if ended else at
        elif mark in "([{":
            opened.append(mark)
        elif mark != "," and opened:
            if opened.pop() != _PAIRS[mark]:
                return None
        elif mark == ")" or (mark == "," and not opened and _ARGUMENT.match(body, at)):
            name, value = _argument(body[start : at - 1])
            if name in arguments:
                return None
            if name or value:
                arguments[name] = value
            if mark == ")":
                return arguments, at
            start = at
        elif mark != ",":
            return None
    return None


def _argument(written: str) -> tuple[str, str]:
    named = _ARGUMENT.match(written)
    value = written[named.end() if named else 0 :].strip()
    return named.group(1) if named else "", value[1:-1] if _LITERAL.fullmatch(value) else value
