"""A real model server on loopback that can go wrong, for some queries or for all."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from talm_sim.types import Fact, Facts, GoldCall, Scenario, Turn
from tests.models.loopback import Answer, Seen, loopback
from tests.runs.recorded_world import LATITUDE, make_world

MODEL = "openai-api/host/m"
_NUMBER = re.compile(r"number (\d+)")

Fault = tuple[int, str, str]
"""Status, content type and body."""


def refused(status: int, message: str = "no") -> Fault:
    return status, "application/json", json.dumps({"error": {"message": message}})


@dataclass
class Host:
    """What the server does, and what it was asked."""

    url: str = ""
    fault: Callable[[int], Fault | None] = lambda number: None
    """What befalls a request about the query of this number."""
    asked: Counter[int] = field(default_factory=Counter)

    def reply(self, seen: Seen) -> Answer:
        text = json.dumps(seen.body["messages"])
        found = _NUMBER.search(text)
        number = int(found[1]) if found else -1
        self.asked[number] += 1
        if (fault := self.fault(number)) is not None:
            status, kind, body = fault
            return Answer(body.encode(), status, {"content-type": kind})
        drawn = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 3
        said = ("Yes", "No", "I don't know")[drawn] if "Yes" in text else f"Its latitude is {number}."
        message = {"role": "assistant", "content": said}
        usage = {"prompt_tokens": 100, "completion_tokens": 7}
        return Answer({"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage})

    @contextmanager
    def serving(self) -> Iterator[Host]:
        with loopback() as server:
            server.reply, self.url = self.reply, f"{server.url}/v1"
            yield self


SETTINGS = {"TALM_SIM_TOOLS": "replay", "TALM_SIM_MODELS": "live", "TALM_SIM_MAX_RETRIES": "0"}
"""Options of these runs that have no flag."""


def options(directory: Path, number: int) -> list[str]:
    """The options of a run of `number` queries, whose tools were recorded, by the host's model."""
    world = make_world(directory)
    turns = [f"How far north is town number {n}, in whole degrees?" for n in range(number)]
    scenarios = [_scenario(f"town-{n:02}", turn, n) for n, turn in enumerate(turns)]
    world["scenarios"].write_text("".join(one.model_dump_json() + "\n" for one in scenarios), encoding="utf-8")
    flags = {"scenarios": world["scenarios"], "cassettes": world["cassettes"], "split": "perfect"}
    return [*(word for name, value in flags.items() for word in (f"--{name}", str(value))), "--model", MODEL]


def _scenario(name: str, query: str, number: int) -> Scenario:
    call = GoldCall(name=LATITUDE.name, arguments={"town": name})
    fact = Fact(name="latitude", value=number, call=0, pointer="/latitude")
    return Scenario(
        id=name,
        group="perfect",
        turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=(call,)),),
        tools=(LATITUDE.name,),
        target=Facts(required=(fact,)),
    )
