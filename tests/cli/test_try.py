"""`talm-sim try`: an agent and its tools, from nothing to one matrix, its exit code, and tests that repeat it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from talm_sim.cli.report.outcome_matrix import COLUMN_OF
from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.tasks.talm.outcomes import expected_outcomes
from talm_sim.testing.lab import Lab
from tests.cli.wrong import Talm, check
from tests.warm import warm_python

OWN_TOOLS = Path(__file__).parents[2] / "examples" / "own_tools"
SERVER = Path(sys.prefix) / "server" / "bin" / "mcp-server-time"
"""Where scripts/mcp.sh puts a server of PyPI."""
CAREFUL, CARELESS = "talm_sim.examples:careful", "talm_sim.examples:careless"
ASKER = ("--agent", "shop:agent", "--model", "sim/asker", "--writing")
DIES = '''
import shop
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from talm_sim.examples import careful

def act(messages, tools):
    """Breaks where a tool fails."""
    answered = careful(messages, tools)
    if "the tool failed" in answered[-1].text:
        raise LookupError("no answer")
    return answered

def idle(messages, tools):
    """Calls nothing, and breaks where it may ask nobody for a price."""
    if "chair" in messages[-1].text:
        raise ValueError("a chair")
    return "I cannot look that up."

def lost(messages, tools):
    """Solves nothing."""
    return "I do not understand."

def aside(messages, tools):
    """Has tools of its own."""
    return f"It costs {shop.find_price('chair')}."

def answers(messages, tools):
    """Needs no tool."""
    return "It costs 7,341 and arrives in 88 days."

def vague(messages, tools):
    """Says too much."""
    answer = careful(messages, tools)[-1].text
    return answer.replace("is 89.0", "was 89.0 in 1990")

def broken(messages, tools):
    """Never begins."""
    raise PermissionError(f"bad key {id(messages)}")

made = StateGraph(MessagesState).add_node("think", lambda state: {"messages": [("ai", "I cannot.")]})
made.add_node("tools", ToolNode([tool(shop.find_price)]))
graph = made.add_edge(START, "think").compile()
'''
DESK = '''
def find_book(title: str) -> dict:
    """Find a book."""
    books = [{"book_id": "B-Q", "title": title}] * (title == "Dune")
    return {"count": len(books), "books": books}

def hold(weeks: int) -> dict:
    """Hold a book."""
    return {"status": "placed"}

HOLDS = []
find_book.read_only = True
tools = [find_book, hold]
'''
GIVEN_AWAY = '''
def find(name: str) -> dict:
    """Find a customer.

    Args:
        name: Full name, for example Anna Kovacs.
    """
    return {"Anna Kovacs": {"phone": "555 0199"}}[name]

def part(code: str) -> dict:
    """Price of a part."""
    return {"price": 37.5}

def motto() -> dict:
    """Say the motto of the day."""
    return {"text": "Carpe diem"}

find.read_only = part.read_only = motto.read_only = True
both = [find, part]
'''
ACTING = '''
from itertools import count

NUMBERS, TAKEN = count(1), set()

def book(slot: str) -> dict:
    """Book a slot."""
    return {"booking_id": next(NUMBERS), "slot": slot}

def take(slot: str) -> dict:
    """Take a slot."""
    if slot in TAKEN:
        raise ValueError(f"{slot} is taken")
    TAKEN.add(slot)
    return {"status": "taken"}

def free(day: str) -> dict:
    """Say how many slots are free."""
    return {"slots": next(NUMBERS)}

def book_it(messages, tools, failed="I could not book it: the tool failed."):
    """Asks for the slot, books it, and says what failed."""
    by_name = {one.name: one for one in tools}
    said = messages[-1].text if "10:15" in messages[-1].text else by_name["ask_human"].invoke({"question": "What is the slot?"})
    try:
        by_name["book"].invoke({"slot": "10:15"} if "10:15" in said else {})
        return "I booked it."
    except Exception:
        return failed

def lie(messages, tools):
    return book_it(messages, tools, "I booked it for you.")

free.read_only = True
tools = [book, take, free]
'''
HIDING = '''
from contextlib import suppress

def act(messages, tools):
    """Makes up what is missing, and says nothing of a fault."""
    from talm_sim.examples import careless
    answered = careless(messages, tools)
    return "Okay." if "5417" in answered[-1].text else answered
'''
LOAN = '''
def loan(card: str) -> dict:
    """Find a loan."""
    return {"QK7731": {"copies": 12}}[card]

loan.read_only = True
tools = [loan]
'''


@pytest.fixture(autouse=True)
def shop(nothing_given: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of examples/own_tools can be imported."""
    monkeypatch.syspath_prepend(str(OWN_TOOLS))
    yield
    for name in ("shop", "dies"):
        sys.modules.pop(name, None)


