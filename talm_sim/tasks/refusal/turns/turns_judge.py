"""Judge `bfcl-turns`: the multi-turn check of the package `bfcl-eval` says whether a row passes.

What is theirs and what is ours:

- The check executes the calls of each turn and the right ones, each on instances of its own. A row passes if, after each turn with right calls,
  both have the same state, and the results of the right calls are among those of all calls so far. A turn whose right calls are none is
  executed and not checked.
- It evaluates the text of each call as Python. So it is given none of what a model wrote: each call is written anew, of one of the row's own
  functions with literal arguments. Any other call becomes one of a function that does not exist, which fails as it would there.
- It keeps instances by their names, and a class may keep something in its module. So each check has a process of its own, in the sandbox.
- A row whose last turn was not reached fails, as in the official run: one that ended at the limit of steps or tokens, for example. So does one
  whose calls take the check more time or memory than it is given, while the right calls alone do not: `power(7, 1000000000)`, for example.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping, Sequence
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from talm_sim.common.digests import digest
from talm_sim.common.json_values import leaves
from talm_sim.errors import ProviderError
from talm_sim.judges.base import Judge, JudgeContext, judge_digest
from talm_sim.models.base import ASK_HUMAN
from talm_sim.tasks.refusal.bfcl.find_data import find_package
from talm_sim.tasks.refusal.bfcl.turn_rows import gold_turns
from talm_sim.tools_env.sources.bfcl.apis import BOX, boxed_packages, source_files
from talm_sim.tools_env.sources.sandbox import call_in_sandbox, check_sandbox
from talm_sim.types import Episode, Measured, Scenario, Termination, ToolCall, Verdict

REFUSED_CALL = "a_call_that_is_not_evaluated()"
"""What the check is given in place of a call that is not one of the row's own functions with literal arguments; there is no such function."""
_SECONDS = 30
_LONGEST = 1000
_PREFIX = "multi_turn:"
"""What the types of the package's errors begin with."""
_ENDED = "force_terminated"


class BfclTurnsJudge(Judge):
    """Passes a multi-turn row that the package's own check passes; its label is the type of the error.

    Raises:
        ProviderError: Not even the right calls can be checked here.
    """

    name = "bfcl-turns"
    rules = 2
    measure = Measured(name="bfcl_turns", head="Turns", about="BFCL's own check of all turns passes", better="higher")

    def __init__(self, context: JudgeContext) -> None:
        super().__init__(context)
        self._packages = boxed_packages(find_package(getattr(context.options, "bfcl", None)))
        check_sandbox([BOX.parent])
        self.config_digest = judge_digest(self.name, self.rules, _content_digest(self._packages[0]))

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if (gold := gold_turns(scenario)) is None:
            return self.verdict(episode, None, "not applicable: not a multi-turn row")
        if not episode.termination.completed:
            return self.verdict(episode, None, f"not judged: the episode ended in {episode.termination.value}")
        if episode.termination is not Termination.ANSWERED or len(gold) != len(scenario.turns):
            why = f"ended in {episode.termination.value} before its last turn was answered"
            if len(gold) != len(scenario.turns):
                why = f"the row has {len(scenario.turns)} turns, and its ground truth {len(gold)}"
            return self.verdict(episode, False, why, label=_ENDED)
        said = await _check_turns(self._packages, scenario, steps_of(episode, scenario), gold)
        if isinstance(said, str):
            if isinstance(alone := await _check_turns(self._packages, scenario, [[] for _ in gold], gold), str):
                raise ProviderError(alone)
            return self.verdict(episode, False, f"the right calls alone can be checked, but with those made, {said}", label=_ENDED)
        label = said["error_type"].removeprefix(_PREFIX)
        return self.verdict(episode, said["valid"], said["error_message"][:_LONGEST], label=label)


async def _check_turns(
    packages: Sequence[Path], scenario: Scenario, steps: Sequence[Sequence[Sequence[str]]], gold: Sequence[Sequence[str]]
) -> dict[str, Any] | str:
    """Return what the package's check says of the calls in each turn, in a process of its own; a text that says why it says nothing."""
    classes = scenario.start["classes"]
    row = {"id": scenario.id, "initial_config": classes, "involved_classes": [*classes]}
    given = {"places": [str(one.parent) for one in packages], "row": row, "steps": steps, "gold": gold}
    found = await call_in_sandbox(BOX, "check", given, seconds=_SECONDS, readable=packages)
    said = json.loads(found.body)
    return said if found.status == 200 else f"bfcl-eval: {said['detail']}"


def steps_of(episode: Episode, scenario: Scenario) -> list[list[list[str]]]:
    """Return the calls of an episode as the package's check takes them: by turn of the user's and, in it, by step."""
    steps: list[list[list[str]]] = [[] for _ in scenario.turns]
    for turn in episode.model_turns:
        calls = [call_text(call, scenario.tools) for call in turn.tool_calls if call.name != ASK_HUMAN]
        calls += [REFUSED_CALL for _ in turn.unparsable_calls]
        if calls:
            steps[turn.user_turn].append(calls)
    return steps


def call_text(call: ToolCall, functions: Sequence[str]) -> str:
    """Write a call as the package evaluates it, if it is one of the row's own functions with literal arguments.

    >>> call_text(ToolCall(id="1", name="cd", arguments={"folder": "a"}), ["cd"])
    "cd(folder='a')"
    >>> call_text(ToolCall(id="1", name="eval", arguments={"source": "1"}), ["cd"]) == REFUSED_CALL
    True
    """
    if call.name not in functions or not call.name.isidentifier() or not _is_plain(call.arguments):
        return REFUSED_CALL
    try:
        return f"{call.name}({','.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
    except ValueError:  # Python writes no integer of so many digits
        return REFUSED_CALL


def _is_plain(arguments: Mapping[str, Any]) -> bool:
    """Return whether all names are those of arguments, and all values are what JSON has."""
    names = all(name.isidentifier() and not keyword.iskeyword(name) for name in arguments)
    found = (value for _, value in leaves(arguments))
    return names and all(isinstance(one, str | bool | int | None) or (isinstance(one, float) and isfinite(one)) for one in found)


@cache
def _content_digest(package: Path) -> str:
    """Return the digest of what decides a verdict: the package's check and its classes."""
    return digest([file.read_text(encoding="utf-8") for file in source_files(package)])
