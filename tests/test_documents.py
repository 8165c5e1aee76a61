"""Every command of README and docs/ is run, in order, as it stands; live models are servers on loopback.

What needs a local model is left out; where torch is installed (the real-model tier), the blocks that need one run, and no others.
`TALM_TEST_PROGRAM` names the `talm-sim` of another installation to run in place of this checkout's. Each document has a home directory of its
own: what it needs, it says. So a block with a local model uses files and runs of such blocks alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

from talm_sim.tasks.refusal.bfcl import SINGLE_TURN, SUBSETS
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from tests.published_samples import write_api_bank, write_fail_talms, write_study
from tests.warm import warm_python
from tests.when2call_samples import write_when2call

ROOT = Path(__file__).parents[1]
PROGRAM = os.environ.get("TALM_TEST_PROGRAM", "")
PYTHON = str(Path(PROGRAM).with_name("python")) if PROGRAM else sys.executable
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED = {
    "--run-id person": "",
    "--human terminal": "1994-03-11\n\ny\n",
    "talm-sim answer": "It is in India.\nI mean oslo.\n",
    "--judge person --name": "\n".join("pynf" * 4) + "\n",
    "--judge person --settle": "f\n" * 6,
}
"""Part of a command to what the person at its terminal types."""
ENDS = {
    "--split perfect --model openai-api/vllm/absent": 2,
    "--run-id person": 1,
    "--run-id spent": 4,
    "report nightly --gate": 1,
    "--out vietnamese --attempts 1": 1,  # the model there translates nothing
}
"""Part of a command to its exit code, where that is not 0."""
SET_UP = ("python3 -m venv", "sh scripts/", "pip install", ".venv/bin/", "scripts/", "export ", "git clone", "hf download")
"""How lines begin that install; CI runs what they name."""
LOCAL = re.compile(r"hf/|(?<!openai-api/)vllm/(?!smollm)|models get")
PUBLISHED = {"Fail-TaLMs": "failtalms", "when2call_sample.jsonl": "when2call/when2call_sample.jsonl"}
"""What a block with the comment `published data` finds in its directory, to its place among the benchmark data."""


OWN_GROUPS = "all|perfect|underspecified|replaced|removed|removed-failed"
"""Groups of which one stands in the table of each run that a paper's rows are beside."""
TUTORIAL = "first_hour"
"""The document whose commands take less than three minutes together, without a key or a network."""
GETS_MODEL = "when2call"
"""The document whose `models get` downloads the small local model; in the others' homes it is there, as if by that command."""
STAND_IN = "Qwen/Qwen2.5-7B-Instruct"
"""A model of the hub that a page names: the small local model stands in its place."""
TOOL_TEMPLATE = "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}{% for one in messages %}{{ one.content }}\n{% endfor %}"