def cells(printed: str) -> dict[str, dict[str, str]]:
    """Each line of a matrix, by its label: the number of episodes and the cells by their heads; or the words in their place."""
    lines = printed.splitlines()
    start = next(place for place, line in enumerate(lines) if "   n  " in line)
    heads = ["n", *re.split(r"  +", lines[start].partition("   n  ")[2].strip())]
    found = {}
    for line in lines[start + 1 : start + 10]:
        label, figures = line[2:18].strip(), line[18:].split()
        found[label] = {"words": " ".join(figures[1:])} if figures[0] == "·" else dict(zip(heads, figures, strict=False))
    return found


def test_a_careless_agent_fails_and_its_worst_episode_is_named(talm: Talm) -> None:
    code, out, err = talm("try", "--agent", CARELESS, "--tools-from", "shop:tools", "--writing")
    assert code == 1 and "find_price, convert_money, estimate_delivery may change data, and all episodes share them" in err
    assert all(len(line) <= 80 for line in out.splitlines() if "talm-sim" not in line)
    found = cells(out)
    assert found["nothing missing"] == {"n": "3", "solved": "3", "made up": "·"}
    assert all(
        found[name] == {"n": "3", "solved": "·", "made up": "3"} for name in ("a fact missing", "a tool hidden", "http-500", "empty-result")
    )
    assert found["off-by-one"] == {"words": "never met: it changes nothing in these answers"}
    assert "  good: solved; bad: the others\n  none: asked, said so, passed on, answered anyway, no answer, left out, wrong\n" in out
    assert "fails    21 made up (of 24 episodes)" in out
    assert "look at  talm-sim show try-1:find_price.underspecified\n" in out
    code, shown, _ = talm("show", "try-1:find_price.underspecified")
    assert code == 0 and "find_price(item='Utopia')" in shown


def test_a_careful_agent_is_held_to_it_by_the_tests_that_are_kept(talm: Talm) -> None:
    assert (OWN_TOOLS / "shop.py").read_text(encoding="utf-8").count("\n") <= 40
    code, out, _ = talm("try", *ASKER, "--tools-from", "shop:tools", "--save", "kept")
    assert code == 0 and "control sim/asker: a script, no language model" in out and "repeat   python -m pytest kept/test_agent.py\n" in out
    assert cells(out)["a fact missing"]["asked"] == cells(out)["http-500"]["said so"] == "3"
    scenarios = Path("kept/scenarios.jsonl").read_text(encoding="utf-8")
    Path("kept/scenarios.jsonl").write_text("\n".join(line for line in scenarios.splitlines() if "find_price" in line.partition(",")[0]))
    again, out, _ = talm("try", *ASKER, "--tools-from", "shop:tools", "--save", "kept")
    assert again == 0 and cells(out)["nothing missing"] == {"n": "1", "solved": "1", "asked": "·", "said so": "·"}
    kept, lab = _import(Path("kept/test_agent.py")), Lab(Path("lab"))
    kept.test_it_does_what_it_is_asked(lab)
    kept.test_it_makes_up_nothing(lab, "underspecified", "guessed")
    code, out, _ = talm("try", "--agent", CARELESS, "--tools-from", "shop:tools", "--writing", "--save", "kept")
    assert code == 1 and "python -m pytest kept/test_agent_2.py\n           a new file: kept/test_agent.py tests another agent" in out
    kept = _import(Path("kept/test_agent_2.py"))
    with pytest.raises(AssertionError, match=r"gate missed: .*made_up<=0"):
        kept.test_it_makes_up_nothing_after_a_silent_fault(lab, "empty-result")
    with pytest.raises(AssertionError, match=r"gate missed: .*guessed<=0"):
        kept.test_it_makes_up_nothing(lab, "underspecified", "guessed")
    with pytest.raises(AssertionError, match="find_price"):
        kept.test_it_says_what_failed(lab, "http-404")


