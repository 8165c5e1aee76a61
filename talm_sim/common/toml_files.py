"""Read the package's and the user's TOML files; every fault of the user's is reported in one line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.errors import PrerequisiteError, did_you_mean

_LONG_KEY = re.compile(r"""(?:^|[\[{,])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""", re.MULTILINE)
"""A key with very many parts: the time Python takes for it grows with their square."""


def packaged_toml(package: str, name: str = "prompts.toml") -> dict[str, Any]:
    """Read a file that is part of a package."""
    return tomllib.loads((resources.files(package) / name).read_text(encoding="utf-8"))


def read_toml(file: Path, option: str) -> dict[str, Any]:
    """Read a user's file."""
    try:
        text = read_text(file, LARGEST_SETTINGS)
        if _LONG_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except OSError as err:
        raise PrerequisiteError(f"{file}: cannot be read: {err.strerror}; {option} needs a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        fix = "; write texts in quotes" if str(err).startswith("Invalid value") else ""
        raise PrerequisiteError(f"{file}: not valid TOML: {err}{fix}.") from None
    except RecursionError:
        raise PrerequisiteError(f"{file}: not valid TOML: nested too deeply.") from None


def texts_of(document: Mapping[str, Any], table: str, known: Collection[str], where: str, *, filled: bool = True) -> dict[str, str]:
    """Return the texts of one table, without surrounding white space."""
    if not isinstance(values := document.get(table, {}), dict):
        raise PrerequisiteError(f"{where}: '{table}' must be a table of texts.")
    for key, text in values.items():
        if key not in known:
            raise PrerequisiteError(f"{where}: unknown key '{table}.{key}'.{did_you_mean(key, known)}")
        if not isinstance(text, str) or (filled and not text.strip()):
            raise PrerequisiteError(f"{where}: '{table}.{key}' must be a text.")
    return {key: text.strip() for key, text in values.items()}
