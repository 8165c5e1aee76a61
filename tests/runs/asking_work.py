"""A run whose tool asks the person while a call of it runs, in a process that can be killed: `python asking_work.py FOLDER begin|resume`.

With a file `patience` in the folder the tool waits for so many seconds; a file `tools` there names other tools.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import talm_sim
from talm_sim import ToolSpec, register_tool_source
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env.asking_tools import current_person
from talm_sim.tools_env.routes import answer, posted
from talm_sim.tools_env.sources.base import SourceRequest
from talm_sim.types import Form

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 2 else Path()
RUN = "asking"
FIELDS = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}


class Airline:
    """A source whose tool `book` asks for a seat."""

    def __init__(self, request: SourceRequest) -> None:
        self.name = request.name
        self.specs = {"book": ToolSpec(name="book", parameters={"type": "object", "properties": {"flight": {"type": "string"}}})}
        self.routes = posted(self.name, self.specs, asks=request.person)
        self.responses: Mapping[str, Any] = {}
        self.not_taken = ()

    async def call(self, tool: str, arguments: Mapping[str, object], episode: str) -> HttpResponse:
        person = current_person.get()
        assert person is not None
        with (FOLDER / "calls.txt").open("a", encoding="utf-8") as file:
            file.write(f"{arguments['flight']}\n")
        patience = FOLDER / "patience"
        try:
            async with asyncio.timeout(float(patience.read_text(encoding="utf-8")) if patience.exists() else None):
                decision = await person(Form(message=f"Which seat on {arguments['flight']}?", fields=FIELDS, source=self.name))
        except TimeoutError:
            return answer({"seat": "too late"})
        return answer({"seat": (decision.content or {"seat": decision.action})["seat"]})

    async def aclose(self) -> None:
        """Nothing to close."""


async def open_airline(request: SourceRequest) -> Airline:
    return Airline(request)


async def main(command: str) -> None:
    named = FOLDER / "tools"
    tools = named.read_text(encoding="utf-8") if named.exists() else "airline:here"
    options: dict[str, Any] = {"wait": True, "run_dir": FOLDER / "runs", "tools_from": (tools,)}
    print(os.getpid(), flush=True)
    if command == "begin":
        more: dict[str, Any] = {"model": "sim/oracle", "human": "terminal", "scenarios": FOLDER / "flights.jsonl", "run_id": RUN}
        await talm_sim.run_async(**options, **more)
    else:
        await talm_sim.resume_async(FOLDER / "runs" / RUN, **options)


if __name__ == "__main__":
    register_tool_source("airline")(open_airline)
    asyncio.run(main(sys.argv[2]))
