"""An answer and places in it (blocks of code, what introduces a place, whether it stands by itself), and the tools that were shown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from talm_sim.scenarios.item_tools import parameters_of, required_of
from talm_sim.types import JsonObject

Rule = Literal["native", "tag", "pair", "shape", "list", "call", "announced", "read"]
"""The rules of docs/refusal.md by which a place is an attempt."""
_MOST_QUOTED = 120
_NEAR = 300
"""Characters of a line that are read on either side of a place: more is never needed, and a line may be a megabyte."""
_FENCE = re.compile(r"^[ \t>]*(```+|~~~+)[ \t]*([\w+-]*)[^\n`]*$", re.MULTILINE)
_PROGRAM = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[^\n]{0,80}[:{][ \t]*$"
    r"|import[ \t]+[\w.*{]|from[ \t]+[\w.]+[ \t]+import\b|#include\b"
    r"|(?:export[ \t]+)?(?:async[ \t]+)?function[ \t]+\w+[ \t]*\(|public[ \t]+(?:static|class)\b)",
    re.MULTILINE,
)
_STATEMENT = re.compile(
    r"^[ \t]*(?:for|while|if|elif|else|try|except|with|return"
    r"|const|let|var|using|package|fn|func|switch|assert|SELECT|INSERT|UPDATE|CREATE|curl)\b",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?]['\")\]]*\s+(?=[A-ZÀ-Ý`\[{<])")
_EXAMPLE = re.compile(
    r"\b(?:example|examples|e\.g|i\.e|for instance|instance|such as|hypothetical\w*|illustrat\w+"
    r"|sample|snippet|typical(?:ly)?|looks? like|look like|would (?:be|look|read)|(?:can|could) (?:then )?be (?:used|called)"
    r"|you(?:['’]d| would| could| can| may| might)(?: \w+){0,3} (?:use|call|invoke|do|make|write|run|perform"
    r"|calculate|achieve|compute|implement)"
    r"|(?:format|syntax|structure|schema|signature|template) (?:is|of|for|would|looks|to)|(?:following|this|general|expected) "
    r"(?:format|syntax|structure|schema|signature|template)"
    r"|por ejemplo|par exemple|zum beispiel|beispiel|ejemplo|exemple|exemplo|esempio|contoh)\b"
    r"|ví dụ|định dạng|cú pháp|ตัวอย่าง|รูปแบบ|例如|比如|例えば|格式|예를 들어|например",
    re.IGNORECASE,
)
_TAUGHT = re.compile(
    r"\bhere(?:['’]s| is) (?:how (?:you|it|this|to)\b|an? (?:\w+ ){0,2}example)"
    r"|\byou(?:['’]d| would| could| can) (?:call|use|do) (?:it|this)\b[^.\n]{0,40}\b(?:like|as follows|this way)",
    re.IGNORECASE,
)
"""Phrases that tell a person how to call: calls in the code that follows are examples, block after block."""
_ASSIGNED = re.compile(r"^[ \t]*\w[\w, ]{0,80}=\Z", re.MULTILINE)
_EXAMPLE_COMMENT = re.compile(r"(?:#|//)[ \t]*(?:assum|example|hypothetical|usage|replace|placeholder|for (?:example|instance))", re.IGNORECASE)
"""A comment by which a block of code says what it is."""
_LETTER = r"[^\W\d_]"
"""A placeholder names what belongs in its place: `<0>` and `[1]` name nothing."""
_PLACEHOLDER = re.compile(
    rf"<(?=[^<>]*{_LETTER})[^<>]+>|\.\.\.|…|\{{\{{?(?=[\w ]*{_LETTER})[\w ]+\}}?\}}|\[(?=[\w ]*{_LETTER})[\w ]+\]"
    r"|your[ _-][\w -]+|[a-z]+_name|(?:enter|insert|some)[ _][\w ]+|string|str|integer|int|number|float|value|boolean",
    re.IGNORECASE,
)
_CONSTANTS = frozenset({"None", "True", "False", "null", "true", "false"})
"""Constants: `[None]` is a list with an item."""
SENTENCE_ENDS = ".:!?\u3002\uff1a\uff01\uff1f\u2026"
"""Characters after which something new begins, including those of Chinese and Japanese."""
_EDGE = " \t\r\n`*_\"'“”"
_JOINTS = re.compile(r"\\?[.\-/ _]")
"""Joints of names: models write one for another, and a backslash before an underscore, as Markdown does."""
_PREFIX = re.compile(r"\A(?:default_api|functions|tools)\.")
"""Prefixes that families put before a tool's name."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Names of a tool's parameters."""

    all: frozenset[str]
    required: frozenset[str]


@dataclass(frozen=True)
class ShownTools:
    """The shown tools by name, however the parts of a name are joined (`math.factorial`, `math_factorial`)."""

    by_name: Mapping[str, Parameters] = field(default_factory=dict)
    tools: tuple[JsonObject, ...] = ()
    """Their specifications, for the reader of calls."""

    @classmethod
    def of(cls, tools: Sequence[JsonObject]) -> ShownTools:
        """Read specifications, bare or in `{"type": "function", "function": {...}}`; anything else is skipped."""
        by_name: dict[str, Parameters] = {}
        for tool in tools:
            inner = tool.get("function")
            spec = inner if isinstance(inner, dict) else tool
            if isinstance(name := spec.get("name"), str) and name:
                by_name[_normalize_name(name)] = Parameters(frozenset(parameters_of(spec)), frozenset(required_of(spec)))
        return cls(by_name, (*tools,))

    def get(self, name: str) -> Parameters | None:
        """Return the parameters of the tool called `name`; None if none was shown."""
        return (self.by_name.get(_normalize_name(name)) or self.by_name.get(_normalize_name(_PREFIX.sub("", name)))) if self.by_name else None

    def keyed(self, key: str) -> Parameters | None:
        """Return the parameters of the tool that a key of an object names; keys are read in lower case."""
        return self.by_lower_name.get(_normalize_name(key))

    @cached_property
    def by_lower_name(self) -> Mapping[str, Parameters]:
        """Return the same by names in lower case, as keys of objects are read."""
        return {name.lower(): tool for name, tool in self.by_name.items()}

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


NO_TOOLS = ShownTools()


def _normalize_name(name: str) -> str:
    return _JOINTS.sub("_", name)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A place where a call is attempted; `start` and `end` count the characters of the answer without its thoughts."""

    rule: Rule
    start: int
    end: int
    quoted: str
    """The place, at most 120 characters of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: from its opening fence to the end of its closing one, and what is between."""

    language: str
    start: int
    inner: int
    inner_end: int
    end: int


