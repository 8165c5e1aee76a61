"""Find the tools whose calls wait for a person, as `approve` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.tools_env.toolbox import Tools

_WRITING = "writing"
"""Stands for every tool that is not declared read-only; a tool that has this name itself is written `tool:writing`."""
_TOOL = "tool:"


def guarded_tools(text: str, tools: Tools) -> frozenset[str]:
    """Return the tools that a person approves each call of."""
    found: set[str] = set()
    for word in filter(None, map(str.strip, text.split(","))):
        if word == _WRITING:
            found.update(name for name in tools.specs if not tools.only_reads(name))
            continue
        name = word.removeprefix(_TOOL)
        if name not in tools.specs:
            raise PrerequisiteError(f"approve: {tools.explain_unknown(name)}")
        found.add(name)
    return frozenset(found)
