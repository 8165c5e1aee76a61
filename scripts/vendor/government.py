"""Extract codes of places: `python -m scripts.vendor.government FOLDER`, with the archives of us (PyPI) and iso-3166-2 (npm)."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

STATES = ("us-4.0.0-py3-none-any.whl", "3e7dd072efc65ecc6f765ced861f49fe7635067e760bbe2a527f16e5477011c0")
SUBDIVISIONS = ("iso-3166-2-1.0.0.tgz", "ef05e196926c559e366abb88fd20eb3f8e36dd6d4f9fc373eef5510b28626d0f")
COUNTRIES = ["AR", "AT", "AU", "BE", "BO", "BR", "CA", "CH", "CO", "CR", "DE", "ES", "JP", "NL", "PT", "SE", "TR", "UY"]
"""Countries whose codes have not changed since the package was published."""


def main(folder: Path) -> None:
    """Write the files of `service/data/government`."""
    states = Archive(folder, *STATES)
    sys.path.insert(0, str(states.path))
    module = importlib.import_module("us.states")
    columns = ("name", "abbreviation", "ap_abbreviation", "fips", "capital", "statehood_year")
    rows = [(one.name, one.abbr, one.ap_abbr, one.fips, one.capital, one.statehood_year) for one in module.STATES]
    write_csv("government", "states.csv", columns, rows)
    counties = [(county.fips, county.name, state.name, int(county.ns_code)) for state in module.STATES for county in state.counties]
    write_csv("government", "counties.csv.gz", ("fips", "name", "state", "gnis"), sorted(counties))
    write_bytes("government", "LICENSE.us", states.read("licenses/LICENSE"))
    codes = Archive(folder, *SUBDIVISIONS)
    places = sorted(_subdivisions(codes))
    shared = {key for key, times in Counter((place[1], place[3]) for place in places).items() if times > 1}
    kept = [place for place in places if (place[1], place[3]) not in shared or place[2] != "province"]
    write_csv("government", "subdivisions.csv.gz", ("code", "name", "type", "country"), kept)
    write_bytes("government", "LICENSE.iso-3166-2", codes.read("package/LICENSE"))


def _subdivisions(archive: Archive) -> Iterator[tuple[str, str, str, str]]:
    said = archive.ask_node(
        "import { createRequire } from 'node:module';\n"
        "const iso = createRequire(import.meta.url)('./package/iso3166.min.js');\n"
        f"console.log(JSON.stringify({json.dumps(COUNTRIES)}.map((code) => iso.country(code))));\n"
    )
    for country in json.loads(said):
        for code, one in country["sub"].items():
            yield code, one["name"].strip(" *"), one["type"].strip().lower(), country["name"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
