"""Odd cases of the jobs tools, and the sums they compute."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("get_industry_unemployment", {"industry": "finance", "year": 2010, "month": 3}, 404, "February 2010"),
    ("get_naics_industry", {"code": "999999"}, 404, "Did you mean"),
    ("get_nace_activity", {"code": "99.99"}, 404, "revision 2.1"),
    ("convert_pay", {"amount": "nan", "from_period": "hour", "to_period": "year"}, 422, "finite"),
    ("get_sector_employment", {"sector": "circus", "year": 2010, "month": 3}, 422, "sector"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


@pytest.mark.parametrize(("code", "shown"), [("33", "31-33"), ("45", "44-45"), ("49", "48-49"), ("11", "11")])
def test_a_sector_with_several_numbers_is_found_by_each(code: str, shown: str) -> None:
    assert direct_caller()("get_naics_industry", {"code": code})["code"] == shown


def test_pay_converted_there_and_back_is_the_same() -> None:
    call = direct_caller()
    year = call("convert_pay", {"amount": 21.5, "from_period": "hour", "to_period": "year"})["pay"]
    assert year == 44720.0
    assert call("convert_pay", {"amount": year, "from_period": "year", "to_period": "hour"})["pay"] == 21.5
