"""Extract Seattle's and San Francisco's weather: `python -m scripts.vendor.weather FOLDER`, which holds the wheel of vega-datasets 0.9.0.

The package is under the MIT licence; the data are NOAA's, in the public domain.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

WHEEL = ("vega_datasets-0.9.0-py3-none-any.whl", "3d7c63917be6ca9b154b565f4779a31fedce57b01b5b9d99d8a34a7608062a1d")
NORMALS = {"Seattle": "seattle-temps.csv", "San Francisco": "sf-temps.csv"}


def main(folder: Path) -> None:
    """Write the tables into `service/data/weather/`."""
    archive = Archive(folder, *WHEEL)
    columns = ("date", "precipitation", "temp_max", "temp_min", "wind", "weather")
    days = [[row["date"].replace("/", "-"), *(row[name] for name in columns[1:])] for row in archive.rows("/seattle-weather.csv")]
    write_csv("weather", "seattle_days.csv.gz", columns, days)
    hours = [
        (city, row["date"][5:10].replace("/", "-"), row["date"][11:13], row["temp"])
        for city, file in NORMALS.items()
        for row in archive.rows(f"/{file}")
    ]
    write_csv("weather", "normals.csv.gz", ("city", "day", "hour", "fahrenheit"), hours)
    write_bytes("weather", "LICENSE.vega-datasets", archive.read("dist-info/LICENSE"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
