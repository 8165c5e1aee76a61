"""Every example in a docstring is right."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_example_does_what_it_says() -> None:
    files = [file for file in sorted((ROOT / "talm_sim").rglob("*.py")) if ">>> " in file.read_text(encoding="utf-8")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]
    assert len(names) > 40
    assert not [name for name in names if doctest.testmod(importlib.import_module(name)).failed]
