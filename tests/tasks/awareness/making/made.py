"""Small made-up sources, and an embedder that counts words."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talm_sim.tasks.awareness.making.loaded import complete_scenario
from talm_sim.types import GoldCall, Scenario, Source


class Words:
    """A text as its words, each in one of many places."""

    name = "words"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        rows = np.zeros((len(texts), 512))
        for number, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                rows[number, int(hashlib.sha256(word.encode()).hexdigest(), 16) % 512] += 1
        return rows


def tool(name: str, description: str = "", required: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in required}
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    } | more


STOCK = tool("QueryStock", "Stock price of a company on a date", ["stock_code", "date"])
BALANCE = tool("QueryBalance", "Balance of an account", ["token"])
TOKEN = tool("GetUserToken", "Token by username and password", ["username", "password"])
REMINDER = tool("AddReminder", "Reminder at a time", ["content", "time"])


def asked(*said: str, tools: Sequence[dict[str, Any]] = (STOCK, BALANCE), name: str = "mine.1", **arguments: Any) -> Scenario:
    """A complete scenario in which user and assistant speak by turns, and the first tool is called."""
    messages = [{"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(said)]
    call = GoldCall(name=tools[0]["name"], arguments=arguments)
    return complete_scenario(name, messages, tools, [call.name], Source(name="made"), [call])


def write_apibank(folder: Path, *dialogues: Sequence[dict[str, Any]], catalogue: str = "") -> Path:
    for number, rows in enumerate(dialogues, 1):
        path = folder / "lv1-lv2-samples" / "level-1-given-desc" / f"D-level-1-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "all_apis.csv").write_text("id,类名,api_info\n" + catalogue, encoding="utf-8-sig")
    return folder


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "text": text}


def called(name: str, output: Any = "success", **arguments: Any) -> dict[str, Any]:
    return {"role": "API", "api_name": name, "param_dict": arguments, "result": {"output": output, "exception": None}}