class Block(NamedTuple):
    """A fenced block: the comment above it, its language and its text."""

    comment: str
    language: str
    text: str


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [Block(*found) for found in re.findall(r"(?:^<!-- (.*?) -->\n)?^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def lines(block: Block) -> list[str]:
    """The commands of a block, those continued over several lines joined."""
    text = block.text.replace("\\\n", " ")
    return [line.split("  #")[0].strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def needs_local_model(block: Block) -> bool:
    return block.language == "sh" and any(LOCAL.search(line) for line in lines(block))


COMMANDS = [line for document in DOCUMENTS for block in blocks(document) if block.language == "sh" for line in lines(block)]


@pytest.mark.documents
@pytest.mark.live
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "document",
    [pytest.param(path, marks=pytest.mark.timeout(180)) if path.stem == TUTORIAL else path for path in DOCUMENTS],
    ids=lambda path: getattr(path, "stem", None),
)
def test_every_command_runs_as_it_stands(document: Path, tmp_path: Path) -> None:
    follow(document, tmp_path, local=False)


@pytest.mark.local
@pytest.mark.live
@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_with_a_local_model_the_rest_runs(document: Path, tmp_path: Path) -> None:
    model = os.environ.get("TALM_SIM_TEST_MODEL")
    if find_spec("torch") is None or not model:
        pytest.skip("needs torch, and TALM_SIM_TEST_MODEL with the model's directory")
    if not any(map(needs_local_model, blocks(document))):
        pytest.skip("names no local model")
    follow(document, tmp_path, local=True)


def test_only_set_up_and_talm_sim_are_typed() -> None:
    assert len(COMMANDS) > 25
    for line in COMMANDS:
        assert line.startswith(("talm-sim", "TALM_SIM_", "pytest", *SET_UP)), line


def test_the_tutorial_asks_no_model_that_needs_a_key() -> None:
    page = ROOT / "docs" / f"{TUTORIAL}.md"
    typed = [line for block in blocks(page) if block.language in {"sh", "toml"} for line in lines(block)]
    named = [model for line in typed for model in re.findall(r"""(?:--model |^model = ")([^\s"]+)""", line)]
    assert len(named) >= 5 and all(model.startswith("sim/") for model in named), named
    assert not re.search(r"https?:|hub:|pip install [^-]", " ".join(typed))


def test_jobs_of_ci_servers_are_yaml_and_run_what_their_page_runs() -> None:
    yaml = pytest.importorskip("yaml")
    page = ROOT / "docs" / "ci.md"
    typed = {line for block in blocks(page) if block.language == "sh" for line in lines(block)}
    jobs = {block.comment: yaml.safe_load(block.text) for block in blocks(page) if block.language == "yaml"}
    github, gitlab = jobs["file: github.yaml"]["jobs"]["talm-sim"], jobs["file: gitlab.yaml"]["talm-sim"]
    run = [step["run"] for step in github["steps"] if str(step.get("run", "")).startswith("talm-sim")]
    assert run == [line for line in gitlab["script"] if line.startswith("talm-sim")]
    assert run and set(run) <= typed
    files = tomllib.loads(next(block.text for block in blocks(page) if block.comment == "file: ci.toml"))
    assert gitlab["artifacts"]["reports"]["junit"] == files["junit"]
    for written in (files["junit"], files["summary"]):
        assert written in json.dumps(github) and written in json.dumps(gitlab)


def test_what_is_to_be_installed_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for line in COMMANDS for extra in re.findall(r"\.\[(\w+)\]", line)}
    assert named <= set(declared)


@pytest.mark.documents
@pytest.mark.timeout(900)
def test_forecasts_of_the_reproduction_are_what_the_published_data_gives(bench_data: Path, tmp_path: Path) -> None:
    """What each dry run prints over the real queries and dialogues is in the page's tables, figure by figure."""
    if explain_no_sandbox():
        pytest.skip("no sandbox: see talm-sim doctor")
    (tmp_path / "Fail-TaLMs").symlink_to(bench_data / "failtalms")
    (tmp_path / "DAMO-ConvAI").mkdir()
    (tmp_path / "DAMO-ConvAI" / "api-bank").symlink_to(bench_data / "apibank")
    environ = surroundings("http://127.0.0.1:9") | {"HOME": str(tmp_path)}
    page = ROOT / "docs" / "reproduce.md"
    text = page.read_text(encoding="utf-8")
    tables = [row.split(" | ") for row in text[: text.index("## When2Call")].splitlines() if row.startswith("| ")]
    forecasts = 0
    for block in blocks(page):
        if block.comment == "file: prices.toml":
            (tmp_path / "prices.toml").write_text(block.text, encoding="utf-8")
        for line in lines(block) if block.language == "sh" else ():
            if "--scenarios-to" in line or "scenarios generate" in line:
                type_in(line, tmp_path, environ)
            elif "--dry-run --prices" in line:
                printed = type_in(line, tmp_path, environ)
                figures = re.findall(r"([\d,]+) episodes|([\d,]+ to [\d,]+) requests|out: ([\d,.]+) at", printed)
                row = {"".join(found) for found in figures}
                assert any(row <= {cell.strip(" |") for cell in cells} for cells in tables), f"{row} is in no row\n$ {line}\n{printed}"
                forecasts += 1
    assert forecasts == 5


def test_what_a_study_is_translated_to_is_typed_on_the_same_page() -> None:
    page = ROOT / "docs" / "refusal.md"
    typed = " ".join(line for block in blocks(page) if block.language == "sh" for line in lines(block))
    table = page.read_text(encoding="utf-8").partition("| the study | here |\n|---|---|\n")[2].partition("\n\n")[0]
    ours = [words for row in table.splitlines() for words in re.findall(r"`([^`]+)`", row.split(" | ")[1].split(";")[0].split(":")[0])]
    flags = {flag for words in ours for flag in re.findall(r"-M \w+=\S+|--[a-z-]+", words)}
    assert len(flags) >= 15
    assert not [flag for flag in flags if flag not in typed]


def is_left_out(comment: str, *, published: bool, local: bool) -> bool:
    """Return whether what a block needs, by its comment, is not here."""
    needs = {
        "published data": not published,
        "BFCL's data": not has("bfcl_eval"),
        "BFCL's multi-turn rows": bool(explain_no_sandbox()) or not all(map(has, ("bfcl_eval", "mpmath"))),
        "BFCL's checker": not all(map(has, ("bfcl_eval", "tree_sitter_java", "tree_sitter_javascript"))),
        "extra mcp": not has("mcp"),
        "package langchain": not has("langchain"),
        "namespaces": bool(explain_no_sandbox()),
        "a local model": not local,
    }
    return needs.get(comment, False)


def follow(document: Path, directory: Path, *, local: bool) -> None:
    """Do what a document says, from top to bottom, in one directory; with `local`, only the blocks that name a local model."""
    samples = document.stem == "reproduce"
    with server(acting=samples) as address:
        environ = surroundings(address) | {"HOME": str(directory), "SHELL": "/bin/bash"}
        published = lay_out(directory, samples_at=address if samples else "")
        if local:
            lay_out_model(directory / STAND_IN)
            if document.stem != GETS_MODEL:
                models = directory / ".cache" / "talm-sim" / "models"
                models.mkdir(parents=True)
                (models / "smollm2-135m").symlink_to(Path(os.environ["TALM_SIM_TEST_MODEL"]).absolute())
        for block in blocks(document):
            if is_left_out(block.comment, published=published, local=local):
                continue
            if block.comment.startswith("file: "):
                file = directory / block.comment.removeprefix("file: ")
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif local and not needs_local_model(block):
                continue
            elif block.language == "python":
                done = perform(["-c", block.text], directory, environ)
                assert done.returncode == 0, f"{block.text}\n{done.stderr}"
            elif block.language == "sh":
                type_block(block, directory, environ, local=local)


def type_block(block: Block, directory: Path, environ: Mapping[str, str], *, local: bool) -> None:
    """Run a block's commands; where its comment names a paper's table, that table has rows beside the run's."""
    printed = ""
    networked = "network=on" in block.text
    if networked and explain_no_sandbox():
        return
    for line in lines(block):
        if block.comment == "parsed":
            assert line.startswith("talm-sim run "), line
            type_in(line.replace("talm-sim run ", "talm-sim config show ", 1), directory, environ)
        elif line.startswith(("talm-sim", "TALM_SIM_")) and (local or not LOCAL.search(line)):
            printed += type_in(line, directory, environ)
        elif line.startswith("pytest"):
            run_tests(line, directory, environ)
    assert not networked or "a tool failed" not in printed, printed
    if block.comment.startswith("ends in: ") and printed:
        check_beside(printed, block.comment.removeprefix("ends in: "))


def check_beside(printed: str, named: str) -> None:
    """See that a run's own table has figures, those of a paper's table and model beside it, and that no episode failed for outer reasons."""
    table, _, model = named.partition(": ")
    _, found, paper = " ".join(printed.split()).partition(f"published: {table} ")
    assert found, f"no {table} in {printed}"
    assert all(part in paper for part in re.split(r"[ -]", model)), f"no {model} in {printed}"
    assert re.search(rf"\b(?:{OWN_GROUPS})(?:, \w+)?, n [1-9][\d,]* .*?(?:\.\d\d|1\.00) .*?\.\d\d", paper), printed
    assert "different scenarios" not in paper and "run here: " in paper, printed
    assert "infrastructure" not in printed, printed


def lay_out_model(folder: Path) -> None:
    """Put the small local model where a page names one of the hub, with a chat template that shows tools."""
    source = Path(os.environ["TALM_SIM_TEST_MODEL"])
    folder.mkdir(parents=True)
    for file in source.iterdir():
        if file.name not in {"tokenizer_config.json", "chat_template.jinja"}:
            (folder / file.name).symlink_to(file.resolve())
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": TOOL_TEMPLATE}), encoding="utf-8")


@cache
def has(module: str) -> bool:
    """Whether the environment of the program under test holds a module."""
    looked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", looked], check=False).returncode == 0


def lay_out(directory: Path, *, samples_at: str = "") -> bool:
    """Put published data where the documents expect it; False where there is none on this machine. A translation of BFCL has a row or two.

    With `samples_at`, an address, there are samples of it alone, whose tools ask that host.
    """
    (directory / "data_storage").mkdir()
    for language in ("en", "vi", "th"):
        text = "".join(json.dumps(row) + "\n" for row in translated_rows(language))
        (directory / "data_storage" / f"bfcl_single_turn_{language}.jsonl").write_text(text, encoding="utf-8")
    write_when2call(directory)
    if samples_at:
        write_fail_talms(directory, samples_at)
        write_study(directory)
        write_api_bank(directory)
        return False
    data = Path(os.environ.get("TALM_SIM_BENCH_DATA") or "/nowhere")
    for name, place in PUBLISHED.items() if data.is_dir() else ():
        (directory / name).symlink_to(data / place)
    return data.is_dir()


def translated_rows(language: str) -> Iterator[dict[str, Any]]:
    """One row per subset, in the form of the study's data."""
    for name in SINGLE_TURN:
        subset = SUBSETS[name]
        call = {"clock": {"city": ["Hue"]}}
        accepted = {"calls": [call, call] if subset.parallel else [call], "any": [], "none": []}[subset.expected]
        parameters = {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        function = {"name": "clock", "description": "Tell the time.", "parameters": parameters}
        question = [[{"role": "user", "content": "What time is it in Hue?"}]]
        row = {"id": f"{name}_0_{language}", "subset": name, "language": language, "test_category": name}
        yield row | {"question": question, "function": [function], "ground_truth": accepted}


def type_in(line: str, directory: Path, environ: Mapping[str, str]) -> str:
    """Run a command, and return what it printed."""
    command, _, target = line.partition(" > ")
    words = shlex.split(command)
    while "=" in words[0]:
        environ = {**environ, words[0].partition("=")[0]: words.pop(0).partition("=")[2]}
    typed = next((text for part, text in TYPED.items() if part in line), "")
    done = perform(["-m", "talm_sim", *words[1:]], directory, environ, typed)
    expected = next((code for part, code in ENDS.items() if part in line), 0)
    assert done.returncode == expected, f"$ {line}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    if target:
        (directory / target).write_text(done.stdout, encoding="utf-8")
    return f"{done.stdout}\n{done.stderr}"


def run_tests(line: str, directory: Path, environ: Mapping[str, str]) -> None:
    """Let this checkout's pytest take our plugin from here, whichever is installed."""
    plugin = ["-p", "no:cacheprovider", "-p", "no:talm_sim", "-p", "talm_sim.testing.plugin"]
    environ = {**environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": f"{ROOT}{os.pathsep}."}
    done = perform(["-m", *shlex.split(line), *plugin], directory, environ, python=sys.executable)
    assert done.returncode == 0, f"$ {line}\n{done.stdout}\n{done.stderr}"


def perform(
    words: list[str], directory: Path, environ: Mapping[str, str], typed: str = "", python: str = PYTHON
) -> subprocess.CompletedProcess[str]:
    command = [warm_python(python), *words]
    return subprocess.run(command, cwd=directory, env=environ, input=typed, capture_output=True, text=True, timeout=600, check=False)


def surroundings(address: str) -> dict[str, str]:
    """The environment of somebody with keys, whose providers all stand on loopback."""
    foreign = ("TALM_SIM_", "OPENAI_", "ANTHROPIC_", "VLLM_", "XDG_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    keys = {f"{name}_API_KEY": "sk-none-needed" for name in ("OPENAI", "ANTHROPIC", "VLLM")}
    places = {"OPENAI_BASE_URL": f"{address}/v1", "VLLM_BASE_URL": f"{address}/v1", "ANTHROPIC_BASE_URL": address}
    here = {} if PROGRAM else {"PYTHONPATH": str(ROOT)}
    path = {"PATH": os.pathsep.join([str(Path(PYTHON).parent), os.environ["PATH"]])}  # `python3` is the one that has this package
    return {**kept, **keys, **places, **here, **path, "COLUMNS": "80"}


@contextmanager
def server(*, acting: bool = False) -> Iterator[str]:
    """A model server of both protocols that declines everything, and keeps to a schema where one is given.

    With `acting`, it plays Fail-TaLMs' agent and judges. What is got from it says what was asked for, as a tool's host.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if asked.get("echo"):
                answer = echoed(asked["prompt"])
            elif "prompt" in asked:
                answer = {"object": "text_completion", "choices": [{"index": 0, "text": "No.", "finish_reason": "stop"}]}
            else:
                call, text = play(asked) if acting else (None, "")
                text = verdict(asked) or text or text_for(asked)
                answer = claude(text, call) if self.path.endswith("/messages") else chat(text, call)
            self.send(answer)

        def do_GET(self) -> None:
            self.send({"asked": self.path})

        def send(self, answer: Mapping[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep test output clean."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        httpd.server_close()


Call = tuple[str, dict[str, Any]]
CLASS = '{"classification": "direct_answer"}'


def play(asked: Mapping[str, Any]) -> tuple[Call | None, str]:
    """What an agent does that calls a tool, asks a person if there is one, and finishes; a Yes where that is asked for."""
    tools = [tool.get("function", tool) for tool in asked.get("tools", ())]
    schemas = {tool["name"]: tool.get("parameters") or tool.get("input_schema") or {} for tool in tools}
    if "Finish" in schemas:
        said = sum(message["role"] == "assistant" for message in asked["messages"])
        others = [name for name in schemas if name not in ("Finish", "ask_human")]
        name = [*others[:1], *(["ask_human"] if "ask_human" in schemas else []), *["Finish"] * 9][said]
        return (name, smallest(schemas[name])), ""
    return None, "Yes." if "IDK" in words_of(asked) else ""


def words_of(asked: Mapping[str, Any]) -> str:
    return json.dumps([asked.get("system", ""), asked["messages"]])


def verdict(asked: Mapping[str, Any]) -> str:
    """What a judge says, or nothing where no judge is asked."""
    replies = {"one word, Pass or Fail": "Pass.", "Lose: answer 2": "Tie.", "a JSON object and nothing else": CLASS}
    return next((reply for question, reply in replies.items() if question in words_of(asked)), "")


def chat(text: str, call: Call | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        message = {"role": "assistant", "content": None, "tool_calls": [{"id": "call", "type": "function", "function": function}]}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def echoed(prompt: str) -> dict[str, Any]:
    tokens = re.findall(r"\s*\S+|\s+", prompt)
    logprobs = {"tokens": [*tokens, "."], "token_logprobs": [None, *[-1.0] * len(tokens)]}
    choice = {"index": 0, "text": f"{prompt}.", "logprobs": logprobs, "finish_reason": "length"}
    return {"object": "text_completion", "choices": [choice], "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1}}


def claude(text: str, call: Call | None = None) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 2}
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if call:
        content = [{"type": "tool_use", "id": "call", "name": call[0], "input": call[1]}]
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "end_turn", "usage": usage}


def text_for(asked: Mapping[str, Any]) -> str:
    held = asked.get("response_format", {}).get("json_schema", {}).get("schema") or asked.get("structured_outputs", {}).get("json")
    return json.dumps(smallest(held)) if held else "No."


def smallest(schema: Mapping[str, Any]) -> Any:
    """A small value that fits a schema, the last of alternatives: an action's is to answer."""
    for name in ("anyOf", "oneOf"):
        if name in schema:
            return smallest(schema[name][-1])
    if "const" in schema or "enum" in schema:
        return schema.get("const", next(iter(schema.get("enum", [None]))))
    if schema.get("type") == "object":
        return {name: smallest(schema["properties"][name]) for name in schema.get("required", [])}
    return {"array": [], "integer": 1, "number": 1, "boolean": False, "null": None}.get(str(schema.get("type")), "No.")
