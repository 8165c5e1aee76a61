"""Health: codes of diagnoses, a historic table of antibiotics, and the sums that clinics and gyms do. No medical advice."""

import datetime
import math
from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/health")

MOST_LISTED = 10
SMALL_WORDS = frozenset({"a", "an", "in", "of", "the"})
PREGNANCY = datetime.timedelta(days=280)
Sex = Literal["female", "male"]
Antibiotic = Literal["penicillin", "streptomycin", "neomycin"]
Formula = Literal["Mosteller", "Du Bois", "Haycock"]
BMI_CLASSES = ((18.5, "underweight"), (25, "normal weight"), (30, "overweight"), (math.inf, "obesity"))
KIDNEY_STAGES = ((15, "G5"), (30, "G4"), (45, "G3b"), (60, "G3a"), (90, "G2"), (math.inf, "G1"))

HEIGHT = Query(description="Height in centimetres.", examples=[165], ge=40, le=260)
WEIGHT = Query(description="Weight in kilograms.", examples=[68], ge=2, le=400)
AGE = Query(description="Age in years.", examples=[40], ge=18, le=110)


@lru_cache(maxsize=1)
def _diagnoses() -> list[tuple[str, str, frozenset[str]]]:
    """Codes that may be reported, their titles, and the words of these."""
    lines = (line.split("\t") for line in read_data("health", "icd10cm.txt.gz"))
    return [(code, title, _words(title)) for code, title in lines]


def _words(text: str) -> frozenset[str]:
    return frozenset("".join(char if char.isalnum() else " " for char in fold(text)).split()) - SMALL_WORDS


class Diagnosis(BaseModel):
    """A code and its title; only `several` is filled where more than one condition fits."""

    code: str | None = None
    title: str | None = None
    several: list[str] = []


class Potency(BaseModel):
    """How much of an antibiotic stopped a bacterium; only `several` is filled where more than one species is known."""

    bacterium: str | None = None
    antibiotic: str
    micrograms_per_ml: float | None = None
    several: list[str] = []


class BodyMassIndex(BaseModel):
    """A body mass index, and the class of adults it is in."""

    bmi: float
    category: str


class KidneyFunction(BaseModel):
    """An estimated glomerular filtration rate, in ml/min per 1.73 square metres, and its stage."""

    egfr: int
    stage: str


class Pregnancy(BaseModel):
    """The days of a pregnancy of ordinary length."""

    due_date: datetime.date
    second_trimester: datetime.date
    third_trimester: datetime.date


class BodySurface(BaseModel):
    """The surface of a body."""

    square_metres: float
    formula: str


class HeartRates(BaseModel):
    """Target heart rates of exercise, in beats per minute."""

    maximum: int
    moderate_from: int
    moderate_to: int
    vigorous_to: int


class RestingEnergy(BaseModel):
    """The energy that a body needs at rest."""

    kcal_per_day: int
    formula: str


@router.get(
    "/diagnoses/{code}",
    operation_id="get_diagnosis_title",
    summary="Get the title of a diagnosis by its ICD-10-CM code.",
    openapi_extra=person_can("A search for the code shows its title."),
)
async def get_diagnosis_title(
    code: Annotated[
        str, Path(description="ICD-10-CM code, to the last digit.", examples=["E11.9"], pattern=r"^[A-Za-z]\d[0-9A-Za-z]\.?[0-9A-Za-z]{0,3}$")
    ],
) -> Diagnosis:
    plain = code.upper().replace(".", "")
    wanted = f"{plain[:3]}.{plain[3:]}".removesuffix(".")
    for known, title, _ in _diagnoses():
        if known == wanted:
            return Diagnosis(code=known, title=title)
    deeper = [known for known, *_ in _diagnoses() if known.startswith(wanted)]
    hint = (
        f"More exact codes are {', '.join(deeper[:MOST_LISTED])}."
        if deeper
        else "Known are the codes that may be reported in chapters D50 to M99 without F, and R."
    )
    raise not_found("diagnosis", wanted, (), hint)


