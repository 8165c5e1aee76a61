"""Read a log as Inspect does, and print what it says; run by the Python of an environment that has inspect_ai.

python read_inspect.py LOG  prints one JSON document: the full log, the header alone, the summaries, and each sample read by its id.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any


def dump(value: Any) -> Any:
    return json.loads(value.model_dump_json())


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
