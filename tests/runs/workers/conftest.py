"""Workers start in a tenth of the time: from a Python that holds their modules."""

from __future__ import annotations

import sys

import pytest

from tests.warm import warm_python


@pytest.fixture(autouse=True)
def _workers_start_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", warm_python())
