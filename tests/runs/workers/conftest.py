"""Workers start in a tenth of the time: from a Python that holds their modules. What users bring is known in its test alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from talm_sim.judges.registry import JUDGES
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.sources.registry import TOOL_SOURCES
from tests.warm import warm_python

NAME = "tests.runs.workers.brought"
"""The module of what users bring; whoever imports it registers it."""


@pytest.fixture(autouse=True)
def _workers_start_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", warm_python())


@pytest.fixture(autouse=True)
def _nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for registry in (JUDGES, PERTURBATIONS, TOOL_SOURCES):
        for store in ("_registered", "_modules", "_packages"):
            monkeypatch.setattr(registry, store, dict(getattr(registry, store)))
    yield
    sys.modules.pop(NAME, None)
