"""Make the data file of category `transportation` from the published archive of bokeh-sampledata 2026.1, which is read as a file.

python scripts/vendor/transportation.py FOLDER_OF_THE_WHEEL
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import sys
import zipfile
from pathlib import Path

TARGET = Path(__file__).parents[2] / "talm_sim/world/data/transportation/us_routes.csv.gz"
ARCHIVE = "bokeh_sampledata-2026.1-py3-none-any.whl"
SHA256 = "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f"


def main() -> None:
    """Write the routes: one line for each pair of airports, with the carriers that were observed."""
    path = Path(sys.argv[1]) / ARCHIVE
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{path}: its SHA-256 is not the expected one: get the version that this script names")
    with zipfile.ZipFile(path) as unpacked:
        text = gzip.decompress(unpacked.read("bokeh_sampledata/_data/routes.csv.gz")).decode()
    carriers: dict[tuple[str, str], set[str]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        carriers.setdefault((row["Source"], row["Destination"]), set()).add(row["Airline"])
    lines = [f"{origin},{destination},{' '.join(sorted(names))}\n" for (origin, destination), names in sorted(carriers.items())]
    data = gzip.compress("".join(["origin,destination,carriers\n", *lines]).encode(), 9, mtime=0)
    TARGET.write_bytes(data)
    print(f"{TARGET.name}  {len(data)} bytes  sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
