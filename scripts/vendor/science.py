"""Extract the science tables: `python -m scripts.vendor.science FOLDER`, which holds the two wheels.

- mendeleev 1.3.0 (MIT): radioactive isotopes (NUBASE2020), ionic radii (Shannon 1976), ionization energies (NIST).
- gemmology-mineral-database 2.3.0 (MIT): minerals and gems.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

MENDELEEV = ("mendeleev-1.3.0-py3-none-any.whl", "76f415767b654634e51dead755513ef431abf200e892eab8468aa659ff218d1c")
GEMMOLOGY = (
    "gemmology_mineral_database-2.3.0-py3-none-any.whl",
    "a29a7b69679892ee7e6f04132196e490cb96d66871cf4de07a3e785ec5e0c5d6",
)
SECONDS = {"sec": 1, "minute": 60, "hour": 3600, "day": 86400, "year": 31556926}
"""Units of half-lives that are short of thousands of years; longer ones are written in years."""
YEARS = {"kyear": 10**3, "Myear": 10**6, "Gyear": 10**9, "Tyear": 10**12, "Pyear": 10**15, "Eyear": 10**18, "Zyear": 10**21, "Yyear": 10**24}
SHORTEST_S = 60
MOST_IONIZATIONS = 8
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "X": 10, "XI": 11, "XII": 12, "XIV": 14}
GROWTH = {"flame_fusion": "flame fusion", "skull_melting": "skull melting", "cvd": "CVD", "hpht": "HPHT", "gilson": "Gilson"}


def main(folder: Path) -> None:
    """Write the tables into `service/data/science/`."""
    mendeleev, gemmology = Archive(folder, *MENDELEEV), Archive(folder, *GEMMOLOGY)
    with tempfile.TemporaryDirectory() as scratch:
        elements = _open(mendeleev, "elements.db", Path(scratch))
        write_csv("science", "radioisotopes.csv.gz", RADIO_COLUMNS, _radioisotopes(elements))
        write_csv("science", "ionic_radii.csv", ("symbol", "charge", "coordination", "spin", "ionic_pm", "crystal_pm"), _radii(elements))
        write_csv("science", "ionization.csv", ("symbol", "charge", "energy_ev"), _ionization(elements))
        write_csv("science", "minerals.csv", MINERAL_COLUMNS, _minerals(_open(gemmology, "minerals.db", Path(scratch))))
    write_bytes("science", "LICENSE.mendeleev", mendeleev.read("licenses/LICENSE"))
    write_bytes("science", "LICENSE.gemmology", gemmology.read("licenses/LICENSE"))


def _open(archive: Archive, name: str, scratch: Path) -> sqlite3.Connection:
    copy = scratch / name
    copy.write_bytes(archive.read(f"/{name}"))
    return sqlite3.connect(copy)


RADIO_COLUMNS = ("symbol", "mass_number", "half_life", "unit", "seconds", "spin", "discovered", "decay")


def _radioisotopes(base: sqlite3.Connection) -> list[tuple[object, ...]]:
    # The database lost the powers of ten of rare decays, so only the mode of most decays is taken.
    query = "select isotope_id, mode from isotopedecaymodes where intensity > 50 and relation in ('=', '~') order by intensity, mode desc"
    modes: dict[int, str] = dict(base.execute(query).fetchall())
    query = (
        "select i.id, e.symbol, i.mass_number, i.half_life, i.half_life_unit, i.spin, i.parity, i.discovery_year from isotopes i "
        "join elements e on e.atomic_number = i.atomic_number where i.half_life is not null order by i.atomic_number, i.mass_number"
    )
    rows: list[tuple[object, ...]] = []
    for isotope, symbol, number, value, unit, spin, parity, year in base.execute(query):
        half_life, name = (value * YEARS[unit], "year") if unit in YEARS else (value, unit)
        if name in SECONDS and half_life * SECONDS[name] >= SHORTEST_S:
            seconds = f"{half_life * SECONDS[name]:.6g}"
            rows.append((symbol, number, f"{half_life:.7g}", name, seconds, f"{spin or ''}{parity or ''}", year, modes.get(isotope, "")))
    return rows


def _radii(base: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Radii without those for square-planar and pyramidal surroundings, which have another row for the same number of neighbours."""
    query = (
        "select e.symbol, r.charge, r.coordination, r.spin, r.ionic_radius, r.crystal_radius from ionicradii r "
        "join elements e on e.atomic_number = r.atomic_number where r.origin is not null order by r.atomic_number, r.charge, r.id"
    )
    rows: list[tuple[object, ...]] = []
    for symbol, charge, coordination, spin, ionic, crystal in base.execute(query):
        # Shannon's two radii differ by 14 pm; the few rows that do not are misprints of the database.
        if coordination in ROMAN and ionic > 0 and abs(abs(crystal - ionic) - 14) < 0.5:
            rows.append((symbol, charge, ROMAN[coordination], {"HS": "high", "LS": "low"}.get(spin, ""), f"{ionic:.4g}", f"{crystal:.4g}"))
    return rows


def _ionization(base: sqlite3.Connection) -> list[tuple[object, ...]]:
    query = (
        "select e.symbol, i.ion_charge, i.ionization_energy from ionizationenergies i join elements e on e.atomic_number = i.atomic_number "
        "where i.ion_charge < ? and i.ionization_energy is not null and not i.is_semi_empirical "
        "and (not i.is_theoretical or i.isoelectonic_sequence in ('H', 'He')) order by i.atomic_number, i.ion_charge"
    )
    return [(symbol, charge, f"{energy:.7g}") for symbol, charge, energy in base.execute(query, (MOST_IONIZATIONS,))]


MINERAL_COLUMNS = (
    *("name", "growth", "origin", "system", "formula", "hardness_min", "hardness_max", "sg_min", "sg_max", "ri_min", "ri_max"),
    *("dispersion", "optical_character", "lustre", "class"),
)


def _minerals(base: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Natural minerals, and grown stones under the name of what they copy."""
    query = (
        "select id, name, origin, growth_method, natural_counterpart_id, crystal_system, chemistry, hardness_min, hardness_max, sg_min, "
        "sg_max, ri_min, ri_max, dispersion, optical_character, lustre, category from mineral_families "
        "where origin in ('natural', 'synthetic') and sg_min is not null order by id"
    )
    found: dict[tuple[str, str], tuple[object, ...]] = {}
    for key, name, origin, method, copied, system, formula, *values in base.execute(query):
        plain = name.partition(" (")[0] if origin == "natural" else copied
        growth = "natural" if origin == "natural" else GROWTH.get(method, method.partition(" (")[0].partition("-")[0].casefold())
        if len(formula) > 60 or (origin != "natural" and "kashan" in key) or "lechleitner" in key:
            continue
        found.setdefault((plain.casefold(), growth), (plain.casefold(), growth, origin, system, formula, *map(_or_empty, values)))
    return [found[key] for key in sorted(found)]


def _or_empty(value: object) -> object:
    return "" if value is None else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