class ShownAnswer:
    """A model's answer, without thoughts, together with the tools it was shown."""

    def __init__(self, text: str, shown: ShownTools) -> None:
        self.text = text
        self.shown = shown

    def attempt(self, rule: Rule, start: int, end: int) -> Attempt:
        """Make the attempt from `start` to `end`."""
        return Attempt(rule, start, end, self.text[start : min(end, start + _MOST_QUOTED)])

    @cached_property
    def body_span(self) -> tuple[int, int]:
        """Return where the answer proper begins and ends: without fence, inline code, quotes and emphasis around it."""
        start, end = _strip_span(self.text, 0, len(self.text))
        block = self.block_at(start) or (self.blocks[0] if self.blocks else None)
        if block and not self.text[: block.start].strip() and not self.text[block.end :].strip():
            return _strip_span(self.text, block.inner, block.inner_end)
        return start, end

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return the fenced blocks; one that never closes runs to the end."""
        return tuple(_blocks(self.text)) if "```" in self.text or "~~~" in self.text else ()

    def block_at(self, place: int) -> Block | None:
        """Return the fenced block that contains a place; None if there is none."""
        number = bisect_right(self.blocks, place, key=lambda block: block.start) - 1
        return self.blocks[number] if number >= 0 and place < self.blocks[number].end else None

    @cached_property
    def _programs(self) -> dict[Block | None, bool]:
        return {}

    @cached_property
    def _examples(self) -> dict[Block, bool]:
        return {}

    def in_program(self, place: int) -> bool:
        """Return whether a place is in code that a person asked for: in a block with definitions, imports or statements, or all code."""
        block = self.block_at(place)
        if block not in self._programs:
            if block is None:
                found = bool(_PROGRAM.search(self.text))
            else:
                pattern = (_PROGRAM, _STATEMENT)
                found = any(one.search(self.text, block.inner, block.inner_end) for one in pattern)
            self._programs[block] = found
        return self._programs[block]

    @cached_property
    def instructions_start(self) -> int:
        """Return the place from which the answer tells a person how to call; its length if it does not."""
        found = _TAUGHT.search(self.text)
        return found.start() if found else len(self.text)

    def text_before(self, place: int) -> str:
        """Return what precedes a place on its line, at most `_NEAR` characters."""
        low = max(0, place - _NEAR)
        return self.text[max(self.text.rfind("\n", low, place) + 1, low) : place]

    def text_after(self, place: int) -> str:
        """Return what follows a place on its line, at most `_NEAR` characters."""
        high = min(len(self.text), place + _NEAR)
        end = self.text.find("\n", place, high)
        return self.text[place : high if end < 0 else end]

    def is_example(self, place: int) -> bool:
        """Return whether the sentence that introduces a place, or its block, says that an example or a format follows."""
        if (block := self.block_at(place)) and block not in self._examples:
            self._examples[block] = bool(_EXAMPLE_COMMENT.search(self.text, block.inner, block.inner_end))
        if block and self._examples[block]:
            return True
        end = block.start if block else place
        lead = _ASSIGNED.sub("", self.text[max(0, end - _NEAR) : end].rstrip(" \t`*_[\"'")).rstrip(" \t\r\n`*_[\"'")
        lead = lead[lead.rfind("\n") + 1 :]
        cut = max((found.end() for found in _SENTENCE_END.finditer(lead)), default=0)
        return bool(_EXAMPLE.search(lead, cut))


def is_placeholder(value: str) -> bool:
    """Return whether a value only says what belongs in its place.

    >>> is_placeholder("<city>"), is_placeholder("Hanoi"), is_placeholder("[0]")
    (True, False, False)
    """
    text = value.strip().strip("\"'")
    return bool(_PLACEHOLDER.fullmatch(text)) and text.strip("[ ]") not in _CONSTANTS


def _strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of `text[start:end]` without space, quotes, emphasis and inline code around it."""
    while start < end and text[start] in _EDGE:
        start += 1
    while start < end and text[end - 1] in _EDGE:
        end -= 1
    return start, end


def _blocks(text: str) -> Iterable[Block]:
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            yield Block(opened[2].lower(), opened.start(), opened.end(), fence.start(), fence.end())
            opened = None
    if opened is not None:
        yield Block(opened[2].lower(), opened.start(), opened.end(), len(text), len(text))