@router.get(
    "/diagnoses",
    operation_id="find_diagnosis_code",
    summary="Find the ICD-10-CM code of a condition.",
    openapi_extra=person_can("A search for the condition shows its code in the list that clinics use."),
)
async def find_diagnosis_code(
    condition: Annotated[
        str,
        Query(
            description="Words of the condition's title.",
            examples=["carpal tunnel syndrome"],
            min_length=3,
            max_length=120,
        ),
    ],
    detail: Annotated[
        str | None,
        Query(
            description="Further words of the title, to tell conditions of one name apart.", examples=["bilateral"], min_length=2, max_length=80
        ),
    ] = None,
) -> Diagnosis:
    wanted = _words(condition) | _words(detail or "")
    fitting = [one for one in _diagnoses() if wanted and wanted <= one[2]]
    fitting = [one for one in fitting if one[2] == wanted][:1] or fitting
    if not fitting:
        raise not_found(
            "condition", ", ".join([condition, *([detail] if detail else [])]), hint="Use fewer words, as a clinic would write them."
        )
    if len(fitting) > MOST_LISTED:
        raise HTTPException(422, f"{len(fitting)} conditions have these words in their title; give more of it.")
    if len(fitting) > 1:
        return Diagnosis(several=[title for _, title, _ in fitting])
    return Diagnosis(code=fitting[0][0], title=fitting[0][1])


@router.get(
    "/antibiotics/{antibiotic}",
    operation_id="get_antibiotic_potency",
    summary="Get the least concentration of an antibiotic that stopped a bacterium, in Will Burtin's table of 1951.",
    openapi_extra=person_can("Books on graphics, and many pages about them, reprint the table."),
)
async def get_antibiotic_potency(
    antibiotic: Annotated[Antibiotic, Path(description="The antibiotic.", examples=["penicillin"])],
    genus: Annotated[
        str, Query(description="First word of the bacterium's name in 1951.", examples=["Mycobacterium"], min_length=4, max_length=40)
    ],
    species: Annotated[
        str | None,
        Query(
            description="Second word of the name, to tell species of one genus apart.", examples=["tuberculosis"], min_length=3, max_length=40
        ),
    ] = None,
) -> Potency:
    rows: list[dict[str, str]] = [row for row in read_data("health", "antibiotics.csv") if row["antibiotic"] == antibiotic]
    fitting = [row for row in rows if fold(row["genus"]) == fold(genus)]
    if not fitting:
        known = sorted({row["genus"] for row in rows})
        raise not_found("bacterium", genus, known, f"The table has {', '.join(known)}.")
    if species is not None:
        known = [row["species"] for row in fitting]
        fitting = [row for row in fitting if fold(row["species"]) == fold(species)]
        if not fitting:
            raise not_found(f"species of {genus}", species, known, f"The table has {', '.join(known)}.")
    if len(fitting) > 1:
        return Potency(antibiotic=antibiotic, several=[f"{row['genus']} {row['species']}" for row in fitting])
    (row,) = fitting
    return Potency(bacterium=f"{row['genus']} {row['species']}", antibiotic=antibiotic, micrograms_per_ml=float(row["concentration"]))


@router.get(
    "/bmi",
    operation_id="compute_bmi",
    summary="Compute the body mass index of an adult, and its class by the World Health Organization.",
    openapi_extra=person_can("Charts hang in every practice, and bathroom scales show it."),
)
async def compute_bmi(height_cm: Annotated[float, HEIGHT], weight_kg: Annotated[float, WEIGHT]) -> BodyMassIndex:
    bmi = weight_kg / (height_cm / 100) ** 2
    return BodyMassIndex(bmi=round(bmi, 2), category=next(name for limit, name in BMI_CLASSES if bmi < limit))


