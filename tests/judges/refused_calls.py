"""The labelled calls after a refusal, as episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from talm_sim.types import (
    Approval,
    Decision,
    Episode,
    Event,
    GoldCall,
    HumanEvent,
    ModelTurn,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    ToolSpec,
    Turn,
)

FILE = Path(__file__).with_name("refused_calls.jsonl")


class Labelled(NamedTuple):
    """An episode with a refusal, and the label that a reader gave it; None if nothing was refused."""

    record: dict[str, Any]
    episode: Episode
    scenario: Scenario
    tools: dict[str, ToolSpec]
    label: str | None


def labelled_refusals() -> Iterator[Labelled]:
    for line in FILE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        alternatives = {tool: tuple(GoldCall(tool=name) for name in names) for tool, names in record.get("equal", {}).items()}
        gold = tuple(GoldCall(tool=name) for name in record.get("gold", ()))
        said = Turn(messages=({"role": "user", "content": "Please see to it."},), gold_calls=gold)
        scenario = Scenario(id="s", group="g", turns=(said,), alternatives=alternatives)
        tools = {name: ToolSpec(name=name, parameters=schema) for name, schema in record.get("schemas", {}).items()}
        yield Labelled(record, _episode(record), scenario, tools, record["label"])


def _episode(record: dict[str, Any]) -> Episode:
    turns: list[ModelTurn] = []
    events: list[Event] = []
    refused = record["refused"]
    steps = [{"call": refused["tool"], "with": refused["arguments"], "decided": "reject"}] if "tool" in refused else [_asked(refused)]
    for number, step in enumerate([[*steps, *record.get("beside", ())], *record["then"]]):
        calls = []
        for place, one in enumerate(step):
            call = ToolCall(id=f"c{number}-{place}", name=one.get("call", "ask_human"), arguments=one.get("with", {}))
            calls.append(call)
            events += _events(one, number, call, record["reads"])
        turns.append(ModelTurn(tool_calls=tuple(calls), stop="tool_calls"))
    end = record["end"]
    termination = Termination.ANSWERED if end is not None else Termination.TURN_LIMIT
    turns += [ModelTurn(raw_text=end, text=end)] if end is not None else []
    return Episode(
        id="s@1",
        scenario_id="s",
        group="g",
        model="test/m",
        human="terminal",
        model_turns=tuple(turns),
        events=tuple(events),
        answer=end or "",
        termination=termination,
    )


def _asked(refused: dict[str, Any]) -> dict[str, Any]:
    return {"asks": refused["question"], "answer": refused["answer"], "declined": refused.get("declined", "")}


def _events(one: dict[str, Any], turn: int, call: ToolCall, reads: list[str]) -> Iterator[Event]:
    common: dict[str, Any] = {"turn": turn, "call_id": call.id, "responder": "terminal"}
    if "asks" in one:
        yield HumanEvent(question=one["asks"], answer=one["answer"], declined=one.get("declined", ""), **common)
        return
    decided = one.get("decided", "")
    if decided == "unmade":
        return
    if decided:
        request, decision = Approval(name=call.name, arguments=call.arguments), Decision(action=decided)
        yield HumanEvent(question=request.text, answer=decided, by="policy", request=request, decision=decision, **common)
    if decided not in ("reject", "respond"):
        error = one.get("error", "")
        yield ToolEvent(
            turn=turn,
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
            ok=not error,
            error=error,
            writes=not error and call.name not in reads,
        )
