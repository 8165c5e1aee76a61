"""Finance tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


def test_convert_currency_falls_back_to_friday_on_a_weekend(ask: Ask) -> None:
    sunday = ask("convert_currency", amount=250, from_currency="USD", to_currency="GBP", date="2023-01-08")
    friday = ask("convert_currency", amount=250, from_currency="USD", to_currency="GBP", date="2023-01-06")
    assert sunday == friday
    assert sunday["rate_date"] == "2023-01-06"


def test_convert_currency_refuses_what_the_bank_does_not_quote(ask: Ask) -> None:
    assert "No currency 'VND'" in ask("convert_currency", 404, amount=1, from_currency="VND", to_currency="EUR", date="2023-06-15")
    assert "RUB" in ask("convert_currency", 404, amount=1, from_currency="EUR", to_currency="RUB", date="2023-06-15")
    assert ask("convert_currency", 422, amount=-1, from_currency="USD", to_currency="EUR", date="2023-06-15").startswith("amount: ")


def test_rate_range_finds_the_euros_low_of_2022(ask: Ask) -> None:
    result = ask("get_exchange_rate_range", from_currency="EUR", to_currency="USD", start="2022-01-01", end="2022-12-31")
    assert result["lowest"] == {"date": "2022-09-28", "rate": 0.9565}
    assert result["highest"] == {"date": "2022-02-04", "rate": 1.1464}
    assert result["change_percent"] == -6.07


@pytest.mark.parametrize(("start", "end"), [("2022-12-31", "2022-01-01"), ("2020-01-01", "2022-01-01")])
def test_rate_range_refuses_a_period_that_is_reversed_or_too_long(ask: Ask, start: str, end: str) -> None:
    assert ask("get_exchange_rate_range", 422, from_currency="EUR", to_currency="USD", start=start, end=end).startswith("end: ")


@pytest.mark.parametrize(
    ("country_code", "account", "iban"),
    [
        ("DE", "370400440532013000", "DE89370400440532013000"),
        ("gb", "WEST 1234 5698 7654 32", "GB82WEST12345698765432"),
        ("BE", "539-0075470-34", "BE68539007547034"),
        ("FR", "20041010050500013M02606", "FR1420041010050500013M02606"),
    ],
)
def test_build_iban_agrees_with_the_registrys_examples(ask: Ask, country_code: str, account: str, iban: str) -> None:
    result = ask("build_iban", country_code=country_code, account=account)
    assert result["iban"] == iban
    assert result["printed"].replace(" ", "") == iban
    assert result["check_digits"] == iban[2:4]


def test_build_iban_refuses_impossible_accounts(ask: Ask) -> None:
    assert "Germany" in ask("build_iban", 422, country_code="DE", account="37040044")
    assert ask("build_iban", 422, country_code="DE", account="éé").startswith("account: ")
    assert "No IBAN country 'US'" in ask("build_iban", 404, country_code="US", account="37040044")


def test_trading_day_knows_holidays_weekends_and_open_days(ask: Ask) -> None:
    good_friday = ask("check_trading_day", exchange="nyse", date="2025-04-18")
    assert (good_friday["is_open"], good_friday["closed_because"], good_friday["next_trading_day"]) == (False, "Good Friday", "2025-04-21")
    saturday = ask("check_trading_day", exchange="XLON", date="2025-05-03")
    assert (saturday["closed_because"], saturday["next_trading_day"]) == ("weekend", "2025-05-06")
    tuesday = ask("check_trading_day", exchange="HKEX", date="2025-09-30")
    assert (tuesday["is_open"], tuesday["closed_because"], tuesday["weekday"]) == (True, None, "Tuesday")


def test_currencies_of_one_name_are_told_apart_by_country(ask: Ask) -> None:
    assert "Malawi (MWK), Zambia (ZMW)" in ask("get_currency_details", 422, currency="kwacha")
    assert ask("get_currency_details", currency="Kwachas", country="zambia")["code"] == "ZMW"
    assert ask("get_currency_details", currency="kwd")["decimal_places"] == 3
    assert "Did you mean 'Zloty'?" in ask("get_currency_details", 404, currency="Zlotty")


def test_rates_of_two_days_are_those_of_one_currency(ask: Ask) -> None:
    days = {"first_date": "2020-01-15", "second_date": "2020-03-21"}
    assert "Danish Krone (Denmark), Norwegian Krone (Norway)" in ask("compare_exchange_rates", 422, currency="krone", **days)
    norway = ask("compare_exchange_rates", currency="krone", country="Norway", **days)
    assert norway["second"] == {"date": "2020-03-20", "rate": 12.1215}
    assert norway["value_change_percent"] == pytest.approx((norway["first"]["rate"] / norway["second"]["rate"] - 1) * 100, abs=0.01)
    assert "around that day" in ask("compare_exchange_rates", 404, currency="BRL", first_date="2001-01-01", second_date="2009-01-01")
    assert "No currency 'dong'" in ask("compare_exchange_rates", 404, currency="dong", **days)


def test_a_bank_is_found_by_words_of_its_name(ask: Ask) -> None:
    assert ask("find_bank", bank="fio BANKA")["bic"] == "FIOBCZPP"
    assert "Belgium, Czech Republic, New Zealand" in ask("find_bank", 422, bank="Citibank")
    assert ask("find_bank", bank="Citibank", country="new zealand") == {
        "bank": "Citibank N.A.",
        "country": "New Zealand",
        "bic": None,
        "bank_codes": ["31"],
    }
    assert ask("find_bank", 422, bank="ABN AMRO").startswith("bank: several banks of Belgium fit")
    assert ask("find_bank", bank="ABNABE2AIDJ")["country"] == "Belgium"
    assert "No bank '--'" in ask("find_bank", 404, bank="--")
    assert "Known are the banks of" in ask("find_bank", 404, bank="ING", country="France")


def test_prices_name_the_nearest_sessions_of_a_day_without_trading(ask: Ask) -> None:
    assert "2001-09-10 and 2001-09-17" in ask("get_stock_prices", 404, ticker="IBM", date="2001-09-12")
    assert "2012-05-18" in ask("get_stock_prices", 404, ticker="FB", date="1999-01-01")
    assert "They begin on 2012-05-18" in ask("get_stock_year", 404, ticker="FB", year=2005)


def test_a_stock_s_year_agrees_with_its_days(ask: Ask) -> None:
    year = ask("get_stock_year", ticker="GOOG", year=2004)
    for part in ("highest", "lowest", "last"):
        assert ask("get_stock_prices", ticker="GOOG", date=year[part]["date"])["close"] == year[part]["close"]
    assert ask("get_stock_prices", ticker="GOOG", date=year["busiest"]["date"])["volume"] == year["busiest"]["volume"]


def test_quarters_of_the_us_economy(ask: Ask) -> None:
    assert ask("get_us_economic_quarter", year=2009)["several"] == [1, 2, 3]
    assert "They end with quarter 3" in ask("get_us_economic_quarter", 404, year=2009, quarter=4)


@pytest.mark.parametrize(("rate", "payment"), [(0, 100.0), (1e-12, 100.0), (12, 106.62)])
def test_a_loan_of_1200_over_a_year(ask: Ask, rate: float, payment: float) -> None:
    assert ask("plan_loan", amount=1200, annual_rate_percent=rate, months=12)["monthly_payment"] == payment
