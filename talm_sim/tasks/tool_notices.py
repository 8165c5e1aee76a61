"""What the user should know of a run's tools: which are shared, which nothing executes, and whose code has a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from talm_sim.errors import format_names
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.tools_env.toolbox import Tools

__all__ = ["network_note", "warn_of_shared", "warn_of_unexecuted"]


def warn_of_shared(scenarios: Sequence[Scenario], tools: Tools, epochs: int) -> tuple[str, ...]:
    """Say that episodes can see what others changed, where tools may let them."""
    named = Counter(name for scenario in scenarios for name in set(scenario.tools))
    shared = [name for name in tools.shared_tools() if named[name] * epochs > 1]
    if not shared:
        return ()
    what = f"{format_names(shared, 3)} may change data, and {'all episodes share it' if len(shared) == 1 else 'all episodes share them'}"
    return (f'{what}: one may see what another did; see "State" in docs/tools.md',)


def network_note(tools: Tools) -> dict[str, str]:
    """Name the sources whose sandboxed code the user gave a network: it may answer something else tomorrow."""
    named = tools.networked()
    return {"network=on": f"the sandboxed code of {format_names(named, 3)} can reach the network"} if named else {}


def warn_of_unexecuted(scenarios: Sequence[Scenario], tools: Tools) -> Iterator[str]:
    """Name the tools of the scenarios that nothing executes, once for each reason."""
    named = dict.fromkeys(name for scenario in scenarios for name in scenario.tools)
    for why, names in tools.unexecuted(named).items():
        yield f"cannot be executed here, so that calls fail: {format_names(names, 8)} ({why})"
