"""Read a log as Inspect does, and print what it says; run by the Python of an environment that has inspect_ai.

python read_inspect.py LOG  prints one JSON document: the full log, the header alone, the summaries, and each sample read by its id.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any


def dump(value: Any) -> Any:
    return shorten(json.loads(value.model_dump_json()))


def shorten(value: Any) -> Any:
    """Put the digest of a very long text in its place."""
    if isinstance(value, str):
        return value if len(value) < 10_000 else f"{len(value)}:{hashlib.sha256(value.encode()).hexdigest()}"
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return [shorten(item) for item in value] if isinstance(value, list) else value


def read(log: str) -> dict[str, Any]:
    reader = import_module("inspect_ai.log")
    full, header = reader.read_eval_log(log), reader.read_eval_log(log, header_only=True)
    summaries = reader.read_eval_log_sample_summaries(log)
    alone = [reader.read_eval_log_sample(log, one.id, one.epoch) for one in summaries]
    return {
        "version": version("inspect_ai"),
        "full": dump(full),
        "header": dump(header),
        "summaries": [dump(one) for one in summaries],
        "alone": [dump(one) for one in alone],
    }


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1])))
