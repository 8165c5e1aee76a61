"""The data behind the tools: each source is named with its licence, and each file is the one that was made from it."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from talm_sim.world.data_sources import DATA, DataSource, list_sources
from tests.in_process import direct_caller

ROOT = Path(__file__).resolve().parents[2]


def test_every_category_names_its_sources() -> None:
    assert {one.category for one in list_sources()} >= {spec.category for spec in direct_caller().specs.values()}
    for one in list_sources():
        assert one.licence and one.data, one
        if not one.files and one.name != "talm-sim":
            assert version(one.name) == one.version, one


def _kept(source: DataSource) -> dict[str, str]:
    return {f"{source.category}/{file.name}": file.sha256 for file in source.files}


def test_every_file_is_named_by_a_source_with_its_digest() -> None:
    named = {place: digest for source in list_sources() for place, digest in _kept(source).items()}
    texts = {f"{source.category}/{source.licence_file}" for source in list_sources() if source.licence_file}
    root = Path(str(DATA))
    found = {str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest() for file in root.rglob("*") if file.is_file()}
    assert texts <= found.keys()
    rest = {place: digest for place, digest in found.items() if place not in texts and not place.endswith("/SOURCES.toml")}
    assert rest == named


def test_an_extract_names_its_script_and_is_no_dependency() -> None:
    for source in list_sources():
        if source.files and source.name != "talm-sim":
            assert (ROOT / source.script).is_file(), source
            with pytest.raises(PackageNotFoundError):
                version(source.name)
