"""Make the data of category art: `python scripts/vendor/art.py MET_BREWER_SDIST TATE_CLONE`.

The first is `met-brewer-1.0.2.tar.gz` from PyPI, the second a clone of https://github.com/tategallery/collection.
"""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[2] / "talm_sim" / "world" / "data" / "art"
MET_BREWER = "d6c9c37a1ae2cd6dfee751e5556732b6bd338c3fb80bfc2a4b66a3148f64c5ac"
TATE = "a51d8afc988ed083557e2950f4d0b644e7719f4a"
LAST_DEATH = 1955
"""Only paintings by artists who died in this year or before are taken."""
LEFT_OUT = frozenset(
    {"Archambault", "Austria", "Benedictus", "Egypt", "Greek", "Hokusai1", "Isfahan1", "Isfahan2", "Java", "Johnson", "Lakota", "Navajo"}
    | {"NewKingdom", "Nizami", "Paquin", "Peru1", "Peru2", "Robert", "Stevens", "Tam", "Tara", "Thomas", "Tsimshian"}
)
"""Palettes of objects without a known painter, of works of living artists, and one whose year is the artist's lifetime."""
SIZE = re.compile(r"support: (\d+) x (\d+) mm\b")
"""Height and width: the fields of these names are swapped in the source."""
SKIPPED = re.compile(r"\[title|negro|slave|nude|naked|rape|savage|gips|gyps|jew|harem|suicide|murder|massacre|whore|harlot", re.IGNORECASE)
"""Titles that are left out: unknown ones, and words that may offend."""


def check(file: Path, digest: str) -> None:
    """Stop unless the file is the one these data were made from."""
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != digest:
        sys.exit(f"{file}: sha256 is {found}, not {digest}")


def palettes(sdist: Path) -> Iterator[dict[str, str]]:
    """Yield the palettes of works by known painters, with the work as the README names it."""
    with tarfile.open(sdist) as archive:
        code, readme = (
            archive.extractfile(f"met-brewer-1.0.2/{name}").read().decode()  # type: ignore[union-attr]
            for name in ("met_brewer/palettes.py", "README.md")
        )
    table = next(node for node in ast.parse(code).body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MET_PALETTES")
    assert isinstance(table.value, ast.Call)
    for entry in table.value.keywords:
        name = entry.arg or ""
        described = re.search(rf"^### {name}\s*\n!.*\n- (.*), \[Link\]", readme, re.MULTILINE)
        if name in LEFT_OUT or described is None:
            continue
        work, year, artist, _nationality = described[1].rsplit(", ", 3)
        assert isinstance(entry.value, ast.Call)
        colors = next(ast.literal_eval(word.value) for word in entry.value.keywords if word.arg == "colors")
        yield {"palette": name, "artist": artist, "work": work, "year": year, "colors": " ".join(colors)}


def git(clone: Path, *words: str, given: bytes | None = None) -> bytes:
    """Run git in the clone."""
    return subprocess.run(["git", "-C", str(clone), *words], input=given, stdout=subprocess.PIPE, check=True).stdout


def artworks(clone: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of all works, in the order of their paths."""
    lines = git(clone, "ls-tree", "-r", TATE, "artworks").decode().splitlines()
    names = [line.split()[2] for line in lines if line.endswith(".json")]
    data = git(clone, "cat-file", "--batch", given="\n".join(names).encode())
    at = 0
    for _ in names:
        head, at = data[at : data.index(b"\n", at)].split(), data.index(b"\n", at) + 1
        size = int(head[2])
        yield json.loads(data[at : at + size])
        at += size + 1


def paintings(clone: Path) -> Iterator[dict[str, Any]]:
    """Yield the paintings by one artist who died long ago, with the size of their support."""
    people = csv.DictReader(io.StringIO(git(clone, "show", f"{TATE}:artist_data.csv").decode("utf-8-sig")))
    died = {row["id"]: int(row["yearOfDeath"]) for row in people if row["yearOfDeath"] and row["yearOfBirth"]}
    for work in artworks(clone):
        size = SIZE.match(work.get("dimensions") or "")
        if work.get("classification") != "painting" or work["contributorCount"] != 1 or size is None or SKIPPED.search(work["title"]):
            continue
        (artist,) = work["contributors"]
        known = artist["role"] == "artist" and not artist["fc"].startswith(("British", "Unknown"))
        if not known or died.get(str(artist["id"]), 9999) > LAST_DEATH or not work["dateText"] or not work["acquisitionYear"]:
            continue
        yield {
            "number": work["acno"],
            "title": " ".join(work["title"].split()),
            "artist": artist["fc"].removesuffix(", Bt"),
            "date": work["dateText"],
            "medium": work["medium"],
            "height_mm": size[1],
            "width_mm": size[2],
            "acquired": work["acquisitionYear"],
        }


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Write a CSV file, compressed if its name says so, and print its digest."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    (OUT / name).write_bytes(data)
    print(f"{name}: {len(rows)} rows, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def main() -> None:
    """Write both files."""
    sdist, clone = map(Path, sys.argv[1:3])
    check(sdist, MET_BREWER)
    write("palettes.csv", list(palettes(sdist)))
    write("paintings.csv.gz", list(paintings(clone)))


if __name__ == "__main__":
    main()
