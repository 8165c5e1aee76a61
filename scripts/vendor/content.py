"""Make the data files of category `content` that come from elsewhere.

Films: bokeh-sampledata 2026.1 (the wheel). Emoji: emoji 2.16.0 (the wheel). Words of Jane Austen's novels: `data/*.rda` of janeaustenr at
commit 2b8d5936ca112bb0b3dfc9ebd97c64c345c09fcf, read by rdata 1.1.0, which only this script needs.

    python scripts/vendor/content.py FOLDER_OF_THESE_FILES
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib
import io
import json
import re
import sqlite3
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "talm_sim/world/data/content"
FILMS = ("bokeh_sampledata-2026.1-py3-none-any.whl", "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f")
EMOJI = ("emoji-2.16.0-py3-none-any.whl", "c4230d80640def9071599ff56b1b5950fe13a2a94c0da98c5deab12431b24330")
NOVELS = {
    "Sense and Sensibility": ("sensesensibility.rda", "0fef9c0d7598e30a0c09e866e3db4117b4a47d31cbc28cc8783eb4abdad03593"),
    "Pride and Prejudice": ("prideprejudice.rda", "9704d3d55b0e59f3e9f6d6032d192200f925ec7b2ba4f1dba402f179578ae3c9"),
    "Mansfield Park": ("mansfieldpark.rda", "c5903def1e79b8494097f9bc5c52d0fb173084450432c10dfd9647c0d3bd3e2d"),
    "Emma": ("emma.rda", "65594dab7e37779e5b36c8551886d35cef2149fb442793e49b9879a4287f33f2"),
    "Northanger Abbey": ("northangerabbey.rda", "d4b8163fba67575e3125f532752baf7d86bf25dbf975aa596b92d3868cab9519"),
    "Persuasion": ("persuasion.rda", "758a227662b5f94785199b5c80a3d23533b397d476ddc43289181fb556d945a0"),
}
LANGUAGES = ("de", "es", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")
FEWEST_REVIEWS = 50
"""Films with fewer reviews of critics are left out."""
LEAST_BOX_OFFICE = 1000
"""Smaller sums are slips of the database."""
WRONG = {("Cheaper by the Dozen", 1950), ("Passengers", 2008)}
"""Films whose reviews are those of another of the same title."""
CHAPTER = re.compile(r"\s*chapter\s+([ivxlc]+|\d+)\s*\.?\s*", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]")
FILM_QUERY = f"""
    SELECT Title, Year, Director, CAST(Runtime AS INTEGER), Country, Language, Meter, Reviews, Metacritic,
        CASE WHEN BoxOffice >= {LEAST_BOX_OFFICE} THEN CAST(BoxOffice AS INTEGER) END
    FROM omdb JOIN tomatoes USING (ID)
    WHERE Reviews >= {FEWEST_REVIEWS} AND Meter IS NOT NULL AND Runtime > 0 AND Director != '' AND Country != ''
    ORDER BY Title, Year, Director"""
FILM_COLUMNS = ("title", "year", "director", "runtime", "countries", "languages", "score", "reviews", "metacritic", "box_office")


def read(folder: Path, name: str, sha256: str) -> bytes:
    """Return a file whose digest is known."""
    data = (folder / name).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.exit(f"{folder / name}: its SHA-256 is not {sha256}")
    return data


def write(name: str, text: str) -> None:
    """Write a data file, and print its digest for `SOURCES.toml`."""
    data = gzip.compress(text.encode(), mtime=0)
    (TARGET / name).write_bytes(data)
    print(f'{len(data):>8} {{ name = "{name}", sha256 = "{hashlib.sha256(data).hexdigest()}" }}')


def films(wheel: zipfile.ZipFile) -> str:
    """Return the films as CSV, without those of which another one has the same title and year."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(wheel.read("bokeh_sampledata/_data/movies.db"))
        file.flush()
        rows = sqlite3.connect(file.name).execute(FILM_QUERY).fetchall()
    seen = Counter((row[0].casefold(), row[1]) for row in rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FILM_COLUMNS)
    writer.writerows(row for row in rows if seen[row[0].casefold(), row[1]] == 1 and (row[0], row[1]) not in WRONG)
    return text.getvalue()


def emoji(wheel: zipfile.ZipFile) -> str:
    """Return emoji with their version and their names by language, without the forms that differ by skin tone only."""
    english = json.loads(wheel.read("emoji/unicode_codes/emoji.json"))
    others = {code: json.loads(wheel.read(f"emoji/unicode_codes/emoji_{code}.json")) for code in LANGUAGES}
    rows = []
    for char, about in english.items():
        if about["status"] == 2 and not SKIN_TONES.search(char):
            names = {code: _plain_name(names.get(char, "")) for code, names in others.items()}
            rows.append({"emoji": char, "version": about["E"], "names": {"en": _plain_name(about["en"]), **names}})
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def _plain_name(name: str) -> str:
    return name.strip(":").replace("_", " ")


def chapters(lines: list[str]) -> Iterator[list[str]]:
    """Yield the words of each chapter, in small letters; chapters of all volumes are counted through."""
    words: list[str] | None = None
    for line in lines:
        if CHAPTER.fullmatch(line):
            if words is not None:
                yield words
            words = []
        elif words is not None and not re.fullmatch(r"\s*(volume|the end|finis)\b.{0,6}", line, re.IGNORECASE):
            words += [word.casefold().replace("’", "'") for word in WORD.findall(line.replace("_", " "))]
    yield words or []


def novels(folder: Path) -> str:
    """Return the words of each chapter and how often each word occurs, by novel."""
    rdata: Any = importlib.import_module("rdata")
    found = {}
    for title, (name, sha256) in NOVELS.items():
        (lines,) = rdata.conversion.convert(rdata.parser.parse_data(read(folder, name, sha256))).values()
        parts = list(chapters([str(line) for line in lines]))
        counts = Counter(word for part in parts for word in part)
        found[title] = {"chapters": [len(part) for part in parts], "words": dict(sorted(counts.items()))}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1])
    write("films.csv.gz", films(zipfile.ZipFile(io.BytesIO(read(folder, *FILMS)))))
    write("emoji.json.gz", emoji(zipfile.ZipFile(io.BytesIO(read(folder, *EMOJI)))))
    write("austen.json.gz", novels(folder))


if __name__ == "__main__":
    main()
