"""An MCP server over stdio that asks the person during calls: `python eliciting_mcp.py`, which needs nothing but Python.

Its tool `ask` sends what its argument `asks` holds, one `elicitation/create` each, with `together` all before the first is answered, and says
what came back. With `after` it sends one more when the call is over; with `impatient` it does not wait. `declared` says what the client
declared, `start` when the server was started.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

NUMBERS = count()
ANYTHING = {"type": "object", "properties": {"asks": {"type": "array"}, "together": {"type": "boolean"}, "after": {"type": "boolean"}}}
SEAT = {"message": "Which seat?", "requestedSchema": {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def messages() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def ask(heard: Iterator[dict[str, Any]], arguments: dict[str, Any]) -> list[Any]:
    asks = [(next(NUMBERS), params) for params in arguments.get("asks", [SEAT])]
    answers: dict[int, Any] = {}
    for number, params in asks:
        say(id=f"e{number}", method="elicitation/create", params=params)
        if arguments.get("impatient"):
            time.sleep(0.2)
            return ["nobody answered"]
        while not arguments.get("together") and number not in answers:
            take(next(heard), answers)
    while not all(number in answers for number, _ in asks):
        take(next(heard), answers)
    return [answers[number] for number, _ in asks]


def take(message: dict[str, Any], answers: dict[int, Any]) -> None:
    if str(message.get("id", "")).startswith("e") and "method" not in message:
        answers[int(message["id"][1:])] = message.get("result", message.get("error"))


def main() -> None:
    started, declared, heard = str(time.time()), {}, messages()
    for message in heard:
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            declared = params["capabilities"]
            info = {"name": "eliciting", "version": "1"}
            say(id=message["id"], result={"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            names = ["ask", "declared", "start"] if "elicitation" in declared else ["declared"]
            say(id=message["id"], result={"tools": [{"name": name, "inputSchema": ANYTHING} for name in names]})
        elif method == "tools/call":
            answers = {"declared": declared, "start": started}
            name, arguments = params["name"], params.get("arguments") or {}
            say(id=message["id"], result=text(ask(heard, arguments) if name == "ask" else answers[name]))
            if arguments.get("after"):
                say(id=f"e{next(NUMBERS)}", method="elicitation/create", params=SEAT)
        elif "id" in message and method is not None:
            say(id=message["id"], error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
