"""Every command of README and docs/ is run, in order, as it stands; live models are servers on loopback.

What needs a local model runs where torch is installed (the real-model tier) and is left out elsewhere. `TALM_TEST_PROGRAM` names the
`talm-sim` of another installation to run in place of this checkout's. Each document has a home directory of its own: what it needs, it says.
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

from talm_sim.tasks.refusal.bfcl import SUBSETS
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from tests.warm import warm_python

ROOT = Path(__file__).parents[1]
PROGRAM = os.environ.get("TALM_TEST_PROGRAM", "")
PYTHON = str(Path(PROGRAM).with_name("python")) if PROGRAM else sys.executable
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED = {
    "--human terminal": "1994-03-11\n\ny\n",
    "talm-sim answer": "It is in India.\nI mean oslo.\n",
}
"""Part of a command to what the person at its terminal types."""
ENDS = {"--split perfect --model openai-api/vllm/absent": 2}
"""Part of a command to its exit code, where that is not 0."""
SET_UP = ("python3 -m venv", "sh scripts/", "pip install", ".venv/bin/", "scripts/", "export ", "git clone")
"""How lines begin that install; CI runs what they name."""
LOCAL = re.compile(r"hf/|vllm/(?!smollm)|models get")
PUBLISHED = {"Fail-TaLMs": "failtalms", "when2call_sample.jsonl": "when2call/when2call_sample.jsonl"}
"""What a block with the comment `published data` finds in its directory, to its place among the benchmark data."""


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


COMMANDS = [line for document in DOCUMENTS for block in blocks(document) if block.language == "sh" for line in lines(block)]


@pytest.mark.documents
@pytest.mark.live
@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_command_runs_as_it_stands(document: Path, tmp_path: Path) -> None:
    follow(document, tmp_path, local=False)


@pytest.mark.local
@pytest.mark.live
@pytest.mark.timeout(900)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_with_a_local_model_the_rest_runs_too(document: Path, tmp_path: Path) -> None:
    model = os.environ.get("TALM_SIM_TEST_MODEL")
    if find_spec("torch") is None or not model:
        pytest.skip("needs torch, and TALM_SIM_TEST_MODEL with the model's directory")
    if not any(LOCAL.search(line) for block in blocks(document) if block.language == "sh" for line in lines(block)):
        pytest.skip("names no local model")
    follow(document, tmp_path, local=True)


def test_only_set_up_and_talm_sim_are_typed() -> None:
    assert len(COMMANDS) > 25
    for line in COMMANDS:
        assert line.startswith(("talm-sim", "pytest", *SET_UP)), line


def test_what_is_to_be_installed_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for line in COMMANDS for extra in re.findall(r"\.\[(\w+)\]", line)}
    assert named <= set(declared)


def test_what_a_study_is_translated_to_is_typed_on_the_same_page() -> None:
    page = ROOT / "docs" / "refusal.md"
    typed = " ".join(line for block in blocks(page) if block.language == "sh" for line in lines(block))
    table = page.read_text(encoding="utf-8").partition("| the study | here |\n|---|---|\n")[2].partition("\n\n")[0]
    ours = [words for row in table.splitlines() for words in re.findall(r"`([^`]+)`", row.split(" | ")[1].split(";")[0].split(":")[0])]
    flags = {flag for words in ours for flag in re.findall(r"-M \w+=\S+|--[a-z-]+", words)}
    assert len(flags) >= 15
    assert not [flag for flag in flags if flag not in typed]


def follow(document: Path, directory: Path, *, local: bool) -> None:
    """Do what a document says, from top to bottom, in one directory."""
    with server() as address:
        environ = surroundings(address) | {"HOME": str(directory), "SHELL": "/bin/bash"}
        published = lay_out(directory)
        for block in blocks(document):
            if (block.comment == "published data" and not published) or (block.comment == "BFCL's data" and not has("bfcl_eval")):
                continue
            if block.comment == "BFCL's checker" and not all(map(has, ("bfcl_eval", "tree_sitter_java", "tree_sitter_javascript"))):
                continue
            if (block.comment == "extra mcp" and not has("mcp")) or (block.comment == "namespaces" and explain_no_sandbox()):
                continue
            if block.comment.startswith("file: "):
                file = directory / block.comment.removeprefix("file: ")
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                done = perform(["-c", block.text], directory, environ)
                assert done.returncode == 0, f"{block.text}\n{done.stderr}"
            elif block.language == "sh":
                for line in lines(block):
                    if block.comment == "parsed":
                        assert line.startswith("talm-sim run "), line
                        type_in(line.replace("talm-sim run ", "talm-sim config show ", 1), directory, environ)
                    elif line.startswith("talm-sim") and (local or not LOCAL.search(line)):
                        type_in(line, directory, environ)
                    elif line.startswith("pytest"):
                        run_tests(line, directory, environ)


@cache
def has(module: str) -> bool:
    """Whether the environment of the program under test holds a module."""
    looked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", looked], check=False).returncode == 0


def lay_out(directory: Path) -> bool:
    """Put published data where the documents expect it; False where there is none on this machine. A translation of BFCL has a row or two."""
    (directory / "data_storage").mkdir()
    for language in ("en", "vi", "th"):
        text = "".join(json.dumps(row) + "\n" for row in translated_rows(language))
        (directory / "data_storage" / f"bfcl_single_turn_{language}.jsonl").write_text(text, encoding="utf-8")
    data = Path(os.environ.get("TALM_SIM_BENCH_DATA") or "/nowhere")
    for name, place in PUBLISHED.items() if data.is_dir() else ():
        (directory / name).symlink_to(data / place)
    return data.is_dir()


def translated_rows(language: str) -> Iterator[dict[str, Any]]:
    """One row per subset, in the form of the study's data."""
    for name, subset in SUBSETS.items():
        call = {"clock": {"city": ["Hue"]}}
        accepted = {"calls": [call, call] if subset.parallel else [call], "any": [], "none": []}[subset.expected]
        parameters = {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        function = {"name": "clock", "description": "Tell the time.", "parameters": parameters}
        question = [[{"role": "user", "content": "What time is it in Hue?"}]]
        row = {"id": f"{name}_0_{language}", "subset": name, "language": language, "test_category": name}
        yield row | {"question": question, "function": [function], "ground_truth": accepted}


def type_in(line: str, directory: Path, environ: Mapping[str, str]) -> None:
    command, _, target = line.partition(" > ")
    words = shlex.split(command)
    typed = next((text for part, text in TYPED.items() if part in line), "")
    done = perform(["-m", "talm_sim", *words[1:]], directory, environ, typed)
    expected = next((code for part, code in ENDS.items() if part in line), 0)
    assert done.returncode == expected, f"$ {line}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    if target:
        (directory / target).write_text(done.stdout, encoding="utf-8")


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
def server() -> Iterator[str]:
    """A model server of both protocols that declines everything, and keeps to a schema where one is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if asked.get("echo"):
                answer = echoed(asked["prompt"])
            else:
                answer = claude("No.") if self.path.endswith("/messages") else chat(text_for(asked))
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


def chat(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def echoed(prompt: str) -> dict[str, Any]:
    tokens = re.findall(r"\s*\S+|\s+", prompt)
    logprobs = {"tokens": [*tokens, "."], "token_logprobs": [None, *[-1.0] * len(tokens)]}
    choice = {"index": 0, "text": f"{prompt}.", "logprobs": logprobs, "finish_reason": "length"}
    return {"object": "text_completion", "choices": [choice], "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1}}


def claude(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 7, "output_tokens": 2}
    content = [{"type": "text", "text": text}]
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
