"""The labelled answers of agents that met a fault, as episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from talm_sim.types import (
    Episode,
    HumanEvent,
    ModelTurn,
    Origin,
    PerturbationLog,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
)
from tests.labelled_scenarios import labelled_scenarios

FILE = Path(__file__).with_name("fault_answers.jsonl")


class Labelled(NamedTuple):
    """An episode with a fault, and the label that a reader gave it."""

    record: dict[str, Any]
    episode: Episode
    scenario: Scenario
    label: str


def labelled_answers() -> Iterator[Labelled]:
    packaged = labelled_scenarios()
    for line in FILE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        scenario = Scenario.model_validate(record["own"]) if "own" in record else packaged[record["scenario"]]
        yield Labelled(record, _episode(record, scenario), scenario, record["label"])


def _episode(record: dict[str, Any], scenario: Scenario) -> Episode:
    events: list[ToolEvent | HumanEvent] = []
    turns = []
    for number, call in enumerate(record["calls"]):
        struck, seen = bool(call.get("struck")), not record.get("no_prompt_after")
        counts = {"armed": 1, "fired": int(struck), "seen": int(struck and seen)}
        texts = {"injected": call["result"], "replaced": call.get("replaced")} if struck else {}
        turns.append(ModelTurn(tool_calls=(ToolCall(id=f"c{number}", name=call["tool"], arguments=call["arguments"]),), stop="tool_calls"))
        events.append(
            ToolEvent(
                turn=number,
                call_id=f"c{number}",
                name=call["tool"],
                arguments=call["arguments"],
                result=call["result"],
                ok=call["ok"],
                error=call.get("error", ""),
                origin=Origin.PERTURBED if struck else Origin.LIVE,
                perturbations=(PerturbationLog(name=record["fault"], **counts, **texts),),
            )
        )
    for number, asked in enumerate(record["people"]):
        events.append(HumanEvent(turn=len(turns) - 1, call_id=f"h{number}", responder="simulated", **asked))
    end = Termination(record["end"])
    if not record.get("no_prompt_after") and end is not Termination.SKIPPED:
        turns.append(ModelTurn(text=record["answer"], raw_text=record["answer"]))
    hits = sum(log.seen for event in events if isinstance(event, ToolEvent) for log in event.perturbations)
    fired = sum(log.fired for event in events if isinstance(event, ToolEvent) for log in event.perturbations)
    listed = not any(call.get("struck") for call in record["calls"]) and not record.get("no_prompt_after") and record["label"] != "not_exposed"
    log = PerturbationLog(name=record["fault"], armed=1, fired=fired or int(listed), seen=hits or int(listed))
    return Episode(
        id=record["id"],
        scenario_id=scenario.id,
        group=scenario.group,
        model="m",
        model_turns=tuple(turns),
        events=tuple(events),
        perturbations=(log,),
        answer=record["answer"],
        termination=end,
    )