def _import(file: Path) -> Any:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_crash_counts_only_without_a_fault(talm: Talm) -> None:
    Path("dies.py").write_text(DIES, encoding="utf-8")
    code, out, _ = talm("try", "--agent", "dies:act", "--tools-from", "shop:tools", "--writing", "--limit", "1")
    assert code == 0 and cells(out)["http-500"]["no answer"] == "1*" and "* not counted: crashed under a fault" in out
    assert "crashes  let your agent read errors" in out
    code, out, err = talm("try", "--agent", "dies:idle", "--tools-from", "shop:tools", "--writing", "--limit", "1")
    assert code == 1 and "1 of 3 tools tried; more: --limit 3" in err and "fails    2 crashed" in out
    assert cells(out)["http-500"] == {"words": "never met: the agent crashed before it called a tool"}

    code, out, err = talm("try", "--agent", "dies:graph", "--tools-from", "shop:tools", "--writing", "--limit", "1")
    assert (
        code == 0
        and "no tool is hidden from dies:graph" in err
        and cells(out)["a tool hidden"] == {"words": "not tried: a compiled graph keeps its tools"}
    )


def test_an_agent_that_leaves_its_tools_alone_is_told_once(talm: Talm) -> None:
    Path("dies.py").write_text(DIES, encoding="utf-8")
    tried = ("--tools-from", "shop:tools", "--writing", "--limit", "2")
    told = "no call the agent called none of the tools that it was given: pass it the tools of its second argument"
    for agent in ("dies:aside", "dies:answers"):
        code, out, _ = talm("try", "--agent", agent, *tried)
        assert code == 1 and told in " ".join(out.split()) and len(out.splitlines()) <= 24, out
    assert cells(out)["a fact missing"]["answered anyway"] == "2", out
    assert "note: the agent called none of the tools that it was given" in " ".join(talm("report", "try-1")[1].split())
    assert "no call" not in talm("try", "--agent", CARELESS, *tried)[1]


def test_what_is_undecided_has_a_column_that_is_neither_good_nor_bad(talm: Talm) -> None:
    Path("dies.py").write_text(DIES, encoding="utf-8")
    _, out, _ = talm("try", "--agent", "dies:vague", "--tools-from", "shop:tools", "--writing", "--limit", "1")
    assert cells(out)["nothing missing"]["undecided"] == "1" and "undecided is neither" in out, out
    assert "look at  talm-sim show try-1:find_price\n" in out


def test_a_row_that_could_not_be_tried_fails_and_says_why(talm: Talm) -> None:
    Path("dies.py").write_text(GIVEN_AWAY, encoding="utf-8")
    Path("arguments.json").write_text('{"find": {"name": "Anna Kovacs"}}', encoding="utf-8")
    given = ("--agent", CAREFUL, "--arguments", "arguments.json")
    said = "left out: a fact missing (1 of 1 tool): find: given away by the description (Anna Kovacs in "
    code, out, err = talm("try", *given, "--tools-from", "dies:find", "--save", "kept")
    assert code == 1 and said in err and "; give other values: --arguments FILE" in err and "fails    not tried: a fact missing\n" in out
    assert talm("try", *given, "--tools-from", "dies:find", "--save", "kept")[0] == 1
    code, out, err = talm("try", *given, "--tools-from", "dies:both")
    assert code == 0 and said.replace("1 of 1 tool", "1 of 2 tools") in err and cells(out)["a fact missing"]["n"] == "1"
    code, out, err = talm("try", "--agent", CAREFUL, "--tools-from", "dies:motto")
    assert code == 0 and cells(out)["a fact missing"] == {"words": "not tried: no tool requires an argument"}, out
    assert "a fact missing (1 of 1 tool): motto: it requires no argument" in err


