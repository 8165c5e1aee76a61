"""Files in the form of two papers' releases, with made-up rows, for the documents that fetch them: Fail-TaLMs, incomplete conditions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.tasks.awareness.crafted import three_rows, write_rows
from tests.tasks.awareness.making.made import called, said, write_apibank

ORIGINALS = 5
"""Originals per file of the study: each has two others for its four examples."""
TOOLS: Mapping[str, Mapping[str, str]] = {
    "Finance/coinbook": {"find_price": "coin"},
    "Weather/skies": {"find_forecast": "city"},
    "Geo/atlas": {"find_capital": "country"},
    "HumanInteract/humaninteract": {"interact_with_human": "question"},
}
"""A tool's place in the release, to its functions and the argument of each."""
CODE = """import requests


def {function}({argument}):
    response = requests.get("{host}/{function}", params={{"{argument}": {argument}}}, timeout=5)
    return response.json()
"""
PRICE, FORECAST, CAPITAL = (("Finance", "coinbook", "find_price"), ("Weather", "skies", "find_forecast"), ("Geo", "atlas", "find_capital"))
Api = tuple[str, str, str]
PERFECT: Sequence[tuple[str, Sequence[Api]]] = (
    ("What is the price of Ether, and the forecast for Hanoi?", (PRICE, FORECAST)),
    ("What is the capital of Norway, and the price of Litecoin?", (CAPITAL, PRICE)),
    ("What is the forecast for Oslo, and the capital of Peru?", (FORECAST, CAPITAL)),
)
VAGUE = (
    "What is the price of a coin, and the forecast for Hanoi?",
    "What is the capital of a country, and the price of Litecoin?",
    "What is the forecast for my town, and the capital of Peru?",
)


def write_fail_talms(directory: Path, host: str) -> None:
    """Write `Fail-TaLMs`: three queries of each setting, tools whose code asks `host`, and one model's outputs without and with a person."""
    root = directory / "Fail-TaLMs"
    for place, functions in TOOLS.items():
        _write_tool(root / "tools" / place, functions, host)
    settings: dict[str, list[tuple[str, Sequence[Api]]]] = {
        "Original": [*PERFECT],
        "Underspecified": [(text, apis) for text, (_, apis) in zip(VAGUE, PERFECT, strict=True)],
        "Replaceable": [(text, apis[1:]) for text, apis in PERFECT],
        "Non-replaceable": [(text, apis[:1]) for text, apis in PERFECT],
        "No-tools": [(text, ()) for text, _ in PERFECT],
    }
    for setting, queries in settings.items():
        rows = [{"api_list": [*map(_api, apis)], "query": text, "query_id": number} for number, (text, apis) in enumerate(queries, 1)]
        _write_json(root / "benchmark" / setting / f"all_{setting}_queries.json", rows)
        for ending in ("", "_qaq") if setting not in ("Original", "No-tools") else ("",):
            answers = [_answer(number, text, asked=bool(ending)) for number, (text, _) in enumerate(queries, 1)]
            _write_json(root / "outputs" / setting / f"gpt_4o_auto_eval{ending}" / "answers.json", answers)


def _write_tool(place: Path, functions: Mapping[str, str], host: str) -> None:
    apis = [
        {
            "name": name,
            "url": f"https://host.example/{name}",
            "description": f"Looks up a {argument}.",
            "method": "GET",
            "required_parameters": [{"name": argument, "type": "STRING", "description": f"The {argument}."}],
            "optional_parameters": [],
        }
        for name, argument in functions.items()
    ]
    _write_json(place.with_suffix(".json"), {"tool_name": place.name, "api_list": apis})
    place.mkdir()
    code = "\n\n".join(CODE.format(function=name, argument=argument, host=host) for name, argument in functions.items())
    (place / "api.py").write_text(code, encoding="utf-8")


def _api(place: Api) -> dict[str, Any]:
    category, tool, name = place
    return {"category_name": category, "tool_name": tool, "api_name": name, "required_parameters": [], "optional_parameters": []}


def _answer(number: int, query: str, *, asked: bool) -> dict[str, Any]:
    passed = number % 2
    row: dict[str, Any] = {"query_id": number, "query": query, "skipped": False, "pass_rate": passed, "win_rate": passed}
    row |= {"model_answer": "It is 5.", "info_awareness": "Yes, I can.", "info_annotation": "yes"}
    row |= {"tool_awareness": "Yes, I can.", "tool_annotation": "yes"}
    exchange = {"score": str(passed), "question": "Which one do you mean?", "user_response": "The first."}
    return row | ({"interaction_scores": [exchange]} if asked else {})


def write_study(directory: Path) -> None:
    """Write `ICT/raw`: the study's four files, one per data set and manipulation."""
    folder = directory / "ICT" / "raw"
    folder.mkdir(parents=True)
    for dataset, name in (("api-bank", "apibank"), ("toolbench", "toolbench")):
        for place, file in ((1, "api_replacement"), (2, "utterance_removal")):
            threes = [three_rows(number, dataset) for number in range(1, ORIGINALS + 1)]
            write_rows(folder / f"{name}_{file}.jsonl", [row for three in threes for row in (three[0], three[place])])


def write_api_bank(directory: Path) -> None:
    """Write `DAMO-ConvAI/api-bank`: dialogues of one request each, from which rules can take the account away."""
    catalogue = "1,QueryBalance,\"description = 'Balance'\ninput_parameters = {'account': {'type': 'str', 'description': 'An account.'}}\"\n"
    dialogues = [
        [said("User", f"What is the balance of account {number}?"), called("QueryBalance", {"balance": 3}, account=number), said("AI", "3.")]
        for number in ("77812", "60451", "38290", "19377", "84063", "52718")
    ]
    write_apibank(directory / "DAMO-ConvAI" / "api-bank", *dialogues, catalogue=catalogue)


def _write_json(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")
