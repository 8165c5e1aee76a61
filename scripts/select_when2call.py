"""Select the packaged items of task when2call from generated rows: as many of every class, and one row of every class from each source.

    scripts/select_when2call.py ITEMS OUT [--at-least 300] [--most 600] [--seed 10]

A source counts where all three of its items were made, so that question and options differ between classes in nothing but what makes the
class; categories take turns, and the three rows of a source show as many tools. A model may do the work of some tools in its head: where one of
these would be removed, a question of like form whose tool gives a record takes its place among the rows whose right answer is that it cannot be
done. How many tools a row shows is drawn from its source's id. Nothing is written where the selection is too small, a row fails a check of
`scenarios check`, or the right answer can be told without reading (`form_check.py`): then try another seed, by which other questions take their
places.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.tasks.when2call.making.items import MANY, is_kin
from talm_sim.tasks.when2call.making.review import faults_of_row, item_of
from talm_sim.tasks.when2call.making.sources import tool_spec
from talm_sim.tasks.when2call.published import scenario_of
from talm_sim.world.described import built_in_tools

_FORM = runpy.run_path(str(Path(__file__).with_name("form_check.py")))
NUMBERS = (1, MANY)
"""How many tools a row may show: what every class has."""
CLASSES = ("tool_call", "request_for_info", "cannot_answer")
LEFT_OUT = {
    "content-04.2": "'it' is the catalogue in the other part",
    "content-28.2": "the score is widely known",
    "developer_tools-20.2": "'its file name' is that of a thing in the other part of the query",
    "developer_tools-30.2": "what it asks for is said in the other part",
    "developer_tools-35.2": "the version that it asks for is one of the other part",
    "food-01.1": "the calories of leeks are widely known",
    "geo-05.2": "'second question' is one of two, and a tool that is shown may serve it",
    "government-12.1": "a tool beside it finds it the other way round",
    "health-01.2": "the code is widely known",
    "health-05.2": "'his' is that of a person in the other part",
    "health-14.2": "'her lecture' is that of a person in the other part",
    "inspiration-04.2": "any suggestion is as right as the tool's",
    "inspiration-12.1": "any suggestion is as right as the tool's",
    "inspiration-14.1": "any suggestion is as right as the tool's",
    "inspiration-38.1": "any suggestion is as right as the tool's",
    "language-12.2": "'it' is the census in the other part",
    "open_data-27.2": "'the neighbour' is that of a country which only the whole query places",
    "open_data-28.2": "what it asks for is said in the other part",
    "science-18.2": "'its old tag' is that of a thing in the other part",
    "science-23.2": "'it' is an eclipse in the other part",
    "sports-07.2": "the rivals of Betis can be guessed",
    "weather-09.1": "a tool beside it gives the rain of each day",
}
"""Sources that a reader found to give no sound items, and why."""
WITHOUT_A_TOOL = {
    *("convert_units", "get_dice_odds", "allocate_seats", "score_cribbage_hand", "count_knight_moves", "convert_color", "get_color_harmony"),
    *("convert_to_unix_time", "find_next_cron_run", "get_city_local_time", "get_arrival_time"),
    *("add_working_days", "count_working_days", "check_trading_day", "get_regional_holiday"),
    *("translate_allergen", "get_emoji_translation", "get_region_code", "get_electoral_votes"),
    *("get_class_level", "get_equipment", "get_monster", "get_spell"),
    *("plan_breathing", "find_common_neighbours", "get_film_box_office"),
    *("estimate_kidney_function", "compute_wind_chill", "build_iban"),
    *("find_county_by_code", "get_us_county_code", "find_moon_phase"),
}
"""Tools whose result takes a few steps of arithmetic, clock or calendar, or is widely known: without them a right answer is still possible."""
SERVED_BESIDE = {
    "compare_exchange_rates": ("convert_currency", "get_exchange_rate_range"),
    "convert_currency": ("compare_exchange_rates",),
    "find_austrian_postcodes": ("get_austrian_postcode",),
    "get_austrian_postcode": ("find_austrian_postcodes",),
    "get_city_by_rank": ("find_namesake_cities", "get_city_details"),
    "get_city_details": ("find_namesake_cities",),
    "get_city_direction": ("get_city_details",),
    "get_city_distance": ("get_city_details",),
    "get_exchange_rate_range": ("compare_exchange_rates",),
    "get_flight_distance": ("get_airport_details",),
    "get_seattle_daily_weather": ("get_seattle_monthly_weather",),
}
"""Tools beside a removed one that serve its request by another way, in several calls or with some arithmetic."""
SEED = 10
"""The first by which the form of no text of the packaged items tells the right answer."""
_Row = dict[str, Any]


def select(rows: Sequence[_Row], most: int, seed: int = SEED) -> list[_Row]:
    """Return at most `most` rows, a multiple of three: sources in the turn of their categories, each with a row of every class.

    The last class has other sources in place of those whose tool is not needed; `seed` draws the order in which they find their like.
    """
    variants: dict[str, dict[str, list[_Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["source_id"] not in LEFT_OUT:
            variants[row["source_id"]][row["correct_answer"]] += [row] if len(row["tools"]) in NUMBERS and not _find_kin(row) else []
    whole = {source: classes for source, classes in variants.items() if len(classes) == len(CLASSES)}
    chosen = sorted(_in_turn(whole)[: most // len(CLASSES)])
    drawn = []
    for source, unable in _beyond_knowledge(variants, chosen, seed).items():
        classes = [variants[source][name] for name in CLASSES[:-1]] + [variants[unable][CLASSES[-1]]]
        drawn.append(_draw_variants(classes, source))
    return [row for rows in zip(*drawn, strict=True) for row in rows]


def _in_turn(every: Iterable[str]) -> list[str]:
    """Return sources in the turn of their categories."""
    turns: dict[str, list[str]] = defaultdict(list)
    for source in sorted(every, key=lambda one: derive_seed(0, one)):
        turns[_category_of(source)].append(source)
    in_turn = [(place, category, source) for category, sources in turns.items() for place, source in enumerate(sources)]
    return [source for _, _, source in sorted(in_turn)]


def _category_of(source: str) -> str:
    return source.rsplit("-", 1)[0]


def _beyond_knowledge(variants: Mapping[str, Mapping[str, list[_Row]]], chosen: Sequence[str], seed: int) -> dict[str, str]:
    """Return for each source chosen that of its row that cannot be answered: itself where it needs its tool, else its like."""
    specs = built_in_tools().specs
    tools = {one: _tool_of(classes) for one, classes in variants.items() if classes[CLASSES[-1]]}
    found = {one: one for one in chosen if tools.get(one, "") not in {"", *WITHOUT_A_TOOL}}
    spare = {one: _form_of(variants[one]) for one, tool in tools.items() if specs[tool].is_record and tool not in WITHOUT_A_TOOL}
    for source in chosen:
        spare.pop(source, None)
    for source in sorted(set(chosen) - set(found), key=lambda one: derive_seed(seed, one)):
        form = _form_of(variants[source])
        if spare:
            found[source] = min(spare, key=lambda one: (_distance(form, spare[one]), one))
            del spare[found[source]]
    return dict(sorted(found.items()))


def _form_of(classes: Mapping[str, list[_Row]]) -> tuple[list[Any], list[float]]:
    """Return what sources are compared by: first word and mark of the question, and the lengths of it, twice, and of two options."""
    row = classes[CLASSES[0]][0]
    question, *options = (_FORM["form_of"](text) for text in (row["question"], row["answers"]["direct"], row["answers"]["tool_call"]))
    return [question["first"], question["mark"]], [one["characters"] for one in (question, question, *options)]


def _distance(one: tuple[list[Any], list[float]], other: tuple[list[Any], list[float]]) -> tuple[int, float]:
    """How unlike two forms are: first by the question's first word and mark, then by the lengths."""
    unlike = sum(mine != theirs for mine, theirs in zip(one[0], other[0], strict=True))
    return unlike, sum(abs(mine - theirs) for mine, theirs in zip(one[1], other[1], strict=True))


