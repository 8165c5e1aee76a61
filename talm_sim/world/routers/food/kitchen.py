"""What a cook looks up: measures, oven and core temperatures, additives, allergens in other languages, styles of beer."""

from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can
from talm_sim.world.vendored import read_data

router = APIRouter()

Row = dict[str, str]
Unit = Literal["teaspoon", "tablespoon", "fluid ounce", "cup", "pint", "quart", "gallon"]
System = Literal["US", "imperial", "metric"]
MILLILITRES: dict[str, dict[str, float]] = {
    "US": {
        "teaspoon": 4.92892159375,
        "tablespoon": 14.78676478125,
        "fluid ounce": 29.5735295625,
        "cup": 236.5882365,
        "pint": 473.176473,
        "quart": 946.352946,
        "gallon": 3785.411784,
    },
    "imperial": {
        "teaspoon": 5.919388020833333,
        "tablespoon": 17.7581640625,
        "fluid ounce": 28.4130625,
        "cup": 284.130625,
        "pint": 568.26125,
        "quart": 1136.5225,
        "gallon": 4546.09,
    },
    "metric": {"teaspoon": 5, "tablespoon": 15, "cup": 250},
}
"""Size of the measures; those of US and imperial are defined by law, from gallons of 231 cubic inches and of 4.54609 litres."""
Scale = Literal["celsius", "fahrenheit", "gas mark"]
GAS_MARKS = {
    1: (140, 275),
    2: (150, 300),
    3: (160, 325),
    4: (180, 350),
    5: (190, 375),
    6: (200, 400),
    7: (220, 425),
    8: (230, 450),
    9: (240, 475),
}
"""Degrees Celsius and Fahrenheit that cookery books print for the marks of British gas ovens."""
FAN = 20
"""Degrees Celsius by which an oven with a fan is set lower."""
Dish = Literal[
    "beef steak", "pork chop", "lamb roast", "veal roast", "ground beef", "ground pork", "ground turkey", "chicken", "turkey", "duck",
    "fish", "egg dishes", "casserole", "leftovers", "fresh ham", "cooked ham",
]  # fmt: skip
WHOLE_CUT, GROUND, POULTRY = (145, 63, 3), (160, 71, 0), (165, 74, 0)
SAFE: dict[str, tuple[int, int, int]] = {
    "beef steak": WHOLE_CUT,
    "pork chop": WHOLE_CUT,
    "lamb roast": WHOLE_CUT,
    "veal roast": WHOLE_CUT,
    "fresh ham": WHOLE_CUT,
    "ground beef": GROUND,
    "ground pork": GROUND,
    "egg dishes": GROUND,
    "ground turkey": POULTRY,
    "chicken": POULTRY,
    "turkey": POULTRY,
    "duck": POULTRY,
    "casserole": POULTRY,
    "leftovers": POULTRY,
    "fish": (145, 63, 0),
    "cooked ham": (140, 60, 0),
}
"""Least temperature inside in degrees Fahrenheit and Celsius, and minutes of rest, by the USDA's chart."""
Language = Literal[
    "Czech", "Danish", "Dutch", "Finnish", "French", "German", "Greek", "Hungarian", "Indonesian", "Italian", "Japanese", "Norwegian",
    "Polish", "Portuguese", "Romanian", "Spanish", "Swedish", "Thai", "Turkish", "Vietnamese",
]  # fmt: skip


class Measure(BaseModel):
    """A kitchen measure in millilitres; only `several` is filled where the systems differ."""

    amount: float
    unit: str
    system: str | None = None
    millilitres: float | None = None
    several: list[str] = []


class OvenTemperature(BaseModel):
    """The setting of an oven on each scale; a gas mark only from 1 to 9."""

    celsius: int
    fahrenheit: int
    gas_mark: int | None
    fan_celsius: int


class SafeTemperature(BaseModel):
    """How hot the inside of a food must get."""

    food: str
    fahrenheit: int
    celsius: int
    rest_minutes: int


class Additive(BaseModel):
    """A food additive."""

    number: str
    name: str
    purpose: str


class AllergenName(BaseModel):
    """An allergen in another language."""

    allergen: str
    language: str
    name: str


class BeerStyle(BaseModel):
    """What a beer of a style may have."""

    style: str
    lowest_alcohol_percent: float
    highest_alcohol_percent: float
    lowest_bitterness_ibu: float
    highest_bitterness_ibu: float
    lowest_color_srm: float
    highest_color_srm: float


@router.get(
    "/measures",
    operation_id="convert_cooking_measure",
    summary="Convert teaspoons, cups, pints and other kitchen measures to millilitres.",
    openapi_extra=person_can("A person fills the measure and pours it into a jug with marks."),
)
async def convert_cooking_measure(
    amount: Annotated[float, Query(description="How many of the unit.", examples=[2], gt=0, le=100000)],
    unit: Annotated[Unit, Query(description="The measure.", examples=["cup"])],
    system: Annotated[
        System | None, Query(description="Whose measure it is: the same word means another volume elsewhere.", examples=["metric"])
    ] = None,
) -> Measure:
    systems = [name for name, sizes in MILLILITRES.items() if unit in sizes]
    if system is None:
        return Measure(amount=amount, unit=unit, several=[f"{name} {unit}" for name in systems])
    if system not in systems:
        raise HTTPException(404, f"There is no {system} {unit}; it is a measure of {' and '.join(systems)}.")
    return Measure(amount=amount, unit=unit, system=system, millilitres=round(amount * MILLILITRES[system][unit], 1))


