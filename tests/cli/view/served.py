"""`talm-sim view` in a process of its own, and a plain HTTP client for it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Viewer:
    """A running `talm-sim view`."""

    link: str
    key: str = ""
    """What the page sends with each request."""
    said: list[str] = field(default_factory=list)
    """What it printed on standard error, once it has ended."""

    @property
    def host(self) -> str:
        return urlsplit(self.link).netloc

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str | None) -> Answer:
        """Send a request with the key; `None` leaves a header out, and `_` in a name is a hyphen."""
        sent: dict[str, str | None] = {"Host": self.host, "Talm-Sim-Key": self.key or None}
        sent |= {"Origin": self.origin} if method == "POST" else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host=True)
            data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            for name, value in (sent | {"Content-Length": str(len(data))}).items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(data)
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read().decode())
        finally:
            connection.close()

    def visit(self, link: str = "") -> Answer:
        """Open a link, and keep the key that its page has."""
        parts = urlsplit(link or self.link)
        answer = self.ask(f"{parts.path}?{parts.query}", Talm_Sim_Key=None)
        self.key = answer.text.partition('"key": "')[2].partition('"')[0]
        return answer

    def state(self) -> Any:
        return self.ask("/state.json").json

    def transcript(self, episode: str, run: int = 0) -> Answer:
        return self.ask(f"/transcript.json?run={run}&episode={quote(episode, safe='')}")

    def write(self, episode: str, text: str, name: str = "", run: int = 0) -> Answer:
        return self.ask("/comments", "POST", {"run": run, "episode": episode, "text": text, "name": name})


@contextmanager
def viewing(*arguments: str, cwd: Path) -> Iterator[Viewer]:
    """Start the command; at the end it is interrupted, and must end cleanly."""
    command = [sys.executable, "-m", "talm_sim", "view", "--no-browser", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(command, cwd=cwd, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stderr is not None
    with child:
        try:
            viewer = Viewer(child.stdout.readline().strip())
            assert viewer.link, child.stderr.read()
            yield viewer
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=PATIENCE_S)
            viewer.said += errors.splitlines()
            assert child.returncode == 0, errors
            assert viewer.said[-1] == "stopped", errors
        finally:
            child.kill()
