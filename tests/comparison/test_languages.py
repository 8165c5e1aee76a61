"""Runs of different languages: pairs of a scenario and its translation, and what a baseline knows of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.common.digests import digest
from talm_sim.comparison.compare import compare_sides
from talm_sim.comparison.compared_rows import Side, find_side, kept_digest
from talm_sim.errors import NotComparableError
from talm_sim.types import Scenario
from tests.runs.sides import made_side, one_row, write_baseline

NAMES = tuple("abcdefgh")
ENGLISH: dict[str, Any] = {"settings": {"model": "sim/some", "language": "en"}, "kept": dict.fromkeys(NAMES, "kept")}


def english(*passed: bool) -> Side:
    return made_side([one_row(name, value) for name, value in zip(NAMES, passed, strict=True)], **ENGLISH)


def translation(*passed: bool, to: str = "vi", **more: Any) -> Side:
    rows = [one_row(f"{name}.{to}", value, base=name) for name, value in zip(NAMES, passed, strict=True)]
    known = {
        "name": to,
        "settings": {"model": "sim/some", "language": to},
        "kept": {f"{name}.{to}": "kept" for name in NAMES},
        "originals": {f"{name}.{to}": name for name in NAMES},
    }
    return made_side(rows, **{**known, **more})


def test_a_scenario_is_paired_with_its_translation_in_either_order() -> None:
    first, second = english(*[True] * 8), translation(True, *[False] * 7)
    found = compare_sides(first, second)
    assert (found.pairs, found.first_only, found.second_only) == (8, (), ())
    assert found.translated == {name: f"{name}.vi" for name in NAMES}
    assert found.flips[0].regressed == NAMES[1:] and found.changed == {"language": ("en", "vi")}
    difference = found.difference("pass_rate")
    assert difference is not None and difference.verdict == "regressed" and difference.difference == -7 / 8
    back = compare_sides(second, first)
    assert back.translated == {f"{name}.vi": name for name in NAMES}
    assert back.flips[0].improved == tuple(f"{name}.vi" for name in NAMES[1:])


def test_two_translations_of_one_scenario_are_paired() -> None:
    found = compare_sides(translation(*[True] * 8), translation(*[True] * 8, to="th"))
    assert found.pairs == 8 and found.translated["a.vi"] == "a.th"


def test_runs_with_common_scenarios_are_paired_by_these() -> None:
    side = translation(*[True] * 8)
    assert compare_sides(side, translation(*[False] * 8)).translated == {}
    # What is a translation of something else has no partner.
    alone = translation(*[True] * 8, originals={f"{name}.vi": f"other-{name}" for name in NAMES})
    with pytest.raises(NotComparableError, match="have no scenario in common"):
        compare_sides(english(*[True] * 8), alone)
    some = translation(*[True] * 8, originals={f"{name}.vi": name if name < "e" else f"other-{name}" for name in NAMES})
    with pytest.raises(NotComparableError, match="4 scenarios are in both, 4 in the first alone, 4 in the second alone"):
        compare_sides(english(*[True] * 8), some)
    found = compare_sides(english(*[True] * 8), some, common=True)
    assert (found.first_only, found.second_only) == (NAMES[4:], tuple(f"{name}.vi" for name in NAMES[4:]))


def test_a_translation_with_another_target_or_in_two_languages_is_refused() -> None:
    changed = translation(*[True] * 8, kept={f"{name}.vi": "kept" if name != "c" else "changed" for name in NAMES})
    with pytest.raises(NotComparableError, match="1 scenarios of one id ask or accept something else, for example 'c'"):
        compare_sides(english(*[True] * 8), changed)
    rows = [one_row(f"{name}.{to}", base=name) for name in NAMES for to in ("vi", "th")]
    both = made_side(rows, "both", originals={row.scenario: row.base for row in rows})
    with pytest.raises(NotComparableError, match=r"both: has 'a' in several languages \('a\.vi', 'a\.th'\); run one language"):
        compare_sides(english(*[True] * 8), both)


def test_a_baseline_knows_translations_and_one_of_format_1_is_read(tmp_path: Path) -> None:
    first, second = english(*[True] * 8), translation(*[False] * 8)
    sides = [find_side(write_baseline(side, tmp_path / f"{side.name}.jsonl"))[0] for side in (first, second)]
    assert compare_sides(*sides).translated == {name: f"{name}.vi" for name in NAMES}
    header, *lines = (json.loads(line) for line in first.lines())
    old = [json.dumps({name: value for name, value in line.items() if name != "kept"}) for line in lines]
    header |= {"format": 1, "digest": digest(old), "settings": {"model": "sim/some"}}
    (tmp_path / "old.jsonl").write_text("\n".join([json.dumps(header), *old]) + "\n")
    side, _ = find_side(tmp_path / "old.jsonl")
    assert side.kept == {} and compare_sides(side, first).changed == {}, "which language it was in is not known"
    with pytest.raises(NotComparableError, match="ask or accept something else"):
        compare_sides(side, second)


def test_a_translation_keeps_all_but_the_words_of_the_user() -> None:
    line: dict[str, Any] = {
        "id": "a",
        "group": "underspecified",
        "turns": [{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}],
        "tools": ["t"],
        "missing": {"kind": "argument", "name": "n", "value": 1, "removed_text": "r", "human_answer": "h"},
    }

    def kept(**more: Any) -> str:
        return kept_digest(Scenario.model_validate({**line, **more}))

    other = [{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}]}]
    said = {**line["missing"], "human_answer": "x"}
    assert kept(id="a.vi", language="vi", turns=other, missing=said, source={"translation_of": "a"}) == kept()
    assert kept(missing=[said, {**said, "name": "m"}]) == kept(missing=[line["missing"], {**said, "name": "m"}])
    for more in (
        {"tools": ["other"]},
        {"missing": {**said, "value": 2}},
        {"missing": {**said, "human_answer": None}},
        {"turns": [{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "u"}]}]},
        {"turns": [{**line["turns"][0], "gold_calls": [{"name": "t", "arguments": {}}]}]},
    ):
        assert kept(**more) != kept()
