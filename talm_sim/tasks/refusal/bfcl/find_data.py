"""Find BFCL's data, and which version of them it is."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import numbered_lines
from talm_sim.tasks.refusal.bfcl.subsets import V3_NAMES, Subset, Version

_VERSION = re.compile(r"BFCL_v(\d+)_.+\.json")
_HOW = "pip install --no-deps bfcl-eval, or give the folder that has them with --bfcl"


def find_installed_data() -> Path:
    """Find the data of the installed `bfcl-eval` package, which is not imported."""
    spec = find_spec("bfcl_eval")
    for place in spec.submodule_search_locations or () if spec else ():
        if (folder := Path(place) / "data").is_dir():
            return folder
    raise PrerequisiteError(f"BFCL's data was not found: {_HOW}.")


def find_package(path: Path | None) -> Path:
    """Find the folder of the package itself, which has the simulated APIs of the multi-turn rows and the check of their answers."""
    from talm_sim.tools_env.sources.bfcl.apis import package_folder  # not at the top: a table needs no tools

    return package_folder(find_installed_data() if path is None else bfcl_folder(path))


def bfcl_folder(path: Path) -> Path:
    """Find the folder of BFCL's files in what the user named: that folder, the package's, or the one that the package was installed into."""
    if not path.exists():
        raise PrerequisiteError(f"{path}: does not exist; give the folder of BFCL's files, or a translation's JSONL file.")
    if path.is_file():
        raise PrerequisiteError(f"{path}: is one of BFCL's own files; give the folder of them all with --bfcl, and choose with --subset.")
    inner = path / "data" if path.name == "bfcl_eval" else path / "bfcl_eval" / "data"
    return inner if inner.is_dir() else path


def is_own(path: Path) -> bool:
    """Return whether a file has a name of BFCL's own."""
    return _VERSION.fullmatch(path.name) is not None


def data_version(folder: Path) -> Version:
    """Read from the names of its files (`BFCL_v4_irrelevance.json`) which version of BFCL's data a folder holds."""
    versions = {f"v{match[1]}" for file in folder.glob("BFCL_v*.json") if (match := _VERSION.fullmatch(file.name))}
    if not versions:
        raise PrerequisiteError(f"{folder}: contains no file BFCL_v3_*.json or BFCL_v4_*.json; {_HOW}.")
    if len(versions) > 1:
        raise PrerequisiteError(f"{folder}: contains BFCL's files of {' and '.join(sorted(versions))}; keep one version per folder.")
    if versions == {"v3"}:
        return "v3"
    if versions == {"v4"}:
        return "v4"
    raise PrerequisiteError(f"{folder}: contains BFCL's files of {versions.pop()}, and only v3 and v4 are read; {_HOW}.")


def subset_file(folder: Path, subset: Subset, version: Version) -> Path:
    """Return the file of a subset's questions; if its rows need ground truths, check that theirs is there too."""
    name = V3_NAMES.get(subset.name, subset.name) if version == "v3" else subset.name
    file = folder / f"BFCL_{version}_{name}.json"
    for one in (file, answers_of(file)) if subset.expected in ("calls", "turns") else (file,):
        if not one.is_file():
            raise PrerequisiteError(f"{one}: is missing; add this file of BFCL's, or leave {subset.name} out of --subset.")
        if not any(numbered_lines(one)):
            raise PrerequisiteError(f"{one}: is empty; put BFCL's own file in its place, or leave {subset.name} out of --subset.")
    return file


def answers_of(file: Path) -> Path:
    """Return the file of a subset's ground truths."""
    return file.parent / "possible_answer" / file.name
