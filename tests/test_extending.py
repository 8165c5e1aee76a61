"""The examples of docs/extending.md, executed: each is one file, used through `--plugin` and as an installed package."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim import extend
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.world import app, routers
from tests.cli.pages.written import Seen
from tests.warm import warm_python

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
FILES |= {
    name: (ROOT / "examples" / "extending" / name).read_text(encoding="utf-8")
    for name in re.findall(r"\]\(../examples/extending/(\w+\.py)\)", PAGE)
}
ENTRY_POINTS = {
    "talm_sim.tasks": "capitals = capitals:Capitals\nrefunds = refunds:Refunds",
    "talm_sim.judges": "short = short_answer:Short",
    "talm_sim.perturbations": "polite-refusal = polite_refusal:PoliteRefusal",
    "talm_sim.responders": "parrot = parrot:parrot",
    "talm_sim.models": "always = always:open_always",
    "talm_sim.tool_sources": "phrases = phrases:open_phrases",
}
MODEL = "openai-api/local/tiny"


class Beside:
    """A directory with the examples, and the command line beside it."""

    def __init__(self, directory: Path, way: str) -> None:
        self.directory = directory
        self.way = way
        self.environ = {key: value for key, value in os.environ.items() if not key.startswith("TALM_SIM_")} | {"COLUMNS": "80"}
        home = directory / "installed" if way == "package" else directory
        home.mkdir(exist_ok=True)
        for name, text in FILES.items():
            (home / name).write_text(text, encoding="utf-8")
        if way == "package":
            info = home / "examples-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text("".join(f"[{group}]\n{line}\n" for group, line in ENTRY_POINTS.items()))
        self.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([str(home)] if way == "package" else [])])

    def command(self, module: str, words: Sequence[str]) -> list[str]:
        plugin = ["--plugin", module] if self.way == "plugin" and module else []
        return [warm_python(), "-m", "talm_sim", *words, *plugin]

    def run(self, module: str, *words: str, code: int = 0, **environ: str) -> str:
        done = subprocess.run(
            self.command(module, words), cwd=self.directory, env={**self.environ, **environ}, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code == 2 else done.stdout

    def complete(self, line: str) -> list[str]:
        """What bash is offered for the last word of a line."""
        offered = self.run("", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1), _TALM_SIM_COMPLETE="bash_complete")
        return offered.replace("plain,", "").split()


def test_the_examples_import_from_the_public_modules_only() -> None:
    imported = {module for text in FILES.values() for module in re.findall(r"^(?:from|import) (talm_sim[\w.]*)", text, re.MULTILINE)}
    assert imported <= {"talm_sim", "talm_sim.types", "talm_sim.extend"}
    public = {*talm_sim.__all__, *extend.__all__}
    named = set(re.findall(r"`(register_\w+)[`(]", PAGE))
    assert {name for name in public if name.startswith("register_")} == named
    assert all(getattr(module, name) is not None for module in (talm_sim, extend) for name in module.__all__)
    # A room that is imported would take the place of a name.
    assert not public & {path.stem for path in (ROOT / "talm_sim").iterdir()}


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    return Beside(tmp_path, "plugin")


def test_all_are_found_as_an_installed_package(tmp_path: Path) -> None:
    beside = Beside(tmp_path, "package")
    tasks = beside.run("", "tasks", "list")
    assert "capitals" in tasks and "refunds" in tasks
    asked = ("run", "--split", "underspecified", "--limit", "1", "--live", "--display", "none", "--perturb", "polite-refusal:words=no")
    table = beside.run("", *asked, "--model", "sim/asker", "--human", "parrot", "--judge", "short")
    assert "Ask-and-Help (parrot human)" in table and "judge short: " in table
    (beside.directory / "hello.txt").write_text("Hello, {name}!", encoding="utf-8")
    assert "hello" in beside.run("", "tools", "list", "--tools-from", "office=phrases:.", "--json")
    beside.run("", "run", "--task", "capitals", "--model", "always/No", "--display", "none", "--live", "--run-id", "one")
    beside.run("", "export", "quiz", "one", "--out", "sheets")
    assert "europe-Milan" in beside.complete("talm-sim scenarios show --task capitals eur")
    assert "quiz" in beside.complete("talm-sim export q")
    assert "one" in beside.complete("talm-sim export quiz o")


@contextmanager
def server() -> Iterator[str]:
    """A real chat-completions server that is right about Europe, and says neither Yes nor No about Osaka."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]["content"]
            text = "I wonder." if "Osaka" in question else "No, Rome is." if "Milan" in question else "Yes."
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
            body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice], "usage": usage})
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Keep test output clean."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def test_a_task_is_one_file(beside: Beside) -> None:
    asked = ("--task", "capitals", "--model", MODEL, "--epochs", "2", "--cassettes", "rec", "--display", "none")
    with server() as url:
        first = beside.run("capitals", "run", *asked, "--record", "--run-id", "recorded", LOCAL_BASE_URL=url)
    # The server is gone: the same answers come from the recording.
    second = beside.run("capitals", "run", *asked, "--replay", "--run-id", "replayed")
    assert [line for line in first.splitlines() if ".50" in line or "1.00" in line] == [
        line for line in second.splitlines() if ".50" in line or "1.00" in line
    ]
    records = json.loads(beside.run("capitals", "report", "replayed", "--json"))
    assert [(record["group"], record["n"], record["accuracy_k"], record["accuracy_n"], record["f1_no"]) for record in records] == [
        ("europe", 4, 4, 4, 1.0),
        ("asia", 4, 2, 2, 0.0),
    ]
    assert (records[1]["unparsed"], records[1]["no_as_unparsed"]) == (2, 2)
    tables = beside.run("capitals", "report", "replayed", "--all")
    assert "Acc" in tables and "F1 (No)" in tables and "unparsed" in tables
    assert all(len(line) <= 80 for line in (second + tables).splitlines())

    # Its scoring option judges a stored run anew.
    judged = beside.run("capitals", "judge", "replayed", "--strict", "--display", "none")
    assert judged != second
    assert json.loads(beside.run("capitals", "report", "replayed", "--json"))[1]["accuracy_n"] == 4

    rows = list(csv.DictReader(io.StringIO(beside.run("capitals", "report", "replayed", "--csv"))))
    assert [row["accuracy_n"] for row in rows] == ["4", "4"]
    joined = json.loads(beside.run("capitals", "report", "replayed", "--by-model", "--json"))
    assert [(one["capitals_europe_of"], one["capitals_europe_k"], one["capitals_asia_k"], one["capitals_asia_n"]) for one in joined] == [
        ("europe.accuracy", 4, 2, 4)
    ]
    assert "| asia | 4 |" in beside.run("capitals", "report", "replayed", "--markdown")
    episodes = list(csv.DictReader(io.StringIO(beside.run("capitals", "report", "replayed", "--rows"))))
    assert len(episodes) == 8 and {row["said"] for row in episodes} == {"yes", "no", "unparsed"}
    beside.run("capitals", "report", "replayed", "--html", "page.html")
    seen = Seen((beside.directory / "page.html").read_text())
    assert "F1 (No)" in str(seen.index["blocks"])
    assert {line["id"] for line in seen.index["runs"][0]["episodes"]} == {*seen.transcripts[0]} and "europe-Milan@2" in seen.transcripts[0]
    listing = beside.run("capitals", "show", "replayed")
    assert "Said" in listing and "europe-Milan@2" in listing
    assert "No, Rome is." in beside.run("capitals", "show", "replayed:europe-Milan")

    # People judge its episodes by the question that every task has.
    beside.run("capitals", "judge", "replayed", "--judge", "person", "--labels-out", "labels.csv")
    said = {"europe-Paris": "pass", "europe-Milan": "f", "asia-Osaka@2": "f"}
    with (beside.directory / "labels.csv").open(encoding="utf-8", newline="") as file:
        lines = [["episode", "label", "shown"], *([one["episode"], said.get(one["episode"], ""), one["shown"]] for one in csv.DictReader(file))]
    with (beside.directory / "ann.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    beside.run("capitals", "judge", "replayed", "--judge", "person", "--labels-in", "ann.csv", "--name", "ann")
    people = json.loads(beside.run("capitals", "judge", "replayed", "--judge", "person", "--json"))
    (agreement,) = people["agreement"]
    assert agreement["between"] == ["ann", "the table"] and (agreement["agreement_k"], agreement["agreement_n"]) == (2, 3)
    assert "agreement with people" in beside.run("capitals", "report", "replayed", "--markdown")

    help_page = beside.run("capitals", "run", "--task", "capitals", "--help")
    assert "--hint" in help_page and "--strict " in help_page and "--perturb" not in help_page
    assert "capitals" in beside.run("capitals", "tasks", "list") and "--hint" in beside.run("capitals", "tasks", "show", "capitals")


IMPATIENT = '''"""An agent that pays at once."""


async def act(messages, tools):
    await {tool.name: tool for tool in tools}["refund"].ainvoke({"order": "A-17", "amount": 30})
    return "Done."
'''


def test_a_task_whose_agent_acts_is_one_file(beside: Beside) -> None:
    (beside.directory / "impatient.py").write_text(IMPATIENT)
    asked = ("run", "--task", "refunds", "--agent", "impatient:act", "--cassettes", "rec", "--display", "none")
    table = beside.run("refunds", *asked, "--record", "--run-id", "live", "--perturb", "http-500:tool=refund,times=1")
    assert "http-500:tool=refund,times=1 hit 2 of 2 calls (2 of 2 episodes)" in " ".join(table.split())
    (record,) = json.loads(beside.run("refunds", "report", "live", "--json"))
    assert (record["n"], record["looked"]) == (2, 0.0)
    beside.run("refunds", *asked, "--record", "--run-id", "whole")
    beside.run("refunds", *asked, "--replay", "--run-id", "again")
    assert "ok  200  recorded" in beside.run("refunds", "show", "again:A-17")
    help_page = beside.run("refunds", "run", "--task", "refunds", "--help")
    assert "--perturb" in help_page and "--agent" in help_page
    refused = beside.run("refunds", "run", "--task", "refunds", "--model", "sim/oracle", code=2)
    assert "task refunds has no policy for it" in refused


def test_the_scenarios_that_a_task_makes_are_listed_shown_counted_and_checked(beside: Beside) -> None:
    listed = json.loads(beside.run("capitals", "scenarios", "list", "--task", "capitals", "--split", "asia", "--json"))
    assert [one["id"] for one in listed] == ["asia-Hanoi", "asia-Osaka"]
    assert json.loads(beside.run("capitals", "scenarios", "show", "europe-Milan", "--task", "capitals"))["group"] == "europe"
    assert [one["instances"] for one in json.loads(beside.run("capitals", "scenarios", "stats", "--task", "capitals", "--json"))] == [2, 2]
    assert json.loads(beside.run("capitals", "scenarios", "check", "--task", "capitals", "--json")) == []
    assert json.loads(beside.run("refunds", "scenarios", "check", "--task", "refunds", "--json")) == []


def test_a_maker_is_one_file(beside: Beside) -> None:
    (beside.directory / "cities.csv").write_text("city,country,true\nRome,Italy,yes\nMexico,Mexico,no\nLyon,France,no\n", encoding="utf-8")
    asked = ("scenarios", "generate", "--task", "capitals", "--out", "made", "--json")
    refused = beside.run("capitals", *asked, code=2)
    assert refused.endswith("--from: name a CSV file with the columns city, country and true.\n")
    report = json.loads(beside.run("capitals", *asked, "--from", "cities.csv"))
    assert (report["sources"]["finished"], report["rows"]) == (3, {"total": 2})
    assert report["sources"]["dropped"] == [{"id": "Mexico-Mexico", "reason": "the country's name holds the city's"}]
    made = json.loads(beside.run("capitals", "scenarios", "list", "--task", "capitals", "--scenarios", "made/items.jsonl", "--json"))
    assert [one["id"] for one in made] == ["Rome-Italy", "Lyon-France"]
    assert "whose maker has nothing to review" in beside.run("capitals", "scenarios", "review", "made", "--json", code=2)
    assert "--continent" in beside.run("capitals", "scenarios", "generate", "--task", "capitals", "--help")
    assert "nothing makes scenarios of it; choose" in beside.run("refunds", "scenarios", "generate", "--task", "refunds", "--out", "x", code=2)


def test_an_exporter_is_one_file(beside: Beside) -> None:
    asked = ("run", "--task", "capitals", "--model", "always/No", "--display", "none", "--live", "--plugin", "always")
    beside.run("capitals", *asked, "--run-id", "one")
    beside.run("capitals", "export", "quiz", "one", "--out", "sheets")
    lines = (beside.directory / "sheets" / "sheets" / "asia.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"question": "Is Hanoi the capital of Vietnam? Answer Yes or No.", "answer": "No"},
        {"question": "Is Osaka the capital of Japan? Answer Yes or No.", "answer": "No"},
    ]
    assert "europe.jsonl: exists; choose another --out" in beside.run("capitals", "export", "quiz", "one", "--out", "sheets", code=2)
    page = beside.run("capitals", "export", "quiz", "--help")
    assert "Write a run as questions with answers, one file per group." in page
    assert "RUN is of task capitals." in page


WHOLE = '''"""A task with data, a judge, a proof and names to complete of its own."""

from pathlib import Path
from talm_sim import AgentTask, AgentTaskOptions, Judge, Measured, Scope, Summary, Row, option, register_task
from talm_sim.scenarios.problems import Problem

CITIES = ("Rome", "Lyon")


class Options(AgentTaskOptions):
    """Its options."""

    city: str = option("Rome", Scope.GENERATION, "A city.", complete="whole:CITIES")


class Brief(Judge):
    """Whether the answer is short."""

    name = "brief"
    measure = Measured(name="brief", head="Brief", about="the answer is short")

    async def __call__(self, episode, scenario):
        return self.verdict(episode, len(episode.answer) < 40)


@register_task
class Whole(AgentTask[Options]):
    """Brings everything."""

    name = "whole"
    options = Options
    splits = {"all": ("one",)}
    data = Path(__file__).parent / "whole_data"
    own_judges = ("brief",)
    judge_classes = {"brief": "whole:Brief"}

    def judges(self, job):
        return ("brief",)

    def prove(self, scenarios, call, *, packaged):
        return [Problem(one.id, f"it asks {len(call.specs)} tools", "ask fewer") for one in scenarios if packaged]

    def rows(self, run):
        said = {one.episode_id: one.value for one in run.verdicts()}
        of = {one.id: one for one in run.scenarios()}
        for episode in run.episodes():
            yield Row.of(episode, of[episode.scenario_id], values={"brief": said.get(episode.id)})

    def summarize(self, rows, run):
        return [Summary.of("one", rows)]
'''
SHORT = '''"""An agent that says little."""


async def act(messages, tools):
    return "Done."
'''


def test_a_task_brings_its_data_judge_proof_and_names_to_complete(tmp_path: Path) -> None:
    beside = Beside(tmp_path, "plugin")
    (tmp_path / "whole.py").write_text(WHOLE)
    (tmp_path / "short.py").write_text(SHORT)
    (tmp_path / "whole_data").mkdir()
    line = {"id": "a", "task": "whole", "group": "one", "turns": [{"messages": [{"role": "user", "content": "Hi"}]}]}
    (tmp_path / "whole_data" / "one.jsonl").write_text(json.dumps(line) + "\n")
    assert [one["id"] for one in json.loads(beside.run("whole", "scenarios", "list", "--task", "whole", "--json"))] == ["a"]
    (problem,) = json.loads(beside.run("whole", "scenarios", "check", "--task", "whole", "--json", code=1))
    assert problem == {"scenario": "a", "what": "it asks 205 tools", "fix": "ask fewer"}
    beside.run("whole", "run", "--task", "whole", "--agent", "short:act", "--display", "none", "--run-id", "r")
    (row,) = csv.DictReader(io.StringIO(beside.run("whole", "report", "r", "--rows", "--csv")))
    assert row["brief"] == "True"
    assert "judges task whole, not task talm" in beside.run("whole", "run", "--judge", "brief", "--model", "sim/oracle", code=2)
    typed = "talm-sim run --plugin whole --task whole --city L"
    assert "Lyon" in beside.complete(typed)


def test_a_task_s_option_is_varied_and_read_from_everywhere(tmp_path: Path) -> None:
    beside = Beside(tmp_path, "plugin")
    asked = ("--task", "capitals", "--model", "always/Yes", "--display", "none", "--live")
    both = ("--plugin", "always")
    grid = json.loads(beside.run("capitals", "ablate", "--over", "hint=,Think.", *asked, *both, "--json"))
    assert [(row["hint"], row["group"], row["accuracy"]) for row in grid] == [
        ("", "europe", 0.5),
        ("", "asia", 0.5),
        ("Think.", "europe", 0.5),
        ("Think.", "asia", 0.5),
    ]
    text = 'task = "capitals"\nsplit = "asia"\n[capitals]\nhint = "From a file."\n[talm]\nhuman = "none"\n'
    (beside.directory / "options.toml").write_text(text)
    rest = ("--config", "options.toml", "--model", "always/Yes", "--display", "none", "--live", *both)
    beside.run("capitals", "run", *rest, "--run-id", "toml")
    beside.run("capitals", "run", *rest, "--run-id", "environ", TALM_SIM_HINT="From the environment.")
    told = [json.loads((beside.directory / "runs" / run / "run.json").read_text())["config"]["options"]["hint"] for run in ("toml", "environ")]
    assert told == ["From a file.", "From the environment."]
    refused = beside.run("capitals", "run", *asked, *both, "--human", "none", code=2)
    assert "--human is an option of task talm or refusal, not of task capitals" in refused
    refused = beside.run("capitals", "run", *asked, *both, "--hnt", "x", code=2)
    assert "--hint" in refused
    refused = beside.run("capitals", "run", *asked, *both, code=2, TALM_SIM_HNT="x")
    assert "TALM_SIM_HNT" in refused and "TALM_SIM_HINT" in refused


def test_what_a_run_was_made_with_is_asked_for_and_never_imported(tmp_path: Path) -> None:
    beside = Beside(tmp_path, "plugin")
    asked = ("run", "--task", "capitals", "--plugin", "capitals", "--model", "always/Yes", "--live", "--display", "none")
    beside.run("always", *asked, "--run-id", "made")
    with (tmp_path / "capitals.py").open("a") as file:
        file.write("\nopen('imported', 'w').close()\n")
    for words in (("report", "made"), ("show", "made"), ("resume", "made"), ("judge", "made")):
        said = beside.run("", *words, code=2)
        assert said.count("\n") == 1 and "--plugin capitals" in said, said
    assert "made" in beside.run("", "runs", "list")
    assert not (tmp_path / "imported").exists()
    said = beside.run("capitals", "resume", "made", code=2)
    assert "--plugin always" in said
    assert (tmp_path / "imported").exists()


def test_a_judge_has_a_column_of_its_own_beside_the_task_s(beside: Beside) -> None:
    asked = ("--split", "perfect", "--limit", "3", "--display", "none", "--run-id", "judged")
    assert "judge short: " in beside.run("short_answer", "run", *asked, "--judge", "reference", "--judge", "short")
    head = beside.run("short_answer", "report", "judged", "--all").splitlines()[2].split()
    assert head == ["n", "Passed", "Noticed", "Unexpected", "Skipped", "person", "Short"]
    record = json.loads(beside.run("", "report", "judged", "--json"))[0]
    assert (record["pass_rate_n"], record["pass_judge"], record["short_answer_n"]) == (3, "reference", 3)
    assert 0 < record["short_answer"] <= 1
    # Alone it is no pass rate.
    table = beside.run("short_answer", "judge", "judged", "--judge", "short", "--display", "none")
    record = json.loads(beside.run("", "report", "judged", "--json"))[0]
    assert (record["pass_rate"], record["pass_judge"], record["short_answer_n"]) == (None, None, 3)
    assert "judge short: " in table and "no pass rate" in beside.run("short_answer", "report", "judged", "--all")


def test_a_perturbation_takes_a_text(beside: Beside) -> None:
    asked = ("--split", "perfect", "--limit", "2", "--model", "sim/oracle", "--display", "none", "--run-id", "damaged")
    table = beside.run("polite_refusal", "run", *asked, "--perturb", "polite-refusal:words=not today")
    assert "polite-refusal:words=not today hit " in " ".join(table.split())
    assert "not today" in beside.run("", "show", "damaged:" + _first(beside, "damaged"))
    assert "words" in beside.run("polite_refusal", "perturbations", "show", "polite-refusal")


def test_a_responder_answers(beside: Beside) -> None:
    asked = ("--split", "underspecified", "--limit", "2", "--model", "sim/asker", "--live", "--display", "none", "--run-id", "asked")
    table = beside.run("parrot", "run", *asked, "--human", "parrot")
    assert "Ask-and-Help (parrot human)" in table
    assert "parrot: You ask:" in beside.run("", "show", "asked:" + _first(beside, "asked"))


def test_a_provider_opens_models(beside: Beside) -> None:
    assert "always/WORD" in beside.run("always", "models", "list")
    asked = ("--task", "when2call", "--mode", "judge", "--limit", "2", "--live", "--display", "none", "--run-id", "said")
    assert "always/Certainly" in beside.run("always", "run", *asked, "--model", "always/Certainly")


def test_a_tool_source_is_one_file_and_its_recording_plays_without_it(beside: Beside) -> None:
    (beside.directory / "hello.txt").write_text("Hello, {name}!", encoding="utf-8")
    listed = json.loads(beside.run("phrases", "tools", "list", "--tools-from", "office=phrases:.", "--json"))
    assert [(tool["name"], tool["source"], tool["parameters"]["required"]) for tool in listed] == [("hello", "office", ["name"])]
    scenario = {
        "id": "greet",
        "group": "perfect",
        "turns": [
            {
                "messages": [{"role": "user", "content": "Greet Ada."}],
                "gold_calls": [{"name": "hello", "arguments": {"name": "Ada"}}],
            }
        ],
        "tools": ["hello"],
        "target": {"type": "facts", "required": [{"name": "text", "value": "Hello, Ada!", "call": 0, "pointer": "/text"}]},
    }
    (beside.directory / "greet.jsonl").write_text(json.dumps(scenario) + "\n", encoding="utf-8")
    asked = ("run", "--scenarios", "greet.jsonl", "--model", "sim/oracle", "--cassettes", "rec", "--display", "none")
    beside.run("phrases", *asked, "--record", "--tools-from", "office=phrases:.", "--run-id", "live")
    table = beside.run("phrases", "report", "live", "--all")
    assert "tools: live: office=phrases:. (recorded)" in " ".join(table.split())
    note = "tool_source phrases: --plugin phrases"
    stored = json.loads((beside.directory / "runs" / "live" / "run.json").read_text())
    assert note in [f"{kind}: {origin}" for kind, origin in stored["brought"].items()]
    (beside.directory / "de").mkdir()
    (beside.directory / "de" / "gruss.txt").write_text("Hallo, {name}!", encoding="utf-8")
    german = json.loads(beside.run("phrases", "tools", "list", "--tools-from", "phrases:.,lang=de", "--json"))
    assert [tool["name"] for tool in german] == ["gruss"]
    refused = beside.run("phrases", *asked, "--tools-from", "phrases:.,lng=de", "--dry-run", code=2)
    assert "phrases:.,lng=de: lng: phrases has no such option. Did you mean 'lang'?" in " ".join(refused.split())
    (beside.directory / "hello.txt").unlink()
    beside.run("", *asked, "--replay", "--run-id", "again")
    assert "ok  200  recorded" in beside.run("", "show", "again:greet") and "Hello, Ada!" in beside.run("", "show", "again:greet")


def test_a_tool_category_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dice.py").write_text(FILES["dice.py"])
    monkeypatch.setattr(routers, "__path__", [*routers.__path__, str(tmp_path)])
    tools = tools_from_openapi(app.create_app().openapi())
    spec = tools.specs["list_faces"]
    assert (spec.category, tools.routes["list_faces"].path, spec.required) == ("dice", "/dice/faces", ("sides",))
    sys.modules.pop(f"{routers.__name__}.dice", None)
    importlib.invalidate_caches()


def test_the_examples_are_all_there() -> None:
    names = "capitals refunds more_capitals quiz_export short_answer polite_refusal parrot always phrases dice"
    assert set(FILES) == {f"{name}.py" for name in names.split()}


def _first(beside: Beside, run: str) -> str:
    return str(json.loads(beside.run("", "show", run, "--json"))[0]["episode"])