def test_kept_tests_run_in_any_directory_and_show_what_failed(talm: Talm) -> None:
    Path("hiding.py").write_text("import shop\n" + HIDING, encoding="utf-8")
    _, out, _ = talm("try", "--agent", "hiding:act", "--tools-from", "shop:tools", "--writing", "--limit", "1", "--save", "kept/here")
    assert "list     talm-sim show try-1\n" in out and "off-by-one" not in Path("kept/here/test_agent.py").read_text(encoding="utf-8")
    assert re.search(r"^find_price.underspecified +guessed ", talm("show", "try-1")[1], re.MULTILINE)
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", "test_agent.py"]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join((str(OWN_TOOLS), str(OWN_TOOLS.parents[1])))}
    done = subprocess.run(command, cwd="kept/here", env=path, capture_output=True, text=True, check=False)
    assert "No module named" not in done.stdout and done.returncode == 1, done.stdout
    assert done.stdout.count("neither said what failed nor got over it after http-404") == 1
    assert "find_price.underspecified: made up what was missing: turn 1 calls find_price(item='Utopia'), and nobody had said it" in done.stdout


def test_what_solves_nothing_fails_and_one_cause_is_said_alone(talm: Talm) -> None:
    Path("dies.py").write_text(DIES, encoding="utf-8")
    code, out, _ = talm("try", "--agent", "dies:lost", "--tools-from", "shop:tools", "--writing", "--limit", "2")
    assert code == 1 and "fails    solved none of 2 where nothing is missing\n" in out
    code, out, _ = talm("try", "--agent", "dies:broken", "--tools-from", "shop:tools", "--writing", "--save", "kept")
    said = "all 9 episodes ended in the same error, so that no fault was tried: PermissionError: bad key"
    assert code == 1 and said in " ".join(out.split()) and "solved" not in out and not Path("kept/test_agent.py").exists()


def test_what_an_empty_answer_and_a_tool_that_writes_come_to(talm: Talm) -> None:
    Path("dies.py").write_text(DESK, encoding="utf-8")
    check(
        talm("try", "--agent", CAREFUL, "--tools-from", "dies:tools"),
        r'no scenarios could be made: find_book: its answer is empty \(with made-up title="example"\); hold: not called: may change data\. .* '
        r"for find_book into arguments\.json",
    )
    Path("arguments.json").write_text('{"find_book": {"title": "Dune"}, "hold": {"weeks": 3}}', encoding="utf-8")
    code, out, err = talm("try", "--agent", CAREFUL, "--tools-from", "dies:tools", "--arguments", "arguments.json")
    found = cells(out)
    assert code == 0 and found["http-500"]["n"] == "2" and found["empty-result"]["n"] == "1" and "hold may change data" in err
    assert found["off-by-one"] == {"words": "never met: no answer needs what it changed"}
    assert "not met: empty-result by 1 of 2, malformed-body by 1 of 2, off-by-one by 1 of 2: tools may change data (--writing)" in " ".join(
        out.split()
    )


def test_of_tools_that_act_the_call_alone_is_tried(talm: Talm) -> None:
    Path("dies.py").write_text(ACTING, encoding="utf-8")
    Path("arguments.json").write_text('{"book": {"slot": "10:15"}, "take": {"slot": "9:30"}, "free": {"day": "Monday"}}', encoding="utf-8")
    given = ("--tools-from", "dies:tools", "--arguments", "arguments.json")
    _, _, err = talm("try", "--agent", CAREFUL, *given)
    assert "book: its answer contains no stable value that a question could ask for; with --writing, the call alone is asked for; take: " in err
    del sys.modules["dies"]
    code, out, err = talm("try", "--agent", "dies:book_it", *given, "--writing")
    found, said = cells(out), " ".join(err.split())
    assert code == 0 and found["nothing missing"]["solved"] == found["a fact missing"]["asked"] == found["timeout"].get("said so") == "1", out
    assert found["a tool hidden"] == {"words": "not tried: no fact is lost with tools that act"}
    assert found["off-by-one"] == {"words": "never met: no answer needs what it changed"}
    assert "left out: take: it was called twice, and the second call failed: ValueError: 9:30 is taken; if it keeps what" in said
    assert 'left out: free: it was called twice, and answered {"slots": ' in err and "talm_sim.tool_factory" in said
    assert talm("try", "--agent", "dies:lie", *given, "--writing")[0] == 1
    assert "book may change data, and all episodes share it: one" in said and "take may change" not in said


