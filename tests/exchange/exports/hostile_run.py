"""A stored run whose texts attack whatever writes or reads them, with every kind of end an episode may have."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from talm_sim.config import RunConfig
from talm_sim.store.files.manifest import describe_run
from talm_sim.store.files.records import write_episode, write_verdict
from talm_sim.store.files.sealing import insert_row
from talm_sim.store.files.store import create_run
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import (
    Approval,
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Decision,
    Episode,
    Fact,
    Facts,
    Form,
    HumanEvent,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Termination,
    ToolCall,
    ToolEvent,
    ToolSpec,
    Turn,
    UnparsableCall,
    Usage,
    Verdict,
)

HOSTILE = '\x1b[31mred\x1b]0;title\x07\x00NUL\u2028line\u2029para\x85\r\n"quote"\\ \\ud800 </script><!-- \U0001f600 ﷽ \u202e'
LONG = "long-" * 420_000  # 2.1 MB
IDS = ("a/b", "../../etc/passwd", "C:\\x\ny", "a_b", "ordinary-1", "\x1b[2Jid\u2028", "x" * 300, "name.json", ".hidden", "-")
ENDS = (
    Termination.ANSWERED,
    Termination.INFRASTRUCTURE_ERROR,
    Termination.AGENT_ERROR,
    Termination.TURN_LIMIT,
    Termination.TOKEN_LIMIT,
    Termination.CONTEXT_OVERFLOW,
    Termination.CANCELLED,
    Termination.REPLAY_MISS,
    Termination.ANSWERED,
    Termination.SKIPPED,
)


def scenarios() -> list[Scenario]:
    said = Turn(messages=({"role": "user", "content": f"What is it? {HOSTILE}"},))
    target = Facts(required=(Fact(name=HOSTILE, value=HOSTILE),))
    return [Scenario(id=name, group="perfect", turns=(said,), tools=("look_up",), target=target) for name in IDS]


def episode(scenario: Scenario, end: Termination, said: str) -> Episode:
    words = said or HOSTILE
    long = said or (LONG if scenario.id == IDS[0] else HOSTILE)
    first = ModelTurn(
        raw_prompt=f"[system] Be good. {words}\n\n[human] {scenario.query}",
        raw_text=words,
        text=words,
        reasoning=words,
        tool_calls=(ToolCall(id=f"c1{HOSTILE}", name="look_up", arguments={words: [words, {"deep": None}]}),),
        unparsable_calls=(UnparsableCall(id="c2", name=HOSTILE, raw=words, reason=words),),
        stop="tool_calls",
        usage=Usage(input_tokens=30, output_tokens=7, cached_tokens=10),
    )
    last = ModelTurn(raw_prompt="[tool] ...", raw_text=long, text=long, stop="length", usage=Usage(uncounted=1))
    log = PerturbationLog(name="http-500:p=0.5", armed=1, fired=1, seen=1)
    events = (
        ToolEvent(turn=0, call_id="c1", name="look_up", arguments={"q": words}, result=long, ok=True, status=200, elapsed_ms=1500),
        ToolEvent(
            turn=0, call_id="c2", name=HOSTILE, result=words, ok=False, status=500, error="http_500", perturbations=(log,), elapsed_ms=20
        ),
        ToolEvent(turn=0, call_id="c3", name=f"made_up{words}", ok=False, error="unknown_tool"),
        HumanEvent(turn=0, call_id="c4", question=words, answer=words, responder="terminal", asked_at=1003.0, answered_at=1010.5),
        HumanEvent(turn=0, call_id="c5", question="?", answer="", responder="recorded", declined="idk", asked_at=5.0, answered_at=9.0),
        *decided(words),
    )
    values: dict[str, Any] = {"model_turns": (first, last), "events": events, "answer": long, "perturbations": (log,)}
    if end is Termination.SKIPPED:
        values = {}
    if end.failed or end is Termination.AGENT_ERROR:
        values |= {"error": words, "traceback": f"Traceback {words}"}
    asked = AwarenessAnswer(kind=AwarenessKind.TOOL, value=AwarenessValue.YES, question=words, raw=words, usage=Usage(input_tokens=5))
    return Episode(
        id=scenario.id,
        scenario_id=scenario.id,
        group=scenario.group,
        model="openai/some",
        human="terminal",
        awareness=(asked,),
        termination=end,
        usage=Usage(input_tokens=35, output_tokens=7, cached_tokens=10, uncounted=1),
        started_at=1000.0,
        elapsed_s=4.0,
        **values,
    )


def decided(words: str) -> tuple[HumanEvent, ...]:
    """Two calls that a person decided about, and a form."""
    call = Approval(name="look_up", arguments={"q": words}, description=words)
    edit = Decision(action="edit", name="look_up", arguments={"q": [words]})
    form = Form(message=words, fields={"type": "object", "properties": {words: {"type": "string"}}}, source=words)
    reject, accept = Decision(action="reject", message=words), Decision(action="accept", content={words: words})
    more: dict[str, Any] = {"turn": 0, "question": words, "answer": words, "responder": "answer", "name": words}
    return (
        HumanEvent(call_id="c6", by="policy", request=call, decision=edit, **more),
        HumanEvent(call_id="c7", by="interrupt", request=call, decision=reject, **more),
        HumanEvent(call_id="c8", by="elicitation", request=form, decision=accept, **more),
    )


def make_run(folder: Path, said: str = "") -> StoredRun:
    """Make the run `hostile` in a folder; its last scenario is not finished. `said` is what everybody says, if it is given."""
    made = scenarios()
    unfinished = made[0].model_copy(update={"id": "unfinished"})

    def fill(conn: sqlite3.Connection) -> None:
        for position, (scenario, end) in enumerate(zip(made, ENDS, strict=True)):
            write_episode(conn, episode(scenario, end, said), position)
            value = {0: True, 3: False, 4: None}.get(position, position % 2 == 0)
            write_verdict(conn, Verdict(episode_id=scenario.id, judge="reference", value=value, explanation=said or HOSTILE))
            write_verdict(conn, Verdict(episode_id=scenario.id, judge="mine", value=True, label=HOSTILE, votes=(True, False)))
        insert_row(conn, "meta", "judges", json.dumps([("reference", ""), ("mine", "")]))

    own = {"human": "terminal", "turn_limit": 5}
    config = RunConfig(split="perfect", model="openai/some", models="live", tools="live", options=own)
    every, tools = [*made, unfinished], [ToolSpec(name="look_up", description=HOSTILE)]
    return load_run(create_run(folder, "hostile", describe_run(config, every), every, tools=tools, fill=fill))