def _tool_of(classes: Mapping[str, list[_Row]]) -> str:
    row = classes[CLASSES[0]][0]
    return str(json.loads(row["answers"]["tool_call"])["name"])


def _draw_variants(classes: Sequence[Sequence[_Row]], source: str) -> list[_Row]:
    """Draw a row of each class, all with as many tools."""
    found = [{len(row["tools"]): row for row in rows} for rows in classes]
    numbers = sorted(set.intersection(*map(set, found)))
    return [rows[numbers[derive_seed(0, source, "request_for_info", "tools shown") % len(numbers)]] for rows in found]


def _find_kin(row: _Row) -> str:
    """Return the name of a shown tool that may serve a request whose tool is removed; empty where there is none."""
    if row["correct_answer"] != "cannot_answer":
        return ""
    item = item_of(row)
    shown = (tool_spec(spec_of(text)) for text in row["tools"])
    beside = SERVED_BESIDE.get(_tool_of({CLASSES[0]: [row]}), ())
    return next((spec.name for spec in shown if item is None or spec.name in beside or is_kin(spec, item.source)), "")


def find_faults(rows: Sequence[_Row], at_least: int) -> list[str]:
    """Say what is wrong with a selection; empty where it can be packaged."""
    found = []
    if len(rows) < at_least:
        found.append(f"{len(rows)} items, fewer than {at_least}: give more scenarios, or --at-least")
    if not rows:
        return found
    found += [f"{row['source_id']}, {row['correct_answer']}: {fault}" for row in rows for fault in faults_of_row(row)]
    found += [f"{row['source_id']}: '{name}' may serve it, and it is said that nothing can" for row in rows if (name := _find_kin(row))]
    for what, accuracy, most in _FORM["measures"]([scenario_of(row) for row in rows]):
        if accuracy > most:
            found.append(f"the form of {what} tells the class: balanced accuracy {accuracy:.2f}, at most {most:.2f}")
    return found


def _write(rows: Sequence[_Row], out: Path) -> Iterator[str]:
    """Write the files; yield each one's line of the data card."""
    out.mkdir(parents=True, exist_ok=True)
    for name in CLASSES:
        own = [row for row in rows if row["correct_answer"] == name]
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own), encoding="utf-8")
        shown = [sum(min(2, len(row["tools"])) == number for row in own) for number in (0, 1, 2)]
        yield f"| {name}.jsonl | {len(own)} | {' / '.join(map(str, shown))} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Select, look, and write; return 1 where nothing was written."""
    parser = argparse.ArgumentParser(description="Select the packaged items of task when2call.")
    parser.add_argument("items", type=Path, help="items.jsonl of a generation with --variants all")
    parser.add_argument("out", type=Path, help="folder of the three files")
    parser.add_argument("--at-least", type=int, default=300, help="fewest items (default: %(default)s)")
    parser.add_argument("--most", type=int, default=600, help="most items (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="draws which questions take the place of others (default: %(default)s)")
    options = parser.parse_args(argv)
    rows = select([json.loads(line) for line in options.items.read_text(encoding="utf-8").splitlines()], options.most, options.seed)
    faults = find_faults(rows, options.at_least)
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    if faults:
        print(f"{len(faults)} faults; nothing was written", file=sys.stderr)
        return 1
    for line in _write(rows, options.out):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
