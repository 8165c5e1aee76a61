"""Health tools: conditions and species that are several, limits of classes, and what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.in_process import direct_caller


def ask(tool: str, **arguments: Any) -> tuple[int, Any]:
    status, text = asyncio.run(direct_caller().ask(tool, arguments))
    assert len(text) < 1500
    return status, json.loads(text)


def test_one_condition_on_several_sides_is_several_conditions() -> None:
    sides = ask("find_diagnosis_code", condition="Carpal tunnel syndrome")[1]
    assert sides["code"] is None
    assert "Carpal tunnel syndrome, right upper limb" in sides["several"]
    assert ask("find_diagnosis_code", condition="carpal tunnel syndrome", detail="right upper limb")[1]["code"] == "G56.01"


def test_a_genus_with_one_species_needs_no_more_and_others_name_theirs() -> None:
    assert ask("get_antibiotic_potency", antibiotic="neomycin", genus="proteus")[1]["bacterium"] == "Proteus vulgaris"
    several = ask("get_antibiotic_potency", antibiotic="neomycin", genus="Streptococcus")[1]["several"]
    assert several == ["Streptococcus fecalis", "Streptococcus hemolyticus", "Streptococcus viridans"]


def test_classes_change_at_their_limits() -> None:
    assert ask("compute_bmi", height_cm=200, weight_kg=100)[1] == {"bmi": 25.0, "category": "overweight"}
    assert ask("compute_bmi", height_cm=200, weight_kg=99.9)[1]["category"] == "normal weight"


def test_formulas_differ() -> None:
    body = {"height_cm": 170, "weight_kg": 70}
    areas = {name: ask("get_body_surface_area", formula=name, **body)[1]["square_metres"] for name in ("Mosteller", "Du Bois", "Haycock")}
    assert areas == {"Mosteller": 1.82, "Du Bois": 1.81, "Haycock": 1.83}
    rest = {"age": 30, "sex": "female", **body}
    assert [ask("get_basal_metabolic_rate", formula=name, **rest)[1]["kcal_per_day"] for name in ("Mifflin-St Jeor", "Harris-Benedict")] == [
        1452,
        1499,
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "said"),
    [
        ("get_diagnosis_title", {"code": "G56"}, 404, "G56.00"),
        ("get_diagnosis_title", {"code": "V97.33"}, 404, "chapters"),
        ("get_diagnosis_title", {"code": "nonsense"}, 422, "code"),
        ("find_diagnosis_code", {"condition": "diabetes"}, 422, "give more of it"),
        ("find_diagnosis_code", {"condition": "vampirism"}, 404, "fewer words"),
        ("get_antibiotic_potency", {"antibiotic": "penicillin", "genus": "Yersinia"}, 404, "Bacillus"),
        ("get_antibiotic_potency", {"antibiotic": "penicillin", "genus": "Proteus", "species": "mirabilis"}, 404, "vulgaris"),
        ("compute_bmi", {"height_cm": "inf", "weight_kg": 60}, 422, "height_cm"),
        ("estimate_due_date", {"last_period": "9999-12-01"}, 422, "too near the end"),
        ("get_target_heart_rates", {"age": 12}, 422, "age"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_what_is_near(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    found, answer = ask(tool, **arguments)
    assert found == status and said in answer["detail"]
