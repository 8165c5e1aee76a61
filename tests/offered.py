"""Things a user brings along, as tests make them: a module named with `--plugin`, or a package with an entry point."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from talm_sim.foreign import plugins
from talm_sim.foreign.plugins import Registry, load_plugins


@contextmanager
def bring_along(
    monkeypatch: pytest.MonkeyPatch, directory: Path, registry: Registry[Any], text: str, *, entry: str = ""
) -> Iterator[Callable[[], None]]:
    """Write the module `brought_along` with `text`; as the package `toy` with the entry point `entry` (`name = attribute`) where that is given.

    Yields:
        A function that imports the module as `--plugin` does. Afterwards nothing of it is left.
    """
    (directory / "brought_along.py").write_text(text, encoding="utf-8")
    if entry:
        info = directory / "toy-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        name, _, attribute = entry.partition(" = ")
        (info / "entry_points.txt").write_text(f"[{registry.group}]\n{name} = brought_along:{attribute}\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(directory))
        for store in ("_registered", "_modules", "_packages"):
            patch.setattr(registry, store, dict(getattr(registry, store)))
        plugins._entry_points.cache_clear()
        yield lambda: load_plugins(["brought_along"])
    sys.modules.pop("brought_along", None)
    plugins._entry_points.cache_clear()
