"""The plugin as pytest loads it: the example's tests pass offline, a failure prints the transcript, and what is live is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"
ROOT = Path(__file__).parents[2]
BUGGY = """
def act(messages, tools):
    return "Ramadan 1414"

def test_it_asks(talm):
    talm.run(act, scenario="calendar-01.underspecified").asked_before_acting()

def test_it_has_a_recording(talm):
    from react_agent import build
    talm.run(build, scenario="calendar-01.underspecified", model="openai/gpt-4o")
"""


def pytest_in(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as a user does whose environment holds the package; the entry point is named, should it not be installed."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{directory}", "PYTEST_ADDOPTS": "", "OPENAI_API_KEY": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:talm_sim", "-p", "talm_sim.testing.plugin", "-q", *words]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_the_examples_tests_pass(tmp_path: Path) -> None:
    for name in ("plain_function.py", "test_plain_function.py", "react_agent.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_buggy.py").write_text(BUGGY, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = pytest_in(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 6 passed" in done.stdout
    assert "AssertionError: calendar-01.underspecified: the agent asked nobody" in done.stdout and "Ramadan 1414" in done.stdout
    assert "talm-sim: model 'openai/gpt-4o': nothing of it is recorded" in done.stdout
    assert "agent plain_function:act brings its own model, which is live: only its tools are replayed" in done.stdout
