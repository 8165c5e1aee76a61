"""Public names that are imported from their homes when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(space: dict[str, Any], homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module that hands names on.

    Args:
        space: The module's `globals()`; a name that was imported is kept there.
        homes: Module to the names that come from it, with spaces between them; `public=home` renames one.
    """
    found: dict[str, tuple[str, str]] = {}
    for module, names in homes.items():
        for name in names.split():
            public, _, own = name.partition("=")
            found[public] = (module, own or public)

    def get(name: str) -> Any:
        """Import a public name from its home on first use."""
        if name not in found:
            raise AttributeError(f"module '{space['__name__']}' has no attribute '{name}'")
        module, own = found[name]
        space[name] = value = getattr(importlib.import_module(module), own)
        return value

    def list_names() -> list[str]:
        """List the public names, imported or not."""
        return sorted({*space, *found})

    return get, list_names
