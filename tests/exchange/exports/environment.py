"""The environment with the tools that read exported runs (scripts/exports.sh)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PYTHON = Path(os.environ.get("TALM_SIM_EXPORTS_PYTHON", ROOT / ".venv-exports" / "bin" / "python"))
needs_readers = pytest.mark.skipif(not PYTHON.exists(), reason="needs Inspect and OpenTelemetry: sh scripts/exports.sh")


def read_with(script: str, file: Path) -> Any:
    """Read a file with a script of this folder, in that environment; return what it prints."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "INSPECT_"))}
    command = [str(PYTHON), str(Path(__file__).with_name(script)), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)
