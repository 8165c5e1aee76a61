"""A table of wrong inputs: each gets one line that names the place and the fix, exit code 2, and no traceback; nothing is left behind.

Wrong files are in `test_wrong_files.py`, wrong servers in `test_wrong_servers.py`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.errors import PrerequisiteError
from tests.cli.wrong import Talm, check_each

pytestmark = [pytest.mark.usefixtures("nothing_given"), pytest.mark.timeout(900)]

COMMAND_LINES = [
    ("rnu", r"No such command 'rnu'\. Did you mean .*run"),
    ("--verison", r"No such option '--verison'.*--version"),
    ("run perfect no-tools", r"write --split perfect,no-tools$"),
    ("run openai/gpt-4o", r"write --model openai/gpt-4o$"),
    ("run something", r"'something' is an unexpected argument; every value follows the name of its option, as in --split perfect$"),
    ("run --splt perfect", r"No such option '--splt'.*--split"),
    ("run --split perfct", r"--split: unknown split 'perfct' of task talm\. Did you mean 'perfect'\?$"),
    ("run --split perfect,xyz", r"--split: unknown split 'xyz' of task talm\. Known: perfect, underspecified, .*, all\.$"),
    ("run --task when2call --split perfect", r"unknown split 'perfect' of task when2call\. Known: tool_call, .*, direct, all\.$"),
    ("run --split", r"Option '--split' requires an argument"),
    (
        "run --scenario calendar-1",
        r"--scenario: no scenario 'calendar-1' in split all .*set quick .*\. Did you mean 'calendar-\d\d'\?$",
    ),
    ("run --task zzz", r"--task: unknown task 'zzz'\. Known: talm, when2call, awareness, refusal\.$"),
    ("run --limit 0", r"--limit: .*the smallest is 1"),
    ("run --limit ten", r"--limit: 'ten' is not a limit: write a number, for example 20, or a range"),
    ("run --limit 5-3", r"--limit: .*ends before it begins"),
    ("run --limit 900-901", r"no scenario of group .* within limit 900-901; choose another --split or --limit"),
    ("run --epochs 0", r"--epochs: 0 is too small; the least is 1\.$"),
    ("run --epochs two", r"'--epochs': 'two' is not a valid integer"),
    ("run --epochs 100000000", r"this run has 28,800,000,000 episodes; continue\? There is no terminal to ask at; add a --budget\.$"),
    ("run --temperature 99", r"--temperature: 99\.0 is too large; the most is 2"),
    ("run --temperature nan", r"--temperature: nan is not a finite number"),
    ("run --model gpt-4o", r"--model: 'gpt-4o' is not a model name: use PROVIDER/NAME"),
    ("run --model openai:gpt-4o", r"Did you mean 'openai/gpt-4o'\?$"),
    ("run --model OpenAI/gpt-4o", r"unknown provider 'OpenAI'\. Did you mean 'openai'\?$"),
    ("run --model ollama/llama3", r"A server of the OpenAI protocol is named openai-api/ollama/llama3\.$"),
    ("run --scenario calendar-01,calendar-02", r"Repeat the option for each value\.$"),
    ("run --plugin mine:act", r"--plugin mine:act: name only the module: write mine\.$"),
    ("run --tools-from a:T,b:T", r"give one source per option; repeat it: --tools-from a:T --tools-from b:T\.$"),
    ("run --model openai/", r"names no model; write openai/MODEL"),
    ("run --model openai/gpt-4o", r"OPENAI_API_KEY is not set"),
    ("run --model openai-api/vllm/qwen", r"VLLM_BASE_URL is not set"),
    ("run --model openai-api/qwen", r"write openai-api/SERVICE/MODEL"),
    ("run --model sim/orcale", r"sim/orcale.*oracle"),
    ("run --model langchain/nowhere:make", r"no module 'nowhere'; install it"),
    ("run --model langchain/json:nothing", r"module 'json' has no 'nothing'"),
    ("run --model langchain/json:dumps", r"the factory (refused|failed)"),
    ("run --model hf/nosuch-model-folder", r"hf/nosuch-model-folder"),
    ("run -M device", r"--model-options: 'device' is not an option; write KEY=VALUE"),
    ("run -M api_key=x", r"--model-options: 'api_key' would be written into the run"),
    ("run --tool-format xml", r"'xml' is not one of 'auto', 'native', 'constrained'"),
    ("run --live --replay", r"--live and --replay exclude each other"),
    ("run --cassettes nosuch", r"--cassettes: there is no directory 'nosuch'; add --record to make it"),
    ("run --replay --model openai/gpt-4o", r"there are no recordings of it in "),
    ("run --human reccorded", r"--human: unknown responder 'reccorded'\. Did you mean 'recorded'\?$"),
    ("run --perturb time-out", r"--perturb time-out: unknown perturbation 'time-out'\. Did you mean 'timeout'\?$"),
    ("run --perturb mask:tol=x", r"--perturb mask:tol=x: tol: mask has no such option\. Did you mean 'tool'\?$"),
    ("run --perturb mask:tool=nosuch_tool --model sim/oracle", r"no tool 'nosuch_tool'"),
    (
        "run --perturb http-500,timeout",
        r"commas separate the options .*; for several perturbations, repeat the option: --perturb http-500 --perturb timeout; in Python",
    ),
    ("run --judge reference,llm", r"unknown judge 'reference,llm'\. Repeat the option for each value\.$"),
    ("run --agent https://agent.example/chat", r"--agent: https://\S+ is an address; give a Python object, MODULE:OBJECT"),
    ("run --agent mine.py:build", r"--agent: mine\.py:build: is a file name; write mine:build, without \.py\.$"),
    ("run --agent /srv/agents/mine.py:build", r"in /srv/agents write mine:build, without \.py\.$"),
    ("run --plugin mine.py", r"--plugin mine\.py: is a file name; write mine, without \.py\.$"),
    ("run --tools-from mine.py:TOOLS", r"is a file name; write mine:TOOLS, without \.py\.$"),
    ("run --live --limit 1", r"cannot be asked live: name a model with --model PROVIDER/NAME, or set VLLM_BASE_URL"),
    ("run --perturb http-500:p=2", r"--perturb http-500:p=2: p"),
    ("run --judge referense", r"--judge: unknown judge 'referense'\. Did you mean 'reference'\?$"),
    ("run --judge llm", r"judge 'llm' needs a model: add --judge-model PROVIDER/NAME"),
    ("run --judge behaviour", r"--judge behaviour: judges task when2call, not task talm; choose among reference, llm, preference\.$"),
    ("run --judge-model gpt", r"--judge-model: 'gpt' is not a model name"),
    ("run --judge-model openai/gpt-4o", r"--judge-model openai/gpt-4o: .*(not recorded|is not set)"),
    ("run --mode judge", r"--mode is an option of task when2call, not of task talm"),
    ("run --task when2call --mode logprb", r"'logprb' is not one of 'logprob', 'judge'"),
    ("run --task when2call --human none", r"--human is an option of task talm or refusal, not of task when2call"),
    ("run --task when2call --model openai/gpt-4o", r"gives no log-probabilities .* or add --mode judge"),
    ("run --run-id ../up", r"--run-id: '../up' is not a run name"),
    ("run --run-id latest", r"--run-id: 'latest' always means the newest run"),
    ("run --display loud", r"'loud' is not one of 'full', 'plain', 'json', 'none'"),
    ("run --plugin nosuch_module --help", r"--plugin nosuch_module: cannot be imported: ModuleNotFoundError"),
    ("run --task nope --help", r"--task: unknown task 'nope'\. Known: talm, when2call, awareness, refusal\.$"),
    ("run --plugin nosuch_module", r"--plugin nosuch_module: cannot be imported: ModuleNotFoundError"),
    ("run --scenarios nosuch.jsonl", r"nosuch\.jsonl: cannot be read: No such file or directory"),
    ("run --config nosuch.toml", r"nosuch\.toml: cannot be read: .*; --config needs a TOML file"),
    ("run --prices nosuch.toml", r"nosuch\.toml: cannot be read: .*; --prices needs a TOML file"),
    ("config sho", r"No such command 'sho'.*show"),
    ("ablate", r"Missing option '--over'"),
    ("ablate --over split", r"--over: 'split' is not FIELD=V1,V2"),
    ("ablate --over splt=perfect", r"--over: unknown option 'splt'\. Did you mean 'split'\?$"),
    ("ablate --over timeout=1,2", r"'timeout' changes how a run is executed"),
    ("ablate --over human=none --over human=recorded", r"'human' is given twice"),
    ("ablate --over split=[1", r"--over split: not a JSON list"),
    ("report", r"runs: there are no runs here yet; start one with: talm-sim run"),
    ("report nosuch", r"nosuch: no such run\. runs: there are no runs here yet"),
    ("report --json --csv", r"--json, --csv and --markdown exclude each other"),
    ("show nosuch:episode", r"nosuch: no such run"),
    ("resume nosuch", r"nosuch: no such run"),
    ("answer nosuch", r"nosuch: no such run"),
    ("runs delete nosuch --yes", r"nosuch: no such run"),
    ("tasks show talk", r"unknown task 'talk'\. Did you mean 'talm'\?"),
    ("tools show find_holliday", r"unknown tool 'find_holliday'\. Did you mean 'find_holiday'\?"),
    ("tools list --category wether", r"--category: unknown category 'wether'\. Did you mean 'weather'\?"),
    ("tools serve --port 99999", r"'--port': 99999 is not in the range"),
    ("perturbations show timout", r"unknown perturbation 'timout'\. Did you mean 'timeout'\?"),
    ("scenarios show", r"name a SCENARIO, or add --format"),
    ("scenarios show calendar-1", r"unknown scenario 'calendar-1'\. Did you mean"),
    ("scenarios list --split perfct", r"--split: unknown split 'perfct'.*'perfect'\?$"),
    ("scenarios review made", r"made: there is no such folder or file"),
    ("scenarios generate", r"--out"),
    ("import fail-talms nosuch", r"nosuch"),
    ("import traces nosuch.jsonl", r"nosuch\.jsonl: cannot be read.*give OTLP/JSON spans"),
    ("import traces x --split perfct", r"--split: unknown split 'perfct'.*'perfect'\?$"),
    ("import traces x --run-id a/b", r"--run-id: 'a/b' is not a run name"),
    ("export when2call nosuch.jsonl --out out.jsonl", r"nosuch\.jsonl: cannot be read"),
    ("export training nosuch --kind sft --out o.jsonl", r"nosuch"),
    ("models get nosuch", r"nosuch"),
    ("resume", r"no run in runs is unfinished; name a run, or give --run-dir\.$"),
    ("answer", r"no run in runs waits for an answer; name a run, or give --run-dir\.$"),
    ("export cassettes --from nowhere", r"nowhere: contains no packed recordings\."),
    ("completion tcsh", r"'tcsh' is not one of 'bash', 'zsh', 'fish'"),
]


def test_a_wrong_command_line(talm: Talm) -> None:
    check_each(COMMAND_LINES, lambda line: talm(*line.split()))


ENVIRONMENT = [
    ({"TALM_SIM_LIMT": "1"}, r"unknown option 'TALM_SIM_LIMT'\. Did you mean 'TALM_SIM_LIMIT'\?$"),
    ({"TALM_SIM_EPOCHS": "many"}, r"TALM_SIM_EPOCHS: 'many' is not a whole number\.$"),
    ({"TALM_SIM_CONTROLS": "perhaps"}, r"TALM_SIM_CONTROLS: 'perhaps' is neither true nor false\.$"),
    ({"TALM_SIM_DISPLAY": "loud"}, r"TALM_SIM_DISPLAY: 'loud' is not one of 'full', 'plain', 'json' or 'none'\.$"),
    ({"TALM_SIM_TOOLS": "lve"}, r"TALM_SIM_TOOLS: 'lve' is not one of 'live', 'replay' or 'record'\.$"),
    ({"TALM_SIM_CATEGORY": "wether"}, r"category: no scenario of category 'wether' in split all .*\. Did you mean 'weather'\?$"),
    ({"TALM_SIM_TASK": "when2call", "TALM_SIM_CATEGORY": "weather", "TALM_SIM_MODEL": "sim/oracle"}, r"no tool categories; leave out category"),
    ({"TALM_SIM_MAX_RETRIES": "-1"}, r"TALM_SIM_MAX_RETRIES: -1 is too small; the least is 0"),
    ({"TALM_SIM_TIMEOUT": "0"}, r"TALM_SIM_TIMEOUT: 0 is too small; it must be more than 0"),
    ({"TALM_SIM_TASK": "awareness", "TALM_SIM_TOOLS": "live"}, r"tools live: task awareness executes no tools; leave it out\.$"),
    ({"TALM_SIM_PAIRED_RUN": "nosuch"}, r"paired_run: nosuch: no such run|PAIRED_RUN: nosuch: no such run"),
    ({"TALM_SIM_PROMPTS": "nosuch.toml"}, r"nosuch\.toml: cannot be read: .*; prompts needs a TOML file"),
    ({"TALM_SIM_TASK": "when2call", "TALM_SIM_HUMAN": "none"}, r"TALM_SIM_HUMAN is an option of task talm or refusal, not of task when2call;"),
    ({"TALM_SIM_OPTIONS": "x"}, r"unknown option 'TALM_SIM_OPTIONS'\."),
    ({"TALM_SIM_MODE": "judge"}, r"TALM_SIM_MODE is an option of task when2call"),
    ({"TALM_SIM_MODEL_OPTIONS": "device"}, r"TALM_SIM_MODEL_OPTIONS: 'device' is not an option; write KEY=VALUE"),
    ({"TALM_SIM_CASSETTES": "nosuch"}, r"TALM_SIM_CASSETTES: there is no directory 'nosuch'"),
    ({"TALM_SIM_PLUGIN": "nosuch_module"}, r"TALM_SIM_PLUGIN nosuch_module: cannot be imported"),
    ({"TALM_SIM_TEMPERATURE": "inf"}, r"TALM_SIM_TEMPERATURE: inf is"),
    ({"TALM_SIM_MODEL": "openai-api/vllm/q", "VLLM_BASE_URL": "http://127.0.0.1:9/a\nb"}, r"VLLM_BASE_URL: not the address of a server"),
    ({"TALM_SIM_MODEL": "openai-api/vllm/q", "VLLM_BASE_URL": "http://b\u00fc cher.example/v1"}, r"VLLM_BASE_URL: not the address of a server"),
]


def test_a_wrong_variable(talm: Talm) -> None:
    def ask(given: dict[str, str]) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            return talm("run")

    check_each(ENVIRONMENT, ask)


PYTHON: list[tuple[str, Callable[[], Any], str]] = [
    ("run('perfect')", lambda: talm_sim.run("perfect"), r"^'perfect' is not a RunConfig; name the option, as in split='perfect'\.$"),  # type: ignore[arg-type]
    (
        "split perfct",
        lambda: talm_sim.run(talm_sim.RunConfig(split="perfct")),
        r"unknown split 'perfct' of task talm\. Did you mean 'perfect'\?$",
    ),
    ("split 3", lambda: talm_sim.RunConfig(split=3), r"^split: 3 is not text"),
    (
        "split of 3",
        lambda: talm_sim.RunConfig(split=["perfect", 3]),
        r"^split: 3 is not a name; every item of the list must be one, in quotes\.$",
    ),
    ("epochs 0", lambda: talm_sim.RunConfig(epochs=0), r"^epochs: 0 is too small; the least is 1\.$"),
    ("display", lambda: talm_sim.RunConfig(display="loud"), r"^display: 'loud' is not one of 'full', "),
    ("model", lambda: talm_sim.RunConfig(model="gpt-4o"), r"^model: 'gpt-4o' is not a model name"),
    ("unknown option", lambda: talm_sim.run(splt="perfect"), r"^unknown option 'splt'\. Did you mean 'split'\?$"),
    ("unknown, kept", lambda: talm_sim.run(talm_sim.RunConfig(splt="perfect")), r"splt: unknown option of task talm\. Did you mean 'split'\?$"),
    ("another task's", lambda: talm_sim.run(mode="judge"), r"^mode is an option of task when2call"),
    (
        "a judge without its model",
        lambda: talm_sim.run(judge="llm"),
        r"^judge 'llm' needs a model: add judge_model=\"PROVIDER/NAME\"\.$",
    ),
    (
        "not recorded",
        lambda: talm_sim.run(model="openai/gpt-4o", models="replay"),
        r"there are no recordings of it in .*; add models=\"live\"\.$",
    ),
    ("a wrong perturbation", lambda: talm_sim.run(perturb=["time-out"]), r"^perturb time-out: unknown perturbation 'time-out'"),
    ("a cell's perturbation", lambda: talm_sim.ablate(over={"perturb": ["time-out"]}), r"^cell perturb=time-out: perturb time-out: unknown"),
    ("too few", lambda: talm_sim.run(limit="900-901"), r"choose another split or limit, or give scenarios=\"FILE\"\.$"),
    ("tools that are none", lambda: talm_sim.run(tools=[3]), r"^tools: 3: is an object of type int"),
    ("judge", lambda: talm_sim.RunConfig(judge=3), r'^judge: 3 is not a list; write one, for example \["A", "B"\]\.$'),
    ("load_run", lambda: talm_sim.load_run("latest"), r"^runs: there are no runs here yet"),
    ("resume", lambda: talm_sim.resume("nosuch"), r"^nosuch: no such run"),
    ("ablate", lambda: talm_sim.ablate(over={"splt": ["a"]}), r"unknown field 'splt'\. Did you mean 'split'\?$"),
    ("ablate a text", lambda: talm_sim.ablate(over={"split": "perfect"}), r"give 'split' a list of values"),
]


def test_a_wrong_call() -> None:
    missed = []
    for name, call, told in PYTHON:
        try:
            call()
        except PrerequisiteError as err:
            if "\n" in str(err) or not re.search(told, str(err)):
                missed.append(f"{name}: {err}")
        else:
            missed.append(f"{name}: is not refused")
        assert not Path("runs").exists(), name
    assert missed == []


def test_a_wrong_call_is_told_without_a_page_of_our_own_frames() -> None:
    for call in (lambda: talm_sim.run(split="perfct"), lambda: talm_sim.ablate(over={"split": ["perfct"]})):
        with pytest.raises(PrerequisiteError) as failure:
            call()
        assert len(traceback.extract_tb(failure.value.__traceback__)) <= 5


def test_a_notebook_shows_the_line_alone() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shown: list[str] = []
    shell._showtraceback = lambda kind, error, lines: shown.extend(lines)
    shell.run_cell("import talm_sim; talm_sim.run(split='perfct')")
    assert shown == ["PrerequisiteError: split: unknown split 'perfct' of task talm. Did you mean 'perfect'?"]
