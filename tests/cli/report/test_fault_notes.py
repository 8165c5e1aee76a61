"""What is said below a table of what is not known of a run's faults, and of where they did not apply."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from rich.console import Console

import talm_sim
from talm_sim.cli.report.blocks import block_of
from talm_sim.cli.report.transcript import stored_transcript
from talm_sim.store.stored_run import StoredRun
from tests.museums import (
    PRICES,
    compiled_graph,
    doubled_price,
    plain_function,
    price_list,
    ticket_price,
    write_scenarios,
)

SILENT = "test-doubled-price"
__all__ = ["doubled_price"]
pytestmark = pytest.mark.usefixtures("doubled_price")
UNSEEN = "seen: what the agent's code was given, as its model's prompts are not known"


def book_ticket(museum: str) -> dict[str, float]:
    """Book a ticket."""
    return {"price": PRICES[museum]}


def books(messages: Any, tools: Sequence[BaseTool]) -> str:
    """Books a ticket, whatever is asked, and repeats its price."""
    (book,) = (tool for tool in tools if tool.name == "book_ticket")
    found = book.invoke({"museum": "Prado"})
    return f"It costs {found['price']} euros."


def reads_itself(messages: Any, tools: Sequence[BaseTool], model: Any) -> str:
    """Takes the model, and never asks it."""
    answer: str = plain_function("lying")(messages, tools)[-1].text
    return answer


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., StoredRun]:
    def played(agent: Any, perturb: str | tuple[str, ...], *, facts: bool = True, **options: Any) -> StoredRun:
        scenarios = write_scenarios(tmp_path / "museums.jsonl", facts=facts)
        tools = [ticket_price, price_list]
        world: dict[str, Any] = {"tools": tools, "scenarios": str(scenarios), "run_dir": tmp_path, "human": "none", "progress": False}
        return talm_sim.run(agent=agent, perturb=perturb, **{**world, **options})

    return played


def notes(stored: StoredRun) -> list[str]:
    return list(block_of(stored).notes)


@pytest.mark.parametrize("agent", [plain_function("lying"), compiled_graph("lying")])
def test_what_counts_as_seen_is_said_where_no_prompt_is_known(play: Callable[..., StoredRun], agent: Any) -> None:
    said = notes(play(agent, "http-500"))
    assert UNSEEN in said and "http-500 hit 2 of 2 calls (2 of 2 episodes); the agent saw it in 2" in said
    assert UNSEEN not in notes(play(agent, ()))


def test_a_result_that_no_prompt_of_the_handed_model_had_is_not_seen_and_counted(play: Callable[..., StoredRun]) -> None:
    stored = play(reads_itself, SILENT, model="sim/oracle")
    said = notes(stored)
    assert "2 faults reached the agent's code but never its model" in said and UNSEEN not in said
    assert f"{SILENT} hit 2 of 2 calls (2 of 2 episodes); the agent saw none" in said
    assert {row.labels[f"fault {SILENT}"] for row in stored.rows()} == {"not_exposed"}


def test_without_facts_an_undamaged_answer_decides_and_otherwise_nobody_can(play: Callable[..., StoredRun]) -> None:
    silent = play(plain_function("lying"), SILENT, facts=False)
    assert {row.labels[f"fault {SILENT}"] for row in silent.rows()} == {"propagated"}
    assert not any(one.startswith("undecided") for one in notes(silent))
    honest = play(plain_function("honest"), SILENT, facts=False)
    assert {row.labels[f"fault {SILENT}"] for row in honest.rows()} == {"recovered"}
    explicit = play(plain_function("lying"), "http-500", facts=False)
    assert {row.labels["fault http-500"] for row in explicit.rows()} == {"undecided"}
    (said,) = (one for one in notes(explicit) if one.startswith("undecided"))
    assert said.startswith("undecided: 2 faults, as neither facts nor an undamaged answer are known; give the scenarios a target of facts")


def test_a_fault_lets_no_call_that_may_change_data_through_unless_it_may(play: Callable[..., StoredRun], tmp_path: Path) -> None:
    file = tmp_path / "book.jsonl"
    said = {"role": "user", "content": "Book a ticket to the Prado, and say what it costs."}
    line = {"id": "book", "group": "perfect", "turns": [{"messages": [said]}], "tools": ["book_ticket"]}
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    tools: dict[str, Any] = {"tools": [book_ticket], "scenarios": str(file)}
    withheld = play(books, SILENT, **tools)
    assert [episode.answer for episode in withheld.episodes()] == ["It costs 15.0 euros."]
    found = notes(withheld)
    assert f"{SILENT} hit 0 of 0 calls (0 of 1 episode); not applicable to 1 call" in found
    (note,) = (one for one in found if "--writing" in one)
    assert note == (
        "not applicable without --writing: 1 call of book_ticket, which may change data; a fault that lets a call through does not strike them"
    )
    (verdict,) = (one for one in withheld.verdicts() if one.judge == "fault")
    assert verdict.labels == {SILENT: "not_exposed"} and "it did not apply" in verdict.explanation
    page = StringIO()
    Console(file=page, width=200, no_color=True).print(stored_transcript(withheld, next(iter(withheld.episodes()))))
    assert f"perturbation {SILENT} not applicable without --writing" in page.getvalue()
    let = play(books, SILENT, writing=True, **tools)
    assert [episode.answer for episode in let.episodes()] == ["It costs 30.0 euros."]
    assert not any("--writing" in one for one in notes(let))
