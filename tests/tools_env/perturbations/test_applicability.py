"""How many gold calls of the packaged scenarios each silent fault fires on: counted over the built-in tools, and as docs/faults.md says."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.perturbations import PERTURBATIONS, Call, Outcome, ReadAnswer, open_perturbations
from talm_sim.tools_env.toolbox import open_tools
from talm_sim.types import Scenario
from tests.tasks.views import job

PAGE = Path(__file__).parents[3] / "docs" / "faults.md"
SILENT = [name for name in PERTURBATIONS.names() if PERTURBATIONS.get(name).family == "silent"]


async def count() -> dict[str, str]:
    """Make each gold call once, and let every fault make what it likes of the answer."""
    perfect = job("talm", split="perfect", options={"perturb": ("stale",)})
    task: Any = perfect.task
    others, tools, fired = task._gold_arguments(perfect), await open_tools(), Counter[str]()

    async def ask(tool: str, arguments: Mapping[str, Any]) -> Outcome:
        return Outcome.of((await tools.call(tool, arguments))[0])

    async def play(scenario: Scenario) -> int:
        earlier: list[ReadAnswer] = []
        for number, gold in enumerate(scenario.gold_calls, 1):
            spec, clean = tools.specs[gold.name], await ask(gold.name, gold.arguments)
            call = Call(
                spec,
                gold.arguments,
                number,
                tools.specs,
                VirtualClock(),
                f"{scenario.id}@1",
                response=tools.response_schema(gold.name),
                others=others[gold.name],
                earlier=list(earlier),
                send=partial(ask, gold.name),
            )
            for one in open_perturbations(SILENT, seed=0, episode=call.episode):
                if not one.lacks(spec, call.response, call.others) and await one.after(call, clean) is not None:
                    fired[one.name] += 1
            earlier.append(ReadAnswer(gold.name, clean.value, gold.arguments))
        return len(scenario.gold_calls)

    calls = sum(await asyncio.gather(*map(play, task.load(perfect))))
    await tools.aclose()
    return {name: f"{fired[name]} of {calls}" for name in SILENT}


async def test_the_page_says_on_how_many_gold_calls_each_silent_fault_fires() -> None:
    said = dict(re.findall(r"^\| `([\w-]+)` \|.*\| (\d+ of \d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert await count() == said
    assert set(said) == {*SILENT}
