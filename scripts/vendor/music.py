"""Extract the works of four composers: `python -m scripts.vendor.music REPOSITORY`, a clone of werkverzeichnis (CC BY 4.0)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.vendor.archive_reader import write_bytes

COMMIT = "6c7fc9411c16180f98ddab4bb831e21c025a0032"
COMPOSERS = {"bach": "Bach", "beethoven": "Beethoven", "haydn": "Haydn", "mozart": "Mozart", "schubert": "Schubert"}
SCHEMES = {"bwv": "BWV", "k": "K.", "hob": "Hob.", "op": "Op.", "d": "D."}


def main(repository: Path) -> None:
    """Write the works into `service/data/music/works.json.gz`."""
    names = _git(repository, "ls-tree", "-r", "--name-only", COMMIT, "compositions").split()
    works = [work for name in names for work in _works(json.loads(_git(repository, "show", f"{COMMIT}:{name}")))]
    works.sort(key=lambda work: (work["composer"], work["numbers"]))
    lines = ",\n".join(json.dumps(work, ensure_ascii=False) for work in works)
    write_bytes("music", "works.json.gz", f"[\n{lines}\n]\n".encode())
    write_bytes("music", "LICENSE.werkverzeichnis", _git(repository, "show", f"{COMMIT}:LICENSE.md").encode())


def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True).stdout


def _works(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entry, if it is of one of the composers beyond doubt and its movements are listed."""
    (attribution, *others) = entry["attribution"]
    numbers = [one for one in attribution["catalog"] if one["scheme"] in SCHEMES]
    if others or "status" in attribution or attribution["composer"] not in COMPOSERS or not numbers or not entry.get("movements"):
        return []
    newest = {scheme: max((one for one in numbers if one["scheme"] == scheme), key=_edition) for scheme in {one["scheme"] for one in numbers}}
    title = entry.get("title", "")
    return [
        {
            "composer": COMPOSERS[attribution["composer"]],
            "numbers": sorted(_number(one) for one in newest.values()),
            "title": title if isinstance(title, str) else title.get("en") or next(iter(title.values())),
            "form": entry["form"],
            "key": entry.get("key", ""),
            "dates": attribution.get("dates", {}),
            "scoring": entry.get("instrumentation", ""),
            "movements": [[movement.get("title", ""), movement.get("key", "")] for movement in entry["movements"]],
        }
    ]


def _edition(one: dict[str, Any]) -> int:
    return int(one.get("since", 0))


def _number(one: dict[str, Any]) -> str:
    number = one["number"]
    if one["scheme"] == "hob":
        group, _, rest = number.partition(":")
        number = f"{group.upper()}:{rest}"
    return f"{SCHEMES[one['scheme']]} {number.replace('/', ' No. ')}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
