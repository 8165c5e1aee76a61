"""Every example in a docstring is right; in a process of its own, as some register things."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.warm import warm_python

ROOT = Path(__file__).parents[1]
CODE = """
import doctest, importlib, sys
sys.exit(sum(doctest.testmod(importlib.import_module(name)).failed for name in sys.argv[1:]))
"""


def test_every_example_does_what_it_says() -> None:
    files = [file for file in sorted((ROOT / "talm_sim").rglob("*.py")) if ">>> " in file.read_text(encoding="utf-8")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]
    assert len(names) > 40
    done = subprocess.run([warm_python(), "-c", CODE, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
