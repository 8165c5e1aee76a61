"""Extract Seattle's and San Francisco's weather: `python -m scripts.vendor.weather FOLDER`, which holds the wheel of vega-datasets 0.9.0.

The package is under the MIT licence; the data are NOAA's, in the public domain.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

from scripts.vendor.packed import DATA, read_member, write_rows, write_text

WHEEL = ("vega_datasets-0.9.0-py3-none-any.whl", "3d7c63917be6ca9b154b565f4779a31fedce57b01b5b9d99d8a34a7608062a1d")
NORMALS = {"Seattle": "seattle-temps.csv", "San Francisco": "sf-temps.csv"}


def main(folder: Path) -> None:
    """Write the tables into `service/data/weather/`."""
    target = DATA / "weather"
    days = _rows(folder, "seattle-weather.csv")
    columns = ("date", "precipitation", "temp_max", "temp_min", "wind", "weather")
    write_rows(target / "seattle_days.csv.gz", columns, [[row["date"].replace("/", "-"), *(row[name] for name in columns[1:])] for row in days])
    hours = [
        (city, row["date"][5:10].replace("/", "-"), row["date"][11:13], row["temp"])
        for city, file in NORMALS.items()
        for row in _rows(folder, file)
    ]
    write_rows(target / "normals.csv.gz", ("city", "day", "hour", "fahrenheit"), hours)
    write_text(target / "LICENSE.vega-datasets", _read(folder, "vega_datasets-0.9.0.dist-info/LICENSE"))


def _read(folder: Path, name: str) -> str:
    return read_member(folder / WHEEL[0], WHEEL[1], name).decode()


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_read(folder, f"vega_datasets/_data/{name}"))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