@router.get(
    "/oven",
    operation_id="convert_oven_temperature",
    summary="Convert an oven setting between degrees Celsius, degrees Fahrenheit and gas marks, with the setting for a fan oven.",
    openapi_extra=person_can("Cookery books and the dials of many ovens print the table."),
)
async def convert_oven_temperature(
    temperature: Annotated[float, Query(description="The setting: degrees, or the gas mark.", examples=[4], ge=1, le=600)],
    scale: Annotated[Scale, Query(description="Scale of the setting.", examples=["gas mark"])],
) -> OvenTemperature:
    if scale == "gas mark":
        if temperature not in GAS_MARKS:
            raise HTTPException(422, "Gas marks are whole numbers from 1 to 9.")
        celsius, fahrenheit = GAS_MARKS[int(temperature)]
    elif scale == "celsius":
        celsius, fahrenheit = round(temperature), round(temperature * 9 / 5 + 32)
    else:
        celsius, fahrenheit = round((temperature - 32) * 5 / 9), round(temperature)
    mark = round((fahrenheit - 250) / 25)
    return OvenTemperature(celsius=celsius, fahrenheit=fahrenheit, gas_mark=mark if mark in GAS_MARKS else None, fan_celsius=celsius - FAN)


@router.get(
    "/safe-temperatures/{food}",
    operation_id="get_safe_cooking_temperature",
    summary="Get the least temperature that the inside of a meat, fish or dish must reach, and how long it rests, by the USDA's chart.",
    openapi_extra=person_can("The chart is printed on meat thermometers and in cookery books."),
)
async def get_safe_cooking_temperature(
    food: Annotated[Dish, Path(description="What is cooked.", examples=["chicken"])],
) -> SafeTemperature:
    fahrenheit, celsius, minutes = SAFE[food]
    return SafeTemperature(food=food, fahrenheit=fahrenheit, celsius=celsius, rest_minutes=minutes)


@router.get(
    "/additives/{number}",
    operation_id="get_food_additive",
    summary="Get the name and purpose of a food additive by its E number.",
    openapi_extra=person_can("A person finds the name on other packets, or in a list of E numbers."),
)
async def get_food_additive(
    number: Annotated[str, Path(description="E number.", examples=["E330"], pattern=r"^[Ee]? ?\d{3,4}[a-f]?$")],
) -> Additive:
    rows: list[Row] = read_data("food", "additives.csv")
    wanted = "E" + number.lower().removeprefix("e").strip()
    for row in rows:
        if row["number"] == wanted:
            return Additive(number=row["number"], name=row["name"], purpose=row["purpose"])
    raise not_found("food additive", wanted, [row["number"] for row in rows], f"{len(rows)} common additives are known.")


@router.get(
    "/allergens/{allergen}",
    operation_id="translate_allergen",
    summary="Get what an allergen of European food labels is called in another language.",
    openapi_extra=person_can("Anyone who speaks the language knows the word."),
)
async def translate_allergen(
    allergen: Annotated[str, Path(description="Allergen in English.", examples=["peanuts"], min_length=3, max_length=30)],
    language: Annotated[Language, Query(description="Language to translate to.", examples=["German"])],
) -> AllergenName:
    rows: list[Row] = [row for row in read_data("food", "allergens.csv") if row["language"] == language]
    wanted = fold(allergen)
    for row in rows:
        if wanted in (row["allergen"], row["allergen"].removesuffix("s")) or wanted.removesuffix(" nuts") == row["allergen"]:
            return AllergenName(allergen=row["allergen"], language=language, name=row["name"])
    known = [row["allergen"] for row in rows]
    raise not_found(f"{language} name of the allergen", allergen, known, f"Known are {', '.join(known)}.")


@router.get(
    "/beer-styles/{style}",
    operation_id="get_beer_style",
    summary="Get the range of alcohol, bitterness and colour of a beer style, by the judges' guidelines (BJCP) of 2015.",
    openapi_extra=person_can("The guidelines are free to read, and brewers and judges have them."),
)
async def get_beer_style(
    style: Annotated[str, Path(description="Style of beer, in English.", examples=["american ipa"], min_length=3, max_length=40)],
) -> BeerStyle:
    rows: list[Row] = read_data("food", "beer_styles.csv")
    wanted = " ".join(fold(style).replace("-", " ").split())
    for row in rows:
        if row["style"] == wanted:
            return BeerStyle(
                style=row["style"],
                lowest_alcohol_percent=float(row["abv_min"]),
                highest_alcohol_percent=float(row["abv_max"]),
                lowest_bitterness_ibu=float(row["ibu_min"]),
                highest_bitterness_ibu=float(row["ibu_max"]),
                lowest_color_srm=float(row["srm_min"]),
                highest_color_srm=float(row["srm_max"]),
            )
    alike = [row["style"] for row in rows if set(wanted.split()) <= set(row["style"].split())]
    hint = f"There are: {', '.join(alike[:10])}." if alike else f"{len(rows)} styles are known, such as american ipa."
    raise not_found("beer style", style, [row["style"] for row in rows], hint)
