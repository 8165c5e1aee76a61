"""A hostile run, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.store.stored_run import StoredRun
from tests.exchange.exports.hostile_run import make_run


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder: Path = tmp_path_factory.mktemp("hostile")
    return make_run(folder)
