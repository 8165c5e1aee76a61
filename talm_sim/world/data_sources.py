"""Where the data behind the built-in tools are from, and their licences: `data/<category>/SOURCES.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

DATA = files("talm_sim.world") / "data"
"""One folder a category: its `SOURCES.toml`, and the files that were taken from a source."""


class DataFile(BaseModel):
    """A file beside `SOURCES.toml`, which holds part of a source's data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str


class DataSource(BaseModel):
    """A package or data set that tools of a category answer from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    category: str
    name: str
    """Of the package, as it is installed, or of the data set."""
    version: str = ""
    licence: str
    """Of the package or of the extract, as an SPDX expression where there is one."""
    data: str
    """Where the data are from, with a licence of their own where they have one; `computed` where there are none."""
    url: str = ""
    files: tuple[DataFile, ...] = ()
    """The extract that comes with talm-sim; empty where the package is installed beside it."""
    script: str = ""
    """What made the extract, in the repository."""
    licence_file: str = ""
    """Text of the licence, beside the extract."""


def list_sources() -> list[DataSource]:
    """Return all sources, by category and in the order of their files."""
    found: list[DataSource] = []
    for folder in sorted((one for one in DATA.iterdir() if one.is_dir()), key=lambda one: one.name):
        file = folder / "SOURCES.toml"
        if file.is_file():
            tables = tomllib.loads(file.read_text(encoding="utf-8"))["source"]
            found += [DataSource(category=folder.name, **table) for table in tables]
    return found
