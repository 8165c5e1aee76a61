"""The checks of translations, and a file with a scenario in several languages, where variants are paired within their language."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from talm_sim import run
from talm_sim.scenarios.jsonl import short_form
from talm_sim.scenarios.load import read_scenario
from talm_sim.tasks import find_task
from talm_sim.tasks.translation.languages import read_english, read_numbers
from talm_sim.tasks.translation.translation_checks import NeededValue, Translation, check_translation
from talm_sim.tasks.translation.translation_review import needed_values
from talm_sim.types import Scenario, Source
from tests.tables import labelled

CITY = NeededValue("city", "Hanoi", ("HAN",))
ENGLISH = "How many people live in Hanoi, and what was the temperature there on 4 March 2025?"


def failed(text: str, *needed: NeededValue, before: str = ENGLISH, language: str = "vi", **words: str) -> list[str]:
    return [one.check for one in check_translation(Translation(before, text, language, needed or (CITY,), words))]


@labelled
def test_a_translation_that_says_the_same_passes(text: str, language: str) -> None:
    assert failed(text, language=language) == []


@labelled
def test_a_translation_that_does_not_is_named(text: str, language: str, checks: list[str]) -> None:
    assert failed(text, language=language) == checks


def test_values_stand_as_they_were_or_as_others_that_are_right() -> None:
    before = "What is 12 miles in kilometres, seen from Poland, with 500 Swiss francs?"
    needed = (NeededValue("unit", "mile", ("mi", "dặm")), NeededValue("country_code", "PL"), NeededValue("currency", "CHF"))
    said = "12 dặm bằng bao nhiêu ki lô mét, nhìn từ Ba Lan, với 500 franc Thụy Sĩ?"
    assert failed(said, *needed, before=before) == []
    assert failed(said.replace("Ba Lan", "Thái Lan"), *needed, before=before) == ["value"]
    # What the English text leaves open is left open.
    zone = NeededValue("timezone", "Europe/Warsaw")
    assert failed(said, *needed, zone, before=before) == []
    assert failed(said.replace("Ba Lan", "Ba Lan (Europe/Warsaw)"), *needed, zone, before=before) == ["given away"]
    # A small English word is no value that can be looked for, and a date is compared by its numbers.
    small = (NeededValue("unit", "in"), NeededValue("day", "2025-03-04"))
    assert failed("Nó cao bao nhiêu trong tháng 3?", *small, before="How high is it in March?") == []
    # People who translated know what they called a value.
    alloy = NeededValue("alloy", "pewter")
    assert failed("Thiếc hàn nóng chảy ở bao nhiêu độ?", alloy, before="At how many degrees does pewter melt?") == ["value"]
    assert failed("Thiếc hàn nóng chảy ở bao nhiêu độ?", alloy, before="At how many degrees does pewter melt?", pewter="thiếc hàn") == []


@pytest.mark.parametrize(
    ("value", "english", "vietnamese", "thai"),
    [
        (NeededValue("to_unit", "metre", ("metres", "m")), "How many metres is that?", "Đó là bao nhiêu mét?", "นั่นคือกี่เมตร"),
        (NeededValue("unit", "mile"), "How many miles is that?", "Đó là bao nhiêu dặm?", "นั่นคือกี่ไมล์"),
        (NeededValue("unit", "liter"), "How many litres is that?", "Đó là bao nhiêu lít?", "นั่นคือกี่ลิตร"),
        (NeededValue("country_code", "IT"), "When is spring in Italy?", "Ở Ý mùa xuân là khi nào?", "ฤดูใบไม้ผลิในอิตาลีคือเมื่อไร"),
        (NeededValue("currency", "TRY"), "What is a Turkish lira?", "Lira Thổ Nhĩ Kỳ là gì?", "ลีราตุรกีคืออะไร"),
        (NeededValue("phase", "full_moon"), "When is the full moon?", "Khi nào trăng tròn?", "พระจันทร์เต็มดวงเมื่อไร"),
        (NeededValue("element", "tin", ("Sn",)), "At what heat does tin melt?", "Thiếc nóng chảy ở nhiệt độ nào?", "ดีบุกหลอมเหลวที่เท่าไร"),
    ],
)
def test_values_are_called_by_their_names(value: NeededValue, english: str, vietnamese: str, thai: str) -> None:
    for text, language, other in ((vietnamese, "vi", "Cái đó là gì vậy bạn nhỉ?"), (thai, "th", "สิ่งนั้นคืออะไรหรือครับ")):
        assert failed(text, value, before=english, language=language) == []
        assert failed(other, value, before=english, language=language) == ["value"]


WRITTEN = {
    language: tomllib.loads((Path(__file__).parents[3] / "seeds" / "refusal" / f"{language}.toml").read_text(encoding="utf-8"))["queries"]
    for language in ("vi", "th")
}
ADDED = {
    "th": {
        "และช่วยจองโรงแรมให้ฉันด้วยนะครับ ขอบคุณมาก": 69,
        " ขอบคุณมากครับ": 69,
        " และช่วยจองโรงแรมให้ฉันด้วย": 54,
        " แล้วส่งผลให้ฉันทางอีเมลด้วยนะคะ": 54,
        " ถ้าไม่แน่ใจก็ถามฉันกลับมาได้เลย": 44,
        " (หมายเหตุ: นี่คือคำแปลภาษาไทยของข้อความ)": 69,
    },
    "vi": {
        ", và đặt giúp tôi một khách sạn nhé, cảm ơn nhiều": 69,
        ", cảm ơn bạn nhiều": 69,
        ", và đặt giúp tôi một khách sạn": 54,
        ", rồi gửi kết quả cho tôi qua email nhé": 63,
        ", nếu không chắc thì cứ hỏi lại tôi": 57,
    },
}
"""Sentences that end a translation, each with how many of 69 written ones are refused for it at least."""
NAMES_IN_THAI = {"weather-01", "weather-03", "weather-06"}
"""Requests whose written Thai translation writes a city in Thai letters, while a call needs its name."""


@pytest.mark.parametrize("language", ["vi", "th"])
def test_the_written_translations_pass_and_what_is_added_to_them_is_found(language: str) -> None:
    rows: dict[str, list[Scenario]] = {}
    for one in find_task("refusal").read(["fitting", "removed"]):
        if one.language == "en":
            rows.setdefault(one.id.partition(".")[0], []).append(one)

    def checks(name: str, text: str) -> set[str]:
        english = rows[name][0].query
        return {one.check for one in check_translation(Translation(english, text, language, needed_values(rows[name])))}

    written = WRITTEN[language]
    assert {name for name, text in written.items() if checks(name, text)} == (NAMES_IN_THAI if language == "th" else set())
    for added, least in ADDED[language].items():
        found = 0
        for name, text in written.items():
            if name in NAMES_IN_THAI:
                continue
            end = re.search(r"[.?!]*$", text)
            assert end
            longer = text + added if language == "th" else text[: end.start()] + added + end[0]
            found += bool(checks(name, longer) & {"added", "length"})
        assert found >= least, added


def test_a_value_that_is_kept_is_not_read_as_numbers() -> None:
    day = NeededValue("date", "March 11, 2022")
    before = "Find the price of Amazon on March 11, 2022."
    assert failed("Tìm giá của Amazon vào March 11, 2022 giúp tôi.", day, before=before) == []
    assert failed("Tìm giá của Amazon vào ngày 11 tháng 3 năm 2022.", day, before=before) == ["value"]


@labelled
def test_numbers_are_read_as_their_language_writes_them(english: str, written: str, language: str, same: bool) -> None:
    (value,) = read_english(f"It is {english} long.").required
    (readings,) = read_numbers(f"ที่ {written} và", language)
    assert (value in readings) == same


@given(numbers=st.lists(st.integers(0, 10**9), min_size=1, max_size=5), place=st.integers(0, 4), other=st.integers(0, 10**9))
def test_numbers_are_equal_or_named(numbers: list[int], place: int, other: int) -> None:
    english = "We need " + ", or ".join(f"{number:,}" for number in numbers) + " of them today, which is a lot to ask for."
    written = [f"{number:,}".replace(",", ".") for number in numbers]

    def translation() -> str:
        return "Hôm nay chúng tôi cần " + " hoặc ".join(written) + " cái, nhiều quá nhỉ."

    found = check_translation(Translation(english, translation(), "vi"))
    assert found == []
    place %= len(numbers)
    written[place] = str(other)
    changed = [one.check for one in check_translation(Translation(english, translation(), "vi"))]
    assert ("number" in changed) == (other != numbers[place])


@given(before=st.text(max_size=80), text=st.text(max_size=200), language=st.sampled_from(["vi", "th"]), value=st.text(max_size=8))
def test_any_text_is_checked_and_none_passes_without_a_letter_of_the_language(before: str, text: str, language: str, value: str) -> None:
    found = check_translation(Translation(before, text, language, (NeededValue("a", value, (text[:3],)),)))
    assert found or text.strip()
    if text.isascii():
        assert found


def translated(scenario: Scenario, language: str = "vi") -> Scenario:
    source = scenario.source.model_copy(update={"base": scenario.base, "translation_of": scenario.id})
    return scenario.model_copy(update={"id": f"{scenario.id}.{language}", "language": language, "source": source})


def test_the_base_is_shared_and_the_one_in_the_language_is_named() -> None:
    perfect = Scenario.model_validate({"id": "a", "group": "perfect", "turns": [{"messages": []}]})
    variant = perfect.model_copy(update={"id": "a.removed", "source": Source(base="a")})
    for one, own in ((perfect, "a"), (variant, "a"), (translated(perfect), "a.vi"), (translated(variant), "a.vi")):
        assert (one.base, one.base_in_language) == ("a", own)
    assert translated(variant).original == "a.removed" == variant.original
    line = short_form(translated(variant))
    assert read_scenario(line, "x:1", "talm") == translated(variant) and "translation_of" not in short_form(variant)["source"]


def test_a_query_without_tools_is_compared_with_the_perfect_one_of_its_language(tmp_path: Path) -> None:
    english = [one for one in find_task("talm").read(["perfect", "no-tools"]) if one.base == "geo-03"]
    rows = [*english, *map(translated, english)]
    file = tmp_path / "both.jsonl"
    file.write_text("".join(json.dumps(short_form(one)) + "\n" for one in rows))
    stored = run(scenarios=file, split="perfect,no-tools", model="sim/oracle", tools="live", run_dir=tmp_path / "runs", display="none")
    judged = {row.scenario: row.values.get("unexpected") for row in stored.rows() if row.group == "no-tools"}
    assert judged == {"geo-03.no-tools": False, "geo-03.no-tools.vi": False}
    task = find_task("talm")
    pair = task.pair(stored)
    paired = {one.scenario_id: pair(one, next(row for row in rows if row.id == one.scenario_id)) for one in stored.episodes("no-tools")}
    assert {name: one.scenario_id if one else None for name, one in paired.items()} == {
        "geo-03.no-tools": "geo-03",
        "geo-03.no-tools.vi": "geo-03.vi",
    }


def test_needed_values_are_those_of_calls_facts_and_what_is_missing() -> None:
    call = {"name": "f", "arguments": {"city": ["Hanoi", "HAN", ""], "days": [3], "stops": [["Hue", "Vinh"]], "more": [{"unit": ["km"]}]}}
    scenario = Scenario.model_validate(
        {
            "id": "a",
            "task": "refusal",
            "group": "fitting",
            "turns": [{"messages": [{"role": "user", "content": "?"}], "gold_calls": [{"name": "g", "arguments": {"day": "today"}}]}],
            "target": {"type": "calls", "expected": "calls", "accepted": [call]},
            "missing": {"kind": "argument", "name": "code", "value": "KEF", "removed_text": "to Keflavik"},
        }
    )
    found = {(one.name, one.value, one.others) for one in needed_values([scenario, scenario])}
    assert found == {
        ("city", "Hanoi", ("HAN",)),
        ("stops", "Hue", ()),
        ("stops", "Vinh", ()),
        ("more", "km", ()),
        ("day", "today", ()),
        ("code", "KEF", ()),
    }
