"""Read members of package archives whose digests are known: what the scripts beside this file share."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "talm_sim" / "world" / "data"


class Archive:
    """A wheel or an npm package in the folder of downloads, refused when its digest differs."""

    def __init__(self, folder: Path, name: str, sha256: str) -> None:
        self.path = folder / name
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        if digest != sha256:
            sys.exit(f"{self.path}: SHA-256 is {digest}, expected {sha256}")

    def read(self, member: str) -> bytes:
        """Return a member by the end of its path."""
        if self.path.suffix == ".whl":
            with zipfile.ZipFile(self.path) as wheel:
                return wheel.read(next(name for name in wheel.namelist() if name.endswith(member)))
        with tarfile.open(self.path) as package:
            name = next(name for name in package.getnames() if name.endswith(member))
            file = package.extractfile(name)
            assert file is not None
            return file.read()

    def text(self, member: str) -> str:
        """Return a member as text; a member in gzip is unpacked."""
        data = self.read(member)
        return (gzip.decompress(data) if member.endswith(".gz") else data).decode()

    def rows(self, member: str) -> list[dict[str, str]]:
        """Return a CSV member as rows by column."""
        return list(csv.DictReader(io.StringIO(self.text(member))))

    def ask_node(self, script: str) -> str:
        """Return what a Node.js module prints that is run beside the unpacked package."""
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(self.path) as package:
                package.extractall(folder, filter="data")
            file = Path(folder) / "ask.mjs"
            file.write_text(script, encoding="utf-8")
            return subprocess.run(["node", str(file)], check=True, capture_output=True, text=True).stdout


def write_bytes(category: str, name: str, data: bytes) -> None:
    """Write a data file, and print its digest for `SOURCES.toml`."""
    path = DATA / category / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    path.write_bytes(data)
    print(f'{len(data):>8} {{ name = "{name}", sha256 = "{hashlib.sha256(data).hexdigest()}" }}')


def write_csv(category: str, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV with a head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_bytes(category, name, text.getvalue().encode())
