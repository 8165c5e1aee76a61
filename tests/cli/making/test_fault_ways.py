"""`talm-sim scenarios check --faults`: what it prints, what it refuses, and that its exit code is that of the scenarios."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.wrong import Talm
from tests.tables import labelled

TOOLS = """
from talm_sim.tools_env.perturbations import Perturbation, PerturbationOptions, register_perturbation

def find_price(item: str) -> dict[str, float]:
    "Find a price."
    return {"price": 9.25}

def list_prices() -> dict[str, float]:
    "List all prices."
    return {"cup": 9.25}

find_price.read_only = list_prices.read_only = True

def order(item: str) -> dict[str, str]:
    "Order an item."
    ORDERED.append(item)
    return {"order": "B-77"}

ORDERED = []
tools = [find_price, list_prices, order]


@register_perturbation
class Banner(Perturbation):
    name, summary = "banner", "needs an option"

    class Options(PerturbationOptions):
        text: str

    options: Options


@register_perturbation
class Deaf(Perturbation):
    name, summary, family = "deaf", "strikes the model", "model"
"""


def line(tool: str, fact: dict[str, Any], **more: Any) -> dict[str, Any]:
    calls = [{"name": tool, "arguments": {"item": "cup"}}]
    said = [{"role": "user", "content": f"Please do {tool} of the cup."}]
    target = {"type": "facts", "required": [{"name": "it", "call": 0, **fact}]}
    turns = [{"messages": said, "gold_calls": calls}]
    return {"id": tool, "group": "perfect", "turns": turns, "tools": ["find_price", "list_prices", "order"], "target": target, **more}


PRICE = line("find_price", {"value": 9.25, "pointer": "/price"}, alternatives={"find_price": [{"name": "list_prices", "arguments": {}}]})
ORDER = line("order", {"value": "B-77", "pointer": "/order"})


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    for store in ("_registered", "_modules", "_packages"):
        monkeypatch.setattr(PERTURBATIONS, store, dict(getattr(PERTURBATIONS, store)))
    (tmp_path / "wares.py").write_text(TOOLS, encoding="utf-8")
    write(tmp_path / "mine.jsonl", PRICE, ORDER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    yield
    sys.modules.pop("wares", None)


def write(file: Path, *lines: dict[str, Any]) -> None:
    file.write_text("".join(f"{json.dumps(one)}\n" for one in lines), encoding="utf-8")


CHECK = ("scenarios", "check", "--scenarios", "mine.jsonl", "--tools-from", "wares:tools", "--faults")


def test_the_table_counts_the_first_way_that_works(talm: Talm) -> None:
    code, out, err = talm(*CHECK, "--perturb", "http-500", "--perturb", "http-500:times=1", "--writing")
    assert code == 0
    assert [row.split() for row in out.splitlines()] == [
        ["Fault", "Again", "Altern.", "None"],
        ["http-500", "–", "1", "1"],
        ["http-500:times=1", "2", "–", "–"],
    ]
    assert "2 faults on 2 pairs of a scenario and a tool of its gold calls: the first way that works\n" in err
    assert err.endswith("2 scenarios checked: all sound\n")


def test_json_has_a_record_for_each_pair(talm: Talm) -> None:
    code, out, _ = talm(*CHECK, "--perturb", "http-500", "--json")
    found = json.loads(out)
    assert (code, found["problems"]) == (0, [])
    assert found["faults"] == [
        {"scenario": "find_price", "fault": "http-500", "tool": "find_price", "way": "alternative", "why": ""},
        {
            "scenario": "order",
            "fault": "http-500",
            "tool": "order",
            "way": "not applicable",
            "why": "order may change data; add --writing",
        },
    ]


def test_without_a_fault_every_one_of_tools_is_tried_and_the_rest_named(talm: Talm) -> None:
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    code, out, err = talm(*CHECK, "--json")
    tried = Counter(one["fault"] for one in json.loads(out)["faults"])
    assert code == 0
    assert {*tried} | {"banner", "deaf"} >= {*PERTURBATIONS.names()} - {
        name for name in PERTURBATIONS.names() if f"not tried: {name}: " in err or PERTURBATIONS.get(name).family == "model"
    }
    assert not {"banner", "deaf"} & {*tried}
    assert "not tried: banner: --perturb banner: " in err


def test_a_fault_changes_no_exit_code_and_a_broken_scenario_does(talm: Talm, tmp_path: Path) -> None:
    broken = PRICE | {"alternatives": {"find_price": [{"name": "order", "arguments": {"item": "cup"}}], "list_prices": []}}
    write(tmp_path / "mine.jsonl", broken)
    code, out, err = talm(*CHECK, "--perturb", "http-500", "--writing")
    assert code == 1
    assert "find_price: the alternative 'order' gives no fact of 'find_price'; name a call that does\n" in out
    assert "find_price: `alternatives` names 'list_prices', on which no fact rests; name the tool of a gold call with a fact\n" in out
    assert "http-500  1\n" in out
    assert err.endswith("1 scenario checked: 2 problems found\n")
    write(tmp_path / "mine.jsonl", PRICE | {"alternatives": {"find_price": [{"name": "gone", "arguments": {}}]}})
    assert talm(*CHECK[:-1])[1] == "find_price: the alternative 'gone' is not among its tools; add it to `tools`\n"
    write(tmp_path / "mine.jsonl", PRICE | {"alternatives": {"find_price": [{"name": "find_price", "arguments": {}}]}})
    code, out, _ = talm(*CHECK[:-1])
    assert (code, "the alternative call failed: " in out) == (1, True)


@labelled
def test_what_cannot_be_tried_is_one_line(talm: Talm, words: tuple[str, ...], said: str) -> None:
    code, out, err = talm(*words)
    assert (code, out) == (2, "")
    assert said in err and len(err.strip().splitlines()) == 1
