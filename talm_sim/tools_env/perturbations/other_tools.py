"""Perturbations of which tools are in sight: some are hidden, or others are shown, beside those of the scenario or in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from pydantic import Field

from talm_sim.errors import PrerequisiteError
from talm_sim.retrieval import SERVES_LIMIT, TextIndex, find_embedder
from talm_sim.tools_env.perturbations.base import Perturbation, has_names_only, share_of
from talm_sim.tools_env.perturbations.options import ToolListOptions
from talm_sim.types import ToolSpec

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")


class Mask(Perturbation):
    """Hide a tool, or every tool. Fires once for each tool it hides."""

    name = "mask"
    summary = "hide a tool from the agent (tool=NAME), or all of them"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """What is hidden."""

        tool: str = Field("", description="The tool to hide; without it, all tools.")

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Return the tools that stay in sight."""
        return [tool for tool in tools if not self.applies(tool.name)]


class Distractors(Perturbation):
    """More tools than the scenario offers are in sight, those that resemble its own first. They can be called and answer truly."""

    name = "distractors"
    summary = "show more tools than the scenario offers, similar ones first"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """How many."""

        tool: str = Field("", description="The tool to add; without it, the most similar ones.")
        n: int = Field(3, ge=1, le=100, description="How many tools to add.")

    options: Options

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Add tools, each at a place of its own among the others."""
        offered = {tool.name for tool in tools}
        others = [spec for name, spec in pool.items() if name not in offered and self.options.tool in ("", name)]
        if not others:
            self.not_applicable += not has_names_only(pool)
            return tools
        left = list(tools)
        for other in sorted(others, key=lambda spec: _unlikeness(spec, tools))[: self.options.n]:
            if self.applies(other.name):
                left.insert(int(share_of(*self._drawn_from, other.name, "place") * (len(left) + 1)), other)
        return left


def _unlikeness(spec: ToolSpec, tools: list[ToolSpec]) -> tuple[bool, float, str]:
    words = _words_of(spec)
    alike = [len(words & own) / len(words | own) for own in map(_words_of, tools)]
    return spec.category not in {tool.category for tool in tools}, -max(alike, default=0.0), spec.name


def _words_of(spec: ToolSpec) -> set[str]:
    return {word.casefold() for word in _WORDS.split(_text_of(spec)) if word}


class Replacement(Perturbation):
    """A tool is gone, and the one most like it that cannot do its work is in its place, found as for the awareness questions."""

    name = "replacement"
    summary = "put a similar tool that cannot do the work in a tool's place"
    family = "tools"
    permanent = True

    class Options(ToolListOptions):
        """What is replaced."""

        tool: str = Field("", description="The tool to replace; without it, all that the scenario offers.")

    def narrow(self, tools: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> list[ToolSpec]:
        """Replace tools."""
        if has_names_only(pool):
            return [tool for tool in tools if not self.applies(tool.name)]
        left = list(tools)
        for place, tool in enumerate(tools):
            if self.options.tool not in ("", tool.name):
                continue
            if (other := self._find_substitute(tool, tools, left, pool)) is None:
                self.not_applicable += 1
            elif self.applies(tool.name):
                left[place] = other
        return left

    def _find_substitute(self, tool: ToolSpec, offered: list[ToolSpec], left: list[ToolSpec], pool: Mapping[str, ToolSpec]) -> ToolSpec | None:
        specs = sorted(pool.values(), key=lambda spec: spec.name)
        try:
            index = _index(tuple(map(_text_of, specs)))
        except PrerequisiteError as err:
            raise PrerequisiteError(f"--perturb {self.spec}: {err}") from None
        taken = {one.name for one in (*offered, *left)}
        for neighbour in index.nearest(_text_of(tool)):
            other = specs[neighbour.place]
            if other.name not in taken and all(index.cosine(neighbour.place, _text_of(one)) < SERVES_LIMIT for one in offered):
                return other
        return None


def _text_of(spec: ToolSpec) -> str:
    """Return what is compared of a tool, as where awareness items are made: its name and its description."""
    return " ".join(f"{_WORDS.sub(' ', spec.name)}: {spec.description}".split())


@lru_cache(maxsize=4)
def _index(texts: tuple[str, ...]) -> TextIndex:
    """Return the tools of a run, embedded once for all episodes."""
    return TextIndex(texts, find_embedder())
