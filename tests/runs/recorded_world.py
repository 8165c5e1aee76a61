"""A small world to run in: one tool, its recording, and scenarios about it, all in a directory of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from talm_sim.config import Traffic
from talm_sim.recordings import CassetteLibrary, HttpRequest, HttpResponse
from talm_sim.tools_env.routes import build_request
from talm_sim.types import Fact, Facts, GoldCall, Missing, MissingKind, Route, Scenario, Source, ToolSpec, Turn

TOWNS = {"oslo": 59, "rome": 41, "lima": -12, "cairo": 30}
LATITUDE = ToolSpec(
    name="town_latitude",
    category="towns",
    description="Latitude of a town in whole degrees.",
    parameters={"type": "object", "properties": {"town": {"type": "string", "description": "Name of the town."}}, "required": ["town"]},
)
ROUTE = Route(path="/towns/latitude")


def make_world(directory: Path) -> dict[str, Any]:
    """Write the world and return the options of a run in it."""
    library = CassetteLibrary(directory / "cassettes")
    library.save_tools({LATITUDE.name: LATITUDE}, {LATITUDE.name: ROUTE})
    scenarios = [*(_scenario(town) for town in TOWNS), *(_underspecified(town) for town in TOWNS)]
    for scenario in scenarios:
        player = library.open_tools(scenario.id, scenario.group, Traffic.RECORD)
        for call in scenario.gold_calls:
            body = json.dumps({"latitude": TOWNS[call.arguments["town"]]}).encode()
            answer = HttpResponse(200, "OK", (("content-type", "application/json"),), body)
            player.record(build_request(ROUTE, call.arguments), answer)
        player.save()
    file = directory / "scenarios.jsonl"
    file.write_text("".join(scenario.model_dump_json() + "\n" for scenario in scenarios), encoding="utf-8")
    return {"scenarios": file, "cassettes": directory / "cassettes", "run_dir": directory / "runs", "model": "sim/oracle", "split": "perfect"}


def pretend_recorded(cassettes: Path, model: str, group: str) -> None:
    """Leave a recording of `model` under settings that no test uses."""
    player = CassetteLibrary(cassettes).open_model(model, "another", group, 1, 0, "0123456789ab", Traffic.RECORD)
    request = HttpRequest("POST", "http://model.invalid/v1/chat/completions", {"content-type": "application/json"}, b"{}")
    player.record(request, HttpResponse(200, "OK", (("content-type", "application/json"),), b"{}"))
    player.save()


def _scenario(town: str) -> Scenario:
    query = f"How far north is {town}, in whole degrees?"
    call = GoldCall(name=LATITUDE.name, arguments={"town": town})
    fact = Fact(name="latitude", value=TOWNS[town], call=0, pointer="/latitude")
    return Scenario(
        id=f"towns-{town}",
        group="perfect",
        turns=(Turn(messages=({"role": "user", "content": query},), gold_calls=(call,)),),
        tools=(LATITUDE.name,),
        target=Facts(required=(fact,)),
    )


def _underspecified(town: str) -> Scenario:
    base = _scenario(town)
    turn = Turn(messages=({"role": "user", "content": "How far north is my town, in whole degrees?"},), gold_calls=base.gold_calls)
    missing = Missing(kind=MissingKind.ARGUMENT, name="town", value=town, removed_text=town, human_answer=f"I mean {town}.")
    return base.model_copy(
        update={
            "id": f"{base.id}.underspecified",
            "group": "underspecified",
            "turns": (turn,),
            "missing": (missing,),
            "source": Source(base=base.id),
        }
    )
