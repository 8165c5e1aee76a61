"""Wheel and sdist hold what they should: all that a command reads, and nothing of the workshop."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """Names in the wheel, and in the sdist below its one folder."""
    place = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(place)], cwd=ROOT, check=True, capture_output=True, timeout=110)
    (wheel,) = place.glob("*.whl")
    (source,) = place.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened, tarfile.open(source) as packed:
        return set(opened.namelist()), {name.partition("/")[2] for name in packed.getnames()}


def tracked(*folders: str) -> set[str]:
    return set(subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def test_the_wheel_holds_the_package_and_the_recordings(built: tuple[set[str], set[str]]) -> None:
    wheel = {name for name in built[0] if ".dist-info/" not in name}
    assert tracked("talm_sim") <= wheel
    assert {f"talm_sim/{name}" for name in tracked("cassettes")} <= wheel
    assert {name.split("/")[0] for name in wheel} == {"talm_sim"}
    assert not {name for name in wheel if name.endswith((".pyc", ".db", ".jsonl.tmp"))}


def test_the_sdist_holds_what_builds_the_wheel_and_what_is_read(built: tuple[set[str], set[str]]) -> None:
    assert tracked("talm_sim", "cassettes", "docs", "examples") <= built[1]
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "pyproject.toml"} <= built[1]
    assert not {name for name in built[1] if name.startswith(("tests/", "runs/", ".venv", ".ci"))}
