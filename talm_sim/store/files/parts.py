"""Keep what a shard knows of the whole run, and what a merged run knows of the shards it was made from."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from pydantic import Field

from talm_sim.errors import PrerequisiteError
from talm_sim.store.files.database import TooLargeError
from talm_sim.store.files.sealing import insert_row
from talm_sim.types import FrozenModel

SHARD: Final = "shard"
"""Key of the small fact about a run that it is a shard."""
LEDGER: Final = "ledger"
"""Key of the small fact about a merged run that lists its shards."""


class ShardFacts(FrozenModel):
    """The facts about the whole run that a shard belongs to."""

    part: str
    """Which part of how many it is, for example `2/16`."""
    scenarios: int = Field(ge=1)
    """How many scenarios the whole has."""
    dataset: str
    """Digest of these scenarios, in order."""
    gold: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)
    """Each tool's arguments in the gold calls of the whole, where faults may be drawn from them."""


class MergedShard(FrozenModel):
    """One shard of a merged run, as it was when it was merged."""

    name: str
    part: str
    status: str
    """`finished`, or `waiting` if some of its episodes waited for a person."""
    created: str
    """As in its `run.json`."""
    rows: int
    """How many episodes were finished."""
    ids: str
    """Digest of the ids of all its episodes, sorted."""
    size: int
    """Bytes of its `run.db`."""
    seal: str
    """Digest of its seal."""


def keep_shard(conn: sqlite3.Connection, shard: ShardFacts) -> None:
    """Keep what a shard says of the whole, within a transaction."""
    try:
        insert_row(conn, "meta", SHARD, shard.model_dump_json())
    except TooLargeError as err:
        raise PrerequisiteError(f"--shard {shard.part}: what it keeps of {shard.scenarios:,} scenarios for faults {err}; use fewer.") from None
