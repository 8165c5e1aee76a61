"""Scenarios from the hub, with a server on this machine in its place."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from tests.tasks.when2call.choices import row

pytestmark = pytest.mark.local

_CHILD = """
import sys
from pathlib import Path
from typing import ClassVar
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks import find_task
for name in sys.argv[1:]:
    try:
        task, _, place = name.rpartition("=")
        task = find_task(task or "when2call")
        print(*(one.id for one in task.read(task.splits["all"], Path(place))))
    except PrerequisiteError as err:
        print(err)
"""


class _Hub(BaseHTTPRequestHandler):
    """Serves one data set as the hub does."""

    protocol_version = "HTTP/1.0"  # no kept connections: closing the server is a dead network
    files: ClassVar = {
        "/datasets/nvidia/When2Call/resolve/main/test/when2call_test_mcq.jsonl": [row("a"), row("b", "cannot_answer")],
        "/datasets/nvidia/When2Call/resolve/main/test/judge.jsonl": [row("c")],
    }

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        if self.path.partition("?")[0] == "/api/datasets/nvidia/When2Call/tree/main":
            prefix = "/datasets/nvidia/When2Call/resolve/main/"
            found = [{"type": "file", "path": one.removeprefix(prefix), "oid": "0" * 40, "size": 1} for one in self.files]
            self._send(json.dumps([*found, {"type": "file", "path": "README.md", "oid": "0" * 40, "size": 1}]).encode())
            return
        rows = self.files.get(self.path)
        body = "".join(json.dumps(one) + "\n" for one in rows or []).encode()
        self.send_response(404 if rows is None else 200)
        if rows is None:
            self.send_header("X-Error-Code", "EntryNotFound" if "nvidia/When2Call" in self.path else "RepoNotFound")
        else:
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    if find_spec("huggingface_hub") is None:
        pytest.skip("needs huggingface_hub: pip install huggingface_hub")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _load(hub: ThreadingHTTPServer, home: Path, *names: str) -> list[str]:
    """What a process with this hub prints of each name: a line."""
    left_in = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environ = left_in | {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", _CHILD, *names], capture_output=True, text=True, env=environ, timeout=60, check=True)
    return done.stdout.splitlines()


def test_a_file_on_the_hub_is_read_and_kept_in_its_cache(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    whole, one = "hub:nvidia/When2Call", "hub:nvidia/When2Call:test/judge.jsonl"
    assert _load(hub, tmp_path, whole, one) == ["a b", "c"]
    hub.shutdown()
    hub.server_close()
    kept, said = _load(hub, tmp_path, whole, "hub:nvidia/When2Call:test/new.jsonl")
    assert kept == "a b"
    assert said.startswith("hub:nvidia/When2Call:test/new.jsonl: cannot be downloaded (")
    assert said.endswith("and it is not in the hub's cache; try again with the network, or give a local file.")


def test_what_the_hub_does_not_have_is_named(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    expected = {
        "hub:nvidia/When2Call:test/none.jsonl": "the dataset has no file test/none.jsonl; write hub:nvidia/When2Call:FILE.",
        "hub:nvidia/Other": "there is no such dataset, or it is private; check the name, or set HF_TOKEN.",
    }
    assert _load(hub, tmp_path, *expected) == [f"{name}: {said}" for name, said in expected.items()]