@router.get(
    "/kidney-function",
    operation_id="estimate_kidney_function",
    summary="Estimate an adult's glomerular filtration rate from creatinine, by the CKD-EPI equation of 2021, with its KDIGO stage.",
    openapi_extra=person_cannot("The equation has powers that nobody computes in the head."),
)
async def estimate_kidney_function(
    creatinine: Annotated[float, Query(description="Creatinine in serum, in mg/dl.", examples=[0.8], ge=0.1, le=30)],
    age: Annotated[int, AGE],
    sex: Annotated[Sex, Query(description="Sex, as the equation knows it.", examples=["female"])],
) -> KidneyFunction:
    usual, power, factor = (0.7, -0.241, 1.012) if sex == "female" else (0.9, -0.302, 1.0)
    ratio = creatinine / usual
    rate = 142 * min(ratio, 1) ** power * max(ratio, 1) ** -1.200 * 0.9938**age * factor
    return KidneyFunction(egfr=round(rate), stage=next(name for limit, name in KIDNEY_STAGES if round(rate) < limit))


@router.get(
    "/due-date",
    operation_id="estimate_due_date",
    summary="Estimate the due date of a pregnancy, and when its trimesters begin.",
    openapi_extra=person_can("A midwife turns a pregnancy wheel."),
)
async def estimate_due_date(
    last_period: Annotated[datetime.date, Query(description="First day of the last period.", examples=["2025-01-20"])],
) -> Pregnancy:
    week = datetime.timedelta(weeks=1)
    return Pregnancy(due_date=last_period + PREGNANCY, second_trimester=last_period + 14 * week, third_trimester=last_period + 28 * week)


@router.get(
    "/body-surface",
    operation_id="get_body_surface_area",
    summary="Compute the surface area of a body, which some doses are measured by.",
    openapi_extra=person_cannot("The formulas have roots and powers."),
)
async def get_body_surface_area(
    height_cm: Annotated[float, HEIGHT],
    weight_kg: Annotated[float, WEIGHT],
    formula: Annotated[Formula, Query(description="Whose formula.", examples=["Mosteller"])] = "Mosteller",
) -> BodySurface:
    if formula == "Mosteller":
        area = math.sqrt(height_cm * weight_kg / 3600)
    elif formula == "Du Bois":
        area = 0.007184 * weight_kg**0.425 * height_cm**0.725
    else:
        area = 0.024265 * weight_kg**0.5378 * height_cm**0.3964
    return BodySurface(square_metres=round(area, 2), formula=formula)


@router.get(
    "/heart-rates",
    operation_id="get_target_heart_rates",
    summary="Get the highest heart rate of an age, and the ranges of moderate and vigorous exercise, by the American Heart Association.",
    openapi_extra=person_can("Charts in gyms and sports watches show it."),
)
async def get_target_heart_rates(age: Annotated[int, AGE]) -> HeartRates:
    maximum = 220 - age
    half, most, limit = (math.floor(maximum * share / 100 + 0.5) for share in (50, 70, 85))
    return HeartRates(maximum=maximum, moderate_from=half, moderate_to=most, vigorous_to=limit)


@router.get(
    "/resting-energy",
    operation_id="get_basal_metabolic_rate",
    summary="Compute the energy that an adult's body needs at rest, per day.",
    openapi_extra=person_can("Fitness apps and smart scales show it."),
)
async def get_basal_metabolic_rate(
    height_cm: Annotated[float, HEIGHT],
    weight_kg: Annotated[float, WEIGHT],
    age: Annotated[int, AGE],
    sex: Annotated[Sex, Query(description="Sex, as the formulas know it.", examples=["male"])],
    formula: Annotated[
        Literal["Mifflin-St Jeor", "Harris-Benedict"],
        Query(description="Whose formula: the one of 1990, or the one of 1918.", examples=["Mifflin-St Jeor"]),
    ] = "Mifflin-St Jeor",
) -> RestingEnergy:
    if formula == "Mifflin-St Jeor":
        energy = 10 * weight_kg + 6.25 * height_cm - 5 * age + (5 if sex == "male" else -161)
    elif sex == "male":
        energy = 66.473 + 13.7516 * weight_kg + 5.0033 * height_cm - 6.755 * age
    else:
        energy = 655.0955 + 9.5634 * weight_kg + 1.8496 * height_cm - 4.6756 * age
    return RestingEnergy(kcal_per_day=round(energy), formula=formula)
