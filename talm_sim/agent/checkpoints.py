"""Checkpoint savers for episodes that pause, with a serializer that refuses everything but our own types.

The default loader would execute a crafted checkpoint, and a run directory from elsewhere is untrusted input.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from talm_sim import types
from talm_sim.errors import PrerequisiteError

_STATE_TYPES = (
    types.Approval,
    types.AwarenessAnswer,
    types.AwarenessKind,
    types.AwarenessValue,
    types.Decision,
    types.Form,
    types.HumanEvent,
    types.ModelTurn,
    types.Origin,
    types.PerturbationLog,
    types.Termination,
    types.ToolCall,
    types.ToolEvent,
    types.UnparsableCall,
    types.Usage,
)
_COLUMNS = {
    "checkpoints": ("thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"),
    "writes": ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx", "channel", "type", "value"),
}
"""The tables of a file, as LangGraph makes them."""
_MESSAGES = (
    ("langchain_core.messages.ai", "AIMessage"),
    ("langchain_core.messages.human", "HumanMessage"),
    ("langchain_core.messages.system", "SystemMessage"),
    ("langchain_core.messages.tool", "ToolMessage"),
    ("langgraph.types", "Interrupt"),
    ("langgraph.types", "Send"),
)


def _serializer() -> JsonPlusSerializer:
    ours = [(kind.__module__, kind.__name__) for kind in _STATE_TYPES]
    return JsonPlusSerializer(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=[*ours, *_MESSAGES])


def memory_saver() -> InMemorySaver:
    """Return a saver for questions that are answered at once."""
    return InMemorySaver(serde=_serializer())


@asynccontextmanager
async def durable_saver(path: Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Return a saver that keeps paused episodes in the SQLite file `path`."""
    async with AsyncExitStack() as stack:
        with checkpoint_file(path):
            saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(path)))
            saver.serde = _serializer()
            await saver.setup()
        yield saver


def copy_checkpoints(sources: Iterable[tuple[Path, Collection[str]]], target: Path) -> None:
    """Copy paused episodes of several files, each with the threads to copy, into a new one; one that is not in a file starts again."""
    with checkpoint_file(target), closing(sqlite3.connect(target, isolation_level=None)) as conn:
        SqliteSaver(conn).setup()
        conn.execute("BEGIN")
        for path, threads in sources:
            if not path.exists():
                continue
            with checkpoint_file(path), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source:
                for table, columns in _COLUMNS.items():
                    for thread in sorted(threads):
                        found = source.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE thread_id = ?", (thread,))
                        conn.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", found)
        conn.execute("COMMIT")
        conn.execute("PRAGMA journal_mode=DELETE")  # the file alone is whole


@contextmanager
def checkpoint_file(path: Path) -> Iterator[None]:
    """Say in one line what SQLite cannot do with the file `path`."""
    try:
        yield
    except sqlite3.Error as err:
        fix = "move it away: waiting episodes start again, and people's answers are kept"
        raise PrerequisiteError(f"{path}: cannot be read ({err}); {fix}.") from None
