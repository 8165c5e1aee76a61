"""The data files of the service, one folder a category; `SOURCES.toml` beside them says where each is from."""

import csv
import gzip
import io
import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_data(category: str, name: str) -> Any:
    """Read a file of `service/data/<category>/`, once.

    Args:
        category: The folder.
        name: The file: `.json` gives what it holds, `.csv` a list of rows by column, `.txt` its lines; each may end in `.gz` as well.
    """
    data = (files("talm_sim.world") / "data" / category / name).read_bytes()
    plain = name.removesuffix(".gz")
    text = (gzip.decompress(data) if plain != name else data).decode()
    if plain.endswith(".json"):
        return json.loads(text)
    if plain.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    return text.splitlines()