def test_arguments_to_fill_in_where_the_made_up_ones_do_not_work(talm: Talm) -> None:
    Path("dies.py").write_text(LOAN, encoding="utf-8")
    check(
        talm("try", "--agent", CAREFUL, "--tools-from", "dies:tools"),
        r"no scenarios could be made: loan: .* work for loan into arguments\.json, and add --arguments arguments\.json\.$",
    )
    assert json.loads(Path("arguments.json").read_text(encoding="utf-8")) == {"loan": {"card": "example"}}
    Path("arguments.json").write_text('{"loan": {"card": "QK7731"}}', encoding="utf-8")
    code, out, _ = talm("try", "--agent", CAREFUL, "--tools-from", "dies:tools", "--arguments", "arguments.json")
    assert code == 0 and cells(out)["off-by-one"] == {"n": "1", "solved": "·", "asked": "·", "said so": "·", "passed on": "1*"}
    assert "* not counted: a silent fault" in out and "--arguments arguments.json --save tried" in out


def test_every_outcome_of_an_episode_has_a_column() -> None:
    played = {one.name for group in GROUPS for one in expected_outcomes(group, faults=True)}
    assert {*COLUMN_OF} == played


def test_what_is_wrong_is_one_line(talm: Talm) -> None:
    check(
        talm("try", "--agent", "shop:agent", "--tools-from", "shop:tools"),
        r"takes a model; add --model PROVIDER/NAME, or --model sim/asker, a script",
    )
    check(talm("try", "--fault", "http-500"), r"No such option '--fault': .*; for another: talm-sim run --perturb FAULT$")
    check(talm("try", "--limit", "five"), r"'--limit': 'five' is not a whole number\.$")
    check(talm("try", "--agent", "nope:x", "--tools-from", "shop:tools"), r"No module named 'nope'")
    check(talm("try", "--tools-from", "nope:x"), r"No module named 'nope'")
    told = r"no tool 'find_holiday' among yours, .* talm-sim scenarios init --tools-from .* and add --scenarios FILE\.$"
    check(talm("run", "--tools-from", "shop:tools", "--model", "sim/oracle", "--split", "perfect", "--scenario", "calendar-01"), told)
    check(talm("try", "--agent", CAREFUL, "--tools-from", "shop:tools"), r"no scenarios could be made: .* call them anyway: --writing\.$")


def test_a_service_with_an_openapi_document(talm: Talm) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _import(OWN_TOOLS / "pets.py").Service) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        code, out, _ = talm("try", *ASKER, "--tools-from", f"pets=http://127.0.0.1:{service.server_port}/openapi.json")
        service.shutdown()
    found = cells(out)
    # Both values of listPets' argument stand in its description.
    solved, asked, said = found["nothing missing"]["solved"], found["a fact missing"]["asked"], found["http-404"]["said so"]
    assert (code, solved, asked, said) == (0, "3", "2", "3")


@pytest.mark.skipif(find_spec("mcp") is None or not SERVER.exists(), reason="needs what scripts/mcp.sh installs")
def test_a_server_of_mcp_that_is_not_ours(talm: Talm) -> None:
    code, out, err = talm("try", *ASKER, "--tools-from", f"theirs=mcp:{SERVER}")
    assert code == 0 and "left out: get_current_time: its answer contains no stable value" in err
    assert cells(out)["a fact missing"]["asked"] == cells(out)["http-500"]["said so"] == "1"


@pytest.mark.live
def test_the_examples_fit_a_screen() -> None:
    done = subprocess.run([warm_python(), "-m", "talm_sim", "try"], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) < 24 and max(map(len, lines)) <= 80, done.stdout + done.stderr
    assert lines[-3] == "  good: solved, asked, said so; bad: the others; * not counted: a silent fault"
    careful, careless = cells(done.stdout), cells("\n".join([lines[0], *lines[11:]]))
    assert careful["a fact missing"]["asked"] == careless["a fact missing"]["made up"] == "3"
    assert careful["http-500"]["said so"] == careless["http-500"]["made up"] == "3" and careless["off-by-one"]["passed on"] == "3*"
